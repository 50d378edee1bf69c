//! What can be asked of a post office: one file a verb, and one table of all verbs.
//!
//! A verb is a request, which declares its parameters, the answer to it, and how the office comes to the answer. Every door
//! asks verbs: in the process of the office by calling [`Verb::run`], elsewhere by `tools/call`. Deliberately absent: rules
//! (they are in `mail`), transport, hints for a reader, and anything that prints.

// The fields of requests and answers have the names that callers know; the declarations beside them say the rest.
#![allow(missing_docs)]

#[macro_use]
mod declare;
#[macro_use]
mod table;

mod acknowledge_message;
pub mod answers;
mod archive_for;
mod begin_watch;
mod claim_wake_up;
mod count_deliveries;
mod count_hops;
mod deliver_message;
mod details;
mod end_session;
mod end_watch;
mod ensure_project;
mod fetch_inbox;
mod file_reservation_paths;
mod find_conflicts;
mod finish_run;
mod foreign;
mod give_back_mail;
mod health_check;
mod hold_watch;
mod leave;
mod leave_line;
mod list_agents;
mod list_channels;
mod list_deliveries;
mod list_project_aliases;
mod list_projects;
mod list_reservations;
mod list_roles;
mod list_runs;
mod list_thread_deliveries;
mod list_work;
mod macro_prepare_thread;
mod macro_start_session;
mod mark_delivery;
mod mark_message_read;
mod note_session;
mod params;
mod post_to_channel;
mod prelude;
mod read_channel;
mod read_delivery;
mod read_message;
mod read_outbox;
mod read_thread;
mod read_work;
mod register_agent;
mod release_file_reservations;
mod release_for;
mod release_role;
mod remove_project_alias;
mod rename_agent;
mod renew_file_reservations;
mod reply_message;
mod retire_agent;
mod retire_for;
mod retry_runs;
mod revoke_tokens;
mod search_messages;
mod send_mail;
mod send_message;
mod set_presence;
mod set_project_alias;
mod settle_sessions;
mod settle_wake_up;
mod stand_in_line;
mod sum_projects;
mod summarize_thread;
mod take_mail;
mod take_message;
mod take_role;
#[cfg(test)]
mod tests;
mod time;
mod unarchive_delivery;
mod wait_for_mail;
mod welcome_person;
mod whois;

use std::future::Future;
use std::pin::Pin;

