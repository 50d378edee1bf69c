//! Reservations of files, as answers show them.

use mail::messages::Message;
use mail::office::Waiting;
use mail::reservations::Reservation;
use mail::responses::{FilesOutcome, GrantedFiles, HeldFiles, outcome};

use crate::Time;

declare! {
    /// A reservation.
    #[derive(PartialEq)]
    ReservationAnswer::new(reservation: Reservation) {
        /// Its number.
        id: i64 = reservation.id.0,
        /// Who holds it.
        agent: String = reservation.holder_name,
        /// The files it covers, relative to the project.
        path_pattern: String = reservation.pattern.as_str().to_owned(),
        /// Whether nobody else may hold any of them.
        exclusive: bool = reservation.exclusive,
        /// What it is for.
        reason[if_any]: String = reservation.reason,
        /// When it was first granted.
        created_ts: Time = Time(reservation.granted_at),
        /// When it ends by itself.
        expires_ts: Time = Time(reservation.ends_at),
    }

    /// Somebody who stands in line.
    #[derive(PartialEq)]
    WaitingAnswer::new(waiting: Waiting) {
        /// Who.
        agent: String = waiting.waiter.agent_name,
        /// The files, relative to the project.
        paths: Vec<String> = waiting.waiter.patterns.iter().map(ToString::to_string).collect(),
        /// Whether nobody else may hold any of them meanwhile.
        exclusive: bool = waiting.waiter.exclusive,
        /// The numbers of the reservations that are waited for.
        waits_for: Vec<i64> = waiting.waits_for.iter().map(|id| id.0).collect(),
    }

    /// What became of the files that a message asks for. Its sender has the same in its mailbox.
    #[derive(PartialEq)]
    FilesAnswer {
        /// What the sender holds now; nothing if it was refused.
        granted: Vec<GrantedFilesAnswer>,
        /// Which alternative that is, counted from 1; left out if it is what was asked for first.
        alternative[if_any]: Option<usize>,
        /// What is in the way of all that was tried before.
        conflicts: Vec<ConflictAnswer>,
        /// The same in a sentence.
        message: String,
        /// The message that tells it in the sender's mailbox.
        message_id: i64,
    }

    /// A pattern that was granted.
    #[derive(PartialEq)]
    GrantedFilesAnswer::new(files: GrantedFiles) {
        /// The number of the reservation.
        id: i64 = files.id,
        /// The files it covers, relative to the project.
        path_pattern: String = files.path_pattern,
        /// Whether nobody else may hold any of them.
        exclusive: bool = files.exclusive,
        /// When it ends by itself.
        expires_ts: String = files.expires_ts,
    }

    /// What somebody else holds.
    #[derive(PartialEq)]
    ConflictAnswer::new(files: HeldFiles) {
        /// What was asked for.
        path: String = files.path,
        /// What is held.
        held_path: String = files.held_path,
        /// By whom.
        holder: String = files.holder,
        /// Whether it is held exclusively.
        exclusive: bool = files.exclusive,
        /// Whether the other only stands in line, and came earlier.
        waiting: bool = files.waiting,
        /// When that ends at the latest.
        expires_ts: String = files.expires_ts,
    }
}

impl FilesAnswer {
    /// What the office told the sender in a message; `None` if that cannot be read, which does not mean that nothing was granted.
    pub fn read(told: Message) -> Option<Self> {
        let FilesOutcome { granted, alternative, conflicts } = outcome(&told)?;
        Some(Self {
            granted: granted.into_iter().map(GrantedFilesAnswer::new).collect(),
            alternative,
            conflicts: conflicts.into_iter().map(ConflictAnswer::new).collect(),
            message: told.subject,
            message_id: told.id.0,
        })
    }
}
