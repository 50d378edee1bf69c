//! Why a person does not see the page that was asked for: the fact, and the next step.
//!
//! What went wrong inside is logged once and not shown, as at every door.

use ::http::{HeaderMap, StatusCode};
use askama::Template;
use axum::response::{IntoResponse, Response};

use super::frame::Frame;
use super::visit::{encoded, see};
use crate::http::HttpProblem;

/// How a page is answered.
pub type PageResult = Result<Response, Refused>;

/// Why not.
pub enum Refused {
    /// Somebody has to sign in, and then sees this address.
    SignInFirst(String),
    /// Something else.
    Because(HttpProblem),
}

/// What is always said in the same words: the status and a stable code, the fact, and the next step.
macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident($status:ident, $code:literal): $message:literal, $hint:literal;)*) => {
        impl Refused {
            $($(#[$doc])* pub fn $name() -> Self {
                Self::Because(HttpProblem::new(StatusCode::$status, $code, $message, $hint))
            })*
        }
    };
}

refusals! {
    /// There is no such page.
    nothing_here(NOT_FOUND, "NOT_FOUND"): "There is no such page", "Begin at the overview.";

    /// An address that asks for what there cannot be.
    odd_address(BAD_REQUEST, "MALFORMED_REQUEST"):
        "The address asks for something that cannot be read", "Take away what stands behind its '?'.";

    /// A form of somebody who is not signed in any more. Loading the answer again sends it once more.
    signed_out(UNAUTHORIZED, "UNAUTHORIZED"):
        "You are not signed in any more",
        "Sign in at /login in another tab, then load this page again: your browser sends the form once more.";

    /// A form that another page sent.
    foreign_form(FORBIDDEN, "FOREIGN_FORM"):
        "This was not sent by a page of this server, so nothing was changed", "Do it from the page itself.";

    /// A form that this browser was not given, or before the server was started again.
    old_form(FORBIDDEN, "OLD_FORM"):
        "The form is too old, so nothing was changed", "Go back, load the page again, and send it once more.";

    /// A form that cannot be read.
    odd_form(BAD_REQUEST, "MALFORMED_REQUEST"):
        "The form cannot be read, so nothing was changed", "Load the page again.";

    /// Too many wrong tokens.
    too_many_tries(TOO_MANY_REQUESTS, "RATE_LIMITED"):
        "Too many tokens were tried from this address", "Wait a minute, then try again.";

    /// Too many pages are open.
    too_many_pages(SERVICE_UNAVAILABLE, "BUSY"): "Too many pages are open", "Close some of them.";
}

impl From<HttpProblem> for Refused {
    fn from(problem: HttpProblem) -> Self {
        Self::Because(problem)
    }
}

impl From<mail::Error> for Refused {
    fn from(error: mail::Error) -> Self {
        crate::refusal::log_cause(&error);
        let hint = crate::hints::for_person(&error);
        Self::Because(HttpProblem::new(status_of(&error), error.code(), error.to_string(), hint))
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
    problem: HttpProblem,
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Self::SignInFirst(wanted) => see(&format!("/login?next={}", encoded(&wanted))),
            Self::Because(problem) => {
                let (frame, status) = (Frame::outside("That did not work"), problem.status);
                let page = super::frame::page(&RefusedPage { frame, problem }, status, &HeaderMap::new());
                page.unwrap_or_else(|_| status.into_response())
            }
        }
    }
}
