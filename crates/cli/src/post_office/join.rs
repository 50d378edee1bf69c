//! A post office that another process serves: messages go there over HTTP, and come back as lines.
//!
//! Nothing is decided here about where else to go when the server is gone; that is the connection's business.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::message::ClientMessage;
use super::no_answer::NoAnswer;
use crate::client::{Client, Events, Failure, HttpAnswer};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// How long the server may take to open a session that the client did not ask for.
const SLOWEST_OPENING: Duration = Duration::from_secs(5);

/// The server, and the session that the client has there.
pub struct Joined {
    client: Client,
    session: Mutex<Option<HeaderValue>>,
    /// Whether somebody reads the stream of the session.
    pub is_followed: AtomicBool,
}

/// A message never reached the server.
#[derive(Debug)]
pub struct NotSent(pub io::Error);

/// Why the stream of a session did not open.
#[derive(Debug)]
pub enum NoStream {
    /// Nobody is there.
    NotSent,
    /// The server has no such stream, or the connection broke.
    Refused,
}

impl Joined {
    /// The server that `client` speaks to.
    pub fn new(client: Client) -> Self {
        Self { client, session: Mutex::default(), is_followed: AtomicBool::new(false) }
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Carries a message to the server and returns the line that answers it. Notices that come before the answer go to
    /// `outgoing`.
    pub async fn ask(
        &self,
        message: &ClientMessage,
        outgoing: &mpsc::Sender<String>,
    ) -> Result<Option<String>, NotSent> {
        let mut headers = message.headers();
        headers.insert(ACCEPT, BOTH);
        if !message.is_modern() && !message.is_initialize() {
            headers.extend(self.session().map(|id| (SESSION_ID, id)));
        }
        let body = Bytes::copy_from_slice(message.text.as_bytes());
        let answer = match self.client.post(headers, body).await {
            Ok(answer) => answer,
            Err(Failure::NotSent(error)) => return Err(NotSent(error)),
            Err(failure) => return Ok(self.failed(message, &failure)),
        };
        if message.is_initialize() && answer.status.is_success() {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = answer.headers.get(SESSION_ID).cloned();
        }
        if answer.is_events() {
            return Ok(self.pass_on(message, answer.events(), outgoing).await);
        }
        Ok(self.read(message, answer).await)
    }

    /// Opens a session in the client's name, if there is none yet.
    pub async fn ensure_session(&self, opening: &ClientMessage, outgoing: &mpsc::Sender<String>) {
        if self.session().is_some() {
            return;
        }
        // If it fails the next request fails too, and is the one that is answered.
        let _ = tokio::time::timeout(SLOWEST_OPENING, self.ask(opening, outgoing)).await;
    }

    /// Forgets the session, which the server no longer knows.
    pub fn forget_session(&self) {
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Opens the stream of the session.
    pub async fn stream(&self) -> Result<Events, NoStream> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, EVENTS);
        headers.extend(self.session().map(|id| (SESSION_ID, id)));
        match self.client.get(headers).await {
            Ok(answer) if answer.status.is_success() && answer.is_events() => Ok(answer.events()),
            Ok(answer) => {
                tracing::debug!(status = %answer.status, "the server has no stream of notices");
                Err(NoStream::Refused)
            }
            Err(Failure::NotSent(_)) => Err(NoStream::NotSent),
            Err(_) => Err(NoStream::Refused),
        }
    }

    /// Whether the caller is the first to follow the stream of the session, and now has to.
    pub fn begin_to_follow(&self) -> bool {
        !self.is_followed.swap(true, Ordering::SeqCst)
    }

