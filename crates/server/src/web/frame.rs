//! What is around every page: its title, where one is, where one can go, and how it is sent.

use ::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue, StatusCode};
use askama::Template;
use axum::body::Body;
use axum::response::IntoResponse;
use jiff::Timestamp;
use mail::projects::Project;

use super::assets::{VERSION, compressed, takes_gzip};
use super::markdown::line;
use super::messages::Unsent;
use super::refused::{PageResult, Refused};
use super::times::When;
use super::visit::encoded;

/// How hard a page is made small: more takes longer than it saves.
const EFFORT: u32 = 3;

/// What was just done, in words of our own: a page shows nothing that stands in its address.
const DONE: [(&str, &str); 9] = [
    ("read", "Marked read."),
    ("sent", "Sent."),
    ("acknowledged", "Acknowledged."),
    ("archived", "Put away. It can be brought back."),
    ("brought-back", "Brought back."),
    ("released", "Released. Its holder was told."),
    ("released-untold", "Released. Its holder could not be told."),
    ("retired", "Retired. Registering again brings it back."),
    ("nothing", "That had been done before."),
];

/// What is around a page.
#[derive(Default)]
pub struct Frame {
    /// What the page is called.
    pub title: String,
    /// Which page it is, among those that one can go to.
    pub place: &'static str,
    /// The project that it is about.
    pub project: Option<Project>,
    /// Tells this style sheet and script from others.
    pub version: &'static str,
    /// The name that the person writes under.
    pub person: String,
    /// What forms carry.
    pub form: String,
    /// Whether one can sign out.
    pub signs_out: bool,
    /// Whether somebody is in, and so can go anywhere.
    pub is_inside: bool,
    /// What was just done.
    pub notice: Option<&'static str>,
    /// When the page is looked at.
    pub now: Timestamp,
}

impl Frame {
    /// The frame of a page that everybody may see.
    pub fn outside(title: &str) -> Self {
        Self { title: title.to_owned(), version: VERSION.as_str(), ..Self::default() }
    }

    /// The frame of a page about that project.
    pub fn about(self, project: &Project) -> Self {
        Self { project: Some(project.clone()), ..self }
    }

    /// The same, with a word on what was just done.
    pub fn done(mut self, what: Option<&str>) -> Self {
        self.notice = what.and_then(|what| DONE.iter().find(|(name, _)| *name == what)).map(|(_, said)| *said);
        self
    }

    /// The same for somebody whose form was not sent: the name that was written in it stays.
    pub fn written_by(mut self, unsent: Option<&Unsent>) -> Self {
        if let Some(unsent) = unsent {
            self.person.clone_from(&unsent.name);
        }
        self
    }

    /// The project's name in addresses. What follows is for templates, which hand in references.
    pub fn slug(&self) -> &str {
        self.project.as_ref().map_or("", |project| &project.slug)
    }

    /// A text on one line, at most `most` characters of it.
    pub fn line(&self, text: &str, most: usize) -> String {
        line(text, most)
    }

    /// A text as a part of an address.
    pub fn encoded(&self, text: &str) -> String {
        encoded(text)
    }

    /// How long ago that was.
    pub fn ago(&self, time: &Timestamp) -> When {
        When::ago(*time, self.now)
    }

    /// How long it is until then.
    pub fn until(&self, time: &Timestamp) -> When {
        When::until(*time, self.now)
    }
}

/// Sends a page.
pub fn page(page: &impl Template, status: StatusCode, headers: &HeaderMap) -> PageResult {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page could not be made");
        Refused::nothing_here()
    })?;
    let is_small = takes_gzip(headers);
    let body = if is_small { compressed(html.as_bytes(), EFFORT) } else { html.into_bytes() };
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    let mut response = (status, headers, Body::from(body)).into_response();
    if is_small {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}
