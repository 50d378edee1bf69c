//! How messages come in: their rows, deliveries, events and words, with one statement for each table.
//!
//! This is the hottest write of the store; it asks only what it cannot know. SQLite's writer brings one message at a
//! time, those of PostgreSQL bring all that wait.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId};
use mail::messages::{Appended, NewMessage};

use crate::channels;
use crate::error::Outcome;
use crate::placed::{Placed, placed};
use crate::row::{Row, Value, values};
use crate::tx::{Many, Tx};
use crate::values::{importance_number, role_number};
use crate::words::kept_words;

/// SQLite keeps the words in an index of its own.
const MESSAGE: &str = "
    INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required, kind, work_id,
        door, vouched, to_names, cc_names, subject, body, from_name)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, (SELECT name FROM agent WHERE id = ?3))";
const MESSAGE_WITH_WORDS: &str = "
    INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required, kind, work_id,
        door, vouched, to_names, cc_names, subject, body, words, from_name)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, CAST(CAST(?17 AS TEXT) AS tsvector),
        (SELECT name FROM agent WHERE id = ?3))";
const DELIVERY: &str = "
    INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, shown_at, read_at, acked_at, ack_note,
        archived_at, kind)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const WORK: &str = "INSERT INTO work (project_id, work_id, newest) VALUES (?1, ?2, ?3)
                    ON CONFLICT (project_id, work_id) DO UPDATE SET newest = excluded.newest";
const WORD: &str = "
    INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (project_id, work_id, kind, sender_id, place) DO UPDATE SET message_id = excluded.message_id";
const KEY: &str = "INSERT INTO idempotency (sender_id, key, fingerprint, message_id) VALUES (?1, ?2, ?3, ?4)";
const ACTIVE: &str = "UPDATE agent SET last_active_at = ?2 WHERE id = ?1 AND last_active_at < ?2";

/// A message that is kept: its number, its time, and the number of its event.
type Kept<'a> = (&'a NewMessage, MessageId, Timestamp, i64);

