//! All projects, page by page, in the order they were made.

use mail::ids::ProjectId;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ProjectAnswer;
use crate::params::{AFTER, LIMIT, LONG_LIMIT, limit, next};

/// Asks for a page of projects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListProjects {
    /// The cursor: where the page before ended.
    pub after: Option<i64>,
    /// 100 when nobody says.
    pub limit: Option<u32>,
}

/// A page of projects.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProjectsAnswer {
    pub projects: Vec<ProjectAnswer>,
    /// The cursor of the next page; null if this is the last.
    pub next: Option<i64>,
}

impl Verb for ListProjects {
    const NAME: &'static str = "list_projects";
    const ABOUT: &'static str = "All projects.";
    const PARAMS: &'static [Param] = &[AFTER, LIMIT];
    const HINTS: Hints = Hints::READS;
    type Answer = ProjectsAnswer;

    async fn run(self, office: &Office) -> Result<ProjectsAnswer, Error> {
        let limit = limit(self.limit, LONG_LIMIT);
        let projects = office.projects(self.after.map(ProjectId), limit).await?;
        let next = next(&projects, limit, |project| project.id.0);
        Ok(ProjectsAnswer { projects: projects.into_iter().map(ProjectAnswer::from).collect(), next })
    }
}
