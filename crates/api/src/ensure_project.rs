//! Creates a project if it is new.

use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ProjectAnswer;

/// Asks for the project of a folder.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EnsureProject {
    /// The absolute path of the working directory.
    pub human_key: String,
}

impl Verb for EnsureProject {
    const NAME: &'static str = "ensure_project";
    const ABOUT: &'static str = "Create the project if it is new. Call before anything else.";
    const PARAMS: &'static [Param] =
        &[Param::required("human_key", ParamKind::Text, "Absolute path of the working directory").mistaken_for(&[
            "project_key",
            "project",
            "path",
        ])];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = ProjectAnswer;

    async fn run(self, office: &Office) -> Result<ProjectAnswer, Error> {
        Ok(office.ensure_project(&self.human_key).await?.into())
    }
}
