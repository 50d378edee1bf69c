//! What a browser has to be told before it lets a page of another origin call, and read the answer.
//!
//! Which origins may call is decided in `admission`; nothing here is said to any other. Cookies are never allowed,
//! because there are none.

use ::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, VARY,
};
use ::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "content-type, authorization, accept, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id",
);
/// The only header of an answer that a page has to read by itself.
const EXPOSED: HeaderValue = HeaderValue::from_static("mcp-session-id");
/// How long a browser may rely on a permission, in seconds. None keeps one for longer than a day.
const ONE_HOUR: HeaderValue = HeaderValue::from_static("3600");

/// The answer to a page that asks whether it may call.
pub fn permission(origin: HeaderValue) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    allow(headers, origin);
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, ONE_HOUR);
    response
}

/// Lets a page of this origin read an answer.
pub fn open(headers: &mut HeaderMap, origin: HeaderValue) {
    allow(headers, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

fn allow(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
