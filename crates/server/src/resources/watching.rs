//! Telling a client that a resource it watches has changed.
//!
//! Inboxes and reservations can be watched. A wake-up may come for nothing, so what the client would see is compared
//! before it is told; only the newest entry is looked at, which is enough to know that something came or went.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use mail::Office;
use mail::ids::{AgentId, ProjectId};
use mail::messages::InboxQuery;
use mail::office::{Claim, InboxAsk};
use mail::wake::Signal;
use mcp::{ReadError, Refusal};

use super::address::Address;
use super::refused;

/// How long a watcher relies on being woken before it looks by itself.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A stream that yields whenever the resource changed.
pub async fn watch(office: &Arc<Office>, address: &Address) -> Result<BoxStream<'static, ()>, ReadError> {
    let (what, signal) = match address.kind() {
        "inbox" => {
            let project_key = address.project()?;
            let claim = Claim { name: address.name(), token: address.get("registration_token") };
            // Asking for the inbox proves the name where names have to be proved.
            office.inbox(one_of(project_key, claim)).await.map_err(refused)?;
            let agent = office.whois(project_key, address.name()).await.map_err(refused)?;
            (Watched::Inbox(agent.id), office.wake().mailbox(agent.id))
        }
        "reservations" => {
            let (project, _) = office.leases(address.project_or_name()?, None, 1).await.map_err(refused)?;
            (Watched::Leases(project.id), office.wake().leases(project.id))
        }
        other => {
            let message = format!("'{other}' cannot be subscribed to");
            let hint = "Subscribe to an inbox or to reservations.";
            return Err(ReadError::Refused(Refusal::new("NOT_WATCHABLE", message).hint(hint)));
        }
    };
    let watcher = Watcher { office: office.clone(), seen: newest(office, what).await, what, signal };
    Ok(stream::unfold(watcher, |mut watcher| async move {
        watcher.next_change().await;
        Some(((), watcher))
    })
    .boxed())
}

#[derive(Clone, Copy)]
enum Watched {
    Inbox(AgentId),
    Leases(ProjectId),
}

struct Watcher {
    office: Arc<Office>,
    what: Watched,
    signal: Box<dyn Signal>,
    seen: Vec<i64>,
}

impl Watcher {
    async fn next_change(&mut self) {
        loop {
            self.signal.wait(LOOK_AGAIN).await;
            let newest = newest(&self.office, self.what).await;
            if newest != self.seen {
                self.seen = newest;
                return;
            }
        }
    }
}

/// What tells one state of the resource from another. A store that cannot answer changes nothing.
async fn newest(office: &Office, what: Watched) -> Vec<i64> {
    match what {
        Watched::Inbox(agent) => {
            let query = InboxQuery { with_bodies: false, ..InboxQuery::newest(agent, 1) };
            let entries = office.store().inbox(&query).await.unwrap_or_default();
            entries.iter().map(|entry| entry.message.id.0).collect()
        }
        Watched::Leases(project) => {
            let held = office.store().leases(project, None, 1000, office.now()).await.unwrap_or_default();
            held.iter().flat_map(|lease| [lease.id.0, lease.ends_at.as_microsecond()]).collect()
        }
    }
}

fn one_of<'a>(project_key: &'a str, agent: Claim<'a>) -> InboxAsk<'a> {
    InboxAsk {
        project_key,
        agent,
        unread_only: false,
        ack_required_only: false,
        thread: None,
        before: None,
        limit: 1,
        with_bodies: false,
    }
}
