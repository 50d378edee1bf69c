//! The JSON-RPC envelope: one message in, one answer out, with as few copies as possible.
//!
//! A message is read with borrowed fields, and an answer is written around text that is already JSON:
//! `id` is echoed byte for byte and a result is never parsed again. Deliberately absent: what a
//! method means (see `exchange`) and which revision is spoken (see `eras`).

use std::borrow::Cow;
use std::fmt::Write;

use http::StatusCode;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// Deeper nesting is refused at the door, so that no later reader has to fear for its stack.
const MAX_DEPTH: usize = 128;

/// How much of a caller's own text an error message repeats.
const MAX_QUOTED_CHARS: usize = 80;

/// A message from a client.
#[derive(Debug)]
pub(crate) enum Incoming<'a> {
    /// Wants exactly one answer.
    Request(Request<'a>),
    /// Wants none. One that cancels names the request, its id as it was written.
    Notification { cancels: Option<&'a str> },
    /// An answer to a request of ours. We never send one, so it is taken and forgotten.
    ClientAnswer,
}

/// A message that wants an answer.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// The id as it was written, a JSON string or number.
    pub id: &'a str,
    pub method: Cow<'a, str>,
    pub params: Params<'a>,
}

/// Every member of `params` that some method reads. Each stays text until a method asks for it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow)]
    pub uri: Option<&'a RawValue>,
    #[serde(borrow)]
    pub cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    pub notifications: Option<&'a RawValue>,
    #[serde(borrow, rename = "protocolVersion")]
    pub protocol_version: Option<&'a RawValue>,
    #[serde(borrow, rename = "requestId")]
    pub request_id: Option<&'a RawValue>,
}

/// A JSON-RPC error, and the HTTP status that goes with it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub code: i32,
    pub status: StatusCode,
    pub message: String,
    pub data: Option<Value>,
}

/// A message that cannot be served, with its id as far as it could be read.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    pub id: Option<&'a str>,
    pub fault: Fault,
}

impl Fault {
    pub fn new(code: i32, status: StatusCode, message: impl Into<String>) -> Fault {
        Fault { code, status, message: message.into(), data: None }
    }

    pub fn parse_error(message: impl Into<String>) -> Fault {
        Fault::new(-32700, StatusCode::BAD_REQUEST, message)
    }

    pub fn invalid_request(message: impl Into<String>) -> Fault {
        Fault::new(-32600, StatusCode::BAD_REQUEST, message)
    }

    pub fn invalid_params(message: impl Into<String>) -> Fault {
        Fault::new(-32602, StatusCode::OK, message)
    }

    pub fn with(mut self, data: Value) -> Fault {
        self.data = Some(data);
        self
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

/// Keeps an explicit `null` apart from a member that is absent.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(value).map(Some)
}

/// Reads one message. Takes linear time and constant stack, whatever the bytes are.
pub(crate) fn read(body: &[u8]) -> Result<Incoming<'_>, Unreadable<'_>> {
    let nameless = |fault| Unreadable { id: None, fault };
    // First of all, because a serde struct would also be read from an array.
    if body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return Err(nameless(Fault::invalid_request("Batches are not supported. Send one message at a time.")));
    }
    let text = std::str::from_utf8(body).map_err(|_| nameless(Fault::parse_error("The message is not UTF-8.")))?;
    if is_too_deep(text) {
        return Err(nameless(Fault::parse_error(format!("The message nests deeper than {MAX_DEPTH} levels."))));
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        nameless(match error.classify() {
            serde_json::error::Category::Data => Fault::invalid_request("The message is not a JSON-RPC object."),
            _ => Fault::parse_error(format!("The message is not JSON: {error}.")),
        })
    })?;
    let id = envelope.id.map(RawValue::get).filter(|id| is_id(id));
    message(&envelope, id).map_err(|fault| Unreadable { id, fault })
}

