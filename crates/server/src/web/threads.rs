//! One conversation: what was said, who has read and acknowledged it, how its work stands, and a form to answer.

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use askama::Template;
use axum::body::Body;
use axum::extract::Path;
use axum::response::IntoResponse;
use formats::Kind;
use mail::ids::MessageId;
use mail::mailboxes::open_to_all;
use mail::messages::{Delivery, Message, Role};
use mail::office::{ThreadPage, ThreadRequest};
use mail::projects::Project;
use mail::wake_ups::WakeReceipt;
use mail::{Error, Office};
use serde::Deserialize;

use super::frame::Frame;
use super::markdown::{RenderedText, laid_out, line};
use super::messages::{Tag, Unsent, address, names, subject, tags};
use super::refused::PageResult;
use super::session::random;
use super::visit::{Query, Visit, encoded, see};
use super::who::Who;
use super::work::WorkRow;

/// How many messages a page shows, and how many bytes of HTML; at least one.
const MESSAGES: usize = 40;
const BYTES: usize = 512 * 1024;
/// How many deliveries of a message are told of.
const DELIVERIES: usize = 100;

/// A message of a conversation.
struct ShownMessage {
    message: Message,
    from: Who,
    /// Where it says more than that this is an answer.
    subject: Option<String>,
    tags: Vec<Tag>,
    text: RenderedText,
    /// The deliveries that whoever looks may know of.
    deliveries: Vec<Delivery>,
    /// What became of the wake-ups that told of it.
    wake_ups: Vec<WakeReceipt>,
}

/// The message that an answer is for.
struct Last {
    id: i64,
    whom: String,
}

#[derive(Template)]
#[template(path = "thread.html")]
struct ConversationPage {
    frame: Frame,
    up: String,
    here: String,
    subject: String,
    thread: String,
    total: usize,
    work: Option<WorkRow>,
    earlier: Option<String>,
    later: Option<String>,
    messages: Vec<ShownMessage>,
    answer_to: Option<Last>,
    me: String,
    unsent: Option<Unsent>,
    key: String,
}

/// Which part of a conversation: around a message, before one, or after one; else its end.
#[derive(Deserialize, Default)]
pub struct ThreadQuery {
    at: Option<i64>,
    before: Option<i64>,
    after: Option<i64>,
    /// The message that is to be answered.
    answer: Option<i64>,
    done: Option<String>,
}

/// `GET /p/{project}/thread/{thread}`
pub async fn show(
    Path((slug, thread)): Path<(String, String)>,
    Query(query): Query<ThreadQuery>,
    visit: Visit,
) -> PageResult {
    showing(&slug, &thread, &query, &visit, None).await
}

