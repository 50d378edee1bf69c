//! How messages come in: their rows, deliveries, events and words, with one statement for each table.
//!
//! This is the hottest write of the store; it asks only what it cannot know.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::join3;
use jiff::Timestamp;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{Appended, NewMessage};

use super::tx::PostgresTx;
use crate::channels;
use crate::error::Outcome;
use crate::placed::{Placed, placed};
use crate::values::{importance_number, role_number};
use crate::words::kept_words;

/// Keeps new messages, but for those whose key was used before. Posts come one at a time: what one is taken in by is looked
/// up before the others are written.
pub(super) async fn append(tx: &mut PostgresTx, messages: &[&NewMessage]) -> Outcome<Vec<Appended>> {
    let mut used = used_before(tx, messages).await?;
    let mut answers = Vec::with_capacity(messages.len());
    let mut kept: Vec<(&NewMessage, MessageId, Timestamp, i64)> = Vec::with_capacity(messages.len());
    for message in messages {
        let key = message.idempotency.as_ref().map(|key| (message.from, key.key.as_str()));
        if let Some((fingerprint, first)) = key.and_then(|key| used.get(&key)) {
            let same = message.idempotency.as_ref().is_some_and(|key| *fingerprint == key.fingerprint);
            answers.push(if same { Appended::Repeated(*first) } else { Appended::KeyTaken(*first) });
            continue;
        }
        if let Some(first) = channels::there_already(&mut tx.tx(), message).await? {
            answers.push(Appended::Repeated(first));
            continue;
        }
        let id = tx.next_message().await?;
        let numbers = tx.numbers(message.project)?;
        let (seq, created_at) = (numbers.next_seq(), numbers.next_time(message.now));
        if let (Some(place), Some(key)) = (key, &message.idempotency) {
            used.insert(place, (key.fingerprint, id));
        }
        kept.push((message, id, created_at, seq));
        answers.push(Appended::New { id, created_at });
    }
    let threads: Vec<String> = kept.iter().map(|(_, id, ..)| id.to_string()).collect();
    let placed: Vec<Placed<'_>> = kept
        .iter()
        .zip(&threads)
        .map(|((message, id, created_at, seq), own)| placed(message, *id, *created_at, own, *seq))
        .collect();
    // One round trip: what refers to a message is sent behind it, and PostgreSQL does one after the other.
    let (inserted, keys, activity) =
        join3(insert_all(tx, &placed), note_keys(tx, &kept), note_activity(tx, &kept)).await;
    inserted.and(keys).and(activity)?;
    tell(tx, &placed);
    for (placed, (message, ..)) in placed.iter().zip(&kept) {
        if let Some(post) = &message.post {
            channels::insert(&mut tx.tx(), placed, post, message.now).await?;
        }
    }
    Ok(answers)
}

impl PostgresTx {
    pub(crate) fn take_time(&mut self, project: ProjectId, time: Timestamp) -> Outcome<i64> {
        let numbers = self.numbers(project)?;
        numbers.has_come_to(time);
        Ok(numbers.next_seq())
    }

