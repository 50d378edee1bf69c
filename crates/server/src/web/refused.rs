//! Why a person does not see the page that was asked for: the fact, and the next step.
//!
//! What went wrong inside is logged once and not shown, as at every door.

use ::http::{HeaderMap, StatusCode};
use askama::Template;
use axum::response::{IntoResponse, Response};

use super::frame::{Frame, PageKind};
use super::visit::{encoded, see};
use crate::http::HttpProblem;

/// Why not.
pub enum Refused {
    /// Somebody has to sign in, and then sees this address.
    SignInFirst(String),
    /// Something else.
    Because {
        /// The status of the answer.
        status: StatusCode,
        /// A stable code.
        code: &'static str,
        /// The fact.
        message: String,
        /// The next step.
        hint: String,
    },
}

impl Refused {
    fn because(status: StatusCode, code: &'static str, message: &str, hint: &str) -> Self {
        Self::Because { status, code, message: message.to_owned(), hint: hint.to_owned() }
    }

    /// Nobody has signed in.
    pub fn sign_in_first(wanted: &str) -> Self {
        Self::SignInFirst(wanted.to_owned())
    }

    /// There is no such page.
    pub fn nothing_here() -> Self {
        Self::because(StatusCode::NOT_FOUND, "NOT_FOUND", "There is no such page", "Begin at the overview.")
    }

    /// An address that asks for what there cannot be.
    pub fn odd_address() -> Self {
        let message = "The address asks for something that cannot be read";
        Self::because(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", message, "Take away what stands behind its '?'.")
    }

    /// A form of somebody who is not signed in any more. Loading the answer again sends it once more.
    pub fn signed_out() -> Self {
        let hint =
            "Sign in at /login in another tab, then load this page again: your browser sends the form once more.";
        Self::because(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "You are not signed in any more", hint)
    }

    /// A form that another page sent.
    pub fn foreign_form() -> Self {
        let message = "This was not sent by a page of this server, so nothing was changed";
        Self::because(StatusCode::FORBIDDEN, "FOREIGN_FORM", message, "Do it from the page itself.")
    }

    /// A form that this browser was not given, or before the server was started again.
    pub fn old_form() -> Self {
        let message = "The form is too old, so nothing was changed";
        Self::because(
            StatusCode::FORBIDDEN,
            "OLD_FORM",
            message,
            "Go back, load the page again, and send it once more.",
        )
    }

    /// A form that cannot be read.
    pub fn odd_form() -> Self {
        let message = "The form cannot be read, so nothing was changed";
        Self::because(StatusCode::BAD_REQUEST, "MALFORMED_REQUEST", message, "Load the page again.")
    }

    /// Too many wrong tokens.
    pub fn too_many_tries() -> Self {
        let message = "Too many tokens were tried from this address";
        Self::because(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message, "Wait a minute, then try again.")
    }

    /// Too many pages are open.
    pub fn too_many_pages() -> Self {
        let message = "Too many pages are open";
        Self::because(StatusCode::SERVICE_UNAVAILABLE, "BUSY", message, "Close some of them.")
    }
}

impl From<HttpProblem> for Refused {
    fn from(problem: HttpProblem) -> Self {
        let status = StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (code, message, hint) = problem.told();
        Self::because(status, code, message, hint)
    }
}

impl From<mail::Error> for Refused {
    fn from(error: mail::Error) -> Self {
        crate::refusal::log_cause(&error);
        Self::because(status_of(&error), error.code(), &error.to_string(), &crate::hints::for_person(&error))
    }
}

impl From<mail::StoreError> for Refused {
    fn from(error: mail::StoreError) -> Self {
        mail::Error::from(error).into()
    }
}

fn status_of(error: &mail::Error) -> StatusCode {
    use mail::Error;
    match error {
        Error::UnknownProject { .. }
        | Error::UnknownAgent { .. }
        | Error::UnknownMessage { .. }
        | Error::UnknownThread { .. }
        | Error::UnknownWork { .. }
        | Error::NotHeld { .. } => StatusCode::NOT_FOUND,
        Error::Away(_) | Error::Busy | Error::SearchTooSlow => StatusCode::SERVICE_UNAVAILABLE,
        Error::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::BAD_REQUEST,
    }
}

#[derive(Template)]
#[template(path = "refused.html")]
struct RefusedPage {
    frame: Frame,
    code: &'static str,
    message: String,
    hint: String,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::SignInFirst(wanted) => see(&format!("/login?next={}", encoded(&wanted))),
            Self::Because { status, code, message, hint } => {
                let frame = Frame::outside("That did not work", PageKind::Other);
                let page = super::frame::page(&RefusedPage { frame, code, message, hint }, status, &HeaderMap::new());
                page.unwrap_or_else(|_| status.into_response())
            }
        }
    }
}
