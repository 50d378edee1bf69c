//! Refusals of the HTTP door itself: a status, and the same `{error: {code, message, hint}}` as everywhere.

use std::borrow::Cow;

use ::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use ::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request was not let in.
#[derive(Debug)]
pub struct HttpProblem {
    pub status: StatusCode,
    /// For programs.
    pub code: &'static str,
    /// The fact.
    pub message: String,
    /// The next step.
    pub hint: Cow<'static, str>,
    header: Option<(HeaderName, &'static str)>,
}

impl HttpProblem {
    pub fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { status, code, message: message.into(), hint: hint.into(), header: None }
    }

    /// The same with a header.
    fn with(self, name: HeaderName, value: &'static str) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status.as_u16()
    }

    /// The bearer token is missing or wrong.
    pub fn unauthorized() -> Self {
        let hint =
            "Send 'Authorization: Bearer' with the server's token; commands take it from AGENT_MAIL_BEARER_TOKEN.";
        let message = "The bearer token is missing or wrong";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message, hint).with(WWW_AUTHENTICATE, "Bearer")
    }

    /// The `Host` is not one of ours.
    pub fn wrong_host(host: &str) -> Self {
        let message = format!("Host '{}' is not served here", mail::error::shown(host));
        let hint = "Use 127.0.0.1 or localhost, or add the name to allowed_hosts.";
        Self::new(StatusCode::FORBIDDEN, "HOST_NOT_ALLOWED", message, hint)
    }

    /// The `Origin` is a page that we do not know.
    pub fn wrong_origin(origin: &str) -> Self {
        let message = format!("Origin '{}' may not call this server", mail::error::shown(origin));
        let hint = "Add the origin to allowed_origins if you trust that page.";
        Self::new(StatusCode::FORBIDDEN, "ORIGIN_NOT_ALLOWED", message, hint)
    }

    /// More than the largest request.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("The request is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", message, "Send less, or a path to a file instead.")
    }

    /// The body broke off, or is not what HTTP allows.
    pub fn malformed() -> Self {
        let message = "The body of the request broke off or is malformed";
        Self::new(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", message, "Send it again, whole.")
    }

    /// The body did not arrive in time.
    pub fn too_slow() -> Self {
        let message = "The request did not arrive in time";
        Self::new(StatusCode::REQUEST_TIMEOUT, "TOO_SLOW", message, "Send it again.")
    }

    /// More requests than the address may send.
    pub fn too_many() -> Self {
        let (message, hint) = ("Too many requests from this address", "Wait a second, then try again.");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message, hint).with(RETRY_AFTER, "1")
    }

    /// More requests under way, or more bytes of them, than the server takes.
    pub fn busy() -> Self {
        let (message, hint) = ("Too many requests are under way", "Nothing was changed. Try again in a moment.");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "BUSY", message, hint).with(RETRY_AFTER, "1")
    }

    /// A method that the address does not answer.
    pub fn method_not_allowed() -> Self {
        let message = "This address answers POST, GET and DELETE";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message, "POST a JSON-RPC message.")
    }

    /// Nothing is at that address.
    pub fn not_found(path: &str) -> Self {
        let message = format!("Nothing is at '{}'", mail::error::shown(path));
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message, "The MCP address is /mcp.")
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response {
        let error = json!({ "code": self.code, "message": self.message, "hint": self.hint });
        let mut response = super::json_answer(self.status, json!({ "error": error }).to_string());
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
