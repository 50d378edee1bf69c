//! All projects, page by page, in the order they were made.

use mail::ids::ProjectId;

use crate::prelude::*;

declare! {
    /// Asks for a page of projects.
    ListProjects("list_projects", READS, "All projects.") {
        /// The cursor: where the page before ended.
        after: Option<i64> = AFTER;
        /// 100 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    /// A page of projects.
    ProjectsAnswer {
        projects: Vec<ProjectAnswer>,
        /// The cursor of the next page; null if this is the last.
        next: Option<i64>,
    }
}

impl Verb for ListProjects {
    type Answer = ProjectsAnswer;

    async fn run(self, office: &Office) -> Result<ProjectsAnswer, Error> {
        let limit = limit(self.limit, LONG_LIMIT);
        let projects = office.projects(self.after.map(ProjectId), limit).await?;
        let next = next(&projects, limit, |project| project.id.0);
        Ok(ProjectsAnswer {
            projects: projects.into_iter().map(|project| ProjectAnswer::new(project.into())).collect(),
            next,
        })
    }
}
