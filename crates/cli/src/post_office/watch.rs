//! Listening for changes of a resource, for as long as somebody wants to know. What is at an address is the office's to know.
//!
//! A wake-up says that it is worth a look, and nothing else: it may come for nothing. A stream that ends is opened
//! again, at another office when the old one is gone.

use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
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
    changes: Arc<Notify>,
    _listening: JoinSet<()>,
}

impl Watch {
    /// Begins to watch. The first wake-up comes when the stream is open, for what changed before went unseen.
    pub fn begin(connection: Arc<Connection>, uri: &str) -> Self {
        let wanted = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let request = ClientMessage::inquiry("subscriptions/listen", wanted);
        let changes = Arc::new(Notify::new());
        let mut listening = JoinSet::new();
        listening.spawn(listen(connection, request, changes.clone()));
        Self { changes, _listening: listening }
    }

    /// Waits until the resource may have changed since the last time. Many changes may be one wake-up.
    pub async fn changed(&self) {
        self.changes.notified().await;
    }
}

async fn listen(connection: Arc<Connection>, request: ClientMessage, changes: Arc<Notify>) {
    loop {
        let next_stream = Instant::now() + SHORTEST_PAUSE;
        let (sender, mut notices) = mpsc::channel(1);
        let stream = connection.listen(&request, &sender);
        tokio::pin!(stream);
        let mut was_open = false;
        let is_gone = loop {
            tokio::select! {
                is_gone = &mut stream => break is_gone,
                _ = notices.recv() => changes.notify_one(),
            }
            was_open = true;
        };
        // Nobody knows what changes while nobody listens, nor where a server refuses to tell.
        if was_open || !is_gone {
            changes.notify_one();
        }
        sleep_until(next_stream).await;
    }
}

/// What stays as it is in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of a resource: its kind, its name, and the keys that have a value.
pub fn resource(kind: &str, name: &str, keys: &[(&str, Option<&str>)]) -> String {
    let mut uri = format!("resource://{kind}/{}", encoded(name));
    let given = keys.iter().filter_map(|(key, value)| value.map(|value| (key, value)));
    for (at, (key, value)) in given.enumerate() {
        uri.push(if at == 0 { '?' } else { '&' });
        uri.push_str(&format!("{key}={}", encoded(value)));
    }
    uri
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_can_stand_in_an_address() {
        let uri = resource("work", "/data/my app", &[("state", None), ("id", Some("a&b=c?")), ("limit", Some("5"))]);
        assert_eq!(uri, "resource://work/%2Fdata%2Fmy%20app?id=a%26b%3Dc%3F&limit=5");
        assert_eq!(resource("work", "app", &[]), "resource://work/app");
    }
}
