//! Which of some files another agent has reserved for itself: asked before they are written or committed.

use mail::reservations::Lease;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::params::PROJECT;
use crate::{Time, Verb};

/// Asks whether others hold some files. Who asks need not prove its name, or have one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FindConflicts {
    pub project_key: String,
    /// Whose own reservations are no conflict. Without it every reservation is another's.
    pub agent_name: Option<String>,
    /// Names of files, relative to the project; no globs.
    pub paths: Vec<String>,
}

/// A file that another agent holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConflictAnswer {
    /// The file, as it was asked about.
    pub path: String,
    /// Who holds it.
    pub holder: String,
    /// The pattern of the reservation.
    pub path_pattern: String,
    /// When the reservation ends by itself.
    pub expires_ts: Time,
    /// What it is for; may be empty.
    pub reason: String,
}

impl From<(&str, Lease)> for ConflictAnswer {
    fn from((path, lease): (&str, Lease)) -> Self {
        Self {
            path: path.to_owned(),
            holder: lease.holder_name,
            path_pattern: lease.pattern.as_str().to_owned(),
            expires_ts: lease.ends_at.into(),
            reason: lease.reason,
        }
    }
}

impl Verb for FindConflicts {
    const NAME: &'static str = "find_conflicts";
    const ABOUT: &'static str = "Which of some files another agent has reserved.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::optional("agent_name", ParamKind::Text, "Whose own reservations do not count"),
        Param::required("paths", ParamKind::Names, "Files relative to the project"),
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = Vec<ConflictAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<ConflictAnswer>, Error> {
        let held = office.held_by_others(&self.project_key, self.agent_name.as_deref(), &self.paths).await?;
        Ok(held.into_iter().map(ConflictAnswer::from).collect())
    }
}
