//! What a person does: writes, answers, acknowledges, archives and brings back, releases, retires.
//!
//! Each is a form of a page of ours, and ends with another page, so that loading again does nothing twice. Whatever is
//! done is done by the office in the person's name: no verb can say that it is a person who asks, and none should.

use ::http::StatusCode;
use axum::extract::Path;
use axum::response::Response;
use mail::agents::{self, AgentName};
use mail::error::shown;
use mail::ids::{ReservationId, MessageId};
use mail::messages::Importance;
use mail::office::{Claim, Draft, PAGE, ReplyDraft};
use mail::{Error, Office};
use serde::Deserialize;

use super::messages::{ComposeForm, Unsent, address, composing};
use super::refused::{PageResult, Refused};
use super::threads::{ThreadQuery, showing};
use super::visit::{Plain, Posted};

/// A new message, or an answer.
#[derive(Deserialize)]
pub struct MessageForm {
    name: String,
    key: String,
    #[serde(flatten)]
    written: ComposeForm,
}

/// `POST /p/{project}/send`
pub async fn send(Path(slug): Path<String>, Posted { visit, form }: Posted<MessageForm>) -> PageResult {
    match sent(visit.office(), &slug, &form, None).await {
        Ok((address, name)) => Ok(visit.on_to(&with_done(&address, "sent"), Some(&name))),
        // What was written is not lost because a name was misspelt.
        Err(error) => {
            let unsent = unsent(error, form.name, String::new())?;
            composing(&slug, form.written, &visit, Some(unsent)).await.map(bad)
        }
    }
}

/// `POST /p/{project}/message/{id}/reply`
pub async fn reply(Path((slug, id)): Path<(String, i64)>, Posted { visit, form }: Posted<MessageForm>) -> PageResult {
    match sent(visit.office(), &slug, &form, Some(MessageId(id))).await {
        Ok((address, name)) => Ok(visit.on_to(&with_done(&address, "sent"), Some(&name))),
        Err(error) => {
            let (message, _) = visit.office().message(&slug, MessageId(id)).await?;
            let unsent = unsent(error, form.name, form.written.body)?;
            showing(&slug, &message.thread, &ThreadQuery::default(), &visit, Some(unsent)).await.map(bad)
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

fn bad(mut page: Response) -> Response {
    *page.status_mut() = StatusCode::BAD_REQUEST;
    page
}

/// Where the message is that was sent, and the name that it was written under.
async fn sent(
    office: &Office,
    slug: &str,
    form: &MessageForm,
    reply_to: Option<MessageId>,
) -> Result<(String, String), Error> {
    let person = office.welcome_person(slug, form.name.trim()).await?;
    let written = &form.written;
    let draft = Draft {
        project_key: slug,
        from: Claim::person(&person.name),
        // An answer goes to whom it answers.
        to: if reply_to.is_some() { Vec::new() } else { recipients(office, slug, &written.to).await },
        cc: Vec::new(),
        bcc: Vec::new(),
        subject: written.subject.trim(),
        body: &written.body,
        thread: None,
        importance: importance(&written.importance)?,
        ack_required: written.ack.then_some(true),
        idempotency_key: Some(form.key.as_str()).filter(|key| !key.is_empty()),
        strict: false,
        door: PAGE,
    };
    let sent = match reply_to {
        Some(reply_to) => office.reply(ReplyDraft { reply_to, subject: None, draft }).await?,
        None => office.send(draft).await?,
    };
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

fn importance(name: &str) -> Result<Importance, Error> {
    let wanted = || Importance::NAMES.join(", ");
    Importance::parse(name).ok_or_else(|| Error::Invalid { what: "importance", value: shown(name), wanted: wanted() })
}

/// The address of a message, with a word on what was done.
fn with_done(address: &str, done: &str) -> String {
    match address.split_once('#') {
        Some((page, place)) => format!("{page}&done={done}#{place}"),
        None => format!("{address}&done={done}"),
    }
}

/// What is done with a delivery. Looking at a page changes nothing.
#[derive(Clone, Copy)]
pub enum Action {
    Read,
    Acknowledge,
    Archive,
    BringBack,
}

/// Whose delivery, where it may be another's.
#[derive(Deserialize)]
pub struct DeliveryForm {
    recipient: Option<String>,
}

/// `POST /p/{project}/message/{id}/…`: reads or acknowledges in one's own name; archives or brings back for anybody.
pub async fn change(
    action: Action,
    Path((slug, id)): Path<(String, i64)>,
    Posted { visit, form }: Posted<DeliveryForm>,
) -> PageResult {
    let (office, id) = (visit.office(), MessageId(id));
    let recipient = match action {
        Action::Read | Action::Acknowledge => "",
        Action::Archive | Action::BringBack => form.recipient.as_deref().ok_or_else(Refused::odd_form)?,
    };
    let person = office.welcome_person(&slug, &visit.person).await?;
    let claim = Claim::person(&person.name);
    let (is_done, done) = match action {
        Action::Read => (office.mark_read(&slug, claim, id).await.map(|_| true)?, "read"),
        Action::Acknowledge => (office.acknowledge(&slug, claim, id, "").await.map(|_| true)?, "acknowledged"),
        Action::Archive => (office.archive_for(&slug, &person.name, recipient, id).await?, "archived"),
        Action::BringBack => (office.bring_back_for(&slug, &person.name, recipient, id).await?, "brought-back"),
    };
    let (message, _) = office.message(&slug, id).await?;
    Ok(visit.on_to(&with_done(&address(&slug, &message), if is_done { done } else { "nothing" }), None))
}

/// The name that somebody wants to write under.
#[derive(Deserialize)]
pub struct NameForm {
    name: String,
}

/// `POST /name`: remembered by the browser alone, until something is written under it.
pub async fn choose_name(Posted { visit, form }: Posted<NameForm>) -> PageResult {
    let name = AgentName::parse(form.name.trim())?;
    Ok(visit.on_to(&visit.came_from(), Some(name.as_str())))
}

/// `POST /p/{project}/reservations/{id}/release`
pub async fn release(Path((slug, id)): Path<(String, i64)>, Posted { visit, .. }: Posted<Plain>) -> PageResult {
    let person = visit.office().welcome_person(&slug, &visit.person).await?;
    visit.office().release_for(&slug, &person.name, ReservationId(id)).await?;
    Ok(visit.on_to(&format!("/p/{slug}/reservations?done=released"), None))
}

#[derive(Deserialize)]
pub struct RetireForm {
    agent: String,
}

/// `POST /p/{project}/agents/retire`
pub async fn retire(Path(slug): Path<String>, Posted { visit, form }: Posted<RetireForm>) -> PageResult {
    let person = visit.office().welcome_person(&slug, &visit.person).await?;
    let is_done = visit.office().retire(&slug, &person.name, &form.agent).await?;
    let done = if is_done { "retired" } else { "nothing" };
    Ok(visit.on_to(&format!("/p/{slug}/agents?done={done}"), None))
}
