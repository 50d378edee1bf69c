//! What somebody who carries a message has to know about it, and the headers that repeat it.
//!
//! A message is carried as it was written. What cannot be read here is carried too: the office it goes to knows best
//! what to say about it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The id of the requests that are ours and not a client's. Their answers are never passed on to one.
const OUR_ID: &str = "\"postrider\"";

/// A message of the client.
#[derive(Debug, Default)]
pub struct ClientMessage {
    /// The message as it was written.
    pub text: String,
    /// Its id as it was written, a JSON string or number.
    pub id: Option<String>,
    /// Its method; empty when it has none.
    pub method: String,
    /// The revision that it says it speaks, which only messages since 2026-07-28 do.
    version: Option<String>,
    name: Option<String>,
    /// The resource that it is about.
    pub uri: Option<String>,
    request_id: Option<String>,
}

/// What every message has around it.
#[derive(Deserialize)]
pub(super) struct Envelope<'a> {
    #[serde(borrow)]
    pub jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    pub method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
struct ClientParams<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestId")]
    request_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
}

impl ClientMessage {
    /// Reads a line.
    pub fn read(text: String) -> Self {
        let Some(envelope) = object::<Envelope<'_>>(&text) else {
            return Self { text, ..Self::default() };
        };
        let params = envelope.params.and_then(|params| object::<ClientParams<'_>>(params.get())).unwrap_or_default();
        let meta = params.meta.and_then(|meta| object::<Meta<'_>>(meta.get()));
        Self {
            id: envelope.id.map(|id| id.get().to_owned()),
            method: envelope.method.unwrap_or_default(),
            version: meta.and_then(|meta| meta.version).and_then(words),
            name: params.name.and_then(words),
            uri: params.uri.and_then(words),
            request_id: params.request_id.map(|id| id.get().to_owned()),
            text,
        }
    }

    /// A request of our own, of the revision that has no sessions.
    pub fn inquiry(method: &str, mut params: serde_json::Value) -> Self {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "postrider", "version": env!("CARGO_PKG_VERSION") },
        });
        Self::read(format!(r#"{{"jsonrpc":"2.0","id":{OUR_ID},"method":"{method}","params":{params}}}"#))
    }

    /// Whether it wants an answer.
    pub fn is_request(&self) -> bool {
        self.id.is_some() && !self.method.is_empty()
    }

    /// Whether it is of the revision that has no sessions.
    pub fn is_modern(&self) -> bool {
        self.version.is_some()
    }

    /// Whether it opens a session.
    pub fn is_initialize(&self) -> bool {
        self.is_request() && self.method == "initialize" && !self.is_modern()
    }

    /// Whether it asks what the office can do, as clients do first in either era.
    pub fn is_introduction(&self) -> bool {
        self.is_initialize() || (self.is_request() && self.method == "server/discover")
    }

    /// The tool that it calls.
    pub fn tool(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| self.is_request() && self.method == "tools/call")
    }

    /// Whether it is answered by a stream that ends when the client wants it to.
    pub fn is_listening(&self) -> bool {
        self.is_request() && self.method == "subscriptions/listen"
    }

    /// The id of the request that it takes back.
    pub fn cancels(&self) -> Option<&str> {
        let cancels = self.id.is_none() && self.method == "notifications/cancelled";
        self.request_id.as_deref().filter(|_| cancels)
    }

    /// The resource that a session asks to hear of.
    pub fn subscribes(&self) -> Option<&str> {
        self.uri_of("resources/subscribe")
    }

    /// The resource that a session no longer wants to hear of.
    pub fn unsubscribes(&self) -> Option<&str> {
        self.uri_of("resources/unsubscribe")
    }

    fn uri_of(&self, method: &str) -> Option<&str> {
        self.uri.as_deref().filter(|_| self.is_request() && !self.is_modern() && self.method == method)
    }

    /// The headers that repeat what a message since 2026-07-28 says. Earlier ones have none.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some(version) = &self.version else {
            return headers;
        };
        // What a header cannot hold is left out, and the server then says what it misses.
        headers.extend(HeaderValue::try_from(version).ok().map(|version| (PROTOCOL_VERSION, version)));
        headers.extend(HeaderValue::try_from(&self.method).ok().map(|method| (METHOD, method)));
        let name = match self.method.as_str() {
            "tools/call" | "prompts/get" => self.name.as_deref(),
            "resources/read" => self.uri.as_deref(),
            _ => None,
        };
        headers.extend(name.map(|name| (NAME, name_value(name))));
        headers
    }
}

