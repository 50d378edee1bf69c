//! One project at a glance: its numbers, and its newest mail.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use mail::overview::Listing;

use super::frame::Frame;
use super::messages::{MessageRow, row};
use super::overview::{Card, card};
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit, encoded, see};

/// How many messages are shown.
const NEWEST: usize = 12;

/// `GET /p/{project}`: the address that somebody types.
pub async fn with_slash(Path(slug): Path<String>) -> Response {
    see(&format!("/p/{}/", encoded(&slug)))
}

#[derive(Template)]
#[template(path = "project.html")]
struct ProjectPage {
    frame: Frame,
    card: Card,
    messages: Vec<MessageRow>,
}

/// `GET /p/{project}/`
pub async fn show(Path(slug): Path<String>, Query(query): Query<PageQuery>, visit: Visit) -> PageResult {
    let office = visit.office();
    let project = visit.project(&slug).await?;
    let listed = office.listing(Some(&slug), None, &Listing { limit: NEWEST, ..Listing::default() }).await?;
    let card = card(office, &project).await?;
    let frame = visit.frame(&card.name, "project").about(&project).done(query.done.as_deref());
    let messages = listed.iter().map(|(project, listed)| row(project, listed, false, frame.now)).collect();
    visit.page(&ProjectPage { frame, card, messages })
}
