//! What is around every page: its title, where one is, where one can go, and how it is sent.

use ::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use ::http::{HeaderMap, HeaderValue, StatusCode};
use askama::Template;
use axum::body::Body;
use axum::response::Response;
use mail::projects::Project;

use super::assets::{VERSION, compressed, takes_gzip};
use super::markdown::line;
use super::messages::Unsent;
use super::refused::Refused;
use super::visit::Visit;

/// How much of a project's path stands in the frame, in characters.
const LONGEST_PATH: usize = 60;
/// How hard a page is made small: more takes longer than it saves.
const EFFORT: u32 = 3;

/// Which page it is, among those that one can go to.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the name of a page")]
pub enum PageKind {
    Overview,
    Mail,
    Search,
    Project,
    Agents,
    Work,
    Reservations,
    Channels,
    Log,
    Login,
    Other,
}

/// What was just done, in words of our own: a page shows nothing that stands in its address.
const DONE: [(&str, &str); 8] = [
    ("read", "Marked read."),
    ("sent", "Sent."),
    ("acknowledged", "Acknowledged."),
    ("archived", "Put away. It can be brought back."),
    ("brought-back", "Brought back."),
    ("released", "Released. Its holder was told."),
    ("retired", "Retired. Registering again brings it back."),
    ("nothing", "That had been done before."),
];

/// What is around a page.
pub struct Frame {
    /// What the page is called.
    pub title: String,
    pub place: PageKind,
    /// The project that it is about.
    pub project: Option<Here>,
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
}

/// The project that a page is about.
pub struct Here {
    /// How it stands in addresses.
    pub slug: String,
    pub path: String,
}

impl Here {
    pub fn of(project: &Project) -> Self {
        Self { slug: project.slug.clone(), path: line(&project.human_key, LONGEST_PATH) }
    }
}

impl Frame {
    /// The frame of a page that everybody may see.
    pub fn outside(title: &str, place: PageKind) -> Self {
        Self {
            title: title.to_owned(),
            place,
            project: None,
            version: VERSION.as_str(),
            person: String::new(),
            form: String::new(),
            signs_out: false,
            is_inside: false,
            notice: None,
        }
    }

    /// The frame of a page for somebody who is in.
    pub fn new(visit: &Visit, title: &str, place: PageKind, project: Option<&Project>) -> Self {
        Self {
            project: project.map(Here::of),
            person: visit.person.clone(),
            form: visit.form.clone(),
            signs_out: visit.signs_out,
            is_inside: true,
            ..Self::outside(title, place)
        }
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

    /// Whether that is this page, as templates ask.
    pub fn at(&self, name: &str) -> bool {
        let own = match self.place {
            PageKind::Overview => "overview",
            PageKind::Mail => "mail",
            PageKind::Search => "search",
            PageKind::Project => "project",
            PageKind::Agents => "agents",
            PageKind::Work => "work",
            PageKind::Reservations => "reservations",
            PageKind::Channels => "channels",
            PageKind::Log => "log",
            PageKind::Login | PageKind::Other => "",
        };
        own == name
    }
}

/// Sends a page.
pub fn page(page: &impl Template, status: StatusCode, headers: &HeaderMap) -> Result<Response, Refused> {
    let html = page.render().map_err(|error| {
        tracing::error!(%error, "a page could not be made");
        Refused::nothing_here()
    })?;
    let is_small = takes_gzip(headers);
    let body = if is_small { compressed(html.as_bytes(), EFFORT) } else { html.into_bytes() };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if is_small {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}