use mail::{Error, Office};
use mcp::{Arguments, Hints, Param, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;

use params::RequestField;

pub use details::details;
pub use foreign::{FOREIGN, FOREIGN_TOOLS, ForeignTool};
pub use params::{Actor, DeliveryReader, LONGEST_WAIT, TOKEN, next, next_cursor};
pub use table::{Offered, RETIRED, Visitor};
pub use time::Time;

// The table of all verbs: to whom each is offered, in the order in which agents are shown them.
verbs! {
    health_check::HealthCheck Full,
    ensure_project::EnsureProject Full,
    register_agent::RegisterAgent Full,
    whois::Whois Full,
    send_message::SendMessage Lean,
    reply_message::ReplyMessage Lean,
    fetch_inbox::FetchInbox Lean,
    wait_for_mail::WaitForMail Lean,
    mark_message_read::MarkMessageRead Full,
    acknowledge_message::AcknowledgeMessage Lean,
    search_messages::SearchMessages Lean,
    summarize_thread::SummarizeThread Full,
    file_reservation_paths::FileReservationPaths Lean,
    release_file_reservations::ReleaseFileReservations Lean,
    renew_file_reservations::RenewFileReservations Full,
    macro_start_session::MacroStartSession Lean,
    macro_prepare_thread::MacroPrepareThread Full,
    begin_watch::BeginWatch Unlisted,
    claim_wake_up::ClaimWakeUp Unlisted,
    count_deliveries::CountDeliveries Unlisted,
    count_hops::CountHops Unlisted,
    deliver_message::DeliverMessage Unlisted,
    end_session::EndSession Unlisted,
    end_watch::EndWatch Unlisted,
    find_conflicts::FindConflicts Unlisted,
    finish_run::FinishRun Unlisted,
    give_back_mail::GiveBackMail Unlisted,
    hold_watch::HoldWatch Unlisted,
    leave::Leave Unlisted,
    leave_line::LeaveLine Unlisted,
    list_agents::ListAgents Unlisted,
    list_channels::ListChannels Unlisted,
    list_deliveries::ListDeliveries Unlisted,
    list_project_aliases::ListProjectAliases Unlisted,
    list_projects::ListProjects Unlisted,
    list_reservations::ListReservations Unlisted,
    list_roles::ListRoles Unlisted,
    list_runs::ListRuns Unlisted,
    list_thread_deliveries::ListThreadDeliveries Unlisted,
    list_work::ListWork Unlisted,
    mark_delivery::MarkDelivery Unlisted,
    note_session::NoteSession Unlisted,
    post_to_channel::PostToChannel Unlisted,
    read_channel::ReadChannel Unlisted,
    read_delivery::ReadDelivery Unlisted,
    read_message::ReadMessage Unlisted,
    read_outbox::ReadOutbox Unlisted,
    read_thread::ReadThread Unlisted,
    read_work::ReadWork Unlisted,
    release_role::ReleaseRole Unlisted,
    remove_project_alias::RemoveProjectAlias Unlisted,
    rename_agent::RenameAgent Unlisted,
    retire_agent::RetireAgent Unlisted,
    retry_runs::RetryRuns Unlisted,
    revoke_tokens::RevokeTokens Unlisted,
    send_mail::SendMail Unlisted,
    set_presence::SetPresence Unlisted,
    set_project_alias::SetProjectAlias Unlisted,
    settle_sessions::SettleSessions Unlisted,
    settle_wake_up::SettleWakeUp Unlisted,
    stand_in_line::StandInLine Unlisted,
    sum_projects::SumProjects Unlisted,
    take_mail::TakeMail Unlisted,
    take_message::TakeMessage Unlisted,
    take_role::TakeRole Unlisted,
    unarchive_delivery::UnarchiveDelivery Unlisted,
    archive_for::ArchiveFor People,
    release_for::ReleaseFor People,
    retire_for::RetireFor People,
    welcome_person::WelcomePerson People,
}

/// What is said of a verb to whoever may ask it. The value is the request, and `declare!` writes this down.
pub trait VerbRequest: RequestField + Default + Serialize + Send + Sync + 'static {
    /// The name it is called by. Names are added, never changed.
    const NAME: &'static str;
    /// What it is for, as a model reads it.
    const ABOUT: &'static str;
    /// The fields of the request.
    const PARAMS: &'static [Param];
    /// What it does to the world.
    const HINTS: Hints;

    /// The request with these arguments, which were checked. What was not given keeps the default of its field.
    fn read(mut arguments: Arguments) -> Result<Self, Refusal> {
        Self::take(&mut arguments, "")
    }
}

/// One thing that can be asked of a post office.
pub trait Verb: VerbRequest {
    /// What comes back.
    type Answer: Shape;

    /// Asks the office. Other crates call `Ask::ask`.
    fn run(self, office: &Office) -> impl Future<Output = Result<Self::Answer, Error>> + Send;

    /// The answer for a caller that said who it is, where it is shorter: without what that caller wrote itself.
    fn brief(_: &Self::Answer) -> Option<answers::BriefAnswer> {
        None
    }
}

/// A verb as other crates ask it. The table of verbs writes this down for each: a future that is boxed here is compiled
/// once, in this crate, and not again in every crate that awaits it.
pub trait Ask: Verb {
    /// Asks the office.
    fn ask(self, office: &Office) -> Answering<'_, Self::Answer>;
}

/// The answer of the office, or its refusal, when it is there.
pub type Answering<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// What an answer is made of: it can be written, and read again. In tests it also has a schema, for the documentation.
#[cfg(not(test))]
pub trait Shape: Serialize + DeserializeOwned + Send {}
#[cfg(not(test))]
impl<T: Serialize + DeserializeOwned + Send> Shape for T {}
#[cfg(test)]
pub trait Shape: Serialize + DeserializeOwned + Send + schemars::JsonSchema {}
#[cfg(test)]
impl<T: Serialize + DeserializeOwned + Send + schemars::JsonSchema> Shape for T {}
