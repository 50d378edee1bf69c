//! What a person does: writes, answers, acknowledges, puts away and brings back, releases, retires.
//!
//! Each is a form of a page of ours, and ends with another page, so that loading again does nothing twice. Whatever is
//! done is done by the office in the person's name.

use std::sync::Arc;

use ::http::StatusCode;
use axum::extract::{Path, State};
use axum::response::Response;
use mail::Office;
use mail::agents::{Agent, AgentName};
use mail::error::shown;
use mail::ids::{LeaseId, MessageId};
use mail::messages::Importance;
use mail::office::{Claim, Draft, PAGE, ReplyDraft};
use mail::{Error, agents};
use serde::Deserialize;

use super::messages::{ComposeForm, Unsent, address, checked, composing};
use super::refused::Refused;
use super::threads::{self, Asked};
use super::visit::{Plain, Posted, Visit};
use crate::http::Door;

/// A new message.
#[derive(Deserialize)]
pub struct Sending {
    name: String,
    key: String,
    #[serde(flatten)]
    written: ComposeForm,
}

/// `POST /p/{project}/send`
pub async fn send(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    posted: Posted<Sending>,
) -> Result<Response, Refused> {
    let (office, Posted { visit, form }) = (door.office(), posted);
    match sent(office, &slug, &form).await {
        Ok((address, name)) => Ok(visit.on_to(&with_done(&address, "sent"), Some(&name))),
        // What was written is not lost because a name was misspelt.
        Err(error) => {
            let unsent = unsent(error, form.name, String::new())?;
            bad(composing(office, &slug, form.written, &visit, Some(unsent)).await?)
        }
    }
}

/// What was written, to be corrected or sent again.
fn unsent(error: Error, name: String, body: String) -> Result<Unsent, Refused> {
    if matches!(error, Error::UnknownProject { .. }) {
        return Err(error.into());
    }
    crate::refusal::log_cause(&error);
    Ok(Unsent { name, body, refusal: format!("{error}. {}", crate::hints::for_person(&error)) })
}

fn bad(mut page: Response) -> Result<Response, Refused> {
    *page.status_mut() = StatusCode::BAD_REQUEST;
    Ok(page)
}

async fn sent(office: &Office, slug: &str, form: &Sending) -> Result<(String, String), Error> {
    let person = office.welcome_person(slug, form.name.trim()).await?;
    let written = &form.written;
    let draft = Draft {
        to: recipients(office, slug, &written.to).await,
        subject: written.subject.trim(),
        importance: importance(&written.importance)?,
        ..draft(slug, &person, &written.body, written.ack, &form.key)
    };
    let sent = office.send(draft).await?;
    Ok((address(slug, &sent.message), person.name))
}

