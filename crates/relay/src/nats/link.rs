//! The connection to the NATS server: made, watched, and made again.
//!
//! Nothing is kept here for a server that is away: whoever has something to say waits for a connection, and says it again
//! if the connection is lost before the server confirmed it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_nats::Event;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::{self, ErrorCode, stream};
use tokio::sync::{Notify, watch};

use super::publication::Publication;
use super::settings::Settings;
use super::{NatsError, told};
use crate::feed::Backoff;

/// How long the stream remembers what it was sent, so that what is said again is not kept again.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);
/// How long a connection has to last to count as one.
const LONG_ENOUGH: Duration = Duration::from_secs(1);
/// How many objections of the server to what is said on a connection are worth a warning.
const MOST_WARNINGS: u32 = 10;

/// A connection to the server.
#[derive(Clone)]
pub(super) struct Link {
    pub(super) jetstream: jetstream::Context,
    pub(super) client: async_nats::Client,
}

/// The stream that everything goes to, as it was found.
pub(super) struct Stream {
    pub(super) stream: stream::Stream,
    /// The largest publication that it takes, with headers.
    pub(super) largest: usize,
}

/// Where the connection is to be had, while there is one.
#[derive(Clone)]
pub(super) struct LinkHandle(watch::Receiver<Option<Link>>);

impl LinkHandle {
    /// The line, and whom to tell of connections.
    pub(super) fn new() -> (watch::Sender<Option<Link>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
    }

    /// Waits for a connection.
    pub(super) async fn is_up(&mut self) {
        // Where nobody makes connections any more, the whole is about to end.
        let _ = self.0.wait_for(Option::is_some).await;
    }

    /// Works with a connection once there is one; `None` if it is lost before the work has ended.
    pub(super) async fn with<T>(&mut self, work: impl AsyncFnOnce(Link) -> T) -> Option<T> {
        let link = self.0.wait_for(Option::is_some).await.map(|link| link.clone()).ok().flatten();
        let Some(link) = link else {
            // Nobody makes connections any more: the whole is about to end.
            return std::future::pending().await;
        };
        tokio::select! {
            done = work(link) => Some(done),
            _ = self.0.changed() => None,
        }
    }
}

/// Makes connections, each time the last one was lost, for as long as it is polled.
pub(super) async fn keep(settings: &Settings, line: &watch::Sender<Option<Link>>) {
    let (mut backoff, mut trouble) = (Backoff::default(), None);
    loop {
        match Link::make(settings).await {
            Ok((link, lost)) => {
                tracing::info!(server = settings.shown(), "connected to NATS");
                trouble = None;
                line.send_replace(Some(link));
                let made_at = Instant::now();
                lost.notified().await;
                line.send_replace(None);
                // One that lets us in and sends us away at once is not asked again at once.
                if made_at.elapsed() >= LONG_ENOUGH {
                    backoff.worked();
                }
                tracing::warn!(server = settings.shown(), "lost NATS: mail goes on, and NATS is told of it later");
            }
            // What is wrong is told when it begins, and when it becomes something else: who was away may not let us in.
            Err(error) => {
                let now = Some(error.to_string());
                if now == trouble {
                    tracing::debug!(code = error.code(), "{error}");
                } else {
                    tracing::warn!(code = error.code(), "{error}; mail goes on, and NATS is told of it later");
                }
                trouble = now;
            }
        }
        tokio::time::sleep(backoff.failed()).await;
    }
}

impl Link {
    /// Connects, and tells when the connection is lost.
    pub(super) async fn make(settings: &Settings) -> Result<(Self, Arc<Notify>), NatsError> {
        let lost = Arc::new(Notify::new());
        let (tell, objections) = (lost.clone(), AtomicU32::new(0));
        let options = settings.options().await?.event_callback(move |event| {
            match event {
                Event::Disconnected | Event::Closed => tell.notify_one(),
                // Such as a subject that this account may not publish to, which nothing else tells.
                Event::ServerError(error) if objections.fetch_add(1, Ordering::Relaxed) < MOST_WARNINGS => {
                    tracing::warn!(%error, "NATS objects");
                }
                _ => {}
            }
            std::future::ready(())
        });
        let unreachable = |error| NatsError::Unreachable { server: settings.shown(), cause: told(&error) };
        let client = options.connect(&settings.servers[..]).await.map_err(unreachable)?;
        Ok((Self { jetstream: jetstream::new(client.clone()), client }, lost))
    }

    /// The stream, which is made if it is not there. One that is there is used as it is.
    pub(super) async fn stream(&self, settings: &Settings) -> Result<Stream, NatsError> {
        let name = settings.subjects.stream();
        let wanted = stream::Config {
            name: name.clone(),
            subjects: vec![settings.subjects.all()],
            duplicate_window: REMEMBERED,
            description: Some("What happens in Postrider".to_owned()),
            ..stream::Config::default()
        };
        let found = self.jetstream.get_or_create_stream(wanted).await;
        let stream = found.map_err(|error| NatsError::Stream { name, cause: told(&error) })?;
        let limit = usize::try_from(stream.cached_info().config.max_message_size).unwrap_or(0);
        let largest = if limit > 0 { limit.min(self.client.max_payload()) } else { self.client.max_payload() };
        Ok(Stream { stream, largest })
    }

    /// Publishes, and comes back when the server has confirmed it.
    pub(super) async fn publish(&self, publication: Publication) -> Result<(), NatsError> {
        let Publication { subject, headers, payload } = publication;
        let confirmed = self.jetstream.publish_with_headers(subject, headers, payload).await.map_err(not_taken)?;
        confirmed.await.map(drop).map_err(not_taken)
    }
}

/// Why the server did not take a publication: whether it is of no use to say it again.
///
/// A stream that is full takes it once there is room, so that is no refusal.
fn not_taken(error: PublishError) -> NatsError {
    const NEVER: [ErrorCode; 2] = [ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM, ErrorCode::STREAM_HEADER_EXCEEDS_MAXIMUM];
    let source = || std::error::Error::source(&error);
    let said = source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    let is_subject_wrong = || {
        let client = source().and_then(|source| source.downcast_ref::<async_nats::client::PublishError>());
        client.is_some_and(|client| client.kind() == async_nats::client::PublishErrorKind::InvalidSubject)
    };
    let is_refused = error.kind() == PublishErrorKind::MaxPayloadExceeded
        || said.is_some_and(|said| NEVER.contains(&said.error_code()))
        || is_subject_wrong();
    let cause = told(&error);
    if is_refused { NatsError::Refused(cause) } else { NatsError::Publish(cause) }
}
