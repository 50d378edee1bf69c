//! The reservations that hold in a project now, page by page, in the order they were granted.

use mail::ids::LeaseId;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ReservationAnswer;
use crate::params::{AFTER, LIMIT, LONG_LIMIT, PROJECT, limit, next};

/// Asks for a page of reservations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListReservations {
    pub project_key: String,
    /// The cursor: where the page before ended.
    pub after: Option<i64>,
    /// 100 when nobody says.
    pub limit: Option<u32>,
}

/// A page of reservations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReservedAnswer {
    /// The slug of the project.
    pub project: String,
    pub reservations: Vec<ReservationAnswer>,
    /// The cursor of the next page; null if this is the last.
    pub next: Option<i64>,
}

impl Verb for ListReservations {
    const NAME: &'static str = "list_reservations";
    const ABOUT: &'static str = "The files that are reserved now.";
    const PARAMS: &'static [Param] = &[PROJECT, AFTER, LIMIT];
    const HINTS: Hints = Hints::READS;
    type Answer = ReservedAnswer;

    async fn run(self, office: &Office) -> Result<ReservedAnswer, Error> {
        let limit = limit(self.limit, LONG_LIMIT);
        let (project, held) = office.leases(&self.project_key, self.after.map(LeaseId), limit).await?;
        let next = next(&held, limit, |lease| lease.id.0);
        let reservations = held.into_iter().map(ReservationAnswer::from).collect();
        Ok(ReservedAnswer { project: project.slug, reservations, next })
    }
}
