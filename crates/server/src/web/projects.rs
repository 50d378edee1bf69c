//! One project at a glance: its numbers, and its newest mail.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use mail::Office;
use mail::office::ListingAsk;
use mail::projects::{Project, ProjectKey};
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::messages::{MessageRow, row};
use super::overview::{Card, card};
use super::refused::Refused;
use super::visit::{Asking, Visit, encoded, see};
use crate::http::Door;

/// How many messages are shown.
const NEWEST: usize = 12;

/// What was just done, as an address says it.
#[derive(Deserialize)]
pub struct Done {
    /// The word for it.
    pub done: Option<String>,
}

/// The project that an address names: by its slug alone, for a path has slashes in it.
pub async fn named(office: &Office, slug: &str) -> Result<Project, Refused> {
    if !matches!(ProjectKey::parse(slug)?, ProjectKey::Slug(_)) {
        return Err(Refused::nothing_here());
    }
    Ok(office.project(slug).await?)
}

/// `GET /p/{project}`: the address that somebody types.
pub async fn with_slash(Path(slug): Path<String>) -> Response {
    see(&format!("/p/{}/", encoded(&slug)))
}

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage {
    frame: Frame,
    card: Card,
    letters: Vec<MessageRow>,
}

/// `GET /p/{project}/`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    Asking(done): Asking<Done>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let ask = ListingAsk { project_key: Some(&slug), limit: NEWEST, ..ListingAsk::default() };
    let listed = office.listing(ask).await?;
    let now = office.now();
    let card = card(office, &project).await?;
    let letters = listed.iter().map(|(project, listed)| row(project, listed, false, now)).collect();
    let frame = Frame::new(&visit, &card.name, PageKind::Project, Some(&project)).done(done.done.as_deref());
    visit.page(&ProjectPage { frame, card, letters })
}
