//! Which of some files another agent has reserved for itself: asked before they are written or committed.

use mail::reservations::Reservation;

use crate::prelude::*;

declare! {
    /// Asks whether others hold some files. Who asks need not prove its name, or have one.
    FindConflicts("find_conflicts", READS, "Which of some files another agent has reserved.") {
        project_key: String = PROJECT;
        /// Whose own reservations are no conflict. Without it every reservation is another's.
        agent_name: Option<String> = Param::optional("agent_name", Text, "Whose own reservations do not count");
        /// Names of files, relative to the project; no globs.
        paths: Vec<String> = Param::required("paths", Names, "Files relative to the project");
    }

    /// A file that another agent holds.
    #[derive(PartialEq, Eq)]
    ConflictAnswer::new(path: &str, reservation: Reservation) {
        /// The file, as it was asked about.
        path: String = path.to_owned(),
        /// Who holds it.
        holder: String = reservation.holder_name,
        /// The pattern of the reservation.
        path_pattern: String = reservation.pattern.as_str().to_owned(),
        /// When the reservation ends by itself.
        expires_ts: Time = Time(reservation.ends_at),
        /// What it is for; may be empty.
        reason: String = reservation.reason,
    }
}

impl Verb for FindConflicts {
    type Answer = Vec<ConflictAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<ConflictAnswer>, Error> {
        let held = office.held_by_others(&self.project_key, self.agent_name.as_deref(), &self.paths).await?;
        Ok(held.into_iter().map(|(path, reservation)| ConflictAnswer::new(path, reservation)).collect())
    }
}