/// Reads an object, and nothing else: serde would also take a list for a struct.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

fn words(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// A name as a header: as it is if it is plain ASCII, else in base64.
fn name_value(name: &str) -> HeaderValue {
    let is_plain = name.bytes().all(|byte| matches!(byte, b' '..=b'~')) && name.trim() == name;
    // A name that looks encoded would be decoded at the other end.
    let plain = (is_plain && !name.starts_with("=?base64?")).then(|| HeaderValue::try_from(name).ok()).flatten();
    plain.unwrap_or_else(|| {
        let encoded = format!("=?base64?{}?=", BASE64_STANDARD.encode(name));
        HeaderValue::try_from(encoded).expect("base64 is plain ASCII")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modern(method: &str, member: &str, value: &str) -> HeaderMap {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let text = json!({ "id": 1, "method": method, "params": { "_meta": meta, member: value } });
        ClientMessage::read(text.to_string()).headers()
    }

    #[test]
    fn a_modern_message_is_repeated_in_its_headers() {
        let headers = modern("tools/call", "name", "fetch_inbox");
        assert_eq!(headers[PROTOCOL_VERSION], "2026-07-28");
        assert_eq!(headers[METHOD], "tools/call");
        assert_eq!(headers[NAME], "fetch_inbox");
        assert_eq!(modern("resources/read", "uri", "resource://inbox/A")[NAME], "resource://inbox/A");
        assert!(!modern("tools/list", "name", "x").contains_key(NAME));
    }

    #[test]
    fn a_name_that_is_no_plain_text_travels_in_base64() {
        assert_eq!(modern("tools/call", "name", "Hello, 世界")[NAME], "=?base64?SGVsbG8sIOS4lueVjA==?=");
        assert_eq!(modern("tools/call", "name", " x")[NAME], "=?base64?IHg=?=");
        assert_eq!(modern("tools/call", "name", "=?base64?SGk=?=")[NAME], "=?base64?PT9iYXNlNjQ/U0drPT89?=");
    }

    #[test]
    fn an_old_message_has_no_headers() {
        let message =
            ClientMessage::read(r#"{"id":1,"method":"tools/call","params":{"name":"x","_meta":{}}}"#.to_owned());
        assert!(message.headers().is_empty() && message.is_request());
    }

    #[test]
    fn ids_are_kept_as_they_were_written() {
        let message = ClientMessage::read(r#" {"id": "a\u0062" ,"method":"ping"}"#.to_owned());
        assert_eq!(message.id.as_deref(), Some(r#""a\u0062""#));
        let cancel = r#"{"method":"notifications/cancelled","params":{"requestId":1.0}}"#;
        assert_eq!(ClientMessage::read(cancel.to_owned()).cancels(), Some("1.0"));
    }

    #[test]
    fn what_cannot_be_read_is_carried_as_it_is() {
        let deep = "[".repeat(100_000);
        let nested = format!(r#"{{"id":1,"method":"x","params":{deep}"#);
        for text in ["", "[1]", "{", "null", r#"{"method":5}"#, r#"["x","y",{}]"#, &deep, &nested] {
            let message = ClientMessage::read(text.to_owned());
            assert_eq!(message.text, text);
            assert!(!message.is_request() && message.cancels().is_none() && message.headers().is_empty());
        }
        let listed =
            ClientMessage::read(r#"{"id":1,"method":"resources/subscribe","params":["a","b","c","d"]}"#.to_owned());
        assert_eq!(listed.subscribes(), None);
    }
}