fn message<'a>(envelope: &Envelope<'a>, id: Option<&'a str>) -> Result<Incoming<'a>, Fault> {
    if envelope.id.is_some() && id.is_none() {
        return Err(Fault::invalid_request("'id' must be a string or a number."));
    }
    // Bare clients leave it out; a wrong one is another protocol.
    if envelope.jsonrpc.is_some_and(|version| version.get() != "\"2.0\"") {
        return Err(Fault::invalid_request("'jsonrpc' must be \"2.0\"."));
    }
    let Some(method) = envelope.method else {
        return match id {
            Some(_) => Ok(Incoming::ClientAnswer),
            None => Err(Fault::invalid_request("The message has neither a method nor an id.")),
        };
    };
    let method = text(method).ok_or_else(|| Fault::invalid_request("'method' must be a string."))?;
    let Some(id) = id else {
        let cancels = (method == "notifications/cancelled").then(|| params(envelope.params).ok()?.request_id);
        return Ok(Incoming::Notification { cancels: cancels.flatten().map(RawValue::get) });
    };
    Ok(Incoming::Request(Request { id, method, params: params(envelope.params)? }))
}

fn params(raw: Option<&RawValue>) -> Result<Params<'_>, Fault> {
    let Some(raw) = raw else {
        return Ok(Params::default());
    };
    if !raw.get().starts_with('{') {
        return Err(Fault::invalid_params("'params' must be an object."));
    }
    serde_json::from_str(raw.get()).map_err(|error| Fault::invalid_params(format!("'params' cannot be read: {error}.")))
}

fn is_id(raw: &str) -> bool {
    raw.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit())
}

/// Reads a JSON string, without a copy when it has no escapes.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        serde_json::from_str::<String>(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

fn is_too_deep(text: &str) -> bool {
    // Counting is far quicker than following strings, and nearly every message ends here.
    let openers = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if openers <= MAX_DEPTH {
        return false;
    }
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

/// Writes the answer that carries an error. An id that could not be read is left out, as MCP asks.
pub(crate) fn error(id: Option<&str>, fault: &Fault) -> String {
    let mut answer = String::from("{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        let _ = write!(answer, "\"id\":{id},");
    }
    push_member(&mut answer, &format!("\"error\":{{\"code\":{},\"message\":", fault.code), &fault.message);
    if let Some(data) = &fault.data {
        let _ = write!(answer, ",\"data\":{data}");
    }
    answer.push_str("}}");
    answer
}

/// Appends `before` as it is, such as the name of a member, and `text` as a JSON string.
pub(crate) fn push_member(json: &mut String, before: &str, text: &str) {
    json.push_str(before);
    push_text(json, text);
}

/// Appends a JSON list, with each item as `push` writes it.
pub(crate) fn push_list<T>(
    json: &mut String,
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut String, T),
) {
    json.push('[');
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            json.push(',');
        }
        push(json, item);
    }
    json.push(']');
}

/// Appends `text` as a JSON string.
///
/// Most texts are clean for long: whole clean chunks are copied, and others are written byte by byte, which needs no search.
pub(crate) fn push_text(json: &mut String, text: &str) {
    let mut escaped = Vec::with_capacity(text.len() + text.len() / 4 + 2);
    escaped.push(b'"');
    for chunk in text.as_bytes().chunks(32) {
        if chunk.iter().fold(0, |dirty, byte| dirty | ESCAPES[usize::from(*byte)]) == 0 {
            escaped.extend_from_slice(chunk);
        } else {
            chunk.iter().for_each(|byte| push_byte(&mut escaped, *byte));
        }
    }
    escaped.push(b'"');
    json.push_str(std::str::from_utf8(&escaped).expect("escapes are ASCII and the rest was text"));
}

/// What stands behind the backslash for each byte: 0 for a byte that needs none, `u` for the long form.
const ESCAPES: [u8; 256] = {
    let mut escapes = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        escapes[control] = b'u';
        control += 1;
    }
    escapes[b'\n' as usize] = b'n';
    escapes[b'\r' as usize] = b'r';
    escapes[b'\t' as usize] = b't';
    escapes[b'"' as usize] = b'"';
    escapes[b'\\' as usize] = b'\\';
    escapes
};

fn push_byte(escaped: &mut Vec<u8>, byte: u8) {
    match ESCAPES[usize::from(byte)] {
        0 => escaped.push(byte),
        b'u' => escaped.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        letter => escaped.extend_from_slice(&[b'\\', letter]),
    }
}

/// Puts a caller's text in quotes, cut so that an answer never grows with hostile input.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("'{}…'", &text[..end]),
        None => format!("'{text}'"),
    }
}

#[cfg(test)]
mod tests;
