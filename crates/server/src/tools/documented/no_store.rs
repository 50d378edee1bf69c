//! An office that is never asked anything: declaring tools needs one, describing them does not.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use mail::agents::{Agent, AgentName, AgentStore, Profile, Taking, TokenHash};
use mail::channels::{Channel, ChannelStore, Post, PostQuery};
use mail::clock::SystemClock;
use mail::events::{Changes, Cursor, Event, EventStore};
use mail::ids::{AgentId, LeaseId, MessageId, ProjectId};
use mail::mailboxes::{Archived, BroughtBack, CopyQuery, Count, MailboxStore, RecipientCopy};
use mail::messages::{
    About, Appended, Delivery, DeliveryState, InboxEntry, InboxQuery, Mark, Message, MessageStore, NewMessage,
};
use mail::office::{Chance, Rules};
use mail::overview::{AuditEntry, Correspondence, Listed, Listing, OverviewStore};
use mail::presence::{HeardOf, NewPresence, Presence, PresenceStore, Present};
use mail::projects::{Project, ProjectKey, ProjectStore};
use mail::reservations::pattern::Pattern;
use mail::reservations::{Lease, Request, ReservationStore, Reserved, Waiter};
use mail::search::SearchStore;
use mail::search::query::Query;
use mail::threads::ThreadStore;
use mail::transfer::{Counts, Imported, Record, TransferStore};
use mail::wake::{Signal, Wake};
use mail::watches::{Begun, NewWatch, Outcome, Run, RunQuery, Taken, WatchStore};
use mail::work::{WorkQuery, WorkRecord, WorkStore};
use mail::{Office, StoreError};

/// An office over nothing.
pub fn office() -> Arc<Office> {
    let nothing = Arc::new(Nothing);
    let office = Office::new(nothing.clone(), Arc::new(SystemClock), nothing.clone(), nothing, Rules::default());
    Arc::new(office)
}

/// Stands where a store belongs, and fails the test that asks it something.
struct Nothing;

macro_rules! never_asked {
    ($port:ident $(, at once $told:ident($($with:ty),*))?: $($method:ident($($given:ty),*) -> $answer:ty;)+) => {
        #[async_trait]
        impl $port for Nothing {
            $(fn $told(&self, $(_: $with),*) {
                unreachable!("describing a tool tells the store nothing")
            })?

            $(async fn $method(&self, $(_: $given),*) -> Result<$answer, StoreError> {
                unreachable!("describing a tool asks the store nothing")
            })+
        }
    };
}

never_asked! { AgentStore:
    register(ProjectId, &AgentName, &Profile, Option<TokenHash>, Taking, Timestamp) -> Option<Agent>;
    retire(ProjectId, AgentId, AgentId, Timestamp) -> bool;
    agents_named(ProjectId, &[&str]) -> Vec<Agent>;
    agents_in_any_case(ProjectId, &[&str]) -> Vec<Agent>;
    agents(ProjectId, Option<AgentId>, usize) -> Vec<Agent>;
    token_hashes(AgentId) -> Vec<TokenHash>;
}

never_asked! { ChannelStore:
    office_id() -> String;
    channels(ProjectId) -> Vec<Channel>;
    posts(ProjectId, &str, &PostQuery) -> Vec<Post>;
    newest_post(ProjectId, &str) -> Option<MessageId>;
    post(MessageId) -> Option<Post>;
    post_called(ProjectId, &str, &str) -> Option<Post>;
    known_keys(ProjectId, &str, &[&str]) -> Vec<String>;
    thread_awaiting(ProjectId, &str, &[&str]) -> Option<String>;
    name_post(MessageId, &str) -> ();
    note_key(MessageId, &str) -> ();
}

never_asked! { PresenceStore, at once touch_soon(ProjectId, AgentId, Timestamp, SignedDuration):
    set_presence(ProjectId, AgentId, &NewPresence, Timestamp) -> bool;
    presence(AgentId) -> Option<Presence>;
    present(ProjectId, Option<AgentId>, usize, Timestamp) -> Vec<Present>;
    heard_of(ProjectId, Timestamp, Option<AgentId>, usize) -> Vec<HeardOf>;
    presence_stamp(ProjectId, Timestamp) -> i64;
}

never_asked! { EventStore:
    events(ProjectId, i64, usize) -> Vec<Event>;
    advance_cursor(&str, ProjectId, i64) -> ();
    cursors() -> Vec<Cursor>;
    hold_cursor(&str, ProjectId, &str, Timestamp, Timestamp) -> Option<i64>;
    changes(Option<i64>, std::time::Duration) -> Changes;
}

