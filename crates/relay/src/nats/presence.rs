//! Who is awake: told to other offices on the NATS server, and heard from them.
//!
//! What changes stands in the stream, like every event. That somebody is still there does not: it is said every half minute to
//! whoever listens, beside the stream, and whoever begins to listen asks. A lost word is made good by the next, so nothing
//! is confirmed and nothing comes again.

use std::time::Duration;

use async_nats::{HeaderMap, Message};
use formats::presence::{Heartbeat, STALE_AFTER_SECONDS};
use futures_util::StreamExt;
use futures_util::stream::select;
use jiff::SignedDuration;
use mail::presence::Source;
use tokio::time::Instant;

use super::link::{Link, LinkHandle};
use super::publication::{EVENT, OFFICE};
use super::subjects::Topic;
use super::{ENDED, NatsError, Project, UntilLost, lost, told};
use crate::feed::Backoff;

/// How often it is said who is there: well within the time after which one counts as gone.
const TOLD_EVERY: Duration = Duration::from_secs(30);
/// How soon whoever asks is answered, together with others who ask.
const ANSWERED_AFTER: Duration = Duration::from_millis(500);
/// How long nobody is answered after everybody was told.
const PAUSE: Duration = Duration::from_secs(5);
/// How many agents are asked for at once.
const AGENTS_AT_ONCE: usize = 500;

/// Tells and hears of everybody's presence in a project, for as long as it is polled.
pub(super) async fn exchange(project: &Project, line: &mut LinkHandle) {
    let mut backoff = Backoff::default();
    loop {
        let exchanging = async |link| exchange_all(project, &link, &mut backoff).await;
        let Some(Err(failure)) = line.with(exchanging).await else { continue };
        tracing::debug!(project = project.project.slug, "cannot hear of presence: {failure}");
        tokio::time::sleep(backoff.failed()).await;
    }
}

async fn exchange_all(project: &Project, link: &Link, backoff: &mut Backoff) -> UntilLost {
    let (subjects, slug) = (&project.settings.subjects, &project.project.slug);
    let changes = link.client.subscribe(subjects.presences(slug)).await.map_err(lost)?;
    let live = link.client.subscribe(subjects.live(slug)).await.map_err(lost)?;
    let question = subjects.question(slug);
    link.client.publish_with_headers(question.clone(), by(project), "".into()).await.map_err(lost)?;
    backoff.worked();
    let mut messages = select(changes, live);
    let (mut next, mut told_at) = (tokio::time::interval(TOLD_EVERY), None);
    let mut is_asked = false;
    loop {
        tokio::select! {
            message = messages.next() => match message {
                None => return Err(NatsError::Listen(ENDED.to_owned())),
                Some(message) if header(&message, OFFICE) == Some(&project.office_id) => {}
                Some(message) if message.subject.as_str() == question => {
                    if !is_asked {
                        next.reset_at(answered_at(Instant::now(), told_at));
                    }
                    is_asked = true;
                }
                Some(message) => hear(project, &message).await,
            },
            _ = next.tick() => {
                (is_asked, told_at) = (false, Some(Instant::now()));
                tell(project, link).await?;
            }
        }
    }
}

/// When whoever asks now is answered: soon, but however many ask, not again at once.
fn answered_at(asked_at: Instant, told_at: Option<Instant>) -> Instant {
    let soon = asked_at + ANSWERED_AFTER;
    told_at.map_or(soon, |told_at| soon.max(told_at + PAUSE))
}

/// Says of everybody who is here or in our folder that it still is, or went away just now. Others are told of by those who
/// have them.
async fn tell(project: &Project, link: &Link) -> Result<(), NatsError> {
    let since = project.office.now() - SignedDuration::from_secs(STALE_AFTER_SECONDS);
    let mut after = None;
    loop {
        let page = project.store.heard_of(project.project.id, since, after, AGENTS_AT_ONCE).await;
        let agents = page.map_err(|error| NatsError::Publish(error.to_string()))?;
        let Some(last) = agents.last() else { return Ok(()) };
        after = Some(last.agent);
        for agent in &agents {
            let subject = project.settings.subjects.live_of(&project.project.slug, &agent.name);
            let said = agent.presence.heartbeat(&agent.name).to_json().into();
            let published = link.client.publish_with_headers(subject, by(project), said).await;
            published.map_err(|error| NatsError::Publish(told(&error)))?;
        }
    }
}

async fn hear(project: &Project, message: &Message) {
    let Some(heartbeat) = heartbeat_in(project, message) else { return };
    if let Err(error) = project.office.heard(Source::Nats, &project.project.slug, &heartbeat).await {
        tracing::debug!(subject = message.subject.as_str(), %error, "a presence from NATS was not noted");
    }
}

/// What somebody says of the presence of the agent whose subject it is. That an agent was registered says nothing of it.
fn heartbeat_in(project: &Project, message: &Message) -> Option<Heartbeat> {
    if header(message, EVENT).is_some_and(|event| event != "presence.changed") {
        return None;
    }
    let (subjects, slug, subject) = (&project.settings.subjects, &project.project.slug, message.subject.as_str());
    let is_of = |heartbeat: &Heartbeat| {
        let name = &heartbeat.agent_id;
        subject == subjects.of(slug, Topic::Presence(name)) || subject == subjects.live_of(slug, name)
    };
    let heartbeat = Heartbeat::read(&message.payload).filter(is_of);
    if heartbeat.is_none() {
        tracing::debug!(subject, "not a heartbeat of the agent whose subject it is");
    }
    heartbeat
}

fn header<'m>(message: &'m Message, name: &str) -> Option<&'m str> {
    message.headers.as_ref().and_then(|headers| headers.get(name)).map(|value| value.as_str())
}

/// The headers of what is said beside the stream: which office says it.
fn by(project: &Project) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(OFFICE, project.office_id.as_str());
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_is_answered_soon_and_however_many_ask_not_all_the_time() {
        let now = Instant::now();
        assert_eq!(answered_at(now, None), now + ANSWERED_AFTER);
        let (long_ago, just_now) = (now, now + PAUSE);
        assert_eq!(answered_at(just_now, Some(long_ago)), just_now + ANSWERED_AFTER);
        assert_eq!(answered_at(just_now, Some(just_now)), just_now + PAUSE);
    }
}
