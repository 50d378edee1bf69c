//! Listening for changes of resources, for as long as somebody wants to know. What is at an address is the office's to know.
//!
//! A wake-up says that it is worth a look, and nothing else: it may come for nothing. A stream that ends is opened
//! again, at another office when the old one is gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::connection::Connection;
use super::message::ClientMessage;

/// How long after each other streams are opened.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);

/// Resources that are watched by one stream until this is dropped.
pub struct Watch {
    changed: watch::Sender<BTreeSet<String>>,
    _listening: JoinSet<()>,
}

impl Watch {
    /// Begins to watch. The first wake-up is for all of them and comes when the stream is open: what changed before went unseen.
    pub fn begin(connection: Arc<Connection>, uris: BTreeSet<String>) -> Self {
        let changed = watch::Sender::default();
        let mut listening = JoinSet::new();
        listening.spawn(listen(connection, uris, changed.clone()));
        Self { changed, _listening: listening }
    }

    /// Waits for a wake-up, and returns what may have changed since the last one. Many changes may be one wake-up.
    pub async fn changed(&self) -> BTreeSet<String> {
        // It cannot fail: the sender is here.
        let _ = self.changed.subscribe().wait_for(|changed| !changed.is_empty()).await;
        self.changed.send_replace(BTreeSet::new())
    }
}

async fn listen(connection: Arc<Connection>, uris: BTreeSet<String>, changed: watch::Sender<BTreeSet<String>>) {
    let wanted = json!({ "notifications": { "resourceSubscriptions": uris } });
    let request = ClientMessage::inquiry("subscriptions/listen", wanted);
    let tell_all = || changed.send_modify(|changed| changed.extend(uris.iter().cloned()));
    loop {
        let next_stream = Instant::now() + SHORTEST_PAUSE;
        let (sender, mut notices) = mpsc::channel(1);
        let stream = connection.listen(&request, &sender);
        tokio::pin!(stream);
        let mut was_open = false;
        let is_gone = loop {
            tokio::select! {
                is_gone = &mut stream => break is_gone,
                Some(notice) = notices.recv() => match ClientMessage::read(notice).uri {
                    Some(uri) => changed.send_modify(|changed| changed.extend([uri])),
                    // The stream is open.
                    None => tell_all(),
                },
            }
            was_open = true;
        };
        // Nobody knows what changes while nobody listens, nor where a server refuses to tell.
        if was_open || !is_gone {
            tell_all();
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
