//! Registers an agent in a project, or updates its profile.

use mail::agents::Profile;
use mail::office::Registration;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::RegisteredAnswer;
use crate::params::{MODEL, PROGRAM, PROJECT, TASK, TOKEN};

/// Introduces an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RegisterAgent {
    pub project_key: String,
    /// Its name; without one it is given one.
    pub name: Option<String>,
    pub program: Option<String>,
    pub model: Option<String>,
    pub task_description: Option<String>,
    pub registration_token: Option<String>,
}

impl Verb for RegisterAgent {
    const NAME: &'static str = "register_agent";
    const ABOUT: &'static str =
        "Register yourself in a project, or update your profile. The same name keeps its identity.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::optional("name", ParamKind::Text, "Your name; left out, you are given one")
            .mistaken_for(&["agent_name", "agent"]),
        PROGRAM,
        MODEL,
        TASK,
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = RegisteredAnswer;

    async fn run(self, office: &Office) -> Result<RegisteredAnswer, Error> {
        let registration = Registration {
            project_key: &self.project_key,
            make_project: false,
            name: self.name.as_deref(),
            profile: Profile { program: self.program, model: self.model, task_description: self.task_description },
            token: self.registration_token.as_deref(),
        };
        Ok(office.register(registration).await?.into())
    }
}
