//! One conversation: what was said, who has read and acknowledged it, how its work stands, and a form to answer.

use std::sync::Arc;

use ::http::HeaderValue;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use askama::Template;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use jiff::Timestamp;
use mail::Office;
use mail::ids::MessageId;
use mail::mailboxes::open_to_all;
use mail::messages::{Delivery, Message, Role};
use mail::office::{ThreadAsk, ThreadPage};
use mail::projects::Project;
use serde::Deserialize;

use super::frame::{Frame, PageKind};
use super::markdown::{laid_out, line};
use super::messages::{Tag, Unsent, address, names, subject, tags};
use super::projects::named;
use super::refused::Refused;
use super::times::When;
use super::visit::{Asking, Visit, encoded, see};
use super::who::Who;
use super::work::{Item, item};
use crate::http::Door;

/// How many messages a page shows, and how many bytes of HTML; at least one.
const MESSAGES: usize = 40;
const BYTES: usize = 512 * 1024;
/// How many copies of a message are told of.
const COPIES: usize = 100;

/// A message of a conversation.
struct ShownMessage {
    id: i64,
    from: Who,
    to: String,
    cc: String,
    subject: String,
    when: When,
    tags: Vec<Tag>,
    html: String,
    left_out: usize,
    receipts: Vec<Receipt>,
}

/// What a recipient did with a message.
struct Receipt {
    name: String,
    whole_name: String,
    read: Option<When>,
    acked: Option<When>,
    note: String,
    ack_due: bool,
    is_away: bool,
    is_mine: bool,
}

/// The message that an answer is for.
struct Last {
    id: i64,
    whom: String,
}

#[derive(Template)]
#[template(path = "thread.html")]
struct ConversationPage<'a> {
    frame: Frame,
    slug: &'a str,
    up: String,
    here: String,
    subject: String,
    thread: String,
    total: usize,
    work: Option<Item>,
    earlier: Option<String>,
    later: Option<String>,
    messages: Vec<ShownMessage>,
    answer_to: Option<Last>,
    unsent: Option<Unsent>,
    key: String,
}

/// Which part of a conversation: around a message, before one, or after one; else its end.
#[derive(Deserialize, Default)]
pub struct Asked {
    at: Option<i64>,
    before: Option<i64>,
    after: Option<i64>,
    /// The message that is to be answered.
    answer: Option<i64>,
    done: Option<String>,
}

/// `GET /p/{project}/thread/{thread}`
pub async fn show(
    State(door): State<Arc<Door>>,
    Path((slug, thread)): Path<(String, String)>,
    Asking(asked): Asking<Asked>,
    visit: Visit,
) -> Result<Response, Refused> {
    showing(door.office(), &slug, &thread, &asked, &visit, None).await
}

/// A part of a conversation, with an answer that was not sent.
pub async fn showing(
    office: &Office,
    slug: &str,
    thread: &str,
    asked: &Asked,
    visit: &Visit,
    unsent: Option<Unsent>,
) -> Result<Response, Refused> {
    let project = named(office, slug).await?;
    let part = part(office, slug, thread, asked).await?;
    let now = office.now();
    let (mut messages, mut bytes) = (Vec::new(), 0);
    for message in &part.page.messages {
        if bytes > BYTES {
            break;
        }
        let copies = office.store().deliveries(message.id).await?;
        let mut said = said(message, &copies, &visit.person, now);
        if is_same(&said.subject, &part.subject) {
            said.subject.clear();
        }
        bytes += said.html.len();
        messages.push(said);
    }
    // What did not fit is on the next page.
    let is_cut = messages.len() < part.page.messages.len();
    let (first, last) = (messages.first().map(|said| said.id), messages.last().map(|said| said.id));
    let here = format!("/p/{}/thread/{}", project.slug, encoded(&part.page.thread));
    let work = work_of(office, &project, &part.page).await?;
    // What is asked for, else the question that is open, else what was said last.
    let wanted = asked.answer.or(work.as_ref().and_then(|item| item.question));
    let wanted = wanted.and_then(|id| part.page.messages.iter().find(|message| message.id.0 == id));
    let end = part.page.messages.get(messages.len().wrapping_sub(1)).filter(|_| !is_cut && !part.has_later);
    let answer_to = wanted.or(end);
    // What a typed message is about says more than its kind.
    let title = work.as_ref().map(|item| &item.title).filter(|title| part.is_typed && !title.is_empty());
    let heading = title.cloned().unwrap_or(part.subject);
    let frame = Frame::new(visit, &heading, PageKind::Other, Some(&project)).done(asked.done.as_deref());
    let page = ConversationPage {
        frame: frame.written_by(unsent.as_ref()),
        slug: &project.slug,
        up: up(visit, &project),
        here: here.clone(),
        work,
        earlier: first.filter(|_| part.has_earlier).map(|first| format!("{here}?before={first}")),
        later: last.filter(|_| part.has_later || is_cut).map(|last| format!("{here}?after={last}")),
        answer_to: answer_to.map(|last| answer(last, &visit.person)),
        subject: heading,
        thread: line(&part.page.thread, 120),
        total: part.page.total,
        messages,
        unsent,
        key: visit.new_key(),
    };
    visit.page(&page)
}

/// A part of a conversation, and what is around it.
struct ThreadExcerpt {
    page: ThreadPage,
    subject: String,
    /// Whether it began with a typed message.
    is_typed: bool,
    has_earlier: bool,
    has_later: bool,
}

