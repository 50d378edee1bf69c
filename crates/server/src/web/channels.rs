//! What is said in the open: the channels of a project, and one of them.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use mail::channels::{Post, PostQuery};
use mail::ids::MessageId;
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::markdown::laid_out;
use super::messages::{address, names};
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit};
use super::who::Who;
use crate::http::Door;

/// How many posts a page shows, and how many bytes of HTML; at least one.
const POSTS: usize = 50;
const BYTES: usize = 512 * 1024;

struct ChannelRow {
    name: String,
    posts: u64,
    when: Option<When>,
}

#[derive(Template)]
#[template(path = "channels.html")]
struct List<'a> {
    frame: Frame,
    slug: &'a str,
    channels: Vec<ChannelRow>,
}

/// `GET /p/{project}/channels`
pub async fn list(State(door): State<Arc<Door>>, Path(slug): Path<String>, visit: Visit) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let (now, (_, channels)) = (office.now(), office.channels(&project.slug).await?);
    let row = |channel: mail::channels::Channel| ChannelRow {
        posts: channel.posts,
        when: channel.newest.map(|(_, time)| When::ago(time, now)),
        name: channel.name,
    };
    let page = List {
        frame: Frame::new(&visit, "Channels", PageKind::Channels, Some(&project)),
        slug: &project.slug,
        channels: channels.into_iter().map(row).collect(),
    };
    visit.page(&page)
}

struct ShownPost {
    id: i64,
    from: Who,
    to: String,
    when: When,
    html: String,
    left_out: usize,
    address: String,
}

#[derive(Template)]
#[template(path = "channel.html")]
struct ChannelPage<'a> {
    frame: Frame,
    slug: &'a str,
    name: &'a str,
    posts: Vec<ShownPost>,
    earlier: Option<String>,
}

/// Where the page ends.
#[derive(Deserialize)]
pub struct Asked {
    before: Option<i64>,
}

/// `GET /p/{project}/channels/{name}`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path((slug, name)): Path<(String, String)>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    let office = door.office();
    let project = named(office, &slug).await?;
    let query = PostQuery { before: asked.before.map(MessageId), limit: POSTS, ..PostQuery::default() };
    let (_, channel, posts) = office.posts(&project.slug, &name, query).await?;
    let oldest = PostQuery { after: Some(MessageId(0)), limit: 1, ..PostQuery::default() };
    let (_, _, oldest) = office.posts(&project.slug, &name, oldest).await?;
    let posts = newest_that_fit(&project.slug, &posts, office.now());
    let oldest = oldest.first().map(|oldest| oldest.message.id.0);
    let first = posts.first().map(|first| first.id).filter(|first| oldest.is_some_and(|oldest| *first > oldest));
    let page = ChannelPage {
        frame: Frame::new(&visit, &channel.signed(), PageKind::Channels, Some(&project)),
        slug: &project.slug,
        name: channel.as_str(),
        earlier: first.map(|first| format!("/p/{}/channels/{}?before={first}", project.slug, channel.as_str())),
        posts,
    };
    visit.page(&page)
}

/// The newest of these posts, as many as a page has room for.
fn newest_that_fit(slug: &str, posts: &[Post], now: Timestamp) -> Vec<ShownPost> {
    let mut bytes = 0;
    let mut fitting = Vec::new();
    for post in posts.iter().rev() {
        if bytes > BYTES {
            break;
        }
        let said = said(slug, post, now);
        bytes += said.html.len();
        fitting.push(said);
    }
    fitting.reverse();
    fitting
}

fn said(slug: &str, post: &Post, now: Timestamp) -> ShownPost {
    let message = &post.message;
    let text = laid_out(&message.body);
    let agents: Vec<String> = message.open_recipients().map(str::to_owned).collect();
    ShownPost {
        id: message.id.0,
        from: Who::wrote(message),
        to: names(&agents),
        when: When::ago(message.created_at, now),
        html: text.html,
        left_out: text.left_out,
        address: address(slug, message),
    }
}
