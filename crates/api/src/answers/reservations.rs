//! Reservations of files, as answers show them.

use mail::reservations::Reservation;

use crate::Time;

declare! {
    /// A reservation.
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
}
