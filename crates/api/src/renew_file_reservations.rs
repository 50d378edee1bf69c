//! Keeps reservations longer.

use mail::reservations::DEFAULT_TTL_SECONDS;

use crate::prelude::*;

declare! {
    /// Renews reservations of an agent.
    RenewFileReservations("renew_file_reservations", REPEATABLE, "Keep your reservations longer.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// All of them when nobody says.
        paths: Option<Vec<String>> = SOME_PATHS;
        /// From now on.
        new_ttl_seconds: Option<i64> =
            Param::optional("new_ttl_seconds", TTL, "From now; default 600")
                .mistaken_for(&["ttl_seconds", "ttl", "extend_seconds"]);
        registration_token: Option<String> = TOKEN;
    }

    /// What was renewed.
    RenewedAnswer {
        /// How many reservations.
        renewed: usize,
        /// The reservations with their new end.
        file_reservations: Vec<ReservationAnswer>,
    }
}

impl Verb for RenewFileReservations {
    type Answer = RenewedAnswer;

    async fn run(self, office: &Office) -> Result<RenewedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let ttl = self.new_ttl_seconds.unwrap_or(DEFAULT_TTL_SECONDS);
        let renewed = office.renew(&self.project_key, agent, self.paths.as_deref(), ttl).await?;
        let file_reservations: Vec<_> = renewed.into_iter().map(ReservationAnswer::new).collect();
        Ok(RenewedAnswer { renewed: file_reservations.len(), file_reservations })
    }
}
