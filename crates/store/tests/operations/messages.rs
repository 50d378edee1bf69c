//! Messages and reservations, chosen at random.

use std::sync::Arc;

use formats::Problem;
use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::channels::{ChannelName, NewPost};
use mail::clock::after_seconds;
use mail::ids::{AgentId, MessageId, ProjectId, TicketId};
use mail::messages::{Appended, IdempotencyKey, Importance, NewMessage, OpenKey, Role, Vouched, WhenOpen};
use mail::reservations::pattern::Pattern;
use mail::reservations::{NewEnd, Request, Reserved};
use mail::responses::{Attempt, FilesAsked, JsonFacts, Matter, Response};
use mail::watches::answer_key;

use super::words::{CHANNELS, KEYS, PATHS, TEXTS, THREADS, WORK};
use super::{Dice, Known, told};

pub async fn send(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    known: &mut Known,
    (project, from): (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    let reply_to = dice.maybe().then(|| known.some_message(dice));
    let message = NewMessage {
        project,
        from,
        from_as: None,
        recipients: recipients(dice, known, project),
        subject: dice.one(&TEXTS).to_owned(),
        body: dice.one(&TEXTS).to_owned(),
        thread: dice.maybe().then(|| dice.one(&THREADS).to_owned()),
        reply_to,
        marks_read: dice.maybe(),
        importance: dice.one(&[Importance::Low, Importance::Normal, Importance::Urgent]),
        ack_required: dice.maybe(),
        kind: formats::Kind::all().nth(dice.roll(30)),
        work_id: dice.maybe().then(|| dice.one(&WORK).to_owned()),
        is_passing: dice.maybe(),
        door: "test",
        vouched: dice.one(&[Vouched::Claimed, Vouched::Verified, Vouched::Human]),
        idempotency: key(dice, known, from, reply_to),
        open_key: dice.maybe().then(|| open_key(dice)),
        post: dice.maybe().then(|| post(dice)),
        json: json_facts(dice, known, (project, from), now),
        // A clock that is sometimes late.
        now: after_seconds(now, 0).checked_sub(SignedDuration::from_secs(dice.roll(3) as i64 * 20)).unwrap(),
    };
    let has_response = message.json.response.is_some();
    let appended = store.append(&message).await;
    if let Ok(Appended::New { id, .. }) = appended {
        // The answer of the office comes behind it.
        known.messages = id.0 as usize + usize::from(has_response);
    }
    told(appended)
}

fn open_key(dice: &mut Dice) -> OpenKey {
    OpenKey::new(dice.one(&KEYS), dice.one(&[WhenOpen::Skip, WhenOpen::Replace])).unwrap()
}

fn recipients(dice: &mut Dice, known: &Known, project: ProjectId) -> Vec<(AgentId, String, Role)> {
    let mut recipients = Vec::new();
    for agent in &known.agents {
        if agent.project == project && dice.maybe() {
            recipients.push((agent.id, agent.name.clone(), dice.one(&[Role::To, Role::Cc, Role::Bcc])));
        }
    }
    recipients
}

/// What a post says of itself; some came from outside.
pub fn post(dice: &mut Dice) -> NewPost {
    let mut post = NewPost::chat(ChannelName::parse(dice.one(&CHANNELS)).unwrap());
    if dice.maybe() {
        post.keys = vec![dice.one(&KEYS).to_owned(), format!("also {}", dice.roll(4))];
        post.external_id = Some(post.keys[0].clone());
        post.hops = dice.roll(3) as u32;
        post.cited_as = dice.maybe().then(|| dice.one(&KEYS).to_owned());
        post.document = dice.maybe().then(|| dice.one(&TEXTS).to_owned());
    }
    // An answer that may come before what it answers.
    post.answers = dice.maybe().then(|| dice.one(&KEYS).to_owned());
    post
}

/// The key of a sender, or of a watcher that answers.
fn key(dice: &mut Dice, known: &Known, from: AgentId, reply_to: Option<MessageId>) -> Option<IdempotencyKey> {
    let fingerprint = [dice.roll(2) as u8; 32];
    match reply_to {
        Some(answered) if !dice.maybe() => {
            Some(IdempotencyKey { key: answer_key(known.name_of(from), answered), fingerprint })
        }
        _ => dice.maybe().then(|| IdempotencyKey { key: dice.one(&KEYS).to_owned(), fingerprint }),
    }
}

/// What is known of a message in JSON: its id, its faults, and what the office does because of it.
fn json_facts(dice: &mut Dice, known: &Known, (project, from): (ProjectId, AgentId), now: Timestamp) -> JsonFacts {
    if dice.maybe() {
        return JsonFacts::default();
    }
    let problems = problems(dice);
    let message = formats::json::read(r#"{"type":"file_reservation","task_id":"bd-1"}"#).value.unwrap();
    let mut attempts = Vec::new();
    for place in 0..dice.roll(3) {
        let request = Request { wait_until: None, ticket: None, ..request(dice, known, (project, from), now) };
        attempts.push(Attempt { request, alternative: place.checked_sub(1) });
    }
    let report_id = "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b".to_owned();
    let matter = Matter::Files(FilesAsked { attempts, skipped: vec![], message, report_id });
    let response = Response { by: from, to: known.name_of(from).to_owned(), matter };
    JsonFacts {
        own_id: dice.maybe().then(|| dice.one(&KEYS).to_owned()),
        problems,
        response: dice.maybe().then(|| Box::new(response)),
    }
}

/// What is wrong with a message.
pub fn problems(dice: &mut Dice) -> Vec<Problem> {
    (0..dice.roll(3)).map(|_| Problem::wrong(dice.one(&THREADS), dice.one(&TEXTS), dice.one(&KEYS))).collect()
}

fn request(dice: &mut Dice, known: &Known, (project, agent): (ProjectId, AgentId), now: Timestamp) -> Request {
    let mut patterns: Vec<Pattern> = Vec::new();
    for _ in 0..1 + dice.roll(3) {
        let pattern = Pattern::parse(dice.one(&PATHS)).unwrap();
        if patterns.iter().all(|known| known.as_str() != pattern.as_str()) {
            patterns.push(pattern);
        }
    }
    let waits = dice.maybe();
    Request {
        project,
        agent,
        agent_name: known.name_of(agent).to_owned(),
        patterns,
        exclusive: !dice.maybe(),
        reason: dice.one(&TEXTS).to_owned(),
        ttl_seconds: 30 + dice.roll(600) as i64,
        wait_until: waits.then(|| after_seconds(now, dice.roll(300) as i64)),
        ticket: (waits && known.tickets > 0 && dice.maybe()).then(|| dice.number(known.tickets, TicketId)),
    }
}

pub async fn reserve(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    known: &mut Known,
    place: (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    let request = request(dice, known, place, now);
    let reserved = store.reserve(&request, now).await;
    if let Ok(Reserved::Waiting { ticket, .. }) = &reserved {
        known.tickets = known.tickets.max(ticket.0 as usize);
    }
    told(reserved)
}

pub async fn give_back_or_renew(
    dice: &mut Dice,
    store: &Arc<dyn Store>,
    (project, agent): (ProjectId, AgentId),
    now: Timestamp,
) -> String {
    let pattern = [Pattern::parse(dice.one(&PATHS)).unwrap()];
    let patterns = dice.maybe().then_some(&pattern[..]);
    if dice.maybe() {
        // Mostly one's own; a person may give back another's.
        let by = if dice.maybe() { AgentId(1) } else { agent };
        return told(store.release(project, agent, patterns, by, now).await);
    }
    told(store.renew(project, agent, patterns, NewEnd::At(after_seconds(now, 60)), now).await)
}
