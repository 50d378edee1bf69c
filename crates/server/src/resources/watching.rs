//! Telling a client that a resource it watches has changed.
//!
//! Inboxes, channels, reservations, work and agents can be watched. A wake-up may come for nothing, so what the client
//! would see is compared before it is told. Of an inbox only the newest entry and how much is open are looked at, which is
//! enough to know that something came or went.

use std::sync::Arc;
use std::time::Duration;

use api::{Ask, FetchInbox};
use futures_util::stream::{self, BoxStream, StreamExt};
use mail::channels::ChannelName;
use mail::ids::{AgentId, ProjectId};
use mail::messages::InboxQuery;
use mail::wake::Signal;
use mail::{Office, Stored};
use mcp::{ReadError, Refusal};

use super::address::Address;
use super::refused;

/// How long a watcher relies on being woken before it looks by itself.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// How soon after a wake-up the agents are looked at, all of whom are.
const AGENTS_PAUSE: Duration = Duration::from_millis(250);

/// A stream that yields whenever the resource changed.
pub async fn watch(office: &Arc<Office>, address: &Address) -> Result<BoxStream<'static, ()>, ReadError> {
    let (what, signal) = match address.kind {
        "inbox" => {
            let project = office.project(address.project()?).await.map_err(refused)?;
            // Asking for the inbox proves the name where names have to be proved.
            let inbox = FetchInbox {
                project_key: project.slug,
                agent_name: address.name.clone(),
                limit: Some(1),
                include_bodies: Some(false),
                registration_token: address.text("registration_token"),
                ..FetchInbox::default()
            };
            inbox.ask(office).await.map_err(refused)?;
            let agent = office.whois(address.project()?, &address.name).await.map_err(refused)?;
            (Watched::Inbox(project.id, agent.id), office.wake().mailbox(agent.id))
        }
        "reservations" => {
            let (project, _) = office.reservations(address.project_or_name()?, None, 1).await.map_err(refused)?;
            (Watched::Reservations(project.id), office.wake().reservations(project.id))
        }
        kind @ ("work" | "agents") => {
            let project = office.project(address.project_or_name()?).await.map_err(refused)?;
            let what = if kind == "work" { Watched::Work } else { Watched::Agents };
            // Rung for mail as well as for presence; reservations, and who has become stale, are seen by a look.
            (what(project.id), office.wake().work(project.id))
        }
        "channel" => {
            let channel = ChannelName::parse(&address.name).map_err(refused)?;
            let project = office.project(address.project()?).await.map_err(refused)?;
            (Watched::Channel(project.id, channel), office.wake().work(project.id))
        }
        other => {
            let message = format!("'{other}' cannot be subscribed to");
            let hint = "Subscribe to an inbox, a channel, reservations, work or agents.";
            return Err(ReadError::Refused(Refusal::new("NOT_WATCHABLE", message).hint(hint)));
        }
    };
    let seen = Seen(newest(office, &what).await.map_err(|error| refused(error.into()))?);
    let watcher = Watcher { office: office.clone(), seen, what, signal };
    Ok(stream::unfold(watcher, |mut watcher| async move {
        watcher.next_change().await;
        Some(((), watcher))
    })
    .boxed())
}

enum Watched {
    Inbox(ProjectId, AgentId),
    Reservations(ProjectId),
    Work(ProjectId),
    Agents(ProjectId),
    Channel(ProjectId, ChannelName),
}

struct Watcher {
    office: Arc<Office>,
    what: Watched,
    signal: Box<dyn Signal>,
    seen: Seen,
}

impl Watcher {
    async fn next_change(&mut self) {
        loop {
            self.signal.wait(LOOK_AGAIN).await;
            if matches!(self.what, Watched::Agents(_)) {
                // Every message signals, and one look sees what many of them changed.
                tokio::time::sleep(AGENTS_PAUSE).await;
            }
            if self.seen.is_changed(newest(&self.office, &self.what).await) {
                return;
            }
        }
    }
}

/// What the client knows of.
#[derive(Debug)]
struct Seen(Vec<i64>);

impl Seen {
    /// Whether the client has to be told, and remembers what. A store that cannot answer changes nothing.
    fn is_changed(&mut self, newest: Stored<Vec<i64>>) -> bool {
        let newest = newest.inspect_err(|error| tracing::debug!(%error, "a watched resource could not be looked at"));
        newest.is_ok_and(|newest| std::mem::replace(&mut self.0, newest) != self.0)
    }
}

/// What tells one state of the resource from another.
async fn newest(office: &Office, what: &Watched) -> Stored<Vec<i64>> {
    match *what {
        Watched::Inbox(project, agent) => {
            let query = InboxQuery { with_bodies: false, ..InboxQuery::newest(1) };
            let newest =
                async || Ok(office.store().inbox(agent, &query).await?.first().map(|entry| entry.message.id.0));
            // What comes between two looks would be told twice.
            let mut before: Option<i64> = newest().await?;
            loop {
                let open = office.store().count_open(project, Some(agent)).await?.total as i64;
                let after = newest().await?;
                if before == after {
                    return Ok(after.into_iter().chain([open]).collect());
                }
                before = after;
            }
        }
        Watched::Reservations(project) => {
            let held = office.store().reservations(project, None, 1000, office.now()).await?;
            Ok(held.iter().flat_map(|held| [held.id.0, held.ends_at.as_microsecond()]).collect())
        }
        Watched::Work(project) => Ok(vec![office.store().work_stamp(project).await?]),
        Watched::Agents(project) => Ok(vec![office.store().presence_stamp(project, office.now()).await?]),
        Watched::Channel(project, ref channel) => {
            let newest = office.store().newest_post(project, channel.as_str()).await?;
            Ok(newest.iter().map(|id| id.0).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_cannot_answer_is_no_change_and_makes_none_when_it_answers_again() {
        let mut seen = Seen(vec![7]);
        assert!(!seen.is_changed(Err(mail::StoreError::TooSlow)), "nothing is known to have changed");
        assert!(!seen.is_changed(Ok(vec![7])), "it is as it was");
        assert!(seen.is_changed(Ok(vec![8])));
        assert!(!seen.is_changed(Ok(vec![8])), "told once");
        assert!(seen.is_changed(Ok(vec![])), "the last one went");
    }
}
