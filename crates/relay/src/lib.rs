//! What follows a commit: wake-ups, and everything else that is derived from the event log.
//!
//! Nothing here is the truth. If all of it were lost in a crash, a later pass would make it good from the store.

pub mod feed;
pub mod fence;
pub mod files;
#[cfg(feature = "nats")]
pub mod nats;
pub mod nudge;
#[cfg(unix)]
pub mod outbox;
pub mod sessions;
pub mod wake;
pub mod waking;
pub mod watch;
