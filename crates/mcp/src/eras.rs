//! The three ways in which clients speak, and how a request shows which one it is.
//!
//! Since 2026-07-28 every request says so itself, in `_meta`. Before that, `initialize` opened a
//! session; and some clients never did even that. The last two differ in nothing that matters after
//! `initialize`, so there are two eras here. HTTP's own rules are in `headers`.

use std::borrow::Cow;

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::registry::CallerKind;
use crate::wire::{Fault, Params, quoted, text};

/// The revision that has no sessions.
pub(crate) const MODERN: &str = "2026-07-28";

/// The revisions that `initialize` negotiates, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Which rules a request is served by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25, with or without `initialize`.
    Legacy,
    /// 2026-07-28.
    Modern,
}

impl Era {
    /// The code of an answer about a resource that is not there.
    pub fn not_found_code(self) -> i32 {
        match self {
            Era::Legacy => -32002,
            Era::Modern => -32602,
        }
    }

    /// The answer to a method that this era does not have.
    pub fn unknown_method(self, method: &str) -> Fault {
        let status = match self {
            Era::Legacy => StatusCode::OK,
            Era::Modern => StatusCode::NOT_FOUND,
        };
        Fault::new(-32601, status, format!("Method {} not found.", quoted(method)))
    }
}

/// The members of `_meta` that say how a request is to be served.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
}

/// What is read of what a client says of itself.
#[derive(Deserialize)]
struct ClientInfo<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
}

impl<'a> Meta<'a> {
    /// Reads `_meta`. One of the wrong shape counts as absent, and is then missed where it is needed.
    pub fn of(params: &Params<'a>) -> Meta<'a> {
        let readable = params.meta.filter(|meta| meta.get().starts_with('{'));
        readable.and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
    }

    /// Who calls: a client that says who it is, unless it is a program of the server's own `name`.
    pub fn caller(&self, server: &str) -> CallerKind {
        let client = self.client.filter(|client| client.get().starts_with('{'));
        let Some(client) = client else { return CallerKind::Bare };
        let said = serde_json::from_str::<ClientInfo<'_>>(client.get()).ok().and_then(|client| client.name);
        if said.is_some_and(|name| name == server) { CallerKind::Bare } else { CallerKind::Introduced }
    }

    /// The revision that the request says it speaks.
    pub fn version(&self) -> Option<Cow<'a, str>> {
        self.version.and_then(text)
    }
}

/// Tells the era of a request. `header` is the revision that HTTP names beside the body, if it does.
pub(crate) fn era_of(method: &str, meta: &Meta<'_>, header: Option<&str>) -> Result<Era, Fault> {
    if let Some(version) = meta.version() {
        // A handshake revision in `_meta` is odd but clear, and we do speak it.
        return Ok(if LEGACY.contains(&&*version) { Era::Legacy } else { Era::Modern });
    }
    match (method, header) {
        // These two exist in no other era, so a request without `_meta` is told what it lacks.
        ("server/discover" | "subscriptions/listen", _) => Ok(Era::Modern),
        // A client that opens the old way is served the old way, whatever else it says.
        ("initialize", _) => Ok(Era::Legacy),
        (_, Some(MODERN)) => Ok(Era::Modern),
        (_, Some(version)) if !LEGACY.contains(&version) => Err(unsupported(version)),
        _ => Ok(Era::Legacy),
    }
}

/// Checks what every request of the modern era must say about its revision.
pub(crate) fn check_version(meta: &Meta<'_>) -> Result<(), Fault> {
    match meta.version() {
        Some(version) if version == MODERN => Ok(()),
        Some(version) => Err(unsupported(&version)),
        None => Err(incomplete("io.modelcontextprotocol/protocolVersion")),
    }
}

/// Checks what every request of the modern era must say about its client.
pub(crate) fn check_capabilities(meta: &Meta<'_>) -> Result<(), Fault> {
    match meta.capabilities {
        Some(capabilities) if capabilities.get().starts_with('{') => Ok(()),
        _ => Err(incomplete("io.modelcontextprotocol/clientCapabilities")),
    }
}

