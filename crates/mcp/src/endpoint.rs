//! The protocol over HTTP: one address that answers POST, GET and DELETE in every era.
//!
//! Knows requests and replies and no web server: whoever owns the connection hands in headers and
//! body and sends the reply. Origin, tokens and the size of bodies are checked there, before us.

#[cfg(feature = "conformance-fixtures")]
pub(crate) mod fixtures;

use std::sync::Arc;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use tokio::sync::{Semaphore, watch};

use crate::calls::Calls;
use crate::eras::{Era, Meta};
use crate::exchange::{Answer, Exchange, required};
use crate::headers;
use crate::registry::{CallerKind, Registry};
use crate::sessions::{self, MAX_URIS, NotTaken, Sessions};
use crate::streams::{self, Listening, SessionStream};
use crate::wire::{self, Fault, Incoming, Request};

/// How many `subscriptions/listen` may be open at once.
const MAX_LISTENING: usize = 1_000;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A registry, ready to be served. Clones are one endpoint.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub exchange: Exchange,
    sessions: Sessions,
    calls: Calls,
    places: Arc<Semaphore>,
    closing: watch::Sender<bool>,
    #[cfg(feature = "conformance-fixtures")]
    fixtures: Option<Arc<dyn fixtures::Fixtures>>,
}

/// What to send back.
pub struct Reply {
    /// The status line.
    pub status: StatusCode,
    /// All headers that the protocol asks for, the content type among them.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: ReplyBody,
}

/// The body of a reply.
pub enum ReplyBody {
    /// None.
    Empty,
    /// One JSON-RPC message.
    Json(String),
    /// Server-sent events, each chunk whole. Dropping the stream ends what it watches.
    EventStream(BoxStream<'static, Bytes>),
}

impl Endpoint {
    /// Makes an endpoint of what a server offers.
    pub fn new(registry: Registry) -> Endpoint {
        let inner = Inner {
            exchange: Exchange::new(registry),
            sessions: Sessions::default(),
            calls: Calls::default(),
            places: Arc::new(Semaphore::new(MAX_LISTENING)),
            closing: watch::Sender::new(false),
            #[cfg(feature = "conformance-fixtures")]
            fixtures: None,
        };
        Endpoint { inner: Arc::new(inner) }
    }

    /// What the endpoint serves.
    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.exchange.registry
    }

    /// Answers one POST.
    pub async fn post(&self, headers: &HeaderMap, body: Bytes) -> Reply {
        let incoming = wire::read(&body);
        #[cfg(feature = "conformance-fixtures")]
        if let Some(reply) = self.play(headers, &incoming, &body) {
            return reply;
        }
        match incoming {
            Err(unreadable) => Reply::error(unreadable.id, &unreadable.fault),
            Ok(Incoming::Request(request)) => {
                let answered = self.request(headers, &request);
                let answered = self.inner.calls.run(headers::session(headers), request.id, answered).await;
                // Nobody waits for an answer to what was cancelled.
                answered.unwrap_or_else(|| Reply::empty(StatusCode::ACCEPTED))
            }
            Ok(Incoming::Notification { .. } | Incoming::ClientAnswer) if self.has_ended(headers) => {
                Reply::session_ended(None)
            }
            Ok(Incoming::Notification { cancels }) => {
                if let (Some(session), Some(id)) = (headers::session(headers), cancels) {
                    self.inner.calls.cancel(session, id);
                }
                Reply::empty(StatusCode::ACCEPTED)
            }
            Ok(Incoming::ClientAnswer) => Reply::empty(StatusCode::ACCEPTED),
        }
    }

    /// Answers a GET: the stream of notices to a session, for a client that asks for one. Else 405.
    pub fn get(&self, headers: &HeaderMap) -> Reply {
        let Some(id) = headers::session(headers).filter(|_| headers::accepts_events(headers)) else {
            return Reply::not_allowed();
        };
        if self.inner.sessions.has_ended(id) {
            return Reply::session_ended(None);
        }
        let Some((wanted, number)) = self.inner.sessions.open_stream(id) else {
            return Reply::not_allowed();
        };
        let resources = Arc::clone(&self.registry().resources);
        let session = SessionStream::new(number, wanted, resources, self.inner.closing.subscribe());
        Reply::events(streams::events_of_session(session))
    }

    /// Answers a DELETE: a client says that its session is over.
    pub fn delete(&self, headers: &HeaderMap) -> Reply {
        let Some(id) = headers::session(headers) else {
            return Reply::not_allowed();
        };
        self.inner.sessions.end(id);
        Reply::empty(StatusCode::NO_CONTENT)
    }

