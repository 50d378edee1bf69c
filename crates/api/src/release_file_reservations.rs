//! Gives reservations back.

use mail::office::Which;

use crate::prelude::*;

declare! {
    /// Gives back reservations of an agent.
    ReleaseFileReservations("release_file_reservations", REPEATABLE, "Give back your reservations.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// All of them when nobody says.
        paths: Option<Vec<String>> = SOME_PATHS;
        file_reservation_ids: Option<Vec<i64>> = SOME_IDS;
        registration_token: Option<String> = TOKEN;
    }

    /// What was given back.
    ReleasedAnswer {
        /// How many reservations.
        released: usize,
        /// On which paths.
        paths: Vec<String>,
    }
}

impl Verb for ReleaseFileReservations {
    type Answer = ReleasedAnswer;

    async fn run(self, office: &Office) -> Result<ReleasedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let which = Which { paths: self.paths.as_deref(), ids: self.file_reservation_ids.as_deref() };
        let released = office.release(&self.project_key, agent, which).await?;
        let paths = released.iter().map(|one| one.pattern.as_str().to_owned()).collect();
        Ok(ReleasedAnswer { released: released.len(), paths })
    }
}
