//! Takes in what others say on the NATS server in the channels of a project.
//!
//! One document at a time, so that they are taken in in their order; each is confirmed after it was kept, and comes again
//! if it was not. Nothing here decides what a document means: the office does. Only what is announced, and may come whole by
//! way of the folder, is left a while for that.

use std::collections::HashMap;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::{AckKind, Message};
use formats::channel::{FileName, Place};
use futures_util::StreamExt;
use mail::Error;
use mail::announcements::Announcement;
use mail::channels::NATS;
use mail::office::Arrival;

use super::link::{Link, LinkHandle};
use super::subjects::{channel_of, consumer};
use super::{ENDED, NatsError, Project, UntilLost, lost};
use crate::feed::Backoff;

/// How soon a document comes again that the store had no time for, or that is left for its file to come.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it comes before its file is no longer waited for, if files of that office come here: some folders show what
/// is new in them after a minute.
const MOST_LOOKS: i64 = 90;
/// The same, if none ever came.
const MOST_LOOKS_FOR_STRANGERS: i64 = 30;
/// How many offices are remembered whose files were waited for in vain. More than that are forgotten together.
const MOST_OFFICES: usize = 100;
/// How soon a document comes again that was neither kept nor refused.
const LONGEST_CARE: Duration = Duration::from_secs(30);

/// Whose files are waited for no more.
#[derive(Default)]
struct Patience {
    /// The offices whose last file did not come in time, with its channel and what announced it.
    in_vain: HashMap<String, (String, Announcement)>,
    /// Whether the file of an office was waited for in vain of which none ever came. Everybody can make up more of these.
    is_over_for_strangers: bool,
}

/// Takes in what is said in the channels of a project, for as long as it is polled.
pub(super) async fn listen(project: &Project, line: &mut LinkHandle) {
    let (mut backoff, mut patience) = (Backoff::default(), Patience::default());
    loop {
        let taking_in = async |link| take_in_all(project, &link, &mut backoff, &mut patience).await;
        let Some(Err(failure)) = line.with(taking_in).await else { continue };
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
async fn take_in_all(project: &Project, link: &Link, backoff: &mut Backoff, patience: &mut Patience) -> UntilLost {
    let mut messages = messages(project, link).await?;
    while let Some(message) = messages.next().await {
        let message = message.map_err(lost)?;
        backoff.worked();
        let answer = take_in(project, &message, patience).await;
        message.ack_with(answer).await.map_err(|error| NatsError::Listen(error.to_string()))?;
    }
    Err(NatsError::Listen(ENDED.to_owned()))
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
    let consumer = stream.get_or_create_consumer(&name, wanted).await.map_err(lost)?;
    consumer.messages().await.map_err(lost)
}

/// Deals with one document, and tells what to answer the server.
async fn take_in(project: &Project, message: &Message, patience: &mut Patience) -> AckKind {
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
    let arrival = Arrival {
        project_key: &project.project.slug,
        channel: channel.as_str(),
        name: &said.id,
        said,
        document,
        door: NATS,
    };
    let looks = message.info().map_or(MOST_LOOKS, |info| info.delivered);
    let taken = match awaits_file(project, &arrival, looks, patience).await {
        Ok(true) => return AckKind::Nak(Some(AGAIN)),
        Ok(false) => project.office.take_in(arrival).await,
        Err(error) => Err(error),
    };
    match taken {
        Ok(_) => AckKind::Ack,
        Err(error) if error.retryable() => {
            tracing::debug!(subject, %error, "a message from NATS is taken in later");
            AckKind::Nak(Some(AGAIN))
        }
        Err(error) => skip(&error.to_string()),
    }
}

/// Whether a document only announces what may still come whole by way of the folder. It is waited for in its place, so that
/// the order stays.
///
/// Of an office whose files come here, the next is waited for again once the one has come that was waited for in vain.
/// Others may have another folder, or none, or not exist: of all of them, one is waited for in vain.
async fn awaits_file(
    project: &Project,
    arrival: &Arrival<'_>,
    looks: i64,
    patience: &mut Patience,
) -> Result<bool, Error> {
    let Some(whole) = Announcement::of(arrival.said) else { return Ok(false) };
    let (office, key, channel) = (&project.office, arrival.project_key, arrival.channel);
    if !project.settings.folders.contains(&project.project.human_key)
        || office.has_announced(key, channel, &whole).await?
    {
        return Ok(false);
    }
    let is_known = office.has_file_of(key, channel, &whole.office).await?;
    if let Some((channel, last)) = patience.in_vain.get(&whole.office)
        && office.has_announced(key, channel, last).await?
    {
        patience.in_vain.remove(&whole.office);
    }
    let (may_come, most_looks) = match is_known {
        true => (!patience.in_vain.contains_key(&whole.office), MOST_LOOKS),
        false => (!patience.is_over_for_strangers, MOST_LOOKS_FOR_STRANGERS),
    };
    if may_come && looks < most_looks {
        return Ok(true);
    }
    if may_come {
        let (office, id) = (&whole.office, &whole.id);
        tracing::info!(office, id, "a large message did not come as a file; its announcement is taken in");
    }
    if !is_known {
        patience.is_over_for_strangers = true;
        return Ok(false);
    }
    if patience.in_vain.len() >= MOST_OFFICES {
        patience.in_vain.clear();
    }
    patience.in_vain.insert(whole.office.clone(), (channel.to_owned(), whole));
    Ok(false)
}
