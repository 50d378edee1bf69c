//! Mail that leaves a store whole, or enters one, chosen at random.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use mail::Store;
use mail::channels::{NewPost, Origin};
use mail::ids::{MessageId, ProjectId};
use mail::messages::{Delivery, DeliveryState, Importance, Message, Role, Vouched};
use mail::projects::{slug_of, slug_with_hash};
use mail::transfer::{Imported, LARGEST_ID, Record};

use super::words::{KEYS, NAMES, PROJECTS, TEXTS, THREADS, WORK};
use super::{Dice, Known, messages, told};

/// Exports, imports again what is there, or imports what is new.
pub async fn carry(dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known, message: MessageId) -> String {
    let after = (!dice.maybe()).then_some(message);
    match dice.roll(5) {
        0 | 1 => told(store.export(after, 1 + dice.roll(4)).await),
        2 => again(dice, store, known.now(), after).await,
        _ => import(dice, store, known).await,
    }
}

/// Imports what is there already, of which the last may have been changed.
async fn again(dice: &mut Dice, store: &Arc<dyn Store>, now: Timestamp, after: Option<MessageId>) -> String {
    let mut records = match store.export(after, 1 + dice.roll(3)).await {
        Ok(records) => records,
        failed => return told(failed),
    };
    let change = dice.roll(4);
    if let Some(last) = records.last_mut() {
        match change {
            0 => last.message.subject.push('!'),
            1 => last.human_key.push('x'),
            _ => {}
        }
    }
    told(store.import(&records, now).await)
}

/// Imports what is new, from those who are known here, or from one who is not.
async fn import(dice: &mut Dice, store: &Arc<dyn Store>, known: &mut Known) -> String {
    // Later than everything that is there.
    known.seconds += 1;
    let now = known.now();
    let mut id = known.messages as i64;
    let records: Vec<Record> = match dice.maybe() {
        // What makes people must not clash: numbers that were given to them in vain are missing in one engine alone.
        true => vec![from_strangers(dice, id + 1, now)],
        false => (0..1 + dice.roll(3))
            .map(|_| {
                id += 1 + dice.roll(2) as i64;
                from_known(dice, known, id, now.checked_add(SignedDuration::from_micros(id)).unwrap())
            })
            .collect(),
    };
    let imported = store.import(&records, now).await;
    if matches!(&imported, Ok(answers) if answers.last() == Some(&Imported::New)) {
        known.messages = records.last().map_or(0, |record| record.message.id.0 as usize);
        known.look_around(store).await;
    }
    told(imported)
}

/// One of a project and between agents that may be new.
fn from_strangers(dice: &mut Dice, id: i64, now: Timestamp) -> Record {
    let path = dice.one(&[PROJECTS[1], "/else/where", "/Else where"]);
    let slug = if dice.maybe() { slug_with_hash(path) } else { slug_of(path) };
    let names = [dice.one(&NAMES).to_owned(), format!("stranger {}", dice.roll(2))];
    record(dice, (path.to_owned(), slug), &names, id, now)
}

/// One between agents that are known, which is sometimes out of order.
fn from_known(dice: &mut Dice, known: &Known, id: i64, now: Timestamp) -> Record {
    let home = known.agents[dice.roll(known.agents.len())].project;
    let names: Vec<String> =
        known.agents.iter().filter(|agent| agent.project == home).map(|agent| agent.name.clone()).collect();
    let path = known.path_of(home).to_owned();
    let (id, at) = match dice.roll(12) {
        0 => (LARGEST_ID + 1, now),
        1 => (id, now.checked_sub(SignedDuration::from_secs(1_000_000)).unwrap()),
        _ => (id, now),
    };
    record(dice, (path.clone(), slug_of(&path)), &names, id, at)
}

fn record(
    dice: &mut Dice,
    (human_key, slug): (String, String),
    names: &[String],
    id: i64,
    created_at: Timestamp,
) -> Record {
    let post = dice.maybe().then(|| post(dice));
    let mut deliveries = Vec::new();
    for name in names {
        if dice.maybe() {
            let role = dice.one(&[Role::To, Role::Cc, Role::Bcc]);
            deliveries.push(Delivery { recipient: name.clone(), role, state: state(dice, created_at) });
        }
    }
    let named = |wanted: Role| deliveries.iter().filter(move |delivery| delivery.role == wanted);
    let to = named(Role::To).map(|delivery| delivery.recipient.clone());
    let message = Message {
        id: MessageId(id),
        // Another store's number, which tells nothing here.
        project: ProjectId(77),
        from: names[dice.roll(names.len())].clone(),
        to: post.iter().map(|post| post.channel.signed()).chain(to).collect(),
        cc: named(Role::Cc).map(|delivery| delivery.recipient.clone()).collect(),
        subject: dice.one(&TEXTS).to_owned(),
        body: dice.one(&TEXTS).to_owned(),
        thread: dice.one(&THREADS).to_owned(),
        reply_to: dice.maybe().then(|| dice.number(id as usize % 1_000, MessageId)),
        importance: dice.one(&[Importance::Low, Importance::High, Importance::Urgent]),
        ack_required: dice.maybe(),
        kind: formats::Kind::all().nth(dice.roll(30)),
        work_id: dice.maybe().then(|| dice.one(&WORK).to_owned()),
        door: dice.one(&["mcp", "folder", "elsewhere"]).to_owned(),
        vouched: dice.one(&[Vouched::Claimed, Vouched::Verified, Vouched::Human]),
        created_at,
        problems: messages::problems(dice),
    };
    Record { human_key, slug, message, deliveries, post }
}

/// A post as another office tells of it.
fn post(dice: &mut Dice) -> NewPost {
    let mut post = messages::post(dice);
    post.external_id = Some(dice.one(&KEYS).to_owned());
    post.origin = dice.maybe().then(|| Origin { office: "faraway".to_owned(), seq: 1 + dice.roll(9) as i64 });
    post
}

fn state(dice: &mut Dice, at: Timestamp) -> DeliveryState {
    DeliveryState {
        shown_at: dice.maybe().then_some(at),
        read_at: dice.maybe().then_some(at),
        acked_at: dice.maybe().then_some(at),
        ack_note: dice.one(&TEXTS).to_owned(),
        archived_at: dice.maybe().then_some(at),
    }
}
