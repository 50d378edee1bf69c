//! Listening for changes of a resource, for as long as somebody wants to know.
//!
//! A ring says that it is worth a look, and nothing else: it may come for nothing. A stream that ends is opened again,
//! and the look that its last ring brings about is what finds another office when the old one is gone.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::connection::Connection;
use super::message::ClientMessage;

/// How long after each other streams are opened.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);

/// A resource that is watched until this is dropped.
pub struct Watch {
    rung: Arc<Notify>,
    _listening: JoinSet<()>,
}

impl Watch {
    /// Begins to watch. The first ring comes when the stream is open, for what changed before went unseen.
    pub(super) fn begin(connection: Arc<Connection>, uri: &str) -> Self {
        let wanted = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let request = ClientMessage::inquiry("subscriptions/listen", wanted);
        let rung = Arc::new(Notify::new());
        let mut listening = JoinSet::new();
        listening.spawn(listen(connection, request, rung.clone()));
        Self { rung, _listening: listening }
    }

    /// Waits until the resource may have changed since the last time. Many changes may be one ring.
    pub async fn changed(&self) {
        self.rung.notified().await;
    }
}

async fn listen(connection: Arc<Connection>, request: ClientMessage, rung: Arc<Notify>) {
    loop {
        let next_stream = Instant::now() + SHORTEST_PAUSE;
        let (bell, mut notices) = mpsc::channel(1);
        let stream = connection.listen(&request, &bell);
        tokio::pin!(stream);
        loop {
            tokio::select! {
                () = &mut stream => break,
                _ = notices.recv() => rung.notify_one(),
            }
        }
        // Nobody knows what changes while nobody listens.
        rung.notify_one();
        sleep_until(next_stream).await;
    }
}
