//! Takes in what others say on the NATS server in the channels of a project.
//!
//! One document at a time, so that they are taken in in their order; each is confirmed after it was kept, and comes again
//! if it was not. Nothing here decides what a document means: the office does.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{AckKind, Message};
use formats::channel::{ChannelMessage, FileName, Place};
use futures_util::StreamExt;
use mail::channels::NATS;
use mail::office::Arrival;

use super::announcement::REFERENCE;
use super::link::{Line, Link};
use super::publication::OFFICE;
use super::subjects::{channel_of, consumer};
use super::{NatsError, Project, told};
use crate::feed::Backoff;

/// How soon a document comes again that the store had no time for.
const AGAIN: Duration = Duration::from_secs(1);
/// How soon a document comes again that was neither kept nor refused.
const LONGEST_CARE: Duration = Duration::from_secs(30);

/// Takes in what is said in the channels of a project, for as long as it is polled.
pub(super) async fn listen(project: &Project, line: &mut Line) {
    let mut backoff = Backoff::default();
    loop {
        let Some(failure) = line.with(async |link| take_in_all(project, &link, &mut backoff).await).await else {
            continue;
        };
        let slug = &project.project.slug;
        if backoff.has_failed() {
            tracing::debug!(project = slug, "cannot listen to NATS: {failure}");
        } else {
            tracing::warn!(project = slug, "cannot listen to NATS: {failure}; it is tried again");
        }
        tokio::time::sleep(backoff.failed()).await;
    }
}

/// Takes in one document after another; comes back with what went wrong.
async fn take_in_all(project: &Project, link: &Link, backoff: &mut Backoff) -> NatsError {
    let mut messages = match messages(project, link).await {
        Ok(messages) => messages,
        Err(error) => return error,
    };
    while let Some(message) = messages.next().await {
        let message = match message {
            Ok(message) => message,
            Err(error) => return NatsError::Listen { cause: told(&error) },
        };
        backoff.worked();
        let answer = take_in(project, &message).await;
        if let Err(error) = message.ack_with(answer).await {
            return NatsError::Listen { cause: error.to_string() };
        }
    }
    NatsError::Listen { cause: "the server has ended it".to_owned() }
}

/// Everything that was ever said in the channels, from where this office last stood.
async fn messages(project: &Project, link: &Link) -> Result<pull::Stream, NatsError> {
    let name = consumer(&project.office_id, &project.project.slug);
    let wanted = pull::Config {
        durable_name: Some(name.clone()),
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::Explicit,
        ack_wait: LONGEST_CARE,
        max_ack_pending: 1,
        filter_subject: project.settings.subjects.channels(&project.project.slug),
        ..pull::Config::default()
    };
    let stream = link.stream(&project.settings).await?.stream;
    let consumer = stream.get_or_create_consumer(&name, wanted).await;
    let consumer = consumer.map_err(|error| NatsError::Listen { cause: told(&error) })?;
    consumer.messages().await.map_err(|error| NatsError::Listen { cause: told(&error) })
}

/// Deals with one document, and tells what to answer the server.
async fn take_in(project: &Project, message: &Message) -> AckKind {
    let office = message.headers.as_ref().and_then(|headers| headers.get(OFFICE));
    if office.is_some_and(|office| office.as_str() == project.office_id) {
        return AckKind::Ack;
    }
    let subject = message.subject.as_str();
    let skip = |why: &str| {
        tracing::warn!(subject, "skipped a message from NATS: {why}");
        AckKind::Ack
    };
    let Some(channel) = channel_of(subject) else { return skip("its subject names no channel") };
    let reading = formats::channel::read(&message.payload, Place { file: None, channel: Some(channel.as_str()) });
    let problems = || reading.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let (Some(said), Ok(document)) = (&reading.message, std::str::from_utf8(&message.payload)) else {
        return skip(&problems());
    };
    if FileName::parse(&format!("{}.json", said.id)).is_none() {
        return skip("its id is not of the form msg-YYYYMMDD-HHMMSS-agent-hex4");
    }
    if !reading.problems.is_empty() {
        tracing::warn!(subject, id = said.id, "a message from NATS is odd: {}", problems());
    }
    if will_come_as_file(project, said) {
        return AckKind::Ack;
    }
    let arrival = Arrival {
        project_key: &project.project.human_key,
        channel: channel.as_str(),
        name: &said.id,
        said,
        document,
        door: NATS,
    };
    match project.office.take_in(arrival).await {
        Ok(_) => AckKind::Ack,
        Err(error) if error.retryable() => {
            tracing::debug!(subject, %error, "a message from NATS is taken in later");
            AckKind::Nak(Some(AGAIN))
        }
        Err(error) => skip(&format!("{error}. {}", error.hint())),
    }
}

/// Whether a document only announces what will come whole by way of the folder.
fn will_come_as_file(project: &Project, said: &ChannelMessage) -> bool {
    said.metadata_text(REFERENCE).is_some() && project.settings.folders.contains(&project.project.human_key)
}
