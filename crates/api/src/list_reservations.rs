//! The reservations that hold in a project now, page by page, in the order they were granted.

use mail::ids::ReservationId;

use crate::prelude::*;

declare! {
    /// Asks for a page of reservations.
    ListReservations("list_reservations", READS, "The files that are reserved now.") {
        project_key: String = PROJECT;
        /// The cursor: where the page before ended.
        after: Option<i64> = AFTER;
        /// 100 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    /// A page of reservations.
    ReservedAnswer {
        /// The slug of the project.
        project: String,
        reservations: Vec<ReservationAnswer>,
        /// Who stands in line, on the first page.
        waiting[if_any]: Vec<WaitingAnswer>,
        /// The cursor of the next page; null if this is the last.
        next: Option<i64>,
    }
}

impl Verb for ListReservations {
    type Answer = ReservedAnswer;

    async fn run(self, office: &Office) -> Result<ReservedAnswer, Error> {
        let limit = limit(self.limit, LONG_LIMIT);
        let (project, held) = office.reservations(&self.project_key, self.after.map(ReservationId), limit).await?;
        let waiting = match self.after {
            Some(_) => Vec::new(),
            None => office.waiting(project.id, &held).await?,
        };
        let waiting = waiting.into_iter().map(WaitingAnswer::new).collect();
        let next = next(&held, limit, |reservation| reservation.id.0);
        let reservations = held.into_iter().map(ReservationAnswer::new).collect();
        Ok(ReservedAnswer { project: project.slug, reservations, waiting, next })
    }
}