/// The names that somebody wrote with commas between them, unless all of it is one name.
async fn recipients(office: &Office, slug: &str, written: &str) -> Vec<String> {
    let whole = agents::called(written);
    if whole.contains(',') && office.whois(slug, whole).await.is_ok() {
        return vec![whole.to_owned()];
    }
    written.split(',').map(agents::called).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A message to nobody yet.
fn draft<'a>(slug: &'a str, person: &'a Agent, body: &'a str, ack: bool, key: &'a str) -> Draft<'a> {
    Draft {
        project_key: slug,
        from: Claim::person(&person.name),
        to: Vec::new(),
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: "",
        body,
        thread: None,
        importance: Importance::Normal,
        ack_required: ack.then_some(true),
        idempotency_key: Some(key).filter(|key| !key.is_empty()),
        strict: false,
        door: PAGE,
    }
}

fn importance(name: &str) -> Result<Importance, Error> {
    let wanted = || Importance::NAMES.join(", ");
    Importance::parse(name).ok_or_else(|| Error::Invalid { what: "importance", value: shown(name), wanted: wanted() })
}

#[derive(Deserialize)]
pub struct Answering {
    name: String,
    key: String,
    body: String,
    importance: String,
    #[serde(default, deserialize_with = "checked")]
    ack: bool,
}

/// `POST /p/{project}/message/{id}/reply`
pub async fn reply(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    posted: Posted<Answering>,
) -> Result<Response, Refused> {
    let (office, Posted { visit, form }) = (door.office(), posted);
    match answered(office, &slug, MessageId(id), &form).await {
        Ok((address, name)) => Ok(visit.on_to(&with_done(&address, "sent"), Some(&name))),
        Err(error) => {
            let (message, _) = office.message(&slug, MessageId(id)).await?;
            let unsent = unsent(error, form.name, form.body)?;
            bad(threads::showing(office, &slug, &message.thread, &Asked::default(), &visit, Some(unsent)).await?)
        }
    }
}

async fn answered(
    office: &Office,
    slug: &str,
    reply_to: MessageId,
    form: &Answering,
) -> Result<(String, String), Error> {
    let person = office.welcome_person(slug, form.name.trim()).await?;
    let draft =
        Draft { importance: importance(&form.importance)?, ..draft(slug, &person, &form.body, form.ack, &form.key) };
    let sent = office.reply(ReplyDraft { reply_to, subject: None, draft }).await?;
    Ok((address(slug, &sent.message), person.name))
}

/// The address of a message, with a word on what was done.
fn with_done(address: &str, done: &str) -> String {
    match address.split_once('#') {
        Some((page, place)) => format!("{page}&done={done}#{place}"),
        None => format!("{address}&done={done}"),
    }
}

/// Back to the message that something was done with.
async fn back_to(office: &Office, visit: &Visit, slug: &str, id: MessageId, done: &str) -> Result<Response, Refused> {
    let (message, _) = office.message(slug, id).await?;
    Ok(visit.on_to(&with_done(&address(slug, &message), done), None))
}

/// `POST /p/{project}/message/{id}/acknowledge`: in one's own name, and nobody else's.
pub async fn acknowledge(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    posted: Posted<Plain>,
) -> Result<Response, Refused> {
    let (office, visit) = (door.office(), posted.visit);
    let person = office.welcome_person(&slug, &visit.person).await?;
    office.acknowledge(&slug, Claim::person(&person.name), MessageId(id), "").await?;
    back_to(office, &visit, &slug, MessageId(id), "acknowledged").await
}

/// `POST /p/{project}/message/{id}/read`: one's own copy. Looking at a page changes nothing.
pub async fn mark_read(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    posted: Posted<Plain>,
) -> Result<Response, Refused> {
    let (office, visit) = (door.office(), posted.visit);
    let person = office.welcome_person(&slug, &visit.person).await?;
    office.mark_read(&slug, Claim::person(&person.name), MessageId(id)).await?;
    back_to(office, &visit, &slug, MessageId(id), "read").await
}

/// The name that somebody wants to write under.
#[derive(Deserialize)]
pub struct Naming {
    name: String,
}

/// `POST /name`: remembered by the browser alone, until something is written under it.
pub async fn choose_name(posted: Posted<Naming>) -> Result<Response, Refused> {
    let name = AgentName::parse(posted.form.name.trim())?;
    Ok(posted.visit.on_to(&posted.visit.came_from(), Some(name.as_str())))
}

/// Whose copy.
#[derive(Deserialize)]
pub struct Copy {
    recipient: String,
}

/// `POST /p/{project}/message/{id}/archive`
pub async fn archive(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    posted: Posted<Copy>,
) -> Result<Response, Refused> {
    let (office, Posted { visit, form }) = (door.office(), posted);
    let person = office.welcome_person(&slug, &visit.person).await?;
    let is_done = office.archive_for(&slug, &person.name, &form.recipient, MessageId(id)).await?;
    back_to(office, &visit, &slug, MessageId(id), if is_done { "archived" } else { "nothing" }).await
}

/// `POST /p/{project}/message/{id}/bring-back`
pub async fn bring_back(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    posted: Posted<Copy>,
) -> Result<Response, Refused> {
    let (office, Posted { visit, form }) = (door.office(), posted);
    let person = office.welcome_person(&slug, &visit.person).await?;
    let is_done = office.bring_back_for(&slug, &person.name, &form.recipient, MessageId(id)).await?;
    back_to(office, &visit, &slug, MessageId(id), if is_done { "brought-back" } else { "nothing" }).await
}

/// `POST /p/{project}/reservations/{id}/release`
pub async fn release(
    State(door): State<Arc<Door>>,
    Path((slug, id)): Path<(String, i64)>,
    posted: Posted<Plain>,
) -> Result<Response, Refused> {
    let (office, visit) = (door.office(), posted.visit);
    let person = office.welcome_person(&slug, &visit.person).await?;
    office.release_for(&slug, &person.name, LeaseId(id)).await?;
    Ok(visit.on_to(&format!("/p/{slug}/reservations?done=released"), None))
}

#[derive(Deserialize)]
pub struct Retiring {
    agent: String,
}

/// `POST /p/{project}/agents/retire`
pub async fn retire(
    State(door): State<Arc<Door>>,
    Path(slug): Path<String>,
    posted: Posted<Retiring>,
) -> Result<Response, Refused> {
    let (office, Posted { visit, form }) = (door.office(), posted);
    let person = office.welcome_person(&slug, &visit.person).await?;
    let is_done = office.retire(&slug, &person.name, &form.agent).await?;
    let done = if is_done { "retired" } else { "nothing" };
    Ok(visit.on_to(&format!("/p/{slug}/agents?done={done}"), None))
}
