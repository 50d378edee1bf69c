//! Reserves files for somebody who stands in line until it is granted, and hears now and then how it stands.

use std::time::Duration;

use mail::ids::TicketId;
use mail::office::{InLine, ReserveRequest};
use mail::reservations::{Conflict, DEFAULT_TTL_SECONDS};

use crate::prelude::*;

declare! {
    /// Reserves all of the paths, or waits for them. The place in the line is kept for some seconds, for the next request.
    StandInLine("stand_in_line", WRITES, "Reserve files, or stand in line for them.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// Globs, relative to the project.
        paths: Vec<String> = Param::required("paths", Names, "Globs relative to the project");
        /// 600 when nobody says.
        ttl_seconds: Option<i64> = Param::optional("ttl_seconds", TTL, "Default 600");
        exclusive: Option<bool> = Param::optional("exclusive", Flag, "");
        reason: Option<String> = Param::optional("reason", Text, "");
        /// How long until the answer says how it stands.
        wait_seconds: Option<i64> = Param::optional("wait_seconds", Number { min: 0, max: LONGEST_WAIT }, "");
        /// The place in the line from the request before.
        ticket: Option<i64> = Param::optional("ticket", Id, "");
        registration_token: Option<String> = TOKEN;
    }

    /// How it stands.
    InLineAnswer {
        /// The reservations, if it was granted.
        granted: Vec<ReservationAnswer>,
        /// The place in the line, if it was not.
        ticket[if_any]: Option<i64>,
        /// What is in the way.
        conflicts: Vec<InTheWayAnswer>,
    }

    /// What another holds, or came earlier for.
    #[derive(PartialEq)]
    InTheWayAnswer::new(conflict: Conflict) {
        /// What is wanted.
        path: String = conflict.wanted,
        /// What is held.
        held_path: String = conflict.pattern,
        /// By whom.
        holder: String = conflict.holder,
        /// Whether it is held exclusively.
        exclusive: bool = conflict.exclusive,
        /// Whether the other only stands in line, and came earlier.
        waiting: bool = conflict.waiting,
        /// When that ends at the latest.
        expires_ts: Time = Time(conflict.until),
    }
}

impl Verb for StandInLine {
    type Answer = InLineAnswer;

    async fn run(self, office: &Office) -> Result<InLineAnswer, Error> {
        let request = ReserveRequest {
            project_key: &self.project_key,
            agent: claim(&self.agent_name, self.registration_token.as_deref()),
            paths: &self.paths,
            ttl_seconds: self.ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS),
            exclusive: self.exclusive.unwrap_or(false),
            reason: self.reason.as_deref().unwrap_or_default(),
            wait: Duration::from_secs(self.wait_seconds.unwrap_or(0).max(0) as u64),
        };
        Ok(match office.stand_in_line(request, self.ticket.map(TicketId)).await? {
            InLine::Granted(granted) => InLineAnswer {
                granted: granted.into_iter().map(ReservationAnswer::new).collect(),
                ticket: None,
                conflicts: Vec::new(),
            },
            InLine::Waiting { ticket, conflicts } => InLineAnswer {
                granted: Vec::new(),
                ticket: Some(ticket.0),
                conflicts: conflicts.into_iter().map(InTheWayAnswer::new).collect(),
            },
        })
    }
}
