//! What answers look like on the wire, for tools and resources alike.
//!
//! Fields that say nothing (no copies, not read yet) are left out, because every agent pays for what it reads.

pub mod agents;
pub mod mailboxes;
pub mod messages;
pub mod presence;
pub mod reservations;

/// A time as answers show it.
pub use mail::error::rfc3339;
