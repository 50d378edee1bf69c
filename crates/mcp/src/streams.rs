//! Notices that resources changed, and the streams that carry them.
//!
//! A stream pulls: nothing is queued here for a client that does not read, and a stream that is dropped
//! has ended everything it watched. A notice says that something changed, never what.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{self, SelectAll};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::resources::{ReadError, Resources};
use crate::sessions::{MAX_URIS, Wanted, check_uri};
use crate::wire::{Fault, Params, push_list, push_member, push_text};

/// Short enough for the idle limits of proxies and clients.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What a stream says next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A JSON-RPC message.
    Incoming(String),
    /// Nothing, but the stream still lives.
    KeepAlive,
}

/// A changing set of resources that are watched together.
struct Watching {
    resources: Arc<dyn Resources>,
    changes: SelectAll<BoxStream<'static, Arc<str>>>,
    watched: HashMap<Arc<str>, AbortHandle>,
}

impl Watching {
    fn new(resources: Arc<dyn Resources>) -> Watching {
        Watching { resources, changes: SelectAll::new(), watched: HashMap::new() }
    }

    async fn add(&mut self, uri: &Arc<str>) -> Result<(), ReadError> {
        if self.watched.contains_key(uri) {
            return Ok(());
        }
        let changes = self.resources.watch(uri).await?;
        let (handle, registration) = AbortHandle::new_pair();
        let name = Arc::clone(uri);
        let named = Abortable::new(changes, registration).map(move |()| Arc::clone(&name));
        self.changes.push(named.boxed());
        self.watched.insert(Arc::clone(uri), handle);
        Ok(())
    }

    /// Watches exactly `uris`. One that cannot be watched is left out: the client was told `{}` long ago.
    async fn follow(&mut self, uris: &BTreeSet<Arc<str>>) {
        self.watched.retain(|uri, handle| {
            let stays = uris.contains(uri);
            if !stays {
                handle.abort();
            }
            stays
        });
        for uri in uris {
            let is_new = !self.watched.contains_key(uri);
            match self.add(uri).await {
                // What changed between the subscription and now went unseen, so the first notice comes at once.
                Ok(()) if is_new => self.changes.push(stream::iter([Arc::clone(uri)]).boxed()),
                Ok(()) => {}
                Err(error) => {
                    tracing::debug!(
                        resource = loggable(uri),
                        why = error.code(),
                        "a subscribed resource cannot be watched"
                    );
                }
            }
        }
    }

    /// The next resource that changed. Waits for ever when nothing is watched.
    async fn changed(&mut self) -> Arc<str> {
        match self.changes.next().await {
            Some(uri) => uri,
            None => std::future::pending().await,
        }
    }
}

/// The stream of one `subscriptions/listen`.
pub(crate) struct Listening {
    /// The id of the request, which is also the name of the subscription.
    id: String,
    acknowledgement: Option<String>,
    farewell: Option<String>,
    watching: Watching,
    closing: watch::Receiver<bool>,
    keep_alive: Interval,
    _place: OwnedSemaphorePermit,
}

/// What a client wants to hear of. We have nothing to say about the lists, which do not change.
#[derive(Deserialize)]
struct Filter {
    #[serde(rename = "resourceSubscriptions")]
    resources: Option<Vec<String>>,
}

impl Listening {
    /// Starts to watch what `params` ask for. `farewell` is said when the server closes.
    pub async fn open(
        id: &str,
        params: &Params<'_>,
        resources: Arc<dyn Resources>,
        closing: watch::Receiver<bool>,
        farewell: String,
        place: OwnedSemaphorePermit,
    ) -> Result<Listening, Fault> {
        let filter = params.notifications.filter(|filter| filter.get().starts_with('{'));
        let filter = filter.and_then(|filter| serde_json::from_str::<Filter>(filter.get()).ok());
        let Some(filter) = filter else {
            return Err(Fault::invalid_params("'params.notifications' must say what to listen for."));
        };
        let mut watching = Watching::new(resources);
        let mut honoured = filter.resources.as_ref().map(|_| Vec::new());
        for uri in filter.resources.into_iter().flatten().take(MAX_URIS) {
            let uri: Arc<str> = uri.into();
            if check_uri(&uri).is_ok() && watching.add(&uri).await.is_ok() {
                honoured.get_or_insert_default().push(uri);
            }
        }
        let acknowledgement = Some(acknowledged(id, honoured.as_deref()));
        let farewell = Some(farewell);
        let keep_alive = keep_alive();
        Ok(Listening { id: id.to_owned(), acknowledgement, farewell, watching, closing, keep_alive, _place: place })
    }

