//! HTTP's headers as the protocol reads them: the mirrored fields of 2026-07-28, and `Accept`.
//!
//! A proxy may route by a header while we act by the body, so in the modern era both must say the
//! same. Clients of the old era sent no such headers and are asked for none. Origin, tokens and
//! limits are the business of whoever owns the connection.

use std::borrow::Cow;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, StatusCode, header};

use crate::eras::{self, Era, Meta};
use crate::wire::{Fault, Request, quoted, text};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The header that names a session of the old era.
pub(crate) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Tells the era of a request over HTTP, and checks that its headers say what its body says.
pub(crate) fn check(headers: &HeaderMap, request: &Request<'_>, meta: &Meta<'_>) -> Result<Era, Fault> {
    let version = value(headers, &PROTOCOL_VERSION)?;
    let era = eras::era_of(&request.method, meta, version)?;
    if era == Era::Legacy {
        return Ok(era);
    }
    // The order matters: a client of a later revision must learn of the revision first, since it
    // may do everything else differently.
    match (version, meta.version()) {
        (None, Some(_)) => return Err(missing(&PROTOCOL_VERSION)),
        (Some(header), Some(body)) if header != body => return Err(differs(&PROTOCOL_VERSION, header, &body)),
        _ => eras::check_version(meta)?,
    }
    eras::check_capabilities(meta)?;
    let method = value(headers, &METHOD)?.ok_or_else(|| missing(&METHOD))?;
    if method != request.method {
        return Err(differs(&METHOD, method, &request.method));
    }
    if let Some(body) = mirrored_name(request) {
        let header = decoded(value(headers, &NAME)?.ok_or_else(|| missing(&NAME))?)?;
        if header != body {
            return Err(differs(&NAME, &header, &body));
        }
    }
    Ok(era)
}

/// The session that a client says it belongs to. Any visible text will do.
pub(crate) fn session(headers: &HeaderMap) -> Option<&str> {
    let id = headers.get(SESSION_ID)?.to_str().ok()?.trim();
    (!id.is_empty()).then_some(id)
}

/// Whether the client takes nothing but an event stream.
pub(crate) fn wants_only_events(headers: &HeaderMap) -> bool {
    accepts_events(headers)
        && !accepted(headers).any(|range| matches!(range, "application/json" | "application/*" | "*/*"))
}

/// Whether the client named event streams among what it takes.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    accepted(headers).any(|range| range == "text/event-stream")
}

fn accepted(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::ACCEPT).into_iter().filter_map(|line| line.to_str().ok());
    // Parameters such as `;q=0.9` weigh one form against another; all we ask is whether it is named.
    lines.flat_map(|line| line.split(',')).map(|range| range.split(';').next().unwrap_or_default().trim())
}

fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Fault> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(value) => Ok(Some(value.trim())),
        Err(_) => Err(mismatch(format!("The header {name} has characters that a header cannot have."))),
    }
}

/// The part of the body that `Mcp-Name` repeats.
fn mirrored_name<'a>(request: &Request<'a>) -> Option<Cow<'a, str>> {
    match &*request.method {
        "tools/call" | "prompts/get" => text(request.params.name?),
        "resources/read" => text(request.params.uri?),
        _ => None,
    }
}

/// Undoes the form in which a name travels that is not plain ASCII.
fn decoded(value: &str) -> Result<Cow<'_, str>, Fault> {
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(Cow::Borrowed(value));
    };
    let text = BASE64_STANDARD.decode(inner).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Cow::Owned).ok_or_else(|| mismatch(format!("The header {NAME} is not base64 of UTF-8.")))
}

fn missing(name: &HeaderName) -> Fault {
    mismatch(format!("The header {name} is missing."))
}

fn differs(name: &HeaderName, header: &str, body: &str) -> Fault {
    mismatch(format!("The header {name} says {} but the body says {}.", quoted(header), quoted(body)))
}

fn mismatch(message: String) -> Fault {
    Fault::new(-32020, StatusCode::BAD_REQUEST, message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn accepting(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(value))])
    }

    #[test]
    fn only_a_client_that_takes_nothing_else_wants_events() {
        assert!(wants_only_events(&accepting("text/event-stream")));
        assert!(wants_only_events(&accepting("text/event-stream;q=0.5, text/html")));
        assert!(!wants_only_events(&accepting("application/json, text/event-stream")));
        assert!(!wants_only_events(&accepting("text/event-stream, */*;q=0.1")));
        assert!(!wants_only_events(&accepting("text/event-stream, application/*")));
        assert!(!wants_only_events(&accepting("text/html")));
        assert!(!wants_only_events(&HeaderMap::new()));
    }

    #[test]
    fn base64_is_decoded_strictly() {
        let base64 = |text: &str| BASE64_STANDARD.decode(text).ok();
        assert_eq!(base64("SGVsbG8="), Some(b"Hello".to_vec()));
        assert_eq!(base64(""), Some(Vec::new()));
        assert_eq!(base64("SGVsbG8"), None, "padding is missing");
        assert_eq!(base64("SGVs!!!bG8="), None, "not in the alphabet");
        assert_eq!(base64("SGVsbG9="), None, "left-over bits");
        assert_eq!(base64("===="), None);
        assert_eq!(decoded("=?base64?SGVsbG8sIOS4lueVjA==?=").expect("UTF-8"), "Hello, 世界");
        assert_eq!(decoded("=?base64?SGVsbG8=").expect("a literal"), "=?base64?SGVsbG8=");
    }

    proptest! {
        #[test]
        fn any_header_text_is_decoded_or_refused(value in "(=\\?base64\\?)?[ -~]{0,40}(\\?=)?") {
            let _ = decoded(&value);
        }
    }
}