    pub(crate) async fn insert_numbered(&mut self, messages: &[Placed<'_>]) -> Outcome<()> {
        insert_all(self, messages).await?;
        tell(self, messages);
        if let Some(newest) = messages.iter().map(|message| message.id.0).max() {
            let sql = "SELECT setval('message_number', greatest($1, (SELECT last_value FROM message_number)))";
            self.rows(sql, &[&newest]).await?;
        }
        Ok(())
    }
}

async fn insert_all(tx: &PostgresTx, messages: &[Placed<'_>]) -> Outcome<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let all = join3(insert_rows(tx, messages), insert_copies(tx, messages), note_work(tx, messages));
    let (rows, copies, words) = all.await;
    // Whatever comes behind what failed fails too, and says only that.
    rows.and(copies).and(words)
}

fn tell(tx: &mut PostgresTx, messages: &[Placed<'_>]) {
    tx.wake(messages.iter().flat_map(|message| &message.copies).map(|(recipient, ..)| *recipient));
    for message in messages {
        let event = Event {
            seq: message.seq,
            kind: EventKind::MessageSent,
            reference: message.id.0,
            agent: Some(message.sender),
            at: message.created_at,
        };
        tx.record_as(message.project, event);
    }
}

async fn insert_rows(tx: &PostgresTx, messages: &[Placed<'_>]) -> Outcome<()> {
    let column = |of: &dyn Fn(&Placed<'_>) -> i64| messages.iter().map(of).collect::<Vec<i64>>();
    let texts = |of: &dyn Fn(&Placed<'_>) -> String| messages.iter().map(of).collect::<Vec<String>>();
    let ids = column(&|message| message.id.0);
    let projects = column(&|message| message.project.0);
    let senders = column(&|message| message.sender.0);
    let times = column(&|message| message.created_at.as_microsecond());
    let answered: Vec<Option<i64>> = messages.iter().map(|message| message.reply_to.map(|id| id.0)).collect();
    let importances: Vec<i16> = messages.iter().map(|message| importance_number(message.importance)).collect();
    let acks: Vec<bool> = messages.iter().map(|message| message.ack_required).collect();
    let threads: Vec<&str> = messages.iter().map(|message| message.thread).collect();
    let kinds: Vec<Option<&str>> = messages.iter().map(|message| message.kind).collect();
    let works: Vec<Option<&str>> = messages.iter().map(|message| message.work_id).collect();
    let doors: Vec<&str> = messages.iter().map(|message| message.door).collect();
    let vouched: Vec<&str> = messages.iter().map(|message| message.vouched.as_str()).collect();
    let to: Vec<&str> = messages.iter().map(|message| message.to.as_str()).collect();
    let cc: Vec<&str> = messages.iter().map(|message| message.cc.as_str()).collect();
    let subjects: Vec<&str> = messages.iter().map(|message| message.subject).collect();
    let bodies: Vec<&str> = messages.iter().map(|message| message.body).collect();
    let words = texts(&|message| kept_words(message.project, message.sender, message.subject, message.body));
    tx.run(
        "INSERT INTO message (id, project_id, sender_id, created_at, reply_to, importance, ack_required, thread, kind,
             work_id, door, vouched, to_names, cc_names, subject, body, words, from_name)
         SELECT new.id, new.project, new.sender, new.at, new.answered, new.importance, new.ack, new.thread, new.kind,
             new.work, new.door, new.vouched, new.sent_to, new.cc, new.subject, new.body, new.words::tsvector,
             (SELECT name FROM agent WHERE agent.id = new.sender)
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::smallint[],
             $7::boolean[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
             $15::text[], $16::text[], $17::text[])
             AS new (id, project, sender, at, answered, importance, ack, thread, kind, work, door, vouched, sent_to, cc,
                 subject, body, words)",
        &[
            &ids,
            &projects,
            &senders,
            &times,
            &answered,
            &importances,
            &acks,
            &threads,
            &kinds,
            &works,
            &doors,
            &vouched,
            &to,
            &cc,
            &subjects,
            &bodies,
            &words,
        ],
    )
    .await
}

async fn insert_copies(tx: &PostgresTx, messages: &[Placed<'_>]) -> Outcome<()> {
    let copies: Vec<_> = messages
        .iter()
        .flat_map(|message| (0_i32..).zip(&message.copies).map(move |(place, copy)| (message, place, copy)))
        .collect();
    if copies.is_empty() {
        return Ok(());
    }
    let recipients: Vec<i64> = copies.iter().map(|(_, _, (recipient, ..))| recipient.0).collect();
    let ids: Vec<i64> = copies.iter().map(|(message, ..)| message.id.0).collect();
    let roles: Vec<i16> = copies.iter().map(|(_, _, (_, role, _))| role_number(*role)).collect();
    let places: Vec<i32> = copies.iter().map(|(_, place, _)| *place).collect();
    let acks: Vec<bool> = copies.iter().map(|(message, ..)| message.ack_required).collect();
    let kinds: Vec<Option<&str>> = copies.iter().map(|(message, ..)| message.kind).collect();
    let notes: Vec<&str> = copies.iter().map(|(_, _, (_, _, state))| state.ack_note.as_str()).collect();
    let shown: Vec<Option<i64>> = copies.iter().map(|(_, _, (_, _, state))| micros(state.shown_at)).collect();
    let read: Vec<Option<i64>> = copies.iter().map(|(_, _, (_, _, state))| micros(state.read_at)).collect();
    let acked: Vec<Option<i64>> = copies.iter().map(|(_, _, (_, _, state))| micros(state.acked_at)).collect();
    let archived: Vec<Option<i64>> = copies.iter().map(|(_, _, (_, _, state))| micros(state.archived_at)).collect();
    tx.run(
        "INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, kind, ack_note, shown_at,
             read_at, acked_at, archived_at)
         SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::integer[], $5::boolean[], $6::text[],
             $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])",
        &[&recipients, &ids, &roles, &places, &acks, &kinds, &notes, &shown, &read, &acked, &archived],
    )
    .await
}

type Used<'a> = HashMap<(AgentId, &'a str), ([u8; 32], MessageId)>;

async fn used_before<'a>(tx: &PostgresTx, messages: &[&'a NewMessage]) -> Outcome<Used<'a>> {
    let keyed: Vec<(AgentId, &str)> = messages
        .iter()
        .filter_map(|message| message.idempotency.as_ref().map(|key| (message.from, key.key.as_str())))
        .collect();
    if keyed.is_empty() {
        return Ok(Used::new());
    }
    let senders: Vec<i64> = keyed.iter().map(|(sender, _)| sender.0).collect();
    let keys: Vec<&str> = keyed.iter().map(|(_, key)| *key).collect();
    let rows = tx
        .rows(
            "SELECT asked.place, used.fingerprint, used.message_id
             FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked (sender, key, place)
             JOIN idempotency used ON used.sender_id = asked.sender AND used.key = asked.key",
            &[&senders, &keys],
        )
        .await?;
    let mut used = Used::new();
    for row in &rows {
        let place = usize::try_from(row.try_get::<_, i64>(0)? - 1).unwrap_or_default();
        let fingerprint = <[u8; 32]>::try_from(row.try_get::<_, &[u8]>(1)?).unwrap_or_default();
        used.insert(keyed[place], (fingerprint, MessageId(row.try_get(2)?)));
    }
    Ok(used)
}