    /// What to say next; `None` when all is said.
    pub async fn next(&mut self) -> Option<Notice> {
        if let Some(first) = self.acknowledgement.take() {
            return Some(Notice::Incoming(first));
        }
        self.farewell.as_ref()?;
        tokio::select! {
            uri = self.watching.changed() => Some(Notice::Incoming(updated(&uri, Some(&self.id)))),
            () = closed(&mut self.closing) => self.farewell.take().map(Notice::Incoming),
            _ = self.keep_alive.tick() => Some(Notice::KeepAlive),
        }
    }
}

/// The stream that a session of the old era opens with GET.
pub(crate) struct SessionStream {
    number: u64,
    wanted: watch::Receiver<Wanted>,
    watching: Watching,
    closing: watch::Receiver<bool>,
    keep_alive: Interval,
}

impl SessionStream {
    pub fn new(
        number: u64,
        mut wanted: watch::Receiver<Wanted>,
        resources: Arc<dyn Resources>,
        closing: watch::Receiver<bool>,
    ) -> SessionStream {
        // What was subscribed before the stream opened is new to the stream.
        wanted.mark_changed();
        SessionStream { number, wanted, watching: Watching::new(resources), closing, keep_alive: keep_alive() }
    }

    /// What to say next; `None` when the session, its place or the server is gone.
    pub async fn next(&mut self) -> Option<Notice> {
        loop {
            tokio::select! {
                changed = self.wanted.changed() => {
                    changed.ok()?;
                    let wanted = self.wanted.borrow_and_update().clone();
                    if wanted.stream != self.number {
                        return None;
                    }
                    self.watching.follow(&wanted.uris).await;
                }
                uri = self.watching.changed() => return Some(Notice::Incoming(updated(&uri, None))),
                () = closed(&mut self.closing) => return None,
                _ = self.keep_alive.tick() => return Some(Notice::KeepAlive),
            }
        }
    }
}

/// The part of an address that may stand in the log. What follows the `?` may prove a name.
fn loggable(uri: &str) -> &str {
    uri.split_once('?').map_or(uri, |(path, _)| path)
}

/// Renders notices as server-sent events.
pub(crate) fn events_of_listening(listening: Listening) -> BoxStream<'static, Bytes> {
    let next = |mut listening: Listening| async move { Some((event_of(listening.next().await?), listening)) };
    stream::unfold(listening, next).boxed()
}

/// Renders notices as server-sent events.
pub(crate) fn events_of_session(session: SessionStream) -> BoxStream<'static, Bytes> {
    let next = |mut session: SessionStream| async move { Some((event_of(session.next().await?), session)) };
    stream::unfold(session, next).boxed()
}

/// One message as a server-sent event. Messages are one line, as JSON of ours always is.
pub(crate) fn event(message: &str) -> Bytes {
    Bytes::from(format!("event: message\ndata: {message}\n\n"))
}

fn event_of(notice: Notice) -> Bytes {
    match notice {
        Notice::Incoming(message) => event(&message),
        Notice::KeepAlive => Bytes::from_static(b": keep-alive\n\n"),
    }
}

/// The message that a resource changed, told to a subscription or to a session.
pub(crate) fn updated(uri: &str, subscription: Option<&str>) -> String {
    let mut json = String::from("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{");
    if let Some(id) = subscription {
        push_subscription(&mut json, id);
    }
    push_member(&mut json, "\"uri\":", uri);
    json.push_str("}}");
    json
}

fn acknowledged(id: &str, resources: Option<&[Arc<str>]>) -> String {
    let mut json =
        String::from("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{");
    push_subscription(&mut json, id);
    json.push_str("\"notifications\":{");
    if let Some(resources) = resources {
        json.push_str("\"resourceSubscriptions\":");
        push_list(&mut json, resources, |json, uri| push_text(json, uri));
    }
    json.push_str("}}}");
    json
}

fn push_subscription(json: &mut String, id: &str) {
    json.push_str("\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
    json.push_str(id);
    json.push_str("},");
}

/// Waits until the server closes. A server that is gone has closed too.
pub(crate) async fn closed(closing: &mut watch::Receiver<bool>) {
    let _ = closing.wait_for(|is_closing| *is_closing).await;
}

fn keep_alive() -> Interval {
    let mut interval = tokio::time::interval_at(Instant::now() + KEEP_ALIVE, KEEP_ALIVE);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