/// A part of a conversation, with an answer that was not sent.
pub async fn showing(
    slug: &str,
    thread: &str,
    query: &ThreadQuery,
    visit: &Visit,
    unsent: Option<Unsent>,
) -> PageResult {
    let office = visit.office();
    let project = visit.project(slug).await?;
    let part = part(office, slug, thread, query).await?;
    let (mut messages, mut bytes) = (Vec::new(), 0);
    for message in &part.page.messages {
        if bytes > BYTES {
            break;
        }
        let deliveries = office.store().deliveries(message.id).await?;
        let wake_ups = office.wake_receipts(&[message.id]).await?;
        let shown = shown(message.clone(), &deliveries, wake_ups, &part.subject, &visit.person);
        bytes += shown.text.html.len();
        messages.push(shown);
    }
    // What did not fit is on the next page.
    let is_cut = messages.len() < part.page.messages.len();
    let (first, last) = (messages.first().map(|shown| shown.message.id), messages.last().map(|shown| shown.message.id));
    let here = format!("/p/{}/thread/{}", project.slug, encoded(&part.page.thread));
    let work = work_of(office, &project, &part.page).await?;
    // What is asked for, else the question that is open, else what was said last.
    let wanted = query.answer.or(work.as_ref().and_then(|item| item.question));
    let wanted = wanted.and_then(|id| part.page.messages.iter().find(|message| message.id.0 == id));
    let end = part.page.messages.get(messages.len().wrapping_sub(1)).filter(|_| !is_cut && !part.has_later);
    let answer_to = wanted.or(end);
    // What a typed message is about says more than its kind.
    let title = work.as_ref().map(|item| line(&item.work.title, 240));
    let heading = title.filter(|title| part.is_typed && !title.is_empty()).unwrap_or(part.subject);
    let frame = visit.frame(&heading, "").about(&project).done(query.done.as_deref());
    visit.page(&ConversationPage {
        frame: frame.written_by(unsent.as_ref()),
        up: up(visit, &project),
        work,
        earlier: first.filter(|_| part.has_earlier).map(|first| format!("{here}?before={first}")),
        later: last.filter(|_| part.has_later || is_cut).map(|last| format!("{here}?after={last}")),
        here,
        answer_to: answer_to.map(|last| answer(last, &visit.person)),
        subject: heading,
        thread: line(&part.page.thread, 120),
        total: part.page.total,
        messages,
        me: visit.person.clone(),
        key: unsent.as_ref().map_or_else(random, |unsent| unsent.key.clone()),
        unsent,
    })
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

async fn part(office: &Office, slug: &str, thread: &str, query: &ThreadQuery) -> Result<ThreadExcerpt, Error> {
    let limit = MESSAGES + 1;
    let request = ThreadRequest { project_key: slug, thread, after: None, before: None, limit: 1, with_bodies: false };
    let first = office.thread(request).await?;
    let request = ThreadRequest { thread: &first.thread, limit, with_bodies: true, ..request };
    let newest = MessageId(i64::MAX);
    let mut page = match (query.after, query.before) {
        (Some(after), _) => office.thread(ThreadRequest { after: Some(MessageId(after)), ..request }).await?,
        (None, Some(before)) => office.thread(ThreadRequest { before: Some(MessageId(before)), ..request }).await?,
        (None, None) => office.thread(ThreadRequest { before: Some(newest), ..request }).await?,
    };
    // A message that is further up is shown with what came behind it.
    if let (Some(at), None, None) = (query.at, query.after, query.before)
        && page.messages.first().is_some_and(|first| first.id.0 > at)
    {
        page = office.thread(ThreadRequest { after: Some(MessageId(at.saturating_sub(1))), ..request }).await?;
    }
    let goes_on =
        query.after.is_some() || query.at.is_some() && page.messages.first().is_some_and(|m| Some(m.id.0) == query.at);
    let has_more = page.messages.len() > MESSAGES;
    if has_more {
        if goes_on { page.messages.truncate(MESSAGES) } else { drop(page.messages.remove(0)) }
    }
    let (begin, shown) = (first.messages.first(), (page.messages.first(), page.messages.last()));
    let has_earlier = begin.is_some_and(|begin| shown.0.is_some_and(|shown| shown.id > begin.id));
    // A page of long texts is cut short, so that its length says nothing.
    let end = office.thread(ThreadRequest { before: Some(newest), limit: 1, ..request }).await?;
    let has_later = end.messages.last().is_some_and(|end| shown.1.is_some_and(|shown| shown.id < end.id));
    let is_typed = begin.is_some_and(|begin| begin.kind.is_some_and(Kind::is_typed));
    Ok(ThreadExcerpt {
        subject: subject(begin.map_or("", |begin| &begin.subject)),
        is_typed,
        page,
        has_earlier,
        has_later,
    })
}

fn shown(
    message: Message,
    deliveries: &[Delivery],
    wake_ups: Vec<WakeReceipt>,
    subject_of_thread: &str,
    person: &str,
) -> ShownMessage {
    // A blind copy is known to whoever has it, and to nobody else.
    let mine = deliveries.iter().filter(|delivery| delivery.role == Role::Bcc && delivery.recipient == person);
    let subject = line(&message.subject, 300);
    ShownMessage {
        from: Who::wrote(&message),
        subject: Some(subject).filter(|subject| !subject.is_empty() && !is_same(subject, subject_of_thread)),
        tags: tags(&message),
        text: laid_out(&message.body),
        deliveries: open_to_all(deliveries).take(DELIVERIES).chain(mine).cloned().collect(),
        wake_ups,
        message,
    }
}

impl ShownMessage {
    /// What became of the wake-ups of a recipient.
    fn wake_ups_of<'a>(&'a self, recipient: &'a str) -> impl Iterator<Item = &'a WakeReceipt> {
        self.wake_ups.iter().filter(move |one| one.recipient == recipient)
    }

    fn names(&self, recipients: &[String]) -> String {
        names(recipients)
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
async fn work_of(office: &Office, project: &Project, page: &ThreadPage) -> Result<Option<WorkRow>, Error> {
    let Some(id) = office.store().work_of_thread(project.id, &page.thread).await? else { return Ok(None) };
    match office.work_story(&project.slug, &id, None, 1).await {
        Ok(story) => Ok(Some(WorkRow::new(story.item))),
        // It is named by mail that is no typed message, and so is on no board.
        Err(Error::UnknownWork { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// `GET /p/{project}/message/{id}`: the conversation that a message belongs to.
pub async fn of_message(Path((slug, id)): Path<(String, i64)>, visit: Visit) -> PageResult {
    let (message, _) = visit.office().message(&slug, MessageId(id)).await?;
    Ok(see(&address(&slug, &message.thread, message.id.0)))
}

/// `GET /p/{project}/message/{id}/text`: all of a message as it was written, as plain text.
pub async fn whole_text(Path((slug, id)): Path<(String, i64)>, visit: Visit) -> PageResult {
    let (message, _) = visit.office().message(&slug, MessageId(id)).await?;
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from(message.body)).into_response())
}