never_asked! { MailboxStore:
    open_copies(&CopyQuery) -> Vec<RecipientCopy>;
    count_open(ProjectId, Option<AgentId>) -> Count;
    archive(AgentId, MessageId, AgentId, Timestamp) -> Archived;
    bring_back(AgentId, MessageId, AgentId, Timestamp) -> BroughtBack;
}

never_asked! { MessageStore:
    append(&NewMessage) -> Appended;
    message(ProjectId, MessageId) -> Option<Message>;
    deliveries(MessageId) -> Vec<Delivery>;
    inbox(&InboxQuery) -> Vec<InboxEntry>;
    outbox(AgentId, Option<MessageId>, usize, bool) -> Vec<Message>;
    take_unseen(AgentId, Option<MessageId>, usize, Timestamp, Option<std::time::Instant>) -> Vec<InboxEntry>;
    mark(AgentId, MessageId, &Mark, Timestamp) -> Option<DeliveryState>;
}

never_asked! { ProjectStore:
    ensure_project(&str, Timestamp) -> Project;
    project(&ProjectKey) -> Option<Project>;
    projects(Option<ProjectId>, usize) -> Vec<Project>;
}

never_asked! { OverviewStore:
    listing(&Listing) -> Vec<Listed>;
    count_unread(ProjectId, Option<AgentId>, usize) -> usize;
    traffic(ProjectId, Timestamp, SignedDuration, usize) -> Vec<u64>;
    correspondence(ProjectId, usize) -> Vec<Correspondence>;
    audit(ProjectId, Option<i64>, usize) -> Vec<AuditEntry>;
}

never_asked! { ReservationStore:
    reserve(&Request, Timestamp) -> Reserved;
    release(ProjectId, AgentId, Option<&[Pattern]>, AgentId, Timestamp) -> Vec<Lease>;
    waiters(ProjectId, Timestamp) -> Vec<Waiter>;
    renew(ProjectId, AgentId, Option<&[Pattern]>, Timestamp, Timestamp) -> Result<Vec<Lease>, Pattern>;
    leases(ProjectId, Option<LeaseId>, usize, Timestamp) -> Vec<Lease>;
}

never_asked! { SearchStore:
    search(ProjectId, &Query, &About, Option<MessageId>, usize) -> Vec<Message>;
}

never_asked! { ThreadStore:
    thread(ProjectId, &str, Option<MessageId>, usize, bool) -> Vec<Message>;
    thread_tail(ProjectId, &str, Option<MessageId>, usize) -> Vec<Message>;
    thread_length(ProjectId, &str) -> usize;
}

never_asked! { TransferStore:
    export(Option<MessageId>, usize) -> Vec<Record>;
    import(&[Record], Timestamp) -> Vec<Imported>;
    counts(Timestamp) -> Counts;
    check_ready() -> ();
}

never_asked! { WatchStore:
    begin_watch(&NewWatch, Timestamp) -> Begun;
    hold_watch(AgentId, &str, &str, MessageId, Timestamp) -> bool;
    end_watch(AgentId, &str, &str) -> bool;
    hops(MessageId) -> u32;
    take_on(AgentId, &str, MessageId, Timestamp) -> Taken;
    finish_run(AgentId, MessageId, &Outcome, Timestamp) -> bool;
    runs(AgentId, RunQuery<'_>) -> Vec<Run>;
    retry_runs(AgentId, &[MessageId], Timestamp) -> Vec<MessageId>;
}

never_asked! { WorkStore:
    work(&WorkQuery) -> Vec<WorkRecord>;
    work_story(ProjectId, &str, Option<MessageId>, usize) -> Vec<Message>;
    work_of_thread(ProjectId, &str) -> Option<String>;
    work_stamp(ProjectId) -> i64;
}

impl Wake for Nothing {
    fn mail_for(&self, _: &[AgentId]) {}

    fn leases_changed(&self, _: ProjectId) {}

    fn mailbox(&self, _: AgentId) -> Box<dyn Signal> {
        unreachable!("nobody waits")
    }

    fn work_changed(&self, _: ProjectId) {}

    fn work(&self, _: ProjectId) -> Box<dyn Signal> {
        unreachable!("nobody waits")
    }

    fn closing(&self) -> bool {
        true
    }

    fn leases(&self, _: ProjectId) -> Box<dyn Signal> {
        unreachable!("nobody waits")
    }
}

impl Chance for Nothing {
    fn token(&self) -> String {
        unreachable!("nobody registers")
    }

    fn seed(&self) -> u64 {
        unreachable!("nobody registers")
    }
}