async fn part(office: &Office, slug: &str, thread: &str, asked: &Asked) -> Result<ThreadExcerpt, Refused> {
    let limit = MESSAGES + 1;
    let ask = ThreadAsk { project_key: slug, thread, after: None, before: None, limit: 1, with_bodies: false };
    let first = office.thread(ask).await?;
    let ask = ThreadAsk { thread: &first.thread, limit, with_bodies: true, ..ask };
    let newest = MessageId(i64::MAX);
    let mut page = match (asked.after, asked.before) {
        (Some(after), _) => office.thread(ThreadAsk { after: Some(MessageId(after)), ..ask }).await?,
        (None, Some(before)) => office.thread(ThreadAsk { before: Some(MessageId(before)), ..ask }).await?,
        (None, None) => office.thread(ThreadAsk { before: Some(newest), ..ask }).await?,
    };
    // A message that is further up is shown with what came behind it.
    if let (Some(at), None, None) = (asked.at, asked.after, asked.before)
        && page.messages.first().is_some_and(|first| first.id.0 > at)
    {
        page = office.thread(ThreadAsk { after: Some(MessageId(at.saturating_sub(1))), ..ask }).await?;
    }
    let goes_on =
        asked.after.is_some() || asked.at.is_some() && page.messages.first().is_some_and(|m| Some(m.id.0) == asked.at);
    let has_more = page.messages.len() > MESSAGES;
    if has_more {
        if goes_on { page.messages.truncate(MESSAGES) } else { drop(page.messages.remove(0)) }
    }
    let (begin, shown) = (first.messages.first(), (page.messages.first(), page.messages.last()));
    let has_earlier = begin.is_some_and(|begin| shown.0.is_some_and(|shown| shown.id > begin.id));
    // A page of long texts is cut short, so that its length says nothing.
    let end = office.thread(ThreadAsk { before: Some(newest), limit: 1, ..ask }).await?;
    let has_later = end.messages.last().is_some_and(|end| shown.1.is_some_and(|shown| shown.id < end.id));
    let is_typed = begin.is_some_and(|begin| begin.kind.is_some());
    Ok(ThreadExcerpt {
        subject: subject(begin.map_or("", |begin| &begin.subject)),
        is_typed,
        page,
        has_earlier,
        has_later,
    })
}

fn said(message: &Message, copies: &[Delivery], person: &str, now: Timestamp) -> ShownMessage {
    let text = laid_out(&message.body);
    // A blind copy is known to whoever has it, and to nobody else.
    let mine = copies.iter().filter(|copy| copy.role == Role::Bcc && copy.recipient == person);
    let receipts = open_to_all(copies).take(COPIES).chain(mine).map(|copy| {
        let state = &copy.state;
        Receipt {
            name: line(&copy.recipient, 64),
            whole_name: copy.recipient.clone(),
            read: state.read_at.map(|time| When::ago(time, now)),
            acked: state.acked_at.map(|time| When::ago(time, now)),
            note: line(&state.ack_note, 500),
            ack_due: message.ack_required && state.acked_at.is_none(),
            is_away: state.archived_at.is_some(),
            is_mine: copy.recipient == person,
        }
    });
    ShownMessage {
        id: message.id.0,
        from: Who::wrote(message),
        to: names(&message.to),
        cc: names(&message.cc),
        subject: line(&message.subject, 300),
        when: When::ago(message.created_at, now),
        tags: tags(message),
        html: text.html,
        left_out: text.left_out,
        receipts: receipts.collect(),
    }
}

/// The list that somebody came from, if it was one.
fn up(visit: &Visit, project: &Project) -> String {
    let came_from = visit.came_from();
    let is_list = came_from.starts_with("/mail") || came_from.starts_with("/search");
    if is_list { came_from } else { format!("/mail?project={}", project.slug) }
}

/// Whether a message says by its subject only that it answers.
fn is_same(subject: &str, of_thread: &str) -> bool {
    let bare = |text: &str| text.trim_start_matches("Re: ").to_owned();
    bare(subject) == bare(of_thread)
}

/// Whom an answer to a message goes to, as the office decides it.
fn answer(last: &Message, person: &str) -> Last {
    let whom = if last.from == person { names(&last.to) } else { line(&last.from, 64) };
    Last { id: last.id.0, whom }
}

/// How the work stands that a conversation is about.
async fn work_of(office: &Office, project: &Project, page: &ThreadPage) -> Result<Option<Item>, Refused> {
    let Some(id) = office.store().work_of_thread(project.id, &page.thread).await? else { return Ok(None) };
    match office.work_story(&project.slug, &id, None, 1).await {
        Ok(story) => Ok(Some(item(&project.slug, &story.item, office.now()))),
        // It is named by mail that is no typed message, and so is on no board.
        Err(mail::Error::UnknownWork { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// `GET /p/{project}/message/{id}`: the conversation that a message belongs to.
pub async fn of_message(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    _visit: Visit,
) -> Result<Response, Refused> {
    let (message, _) = door.office().message(&slug, MessageId(id)).await?;
    Ok(see(&address(&slug, &message)))
}

/// `GET /p/{project}/message/{id}/text`: all of a message as it was written, as plain text.
pub async fn whole_text(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    _visit: Visit,
) -> Result<Response, Refused> {
    let (message, _) = door.office().message(&slug, MessageId(id)).await?;
    let mut response = Response::new(Body::from(message.body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
