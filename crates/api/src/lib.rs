//! What can be asked of a post office: one file a verb, and one table of all verbs.
//!
//! A verb is a request, which declares its parameters, the answer to it, and how the office comes to the answer. Every door
//! asks verbs: in the process of the office by calling [`Verb::run`], elsewhere by `tools/call`. Deliberately absent: rules
//! (they are in `mail`), transport, hints for a reader, and anything that prints.

// The fields of requests and answers have the names that callers know; the declarations beside them say the rest.
#![allow(missing_docs)]

mod acknowledge_message;
pub mod answers;
mod begin_watch;
mod count_deliveries;
mod count_hops;
mod deliver_message;
mod details;
#[cfg(test)]
mod documented;
mod end_session;
mod end_watch;
mod ensure_project;
mod fetch_inbox;
mod file_reservation_paths;
mod find_conflicts;
mod finish_run;
mod health_check;
mod hold_watch;
mod leave;
mod list_agents;
mod list_channels;
mod list_deliveries;
mod list_projects;
mod list_reservations;
mod list_runs;
mod list_thread_deliveries;
mod list_work;
mod macro_prepare_thread;
mod macro_start_session;
mod mark_delivery;
mod mark_message_read;
mod params;
mod post_to_channel;
mod read_channel;
mod read_delivery;
mod read_message;
mod read_outbox;
mod read_thread;
mod read_work;
mod register_agent;
mod release_file_reservations;
mod renew_file_reservations;
mod reply_message;
mod retry_runs;
mod search_messages;
mod send_message;
mod set_presence;
mod summarize_thread;
mod table;
mod take_message;
mod time;
mod wait_for_mail;
mod whois;

use std::future::Future;

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use acknowledge_message::AcknowledgeMessage;
pub use begin_watch::{BeginWatch, BegunAnswer};
pub use count_deliveries::CountDeliveries;
pub use count_hops::CountHops;
pub use deliver_message::DeliverMessage;
pub use details::details;
pub use end_session::EndSession;
pub use end_watch::EndWatch;
pub use ensure_project::EnsureProject;
pub use fetch_inbox::FetchInbox;
pub use file_reservation_paths::{FileReservationPaths, GrantedAnswer};
pub use find_conflicts::{ConflictAnswer, FindConflicts};
pub use finish_run::FinishRun;
pub use health_check::{HealthAnswer, HealthCheck};
pub use hold_watch::HoldWatch;
pub use leave::Leave;
pub use list_agents::{AgentsAnswer, ListAgents};
pub use list_channels::{ChannelListAnswer, ListChannels};
pub use list_deliveries::ListDeliveries;
pub use list_projects::{ListProjects, ProjectsAnswer};
pub use list_reservations::{ListReservations, ReservedAnswer};
pub use list_runs::{ListRuns, RunAnswer};
pub use list_thread_deliveries::ListThreadDeliveries;
pub use list_work::{ListWork, WorkListAnswer};
pub use macro_prepare_thread::{JoinedAnswer, MacroPrepareThread};
pub use macro_start_session::{MacroStartSession, ReservationsAnswer, SessionAnswer};
pub use mark_delivery::{DeliveryMark, MarkDelivery};
pub use mark_message_read::MarkMessageRead;
pub use params::{Actor, DeliveryReader, TOKEN, next_cursor};
pub use post_to_channel::{PostToChannel, PostedAnswer};
pub use read_channel::{ChannelPageAnswer, ReadChannel};
pub use read_delivery::ReadDelivery;
pub use read_message::ReadMessage;
pub use read_outbox::{OutboxAnswer, ReadOutbox};
pub use read_thread::{ReadThread, ThreadAnswer};
pub use read_work::{ReadWork, WorkStoryAnswer};
pub use register_agent::RegisterAgent;
pub use release_file_reservations::{ReleaseFileReservations, ReleasedAnswer};
pub use renew_file_reservations::{RenewFileReservations, RenewedAnswer};
pub use reply_message::ReplyMessage;
pub use retry_runs::RetryRuns;
pub use search_messages::SearchMessages;
pub use send_message::SendMessage;
pub use set_presence::SetPresence;
pub use summarize_thread::SummarizeThread;
pub use table::{Offered, RETIRED, Visitor, visit_all};
pub use take_message::{TakeMessage, TakenAnswer};
pub use time::Time;
pub use wait_for_mail::WaitForMail;
pub use whois::Whois;

/// One thing that can be asked of a post office. The value is the request.
pub trait Verb: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name it is called by. Names are added, never changed.
    const NAME: &'static str;
    /// What it is for, as a model reads it.
    const ABOUT: &'static str;
    /// The fields of the request.
    const PARAMS: &'static [Param];
    /// What it does to the world.
    const HINTS: Hints;
    /// What comes back.
    type Answer: Shape;

    /// Asks the office.
    fn run(self, office: &Office) -> impl Future<Output = Result<Self::Answer, Error>> + Send;
}

/// What an answer is made of: it can be written, and read again. In tests it also has a schema, for the documentation.
#[cfg(not(test))]
pub trait Shape: Serialize + DeserializeOwned + Send {}
#[cfg(not(test))]
impl<T: Serialize + DeserializeOwned + Send> Shape for T {}
#[cfg(test)]
pub trait Shape: Serialize + DeserializeOwned + Send + schemars::JsonSchema {}
#[cfg(test)]
impl<T: Serialize + DeserializeOwned + Send + schemars::JsonSchema> Shape for T {}
