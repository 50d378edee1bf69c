//! Reservations of files, as answers show them.

use mail::reservations::Lease;
use serde::{Deserialize, Serialize};

use crate::Time;

/// A reservation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReservationAnswer {
    /// Its number.
    pub id: i64,
    /// Who holds it.
    pub agent: String,
    /// The files it covers, relative to the project.
    pub path_pattern: String,
    /// Whether nobody else may hold any of them.
    pub exclusive: bool,
    /// What it is for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// When it was first granted.
    pub created_ts: Time,
    /// When it ends by itself.
    pub expires_ts: Time,
}

impl From<Lease> for ReservationAnswer {
    fn from(lease: Lease) -> Self {
        Self {
            id: lease.id.0,
            agent: lease.holder_name,
            path_pattern: lease.pattern.as_str().to_owned(),
            exclusive: lease.exclusive,
            reason: lease.reason,
            created_ts: lease.granted_at.into(),
            expires_ts: lease.ends_at.into(),
        }
    }
}
