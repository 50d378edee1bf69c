//! Gives reservations back.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::file_reservation_paths::SOME_PATHS;
use crate::params::{AGENT, PROJECT, TOKEN, claim};

/// Gives back reservations of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReleaseFileReservations {
    pub project_key: String,
    pub agent_name: String,
    /// All of them when nobody says.
    pub paths: Option<Vec<String>>,
    pub registration_token: Option<String>,
}

/// What was given back.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReleasedAnswer {
    /// How many reservations.
    pub released: usize,
    /// On which paths.
    pub paths: Vec<String>,
}

impl Verb for ReleaseFileReservations {
    const NAME: &'static str = "release_file_reservations";
    const ABOUT: &'static str = "Give back your reservations.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, SOME_PATHS, TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = ReleasedAnswer;

    async fn run(self, office: &Office) -> Result<ReleasedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let released = office.release(&self.project_key, agent, self.paths.as_deref()).await?;
        let paths = released.iter().map(|one| one.pattern.as_str().to_owned()).collect();
        Ok(ReleasedAnswer { released: released.len(), paths })
    }
}
