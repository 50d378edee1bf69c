//! Roles, as answers show them.

use mail::roles::{Holding, KnownRole};

use crate::Time;

declare! {
    /// A role, and who holds it.
    RoleAnswer::new(name: String, waiting: u64, held: Option<Holding>) {
        /// The role; mail goes to it as `role:NAME`.
        role: String = name,
        /// Who holds it; null if nobody does.
        holder: Option<String> = held.as_ref().map(|held| held.name.clone()),
        /// Since when.
        since_ts[if_any]: Option<Time> = held.as_ref().map(|held| Time(held.since)),
        /// When that ends unless the holder takes it again.
        held_until_ts[if_any]: Option<Time> = held.map(|held| Time(held.until)),
        /// How many messages wait for somebody to take it.
        waiting: u64 = waiting,
    }
}

impl From<KnownRole> for RoleAnswer {
    fn from(KnownRole { name, waiting, held, .. }: KnownRole) -> Self {
        Self::new(name, waiting, held)
    }
}
