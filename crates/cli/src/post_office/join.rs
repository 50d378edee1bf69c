//! A post office that another process serves: messages go there over HTTP, and come back as lines.
//!
//! Nothing is decided here about where else to go when the server is gone; that is the connection's business.

use std::io;
use std::sync::Mutex;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::answer::Refused;
use super::connection::held;
use super::message::{ClientMessage, Envelope, object};
use super::taken_back::TakenBack;
use crate::client::{Client, Events, Failure, HttpAnswer};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The server, and the session that the client has there.
pub struct Joined {
    client: Client,
    session: Mutex<Option<HeaderValue>>,
}

impl Joined {
    /// The server that `client` speaks to.
    pub fn new(client: Client) -> Self {
        Self { client, session: Mutex::default() }
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// Carries a message to the server and returns the line that answers it. Notices that come before the answer go to
    /// `outgoing`. An error says that the message never reached the server. What was taken back has an answer only if the server
    /// gave it before.
    pub async fn ask(
        &self,
        message: &ClientMessage,
        outgoing: &mpsc::Sender<String>,
        taken_back: &TakenBack,
    ) -> io::Result<Option<String>> {
        match self.carry(message, outgoing, taken_back.clone().wait()).await {
            Ok(Err(_)) | Err(_) if taken_back.is_so() => Ok(None),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(refused)) => {
                tracing::warn!(url = self.url(), method = message.method, %refused, "a message has no answer");
                Ok(refused.line(message))
            }
            Err(error) => Err(error),
        }
    }

    /// The line that answers a message, or why there is none.
    async fn carry(
        &self,
        message: &ClientMessage,
        outgoing: &mpsc::Sender<String>,
        taken_back: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Result<Option<String>, Refused>> {
        let mut headers = message.headers();
        headers.insert(ACCEPT, BOTH);
        if !message.is_modern() && !message.is_initialize() {
            headers.extend(held(&self.session).clone().map(|id| (SESSION_ID, id)));
        }
        let body = Bytes::copy_from_slice(message.text.as_bytes());
        let answer = match self.client.post(headers, body, taken_back).await {
            Ok(answer) => answer,
            Err(Failure::NotSent(error)) => return Err(error),
            Err(failure) => return Ok(Err(self.failed(message, &failure))),
        };
        if message.is_initialize() && answer.status.is_success() {
            *held(&self.session) = answer.headers.get(SESSION_ID).cloned();
        }
        if answer.is_events() {
            return Ok(self.pass_on(message, answer.events(), outgoing).await);
        }
        Ok(self.read(message, answer).await)
    }

    async fn read(&self, message: &ClientMessage, answer: HttpAnswer) -> Result<Option<String>, Refused> {
        let status = answer.status;
        let line = match answer.whole().await {
            // What is no text says nothing.
            Ok(body) => one_line(body).unwrap_or_default(),
            Err(failure) => return Err(self.failed(message, &failure)),
        };
        if is_message(&line) {
            return Ok(Some(line));
        }
        if !message.is_request() {
            if !status.is_success() {
                tracing::warn!(%status, "the server refused a message that wants no answer");
            }
            return Ok(None);
        }
        Err(Refused::of_http(self.url(), status, line.as_bytes()))
    }

    async fn pass_on(
        &self,
        message: &ClientMessage,
        mut events: Events,
        outgoing: &mpsc::Sender<String>,
    ) -> Result<Option<String>, Refused> {
        loop {
            match events.next().await {
                Ok(Some(event)) => {
                    let Ok(line) = one_line(event) else {
                        tracing::warn!("the server sent an event that is not text");
                        continue;
                    };
                    if answers(&line, message) {
                        return Ok(Some(line));
                    }
                    // Who takes no notices waits for the answer all the same.
                    let _ = outgoing.send(line).await;
                }
                Ok(None) => return Err(Refused::connection_lost(self.url())),
                Err(failure) => return Err(self.failed(message, &failure)),
            }
        }
    }

    fn failed(&self, message: &ClientMessage, failure: &Failure) -> Refused {
        tracing::debug!(method = message.method, %failure, "the server gave no answer");
        match failure {
            Failure::TooLarge => Refused::too_large(self.url()),
            Failure::NotSent(_) | Failure::Broken(_) => Refused::connection_lost(self.url()),
        }
    }
}

/// Whether a line is a JSON-RPC message, and not the word of a proxy or of the server's door.
fn is_message(line: &str) -> bool {
    object::<Envelope<'_>>(line).is_some_and(|envelope| envelope.jsonrpc.is_some())
}

/// Whether a line is the answer to `message`, and not a notice on the way.
fn answers(line: &str, message: &ClientMessage) -> bool {
    object::<Envelope<'_>>(line).is_some_and(|Envelope { id, method, .. }| {
        method.is_none() && id.is_some() && id.map(RawValue::get) == message.id.as_deref()
    })
}

/// JSON on one line: outside of strings a line break is white space, and inside of them there is none.
fn one_line(json: Vec<u8>) -> Result<String, std::string::FromUtf8Error> {
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
