//! Hears on the NATS server who is awake elsewhere.
//!
//! Only what is said now is heard: how somebody stood a while ago is nobody's business, and a lost word is made good by the
//! next. So nothing is confirmed and nothing comes again.

use async_nats::Message;
use formats::presence::Heartbeat;
use futures_util::StreamExt;

use super::link::{Line, Link};
use super::publication::{EVENT, OFFICE};
use super::{NatsError, Project, told};
use crate::feed::Backoff;

/// Hears of everybody's presence in a project, for as long as it is polled.
pub(super) async fn hear(project: &Project, line: &mut Line) {
    let mut backoff = Backoff::default();
    loop {
        let Some(failure) = line.with(async |link| hear_all(project, &link).await).await else { continue };
        tracing::debug!(project = project.project.slug, "cannot hear of presence: {failure}");
        tokio::time::sleep(backoff.failed()).await;
    }
}

async fn hear_all(project: &Project, link: &Link) -> NatsError {
    let subject = project.settings.subjects.presences(&project.project.slug);
    let mut messages = match link.client.subscribe(subject).await {
        Ok(messages) => messages,
        Err(error) => return NatsError::Listen { cause: told(&error) },
    };
    while let Some(message) = messages.next().await {
        let Some(heartbeat) = heartbeat_of(project, &message) else { continue };
        if let Err(error) = project.office.heard(&project.project.human_key, &heartbeat).await {
            tracing::debug!(subject = message.subject.as_str(), %error, "a presence from NATS was not noted");
        }
    }
    NatsError::Listen { cause: "the server has ended it".to_owned() }
}

/// What somebody else says of an agent's presence. That an agent was registered says nothing of it.
fn heartbeat_of(project: &Project, message: &Message) -> Option<Heartbeat> {
    let header = |name| message.headers.as_ref().and_then(|headers| headers.get(name)).map(|value| value.as_str());
    if header(OFFICE) == Some(&project.office_id) || header(EVENT).is_some_and(|event| event != "presence.changed") {
        return None;
    }
    Heartbeat::read(&message.payload)
}
