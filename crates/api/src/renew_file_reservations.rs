//! Keeps reservations longer.

use mail::reservations::DEFAULT_TTL_SECONDS;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ReservationAnswer;
use crate::file_reservation_paths::{SOME_PATHS, TTL};
use crate::params::{AGENT, PROJECT, TOKEN, claim};

/// Renews reservations of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RenewFileReservations {
    pub project_key: String,
    pub agent_name: String,
    /// All of them when nobody says.
    pub paths: Option<Vec<String>>,
    /// From now on.
    pub new_ttl_seconds: Option<i64>,
    pub registration_token: Option<String>,
}

/// What was renewed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RenewedAnswer {
    /// How many reservations.
    pub renewed: usize,
    /// The reservations with their new end.
    pub file_reservations: Vec<ReservationAnswer>,
}

impl Verb for RenewFileReservations {
    const NAME: &'static str = "renew_file_reservations";
    const ABOUT: &'static str = "Keep your reservations longer.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        SOME_PATHS,
        Param::optional("new_ttl_seconds", TTL, "From now; default 600").mistaken_for(&[
            "ttl_seconds",
            "ttl",
            "extend_seconds",
        ]),
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = RenewedAnswer;

    async fn run(self, office: &Office) -> Result<RenewedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let ttl = self.new_ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS);
        let renewed = office.renew(&self.project_key, agent, self.paths.as_deref(), ttl).await?;
        let file_reservations: Vec<_> = renewed.into_iter().map(ReservationAnswer::from).collect();
        Ok(RenewedAnswer { renewed: file_reservations.len(), file_reservations })
    }
}