/// The revision that answers an `initialize`: the client's own if we speak it, else our newest.
pub(crate) fn negotiated(wanted: Option<&str>) -> &'static str {
    let known = LEGACY.into_iter().find(|version| Some(*version) == wanted);
    known.unwrap_or(LEGACY[0])
}

/// Every revision we speak, newest first.
pub(crate) fn supported() -> impl Iterator<Item = &'static str> {
    std::iter::once(MODERN).chain(LEGACY)
}

fn incomplete(member: &str) -> Fault {
    let message = format!("'params._meta' must have '{member}'.");
    Fault::new(-32602, StatusCode::BAD_REQUEST, message)
}

fn unsupported(version: &str) -> Fault {
    let data = json!({ "supported": supported().collect::<Vec<_>>(), "requested": version });
    Fault::new(-32022, StatusCode::BAD_REQUEST, "Unsupported protocol version").with(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn era(method: &str, meta: &str, header: Option<&str>) -> Result<Era, i32> {
        let params = format!(r#"{{"_meta":{meta}}}"#);
        let params: Params<'_> = serde_json::from_str(&params).expect("params");
        era_of(method, &Meta::of(&params), header).map_err(|fault| fault.code)
    }

    const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

    #[test]
    fn a_request_that_says_nothing_is_of_the_old_era() {
        assert_eq!(era("tools/call", "null", None), Ok(Era::Legacy));
        assert_eq!(era("tools/call", r#"{"progressToken":1}"#, None), Ok(Era::Legacy));
        assert_eq!(era("tools/call", "null", Some("2025-06-18")), Ok(Era::Legacy));
    }

    #[test]
    fn meta_decides_before_the_header_does() {
        assert_eq!(era("tools/call", MODERN_META, None), Ok(Era::Modern));
        assert_eq!(era("initialize", MODERN_META, None), Ok(Era::Modern));
        assert_eq!(era("tools/call", MODERN_META, Some("2025-06-18")), Ok(Era::Modern));
        let old = r#"{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}"#;
        assert_eq!(era("tools/call", old, Some("2025-11-25")), Ok(Era::Legacy));
    }

    #[test]
    fn without_meta_the_header_or_the_method_decides() {
        assert_eq!(era("tools/list", "null", Some(MODERN)), Ok(Era::Modern));
        assert_eq!(era("server/discover", "null", None), Ok(Era::Modern));
        assert_eq!(era("subscriptions/listen", "5", None), Ok(Era::Modern));
        assert_eq!(era("initialize", "null", Some(MODERN)), Ok(Era::Legacy));
        assert_eq!(era("tools/list", "null", Some("1999-01-01")), Err(-32022));
    }

    #[test]
    fn whoever_says_who_it_is_is_introduced_but_for_our_own_programs() {
        let caller = |meta: &str| {
            let params = format!(r#"{{"_meta":{meta}}}"#);
            let params: Params<'_> = serde_json::from_str(&params).expect("params");
            Meta::of(&params).caller("postrider")
        };
        let said = |client: &str| format!(r#"{{"io.modelcontextprotocol/clientInfo":{client}}}"#);
        for client in [r#"{"name":"claude-code","version":"2"}"#, r#"{"name":"cl\u0061ude"}"#, "{}"] {
            assert_eq!(caller(&said(client)), CallerKind::Introduced, "{client}");
        }
        for client in [r#"{"name":"postrider"}"#, "null", "[]", r#""claude""#] {
            assert_eq!(caller(&said(client)), CallerKind::Bare, "{client}");
        }
        assert_eq!([caller("{}"), caller("null"), caller(MODERN_META)], [CallerKind::Bare; 3]);
    }

    #[test]
    fn a_version_we_speak_is_echoed_and_any_other_gets_the_newest_handshake() {
        for version in LEGACY {
            assert_eq!(negotiated(Some(version)), version);
        }
        assert_eq!(negotiated(Some(MODERN)), "2025-11-25");
        assert_eq!(negotiated(Some("1.0")), "2025-11-25");
        assert_eq!(negotiated(None), "2025-11-25");
    }

    #[test]
    fn an_unsupported_version_is_told_what_is_supported() {
        let fault = unsupported("v999");
        let data = json!({"requested": "v999", "supported": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]});
        assert_eq!((fault.code, fault.status.as_u16(), fault.data), (-32022, 400, Some(data)));
    }
}