/// Keeps new messages, but for those whose key was used before. Posts come one at a time: what one is taken in by is looked
/// up before the others are written.
pub(crate) async fn append(tx: &mut Tx<'_>, messages: &[&NewMessage]) -> Outcome<Vec<Appended>> {
    let mut used = used_before(tx, messages).await?;
    let mut answers = Vec::with_capacity(messages.len());
    let mut kept: Vec<Kept<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        if let Some(key) = &message.idempotency
            && let Some((fingerprint, first)) = used.get(&(message.from, key.key.as_str()))
        {
            let is_same = *fingerprint == key.fingerprint;
            answers.push(if is_same { Appended::Repeated(*first) } else { Appended::KeyTaken(*first) });
            continue;
        }
        if let Some(first) = channels::there_already(tx, message).await? {
            answers.push(Appended::Repeated(first));
            continue;
        }
        let id = tx.next_message().await?;
        let (seq, created_at) = tx.next_place(message.project, message.now).await?;
        if let Some(key) = &message.idempotency {
            used.insert((message.from, &key.key), (key.fingerprint, id));
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
    insert(tx, &placed, [keys(&kept), activity(&kept)]).await?;
    for (placed, (message, ..)) in placed.iter().zip(&kept) {
        if let Some(post) = &message.post {
            channels::insert(tx, placed, post, message.now).await?;
        }
    }
    Ok(answers)
}

/// Writes messages that have their numbers, their deliveries and their events, and what refers to them.
pub(crate) async fn insert<const N: usize>(
    tx: &mut Tx<'_>,
    messages: &[Placed<'_>],
    more: [Many<'_>; N],
) -> Outcome<()> {
    let words: Vec<String> = match tx {
        Tx::Sqlite(tx) => {
            messages.iter().for_each(|message| tx.make_findable(message));
            Vec::new()
        }
        Tx::Postgres(_) => messages
            .iter()
            .map(|message| kept_words(message.project, message.sender, message.subject, message.body))
            .collect(),
    };
    let [work, word] = work(messages);
    let mut all = vec![rows(messages, &words), deliveries(messages), work, word];
    all.extend(more);
    tx.execute_all(&all).await?;
    for message in messages {
        message.copies.iter().for_each(|(recipient, ..)| tx.wake(*recipient));
        let event = Event {
            seq: message.seq,
            kind: EventKind::MessageSent,
            reference: message.id.0,
            agent: Some(message.sender),
            at: message.created_at,
        };
        tx.record_as(message.project, event).await?;
    }
    Ok(())
}

fn rows<'v>(messages: &'v [Placed<'_>], words: &'v [String]) -> Many<'v> {
    let (sql, width) = if words.is_empty() { (MESSAGE, 16) } else { (MESSAGE_WITH_WORDS, 17) };
    let mut values = Vec::with_capacity(messages.len() * width);
    for (at, message) in messages.iter().enumerate() {
        values.extend(values![
            message.id,
            message.project,
            message.sender,
            message.created_at,
            message.thread,
            message.reply_to,
            importance_number(message.importance),
            message.ack_required,
            message.kind,
            message.work_id,
            message.door,
            message.vouched.as_str(),
            &message.to,
            &message.cc,
            message.subject,
            message.body,
        ]);
        values.extend(words.get(at).map(Value::from));
    }
    Many { sql, width, values }
}

fn deliveries<'v>(messages: &'v [Placed<'_>]) -> Many<'v> {
    let mut values = Vec::with_capacity(messages.len() * 11);
    for message in messages {
        for (position, (recipient, role, state)) in (0_i32..).zip(&message.copies) {
            values.extend(values![
                *recipient,
                message.id,
                role_number(*role),
                position,
                message.ack_required,
                state.shown_at,
                state.read_at,
                state.acked_at,
                &state.ack_note,
                state.archived_at,
                message.kind,
            ]);
        }
    }
    Many { sql: DELIVERY, width: 11, values }
}

/// What typed messages say of the work. The last one counts: a statement may write a row only once.
fn work<'v>(messages: &'v [Placed<'_>]) -> [Many<'v>; 2] {
    let (mut newest, mut words) = (BTreeMap::new(), BTreeMap::new());
    for message in messages {
        let (Some(kind), Some(work)) = (message.kind, message.work_id) else { continue };
        let place = if message.is_passing { 0 } else { message.id.0 };
        newest.insert((message.project, work), message.id);
        words.insert((message.project, work, kind, message.sender, place), message.id);
    }
    let newest = newest.into_iter().flat_map(|((project, work), id)| *values![project, work, id]).collect();
    let words = words.into_iter();
    let words = words
        .flat_map(|((project, work, kind, sender, place), id)| *values![project, work, kind, sender, place, id])
        .collect();
    [Many { sql: WORK, width: 3, values: newest }, Many { sql: WORD, width: 6, values: words }]
}

fn keys<'v>(kept: &[Kept<'v>]) -> Many<'v> {
    let keyed = kept.iter().filter_map(|(message, id, ..)| Some((message.from, message.idempotency.as_ref()?, *id)));
    let values = keyed.flat_map(|(from, key, id)| *values![from, &key.key, &key.fingerprint, id]).collect();
    Many { sql: KEY, width: 4, values }
}

fn activity<'v>(kept: &[Kept<'_>]) -> Many<'v> {
    let mut newest: BTreeMap<AgentId, Timestamp> = BTreeMap::new();
    for (message, ..) in kept {
        let at = newest.entry(message.from).or_insert(message.now);
        *at = message.now.max(*at);
    }
    let values = newest.into_iter().flat_map(|(sender, at)| *values![sender, at]).collect();
    Many { sql: ACTIVE, width: 2, values }
}

type Used<'a> = HashMap<(AgentId, &'a str), ([u8; 32], MessageId)>;

/// The keys that were used before, with what was sent under them.
async fn used_before<'a>(tx: &mut Tx<'_>, messages: &[&'a NewMessage]) -> Outcome<Used<'a>> {
    let sql = "SELECT sender_id, key, fingerprint, message_id FROM idempotency WHERE sender_id = ?1 AND key = ?2";
    let keys = messages.iter().filter_map(|message| Some((message.from, message.idempotency.as_ref()?.key.as_str())));
    let keys: Vec<(AgentId, &str)> = keys.collect();
    let values: Vec<Value<'_>> = keys.iter().flat_map(|(from, key)| *values![*from, *key]).collect();
    let used_of = |row: &Row<'_>| Ok((row.get(0)?, row.get::<String>(1)?, (row.get(2)?, row.get(3)?)));
    let mut used = Used::new();
    for (sender, key, first) in tx.rows_many(sql, 2, &values, used_of).await? {
        let asked = keys.iter().find(|asked| **asked == (sender, key.as_str()));
        used.extend(asked.map(|asked| (*asked, first)));
    }
    Ok(used)
}
