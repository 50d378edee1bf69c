//! The rules of the post office, and the ports it needs.
//!
//! One file for each noun holds its type, its pure rules and the port that a store must serve; `office` holds the use
//! cases. There is no SQL here, no HTTP, no file, no environment and no printing, and async only where a port is
//! waited for.

pub mod addresses;
pub mod agents;
pub mod announcements;
pub mod channels;
pub mod clock;
pub mod colleagues;
#[cfg(feature = "contract")]
pub mod contract;
pub mod error;
pub mod events;
pub mod ids;
pub mod mailboxes;
pub mod messages;
pub mod nearest;
pub mod office;
pub mod overview;
pub mod presence;
pub mod projects;
pub mod provider;
pub mod rate_limit;
pub mod reservations;
pub mod responses;
pub mod roles;
pub mod search;
pub mod sessions;
pub mod standing;
pub mod threads;
pub mod transfer;
pub mod wake;
pub mod wake_ups;
pub mod watches;
pub mod work;

pub use error::{Error, StoreError, Stored};
pub use office::Office;

/// Everything that a post office needs of a store.
pub trait Store:
    agents::AgentStore
    + channels::ChannelStore
    + colleagues::ColleagueStore
    + events::EventStore
    + mailboxes::MailboxStore
    + messages::MessageStore
    + overview::OverviewStore
    + presence::PresenceStore
    + projects::ProjectStore
    + reservations::ReservationStore
    + roles::RoleStore
    + search::SearchStore
    + sessions::SessionStore
    + threads::ThreadStore
    + transfer::TransferStore
    + wake_ups::WakeUpStore
    + watches::WatchStore
    + work::WorkStore
{
}
