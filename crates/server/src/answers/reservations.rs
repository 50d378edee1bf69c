//! Leases on files, as answers show them.

use mail::reservations::Lease;
use serde::Serialize;

use super::rfc3339;

/// A lease.
#[derive(Serialize)]
pub struct LeaseAnswer<'a> {
    /// Its number.
    pub id: i64,
    /// Who holds it.
    pub agent: &'a str,
    /// The files it covers, relative to the project.
    pub path_pattern: &'a str,
    /// Whether nobody else may hold any of them.
    pub exclusive: bool,
    /// What it is for.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'a str,
    /// When it was first granted.
    pub created_ts: String,
    /// When it ends by itself.
    pub expires_ts: String,
}

impl<'a> From<&'a Lease> for LeaseAnswer<'a> {
    fn from(lease: &'a Lease) -> Self {
        Self {
            id: lease.id.0,
            agent: &lease.holder_name,
            path_pattern: lease.pattern.as_str(),
            exclusive: lease.exclusive,
            reason: &lease.reason,
            created_ts: rfc3339(lease.granted_at),
            expires_ts: rfc3339(lease.ends_at),
        }
    }
}

/// The answers for some leases.
pub fn leases(leases: &[Lease]) -> Vec<LeaseAnswer<'_>> {
    leases.iter().map(LeaseAnswer::from).collect()
}
