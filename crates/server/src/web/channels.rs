//! What is said in the open: the channels of a project, and one of them.

use askama::Template;
use axum::extract::Path;
use mail::channels::{Channel, Post, PostQuery};
use mail::ids::MessageId;

use super::frame::Frame;
use super::markdown::{RenderedText, laid_out};
use super::messages::{address, names};
use super::refused::PageResult;
use super::visit::{PageQuery, Query, Visit};
use super::who::Who;

/// How many posts a page shows, and how many bytes of HTML; at least one.
const POSTS: usize = 50;
const BYTES: usize = 512 * 1024;

#[derive(Template)]
#[template(path = "channels.html")]
struct ChannelsPage {
    frame: Frame,
    channels: Vec<Channel>,
}

/// `GET /p/{project}/channels`
pub async fn list(Path(slug): Path<String>, visit: Visit) -> PageResult {
    let project = visit.project(&slug).await?;
    let (_, channels) = visit.office().channels(&project.slug).await?;
    visit.page(&ChannelsPage { frame: visit.frame("Channels", "channels").about(&project), channels })
}

struct ShownPost {
    post: Post,
    from: Who,
    to: String,
    text: RenderedText,
    address: String,
}

#[derive(Template)]
#[template(path = "channel.html")]
struct ChannelPage<'a> {
    frame: Frame,
    name: &'a str,
    posts: Vec<ShownPost>,
    earlier: Option<i64>,
}

/// `GET /p/{project}/channels/{name}`
pub async fn show(
    Path((slug, name)): Path<(String, String)>,
    Query(query): Query<PageQuery>,
    visit: Visit,
) -> PageResult {
    let office = visit.office();
    let project = visit.project(&slug).await?;
    let page = PostQuery { before: query.before.map(MessageId), limit: POSTS, ..PostQuery::default() };
    let (_, channel, posts) = office.posts(&project.slug, &name, page).await?;
    let oldest = PostQuery { after: Some(MessageId(0)), limit: 1, ..PostQuery::default() };
    let (_, _, oldest) = office.posts(&project.slug, &name, oldest).await?;
    let posts = newest_that_fit(&project.slug, posts);
    let (first, oldest) =
        (posts.first().map(|first| first.post.message.id), oldest.first().map(|post| post.message.id));
    visit.page(&ChannelPage {
        frame: visit.frame(&channel.signed(), "channels").about(&project),
        name: channel.as_str(),
        earlier: first.filter(|first| oldest.is_some_and(|oldest| *first > oldest)).map(|first| first.0),
        posts,
    })
}

/// The newest of these posts, as many as a page has room for.
fn newest_that_fit(slug: &str, posts: Vec<Post>) -> Vec<ShownPost> {
    let mut bytes = 0;
    let mut fitting = Vec::new();
    for post in posts.into_iter().rev() {
        if bytes > BYTES {
            break;
        }
        let text = laid_out(&post.message.body);
        bytes += text.html.len();
        let agents: Vec<String> = post.message.open_recipients().map(str::to_owned).collect();
        let (from, address) = (Who::wrote(&post.message), address(slug, &post.message.thread, post.message.id.0));
        fitting.push(ShownPost { post, from, to: names(&agents), text, address });
    }
    fitting.reverse();
    fitting
}
