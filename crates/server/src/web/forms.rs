//! What a person does: writes, answers, acknowledges, archives and brings back, releases, retires.
//!
//! Each is a form of a page of ours, and ends with another page, so that loading again does nothing twice. A form asks verbs
//! of the office for a person: no request can say that it is a person who asks.

use ::http::StatusCode;
use api::{
    AcknowledgeMessage, ArchiveFor, Ask, MarkMessageRead, ReadMessage, ReleaseFor, ReplyMessage, RetireFor,
    SendMessage, WelcomePerson, Whois,
};
use axum::extract::Path;
use axum::response::Response;
use mail::agents::{self, AgentName};
use mail::messages::Importance;
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
    match sent(&visit.office_for_person(), &slug, &form, None).await {
        Ok((address, name)) => Ok(visit.on_to(&with_done(&address, "sent"), Some(&name))),
        // What was written is not lost because a name was misspelt.
        Err(error) => {
            let unsent = unsent(error, form.name, String::new(), form.key)?;
            composing(&slug, form.written, &visit, Some(unsent)).await.map(bad)
        }
    }
}

/// `POST /p/{project}/message/{id}/reply`
pub async fn reply(Path((slug, id)): Path<(String, i64)>, Posted { visit, form }: Posted<MessageForm>) -> PageResult {
    match sent(&visit.office_for_person(), &slug, &form, Some(id)).await {
        Ok((address, name)) => Ok(visit.on_to(&with_done(&address, "sent"), Some(&name))),
        Err(error) => {
            let unsent = unsent(error, form.name, form.written.body, form.key)?;
            let answered = ReadMessage { project_key: slug.clone(), message_id: id }.ask(visit.office()).await?.message;
            showing(&slug, &answered.thread_id, &ThreadQuery::default(), &visit, Some(unsent)).await.map(bad)
        }
    }
}

/// What was written, to be corrected or sent again.
fn unsent(error: Error, name: String, body: String, key: String) -> Result<Unsent, Refused> {
    if matches!(error, Error::UnknownProject { .. }) {
        return Err(error.into());
    }
    crate::refusal::log_cause(&error);
    Ok(Unsent { name, body, key, refusal: format!("{error}. {}", crate::hints::for_person(&error)) })
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
    reply_to: Option<i64>,
) -> Result<(String, String), Error> {
    let sender_name = welcome(office, slug, form.name.trim()).await?;
    let (project_key, written) = (slug.to_owned(), &form.written);
    let importance = Some(importance(&written.importance)?.as_str().to_owned());
    let (body_md, ack_required) = (written.body.clone(), written.ack.then_some(true));
    let idempotency_key = Some(form.key.clone()).filter(|key| !key.is_empty());
    let name = sender_name.clone();
    let sent = match reply_to {
        // An answer goes to whom it answers.
        Some(message_id) => {
            let rest = ReplyMessage { importance, ack_required, idempotency_key, ..ReplyMessage::default() };
            ReplyMessage { project_key, message_id, sender_name, body_md, ..rest }.ask(office).await?
        }
        None => {
            let (to, subject) = (recipients(office, slug, &written.to).await, written.subject.trim().to_owned());
            let rest = SendMessage { importance, ack_required, idempotency_key, ..SendMessage::default() };
            SendMessage { project_key, sender_name, to, subject, body_md, ..rest }.ask(office).await?
        }
    };
    Ok((address(slug, &sent.message.thread_id, sent.message.id), name))
}

/// The name that a person acts under, who is known from now on.
async fn welcome(office: &Office, slug: &str, person: &str) -> Result<String, Error> {
    let welcome = WelcomePerson { project_key: slug.to_owned(), person: person.to_owned() };
    Ok(welcome.ask(office).await?.name)
}

/// The names that somebody wrote with commas between them, unless all of it is one name.
async fn recipients(office: &Office, slug: &str, written: &str) -> Vec<String> {
    let whole = agents::called(written);
    let whois = || Whois { project_key: slug.to_owned(), agent_name: Some(whole.to_owned()), ..Whois::default() };
    if whole.contains(',') && whois().ask(office).await.is_ok() {
        return vec![whole.to_owned()];
    }
    written.split(',').map(agents::called).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn importance(name: &str) -> Result<Importance, Error> {
    Importance::parse(name).ok_or_else(|| Error::invalid("importance", name, Importance::NAMES.join(", ")))
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
    let recipient = match action {
        Action::Read | Action::Acknowledge => String::new(),
        Action::Archive | Action::BringBack => form.recipient.ok_or_else(Refused::odd_form)?,
    };
    let (office, project_key, message_id) = (&visit.office_for_person(), slug.clone(), id);
    let person = welcome(office, &slug, &visit.person).await?;
    let (is_done, done) = match action {
        Action::Read => {
            let read = MarkMessageRead { project_key, agent_name: person, message_id, ..MarkMessageRead::default() };
            (read.ask(office).await.map(|_| true)?, "read")
        }
        Action::Acknowledge => {
            let rest = AcknowledgeMessage::default();
            let acknowledge = AcknowledgeMessage { project_key, agent_name: person, message_id, ..rest };
            (acknowledge.ask(office).await.map(|_| true)?, "acknowledged")
        }
        Action::Archive | Action::BringBack => {
            let back = matches!(action, Action::BringBack);
            let archive = ArchiveFor { project_key, person, recipient, message_id, back };
            (archive.ask(office).await?.done, if back { "brought-back" } else { "archived" })
        }
    };
    let message = ReadMessage { project_key: slug.clone(), message_id }.ask(office).await?.message;
    let address = address(&slug, &message.thread_id, message_id);
    Ok(visit.on_to(&with_done(&address, if is_done { done } else { "nothing" }), None))
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
    let office = &visit.office_for_person();
    let person = welcome(office, &slug, &visit.person).await?;
    let told = ReleaseFor { project_key: slug.clone(), person, reservation_id: id }.ask(office).await?.done;
    let done = if told { "released" } else { "released-untold" };
    Ok(visit.on_to(&format!("/p/{slug}/reservations?done={done}"), None))
}

#[derive(Deserialize)]
pub struct RetireForm {
    agent: String,
}

/// `POST /p/{project}/agents/retire`
pub async fn retire(Path(slug): Path<String>, Posted { visit, form }: Posted<RetireForm>) -> PageResult {
    let office = &visit.office_for_person();
    let person = welcome(office, &slug, &visit.person).await?;
    let retire = RetireFor { project_key: slug.clone(), person, agent_name: form.agent };
    let done = if retire.ask(office).await?.done { "retired" } else { "nothing" };
    Ok(visit.on_to(&format!("/p/{slug}/agents?done={done}"), None))
}
