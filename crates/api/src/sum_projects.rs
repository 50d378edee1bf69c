//! All projects and how much is in each, page by page, in the order they were made.

use mail::ids::ProjectId;

use crate::prelude::*;

declare! {
    /// Asks for a page of projects with their sums.
    SumProjects("sum_projects", READS, "All projects, and how much is in each.") {
        /// The cursor: where the page before ended.
        after: Option<i64> = AFTER;
        /// 100 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    /// A page of projects.
    ProjectSumsAnswer {
        projects: Vec<ProjectSumAnswer>,
        /// The cursor of the next page; null if this is the last.
        next: Option<i64>,
    }
}

impl Verb for SumProjects {
    type Answer = ProjectSumsAnswer;

    async fn run(self, office: &Office) -> Result<ProjectSumsAnswer, Error> {
        let limit = limit(self.limit, LONG_LIMIT);
        let sums = office.project_sums(self.after.map(ProjectId), limit).await?;
        let next = next(&sums, limit, |sum| sum.project.id.0);
        Ok(ProjectSumsAnswer { projects: sums.into_iter().map(ProjectSumAnswer::new).collect(), next })
    }
}