    /// Ends every stream, so that a server can wait for its connections to finish. Requests are
    /// answered as before.
    pub fn close(&self) {
        self.inner.closing.send_replace(true);
    }

    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.inner.closing.subscribe()
    }

    async fn request(&self, headers: &HeaderMap, request: &Request<'_>) -> Reply {
        let meta = Meta::of(&request.params);
        let era = match headers::check(headers, request, &meta) {
            Ok(era) => era,
            Err(fault) => return Reply::error(Some(request.id), &fault),
        };
        if era == Era::Legacy && self.has_ended(headers) {
            return Reply::session_ended(Some(request.id));
        }
        if era == Era::Modern && request.method == "subscriptions/listen" {
            return match self.listen(request, self.closing()).await {
                Ok(listening) => Reply::events(streams::events_of_listening(listening)),
                Err(fault) => Reply::error(Some(request.id), &fault),
            };
        }
        let session = headers::session(headers);
        let answer = match (&*request.method, era) {
            ("resources/subscribe", Era::Legacy) => self.subscribe(session, request),
            ("resources/unsubscribe", Era::Legacy) => self.unsubscribe(session, request),
            _ => self.inner.exchange.answer(era, self.caller(&meta, session.is_some()), request).await,
        };
        let json = match answer {
            Ok(answer) => self.inner.exchange.write(request.id, era, &answer),
            Err(fault) if fault.status != StatusCode::OK => return Reply::error(Some(request.id), &fault),
            Err(fault) => wire::error(Some(request.id), &fault),
        };
        let mut reply = if headers::wants_only_events(headers) { Reply::one_event(&json) } else { Reply::json(json) };
        if request.method == "initialize" {
            reply.give_session();
        }
        reply
    }

    /// Who calls. Only `initialize` gives a session, so that whoever has one said who it is.
    pub(crate) fn caller(&self, meta: &Meta<'_>, has_session: bool) -> CallerKind {
        if has_session { CallerKind::Introduced } else { meta.caller(&self.registry().info.name) }
    }

    /// Opens the stream of a `subscriptions/listen`. It ends when `closing` says so.
    pub(crate) async fn listen(
        &self,
        request: &Request<'_>,
        closing: watch::Receiver<bool>,
    ) -> Result<Listening, Fault> {
        let Ok(place) = Arc::clone(&self.inner.places).try_acquire_owned() else {
            let message = format!("{MAX_LISTENING} subscriptions are open, which is the most.");
            return Err(Fault::new(-32603, StatusCode::SERVICE_UNAVAILABLE, message));
        };
        let resources = Arc::clone(&self.registry().resources);
        let farewell = self.inner.exchange.write_listening_ended(request.id);
        Listening::open(request.id, &request.params, resources, closing, farewell, place).await
    }

    fn subscribe(&self, session: Option<&str>, request: &Request<'_>) -> Result<Answer<'_>, Fault> {
        let uri = required("uri", request.params.uri)?;
        // Without a session there is no stream that a notice could go to. The client has its answer.
        let Some(session) = session else {
            return Ok(Answer::empty());
        };
        self.inner.sessions.subscribe(session, &uri).map_err(not_taken)?;
        Ok(Answer::empty())
    }

    fn unsubscribe(&self, session: Option<&str>, request: &Request<'_>) -> Result<Answer<'_>, Fault> {
        let uri = required("uri", request.params.uri)?;
        if let Some(session) = session {
            self.inner.sessions.unsubscribe(session, &uri);
        }
        Ok(Answer::empty())
    }

    fn has_ended(&self, headers: &HeaderMap) -> bool {
        headers::session(headers).is_some_and(|id| self.inner.sessions.has_ended(id))
    }
}

/// The refusal of one subscription more.
pub(crate) fn not_taken(why: NotTaken) -> Fault {
    Fault::invalid_params(match why {
        NotTaken::TooMany => format!("A client can watch at most {MAX_URIS} resources. Unsubscribe from one first."),
        NotTaken::TooLong => "'params.uri' is too long to be watched.".to_owned(),
    })
}

impl Reply {
    fn empty(status: StatusCode) -> Reply {
        Reply { status, headers: Vec::new(), body: ReplyBody::Empty }
    }

    fn not_allowed() -> Reply {
        let mut reply = Reply::empty(StatusCode::METHOD_NOT_ALLOWED);
        reply.headers.push((header::ALLOW, HeaderValue::from_static("POST")));
        reply
    }

    fn json(json: String) -> Reply {
        Reply { status: StatusCode::OK, headers: vec![(header::CONTENT_TYPE, JSON)], body: ReplyBody::Json(json) }
    }

    fn error(id: Option<&str>, fault: &Fault) -> Reply {
        Reply { status: fault.status, ..Reply::json(wire::error(id, fault)) }
    }

    fn session_ended(id: Option<&str>) -> Reply {
        let message = "The session has ended. Initialize a new one.";
        Reply::error(id, &Fault::new(-32001, StatusCode::NOT_FOUND, message))
    }

    fn events(stream: BoxStream<'static, Bytes>) -> Reply {
        let headers = vec![
            (header::CONTENT_TYPE, EVENTS),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
            // Without it some proxies hold events back until their buffer is full.
            (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
        ];
        Reply { status: StatusCode::OK, headers, body: ReplyBody::EventStream(stream) }
    }

    fn one_event(json: &str) -> Reply {
        let event = streams::event(json);
        Reply::events(stream::once(std::future::ready(event)).boxed())
    }

    fn give_session(&mut self) {
        let id = sessions::new_id().and_then(|id| HeaderValue::from_str(&id).ok());
        self.headers.extend(id.map(|id| (headers::SESSION_ID, id)));
    }
}
