//! Reserves files before they are edited.

use std::time::Duration;

use mail::office::ReserveAsk;
use mail::reservations::{DEFAULT_TTL_SECONDS, TTL_SECONDS};
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ReservationAnswer;
use crate::params::{AGENT, LONGEST_WAIT, PROJECT, TOKEN, claim};

pub(crate) const TTL: ParamKind = ParamKind::Number { min: *TTL_SECONDS.start(), max: *TTL_SECONDS.end() };
/// Which of an agent's reservations are meant.
pub(crate) const SOME_PATHS: Param =
    Param::optional("paths", ParamKind::Names, "Left out: all of yours").mistaken_for(&["path", "patterns", "files"]);

/// Reserves all of the paths, or none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileReservationPaths {
    pub project_key: String,
    pub agent_name: String,
    /// Globs, relative to the project.
    pub paths: Vec<String>,
    pub ttl_seconds: Option<i64>,
    pub exclusive: Option<bool>,
    pub reason: Option<String>,
    /// How long to wait when others hold them.
    pub wait_seconds: Option<i64>,
    pub registration_token: Option<String>,
}

/// What was granted. A conflict grants nothing and is a refusal that lists the conflicts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GrantedAnswer {
    /// One reservation for each path.
    pub granted: Vec<ReservationAnswer>,
    /// Always empty here.
    pub conflicts: [(); 0],
}

impl Verb for FileReservationPaths {
    const NAME: &'static str = "file_reservation_paths";
    const ABOUT: &'static str =
        "Reserve files before editing them: all of the paths or none. Conflicts name the holders.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        Param::required("paths", ParamKind::Names, "Globs relative to the project, e.g. src/**")
            .mistaken_for(&["path", "patterns", "files", "globs"]),
        Param::optional("ttl_seconds", TTL, "Default 600").mistaken_for(&["ttl", "duration", "duration_seconds"]),
        Param::optional("exclusive", ParamKind::Flag, "Keep others out; default false"),
        Param::optional("reason", ParamKind::Text, "").rare(),
        Param::optional("wait_seconds", ParamKind::Number { min: 0, max: LONGEST_WAIT }, "Stand in line when taken")
            .mistaken_for(&["timeout_seconds", "wait", "timeout"]),
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = GrantedAnswer;

    async fn run(self, office: &Office) -> Result<GrantedAnswer, Error> {
        let ask = ReserveAsk {
            project_key: &self.project_key,
            agent: claim(&self.agent_name, self.registration_token.as_deref()),
            paths: &self.paths,
            ttl_seconds: self.ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS),
            exclusive: self.exclusive.unwrap_or(false),
            reason: self.reason.as_deref().unwrap_or_default(),
            wait: Duration::from_secs(self.wait_seconds.unwrap_or(0).max(0) as u64),
        };
        let granted = office.reserve(ask).await?;
        Ok(GrantedAnswer { granted: granted.into_iter().map(ReservationAnswer::from).collect(), conflicts: [] })
    }
}
