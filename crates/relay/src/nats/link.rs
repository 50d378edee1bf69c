//! The connection to the NATS server: made, watched, and made again.
//!
//! Nothing is kept here for a server that is away: whoever has something to say waits for a connection, and says it again
//! if the connection is lost before the server confirmed it.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Event;
use async_nats::jetstream::{self, stream};
use tokio::sync::{Notify, watch};

use super::publication::Publication;
use super::settings::Settings;
use super::{NatsError, told};
use crate::feed::Backoff;

/// How long the stream remembers what it was sent, so that what is said again is not kept again.
const REMEMBERED: Duration = Duration::from_secs(60 * 60);

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
pub(super) struct Line(watch::Receiver<Option<Link>>);

impl Line {
    /// The line, and whom to tell of connections.
    pub(super) fn new() -> (watch::Sender<Option<Link>>, Self) {
        let (sender, receiver) = watch::channel(None);
        (sender, Self(receiver))
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
    let mut backoff = Backoff::default();
    loop {
        match Link::make(settings).await {
            Ok((link, lost)) => {
                tracing::info!(server = settings.shown(), "connected to NATS");
                backoff.worked();
                line.send_replace(Some(link));
                lost.notified().await;
                line.send_replace(None);
                tracing::warn!(server = settings.shown(), "lost NATS: mail goes on, and NATS is told of it later");
            }
            Err(error) if backoff.has_failed() => tracing::debug!(code = error.code(), "{error}"),
            Err(error) => tracing::warn!(code = error.code(), "{error}; mail goes on, and NATS is told of it later"),
        }
        tokio::time::sleep(backoff.failed()).await;
    }
}

impl Link {
    /// Connects, and tells when the connection is lost.
    pub(super) async fn make(settings: &Settings) -> Result<(Self, Arc<Notify>), NatsError> {
        let lost = Arc::new(Notify::new());
        let tell = lost.clone();
        let options = settings.options().await?.event_callback(move |event| {
            if matches!(event, Event::Disconnected | Event::Closed) {
                tell.notify_one();
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
        let failed = |error| NatsError::Publish { cause: told(&error) };
        let confirmed = self.jetstream.publish_with_headers(subject, headers, payload).await.map_err(failed)?;
        confirmed.await.map(drop).map_err(failed)
    }
}