    fn session(&self) -> Option<HeaderValue> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn read(&self, message: &ClientMessage, answer: HttpAnswer) -> Option<String> {
        let status = answer.status;
        let body = match answer.whole().await {
            Ok(body) => body,
            Err(failure) => return self.failed(message, &failure),
        };
        match one_line(body) {
            Ok(line) if is_message(&line) => Some(line),
            Ok(line) => {
                if !message.is_request() && !status.is_success() {
                    tracing::warn!(%status, "the server refused a message that wants no answer");
                }
                NoAnswer::of_answer(self.url(), status, line.as_bytes()).line(message)
            }
            Err(_) => NoAnswer::of_answer(self.url(), status, &[]).line(message),
        }
    }

    async fn pass_on(
        &self,
        message: &ClientMessage,
        mut events: Events,
        outgoing: &mpsc::Sender<String>,
    ) -> Option<String> {
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    let Ok(line) = one_line(event) else {
                        tracing::warn!("the server sent an event that is not text");
                        continue;
                    };
                    if answers(&line, message) {
                        return Some(line);
                    }
                    if outgoing.send(line).await.is_err() {
                        return None;
                    }
                }
                Ok(None) => return NoAnswer::connection_lost(self.url()).line(message),
                Err(failure) => return self.failed(message, &failure),
            }
        }
    }

    fn failed(&self, message: &ClientMessage, failure: &Failure) -> Option<String> {
        tracing::warn!(url = self.url(), method = message.method, %failure, "a message has no answer");
        match failure {
            Failure::TooLarge => NoAnswer::too_large(self.url()).line(message),
            Failure::NotSent(_) | Failure::Broken(_) => NoAnswer::connection_lost(self.url()).line(message),
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
}

fn envelope(line: &str) -> Option<Envelope<'_>> {
    line.trim_start().starts_with('{').then(|| serde_json::from_str(line).ok())?
}

/// Whether a line is a JSON-RPC message, and not the word of a proxy or of the server's door.
fn is_message(line: &str) -> bool {
    envelope(line).is_some_and(|envelope| envelope.jsonrpc.is_some())
}

/// Whether a line is the answer to `message`, and not a notice on the way.
fn answers(line: &str, message: &ClientMessage) -> bool {
    envelope(line).is_some_and(|envelope| {
        envelope.method.is_none() && envelope.id.map(RawValue::get) == message.id.as_deref() && envelope.id.is_some()
    })
}

/// JSON on one line: outside of strings a line break is white space, and inside of them there is none.
pub fn one_line(json: Vec<u8>) -> Result<String, std::string::FromUtf8Error> {
    let text = String::from_utf8(json)?;
    Ok(if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_answer_of_the_request_itself_ends_a_stream() {
        let message = ClientMessage::read(r#"{"id":"l","method":"subscriptions/listen"}"#.to_owned());
        assert!(answers(r#"{"jsonrpc":"2.0","id":"l","result":{}}"#, &message));
        assert!(answers(r#"{"jsonrpc":"2.0","id":"l","error":{}}"#, &message));
        assert!(!answers(r#"{"jsonrpc":"2.0","id":"m","result":{}}"#, &message));
        assert!(!answers(r#"{"jsonrpc":"2.0","id":"l","method":"ping"}"#, &message));
        assert!(!answers(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#, &message));
        let notification = ClientMessage::read(r#"{"method":"notifications/x"}"#.to_owned());
        assert!(!answers(r#"{"jsonrpc":"2.0","method":"notifications/y"}"#, &notification));
    }

    #[test]
    fn a_refusal_of_the_door_is_no_message() {
        assert!(is_message(r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#));
        assert!(!is_message(r#"{"error":{"code":"UNAUTHORIZED","message":"x","hint":"y"}}"#));
        assert!(!is_message("") && !is_message("[]") && !is_message("<html>"));
    }

    #[test]
    fn an_answer_in_many_lines_becomes_one() {
        let line = one_line(b"{\r\n  \"a\": \"b\\nc\"\n}".to_vec()).unwrap();
        assert_eq!(line, "{    \"a\": \"b\\nc\" }");
        assert!(one_line(vec![0xff]).is_err());
    }
}
