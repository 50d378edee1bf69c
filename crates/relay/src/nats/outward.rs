//! Tells the NATS server what happens in a project: every event, in order, each confirmed before the next is said.
//!
//! One is under way at a time, because of several the server could miss one in the middle when it is lost, and have those
//! behind it. Of several processes one tells at a time. What is said twice, because that one died before it noted what it
//! said, is known to the server by its id.

use mail::StoreError;
use mail::events::Event;
use mail::wake::Signal;

use super::link::{Link, LinkHandle};
use super::publication::EventWriter;
use super::{NatsError, Project};
use crate::feed::{Feed, LONGEST_WAIT};

/// What follows the log, and where its place is noted.
pub const SINK: &str = "nats";
/// How often an event is refused before it is left out: the stream's limits are read again each time.
const MOST_REFUSALS: u32 = 5;
/// How many events are read at a time.
const BATCH: usize = 64;

/// Why the server was not told.
#[derive(Debug, thiserror::Error)]
enum PublishFailure {
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells of everything that happens in a project, until the office closes.
pub(super) async fn tell(project: &Project, line: &mut LinkHandle) {
    let mut feed = Feed::new(project.store.clone(), SINK, &project.project);
    let wake = project.office.wake();
    let mut signal = project.wake_ups.events(project.project.id);
    let mut refusals = Refusals::default();
    // From now on it is known how far behind the server is, also if it is away.
    if let Err(error) = feed.note().await {
        tracing::debug!(%error, "the place of NATS in the log was not noted");
    }
    while !wake.closing() {
        tokio::select! {
            () = line.is_up() => {}
            () = project.wake_ups.closed() => break,
        }
        let following = async |link| follow(project, &link, &mut feed, &mut refusals, &mut *signal).await;
        let failure = match line.with(following).await {
            Some(Err(failure)) => failure,
            // The office closes, or the connection was lost, which is told where it is made again.
            Some(Ok(())) | None => continue,
        };
        let slug = &project.project.slug;
        if feed.has_failed() {
            tracing::debug!(project = slug, "cannot tell NATS: {failure}");
        } else {
            tracing::warn!(project = slug, "cannot tell NATS: {failure}; it is tried again");
        }
        let _ = tokio::time::timeout(feed.failed(), project.wake_ups.closed()).await;
    }
    if let Err(error) = feed.let_go(project.office.now()).await {
        tracing::debug!(%error, "the place of NATS in the log was not noted; its last events are said again");
    }
}

/// How often the server refused the event that is told now.
#[derive(Default)]
struct Refusals {
    seq: i64,
    count: u32,
}

impl Refusals {
    /// Says that an event was refused, and tells whether that was often enough.
    fn add(&mut self, seq: i64) -> bool {
        self.count = if self.seq == seq { self.count + 1 } else { 1 };
        self.seq = seq;
        self.count >= MOST_REFUSALS
    }
}

/// Tells of one event after another for as long as nothing goes wrong.
async fn follow(
    project: &Project,
    link: &Link,
    feed: &mut Feed,
    refusals: &mut Refusals,
    signal: &mut dyn Signal,
) -> Result<(), PublishFailure> {
    let largest = link.stream(&project.settings).await?.largest;
    let writer = EventWriter {
        store: &*project.store,
        project: &project.project,
        office: &project.office_id,
        subjects: &project.settings.subjects,
        largest,
    };
    while !project.office.wake().closing() {
        let events = feed.next_alone(BATCH, project.office.now()).await?;
        if events.is_empty() {
            signal.wait(LONGEST_WAIT).await;
        }
        for event in &events {
            if !feed.is_held() {
                break;
            }
            match tell_event(&writer, link, event).await {
                // One that is never taken would hold up all that comes behind it for ever.
                Err(PublishFailure::Nats(error @ NatsError::Refused(_))) if refusals.add(event.seq) => {
                    let (slug, kind) = (&project.project.slug, event.kind.as_str());
                    let hint = error.hint();
                    tracing::error!(project = slug, seq = event.seq, kind, "{error}; it is left out. {hint}");
                }
                told => told?,
            }
            feed.done(event.seq).await?;
        }
    }
    Ok(())
}

async fn tell_event(writer: &EventWriter<'_>, link: &Link, event: &Event) -> Result<(), PublishFailure> {
    let publications = writer.publications(event).await?;
    Ok(publish_all(publications, |publication| link.publish(publication)).await?)
}

/// Publishes one after another. One that is refused is no reason to leave out those behind it.
async fn publish_all<T, F>(all: Vec<T>, publish: impl Fn(T) -> F) -> Result<(), NatsError>
where
    F: Future<Output = Result<(), NatsError>>,
{
    let mut refusal = Ok(());
    for publication in all {
        match publish(publication).await {
            refused @ Err(NatsError::Refused(_)) => refusal = refused,
            told => told?,
        }
    }
    refusal
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::ready;

    use super::*;

    /// What is told of three deliveries, the second of which fails so, and how that ends.
    async fn told(failure: fn(String) -> NatsError) -> (Vec<i32>, Result<(), NatsError>) {
        let told = RefCell::default();
        let publish = |delivery| {
            if delivery == 2 {
                return ready(Err(failure(String::new())));
            }
            Vec::push(&mut told.borrow_mut(), delivery);
            ready(Ok(()))
        };
        let end = publish_all(vec![1, 2, 3], publish).await;
        (told.take(), end)
    }

    #[tokio::test]
    async fn a_delivery_that_is_refused_keeps_back_no_other_of_the_message() {
        let (deliveries, end) = told(NatsError::Refused).await;
        assert!(matches!((&deliveries[..], end), ([1, 3], Err(NatsError::Refused(_)))), "{deliveries:?}");
        let (deliveries, end) = told(NatsError::Publish).await;
        assert!(
            matches!((&deliveries[..], end), ([1], Err(NatsError::Publish(_)))),
            "they stay in order: {deliveries:?}"
        );
    }
}