type Kept<'a> = (&'a NewMessage, MessageId, Timestamp, i64);

async fn note_keys(tx: &PostgresTx, kept: &[Kept<'_>]) -> Outcome<()> {
    let keyed: Vec<_> =
        kept.iter().filter_map(|(message, id, ..)| Some((message, message.idempotency.as_ref()?, id))).collect();
    if keyed.is_empty() {
        return Ok(());
    }
    let senders: Vec<i64> = keyed.iter().map(|(message, ..)| message.from.0).collect();
    let keys: Vec<&str> = keyed.iter().map(|(_, key, _)| key.key.as_str()).collect();
    let fingerprints: Vec<&[u8]> = keyed.iter().map(|(_, key, _)| key.fingerprint.as_slice()).collect();
    let ids: Vec<i64> = keyed.iter().map(|(.., id)| id.0).collect();
    tx.run(
        "INSERT INTO idempotency (sender_id, key, fingerprint, message_id)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[])",
        &[&senders, &keys, &fingerprints, &ids],
    )
    .await
}

async fn note_activity(tx: &PostgresTx, kept: &[Kept<'_>]) -> Outcome<()> {
    if kept.is_empty() {
        return Ok(());
    }
    let senders: Vec<i64> = kept.iter().map(|(message, ..)| message.from.0).collect();
    let times: Vec<i64> = kept.iter().map(|(message, ..)| message.now.as_microsecond()).collect();
    tx.run(
        "UPDATE agent SET last_active_at = greatest(last_active_at, new.at)
         FROM (SELECT sender, max(at) AS at FROM unnest($1::bigint[], $2::bigint[]) AS new (sender, at) GROUP BY sender)
             AS new
         WHERE agent.id = new.sender",
        &[&senders, &times],
    )
    .await
}

/// Notes what typed messages say of the work, in the transaction that keeps the messages.
async fn note_work(tx: &PostgresTx, messages: &[Placed<'_>]) -> Outcome<()> {
    let (mut newest, mut words) = (BTreeMap::new(), BTreeMap::new());
    for message in messages {
        let (Some(kind), Some(work)) = (message.kind, message.work_id) else { continue };
        let place = if message.is_passing { 0 } else { message.id.0 };
        // The last one counts: a statement may write a row only once.
        newest.insert((message.project.0, work), message.id.0);
        words.insert((message.project.0, work, kind, message.sender.0, place), message.id.0);
    }
    if newest.is_empty() {
        return Ok(());
    }
    let projects: Vec<i64> = newest.keys().map(|(project, _)| *project).collect();
    let works: Vec<&str> = newest.keys().map(|(_, work)| *work).collect();
    let ids: Vec<i64> = newest.values().copied().collect();
    tx.run(
        "INSERT INTO work (project_id, work_id, newest) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])
         ON CONFLICT (project_id, work_id) DO UPDATE SET newest = excluded.newest",
        &[&projects, &works, &ids],
    )
    .await?;
    let projects: Vec<i64> = words.keys().map(|(project, ..)| *project).collect();
    let works: Vec<&str> = words.keys().map(|(_, work, ..)| *work).collect();
    let kinds: Vec<&str> = words.keys().map(|(_, _, kind, ..)| *kind).collect();
    let senders: Vec<i64> = words.keys().map(|(_, _, _, sender, _)| *sender).collect();
    let places: Vec<i64> = words.keys().map(|(.., place)| *place).collect();
    let ids: Vec<i64> = words.values().copied().collect();
    tx.run(
        "INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id)
         SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
         ON CONFLICT (project_id, work_id, kind, sender_id, place) DO UPDATE SET message_id = excluded.message_id",
        &[&projects, &works, &kinds, &senders, &places, &ids],
    )
    .await
}

fn micros(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_microsecond)
}
