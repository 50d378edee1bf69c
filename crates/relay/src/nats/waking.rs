//! Wake-ups between servers of one office, over NATS: a commit on one wakes those who wait at another.
//!
//! A word says whom to wake, never what was written, and goes beside the stream. One that is lost costs a look that
//! comes a little later: the store tells its servers of each other too.

use std::time::Duration;

use futures_util::StreamExt;
use mail::events::Concerned;
use mail::ids::{AgentId, ProjectId};
use serde::{Deserialize, Serialize};

use super::link::{Link, LinkHandle};
use super::settings::Settings;
use super::{ENDED, NatsError, UntilLost, lost, told};
use crate::feed::Backoff;
use crate::wake::WakeUps;

/// How often others are told at most.
const TOLD_EVERY: Duration = Duration::from_millis(5);
/// How many are named before everybody is meant.
const MOST_NAMED: usize = 3_000;

/// Whom to wake; everybody where nobody is named.
#[derive(Debug, Serialize, Deserialize)]
struct WakeNotice {
    /// The server that says so: it hears itself too.
    by: String,
    agents: Vec<i64>,
    projects: Vec<i64>,
}

/// Tells other servers of the office whom to wake, and wakes those of whom they tell, for as long as it is polled.
pub(super) async fn exchange(
    settings: &Settings,
    office_id: &str,
    own: &str,
    wake_ups: &WakeUps,
    line: &mut LinkHandle,
) {
    let subject = settings.subjects.waking(office_id);
    let mut backoff = Backoff::default();
    loop {
        let exchanging = async |link| exchange_all(&link, &subject, own, wake_ups, &mut backoff).await;
        let Some(Err(failure)) = line.with(exchanging).await else { continue };
        tracing::debug!("cannot pass wake-ups on: {failure}");
        tokio::time::sleep(backoff.failed()).await;
    }
}

async fn exchange_all(link: &Link, subject: &str, own: &str, wake_ups: &WakeUps, backoff: &mut Backoff) -> UntilLost {
    let mut words = link.client.subscribe(subject.to_owned()).await.map_err(lost)?;
    backoff.worked();
    let heard = async {
        while let Some(message) = words.next().await {
            if let Some(concerned) = heard_in(&message.payload, own) {
                wake_ups.wake_concerned(&concerned);
            }
        }
        Err(NatsError::Listen(ENDED.to_owned()))
    };
    let said = async {
        loop {
            let word = word_of(wake_ups.woken().await, own);
            let published = link.client.publish(subject.to_owned(), word.into()).await;
            published.map_err(|error| NatsError::Publish(told(&error)))?;
            tokio::time::sleep(TOLD_EVERY).await;
        }
    };
    tokio::select! {
        failure = heard => failure,
        failure = said => failure,
    }
}

fn word_of(concerned: Concerned, own: &str) -> String {
    let (agents, projects) = match concerned {
        Concerned::These { agents, projects } if agents.len() + projects.len() <= MOST_NAMED => (agents, projects),
        _ => Default::default(),
    };
    let word = WakeNotice {
        by: own.to_owned(),
        agents: agents.into_iter().map(|agent| agent.0).collect(),
        projects: projects.into_iter().map(|project| project.0).collect(),
    };
    serde_json::to_string(&word).expect("numbers and a name are JSON")
}

/// Whom a word of another server is for.
fn heard_in(payload: &[u8], own: &str) -> Option<Concerned> {
    let word: WakeNotice = serde_json::from_slice(payload).ok().filter(|word: &WakeNotice| word.by != own)?;
    if word.agents.is_empty() && word.projects.is_empty() {
        return Some(Concerned::Everybody);
    }
    let (agents, projects) = (word.agents.into_iter().map(AgentId), word.projects.into_iter().map(ProjectId));
    Some(Concerned::These { agents: agents.collect(), projects: projects.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_heard_by_others_as_it_was_meant() {
        let some = Concerned::These { agents: vec![AgentId(1)], projects: vec![ProjectId(2)] };
        let word = word_of(some.clone(), "a");
        assert_eq!(heard_in(word.as_bytes(), "b"), Some(some));
        assert_eq!(heard_in(word.as_bytes(), "a"), None, "one's own");
        let many = Concerned::These { agents: (0..=3_000).map(AgentId).collect(), projects: Vec::new() };
        assert_eq!(heard_in(word_of(many, "a").as_bytes(), "b"), Some(Concerned::Everybody));
        assert_eq!(heard_in(b"[]", "b"), None, "junk");
    }
}
