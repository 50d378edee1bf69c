//! Keeps reservations longer.

use mail::office::{Renewal, Which};
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
                .mistaken_for(&["ttl_seconds", "ttl"]);
        file_reservation_ids: Option<Vec<i64>> = SOME_IDS;
        /// Added to what is left, instead.
        extend_seconds: Option<i64> =
            Param::optional("extend_seconds", TTL, "Added to what is left, instead of new_ttl_seconds").unlisted();
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
        let which = Which { paths: self.paths.as_deref(), ids: self.file_reservation_ids.as_deref() };
        let renewal = match (self.new_ttl_seconds, self.extend_seconds) {
            (Some(_), Some(more)) => {
                return Err(Error::invalid("extend_seconds", &more.to_string(), "given without new_ttl_seconds"));
            }
            (None, Some(more)) => Renewal::Longer(more),
            (ttl, None) => Renewal::FromNow(ttl.unwrap_or(DEFAULT_TTL_SECONDS)),
        };
        let renewed = office.renew(&self.project_key, agent, which, renewal).await?;
        let file_reservations: Vec<_> = renewed.into_iter().map(ReservationAnswer::new).collect();
        Ok(RenewedAnswer { renewed: file_reservations.len(), file_reservations })
    }
}
