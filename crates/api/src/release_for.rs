//! Gives back somebody's reservation, as a person wants it.

use mail::ids::ReservationId;

use crate::prelude::*;

declare! {
    /// Gives back an active reservation, and writes to its holder that it was; done if the holder could be told.
    ReleaseFor("release_for", WRITES, "Give back a reservation of an agent.") {
        project_key: String = PROJECT;
        person: String = PERSON;
        reservation_id: i64 = Param::required("reservation_id", Id, "");
    }
}

impl Verb for ReleaseFor {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let id = ReservationId(self.reservation_id);
        let (_, done) = office.release_for(&self.project_key, &self.person, id).await?;
        Ok(DoneAnswer { done })
    }
}
