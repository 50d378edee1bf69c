//! How messages come in: their rows, deliveries, events and words, with one statement for each table.
//!
//! This is the hottest write of the store; it asks only what it cannot know. SQLite's writer brings one message at a
//! time, those of PostgreSQL bring all that wait.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use formats::Kind;
use mail::events::{Event, EventKind};
use mail::messages::{Appended, DeliveryState, Importance, NewMessage, Role, Vouched};
use mail::reservations::Reserved;
use mail::transfer::Record;

use crate::prelude::*;
use crate::tx::{Many, Tx};
use crate::values::{lines_of, written_problems};
use crate::words::kept_words;
use crate::{channels, open_keys, reservations};

/// SQLite keeps the words in an index of its own.
const MESSAGE: &str = "
    INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required, kind, work_id,
        door, vouched, to_names, cc_names, subject, body, from_name)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
        coalesce(?17, (SELECT name FROM agent WHERE id = ?3)))";
const MESSAGE_WITH_WORDS: &str = "
    INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required, kind, work_id,
        door, vouched, to_names, cc_names, subject, body, from_name, words)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
        coalesce(CAST(?17 AS TEXT), (SELECT name FROM agent WHERE id = ?3)), CAST(CAST(?18 AS TEXT) AS tsvector))";
const DELIVERY: &str = "
    INSERT INTO delivery (recipient_id, message_id, role, position, ack_required, shown_at, read_at, acked_at, ack_note,
        archived_at, kind)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const WORK: &str = "INSERT INTO work (project_id, work_id, newest) VALUES (?1, ?2, ?3)
                    ON CONFLICT (project_id, work_id) DO UPDATE SET newest = excluded.newest";
const WORD: &str = "
    INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (project_id, work_id, kind, sender_id, place) DO UPDATE SET message_id = excluded.message_id";
const OWN_ID: &str = "INSERT INTO own_id (project_id, own_id, message_id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
const FAULT: &str = "INSERT INTO fault (message_id, problems) VALUES (?1, ?2)";
const KEY: &str = "INSERT INTO idempotency (sender_id, key, fingerprint, message_id) VALUES (?1, ?2, ?3, ?4)";
const ACTIVE: &str = "UPDATE agent SET last_active_at = ?2 WHERE id = ?1 AND last_active_at < ?2";

/// A message that has its place: everything of it that stands in a row.
pub(crate) struct Placed<'a> {
    pub(crate) id: MessageId,
    pub(crate) project: ProjectId,
    pub(crate) sender: AgentId,
    /// What the sender is called where that is not its name.
    pub(crate) from_as: Option<&'a str>,
    pub(crate) created_at: Timestamp,
    pub(crate) thread: Cow<'a, str>,
    pub(crate) reply_to: Option<MessageId>,
    /// Whether its sender has read by that what it answers.
    pub(crate) marks_read: bool,
    pub(crate) importance: Importance,
    pub(crate) ack_required: bool,
    pub(crate) kind: Option<Kind>,
    pub(crate) work_id: Option<&'a str>,
    /// Whether the sender's next word of this kind about this work replaces it on the board.
    pub(crate) is_passing: bool,
    pub(crate) door: &'a str,
    pub(crate) vouched: Vouched,
    pub(crate) to: String,
    pub(crate) cc: String,
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
    /// The id that its author gave it in JSON.
    pub(crate) own_id: Option<Cow<'a, str>>,
    /// What is wrong with it as a JSON message, if anything is.
    pub(crate) problems: Option<String>,
    /// Whose deliveries there are, in the sender's order.
    pub(crate) deliveries: Vec<(AgentId, Role, DeliveryState)>,
    /// The number of the event that tells of it.
    pub(crate) seq: i64,
}

impl<'a> Placed<'a> {
    /// A new message under the number and the time that it was given. Without a thread it begins its own.
    fn of_new(message: &'a NewMessage, id: MessageId, created_at: Timestamp, seq: i64) -> Self {
        let named = |wanted: Role| {
            message.recipients.iter().filter(move |(_, _, role)| *role == wanted).map(|(_, name, _)| name.as_str())
        };
        let channel = message.post.as_ref().map(|post| post.channel.signed());
        let mut taken = HashSet::with_capacity(message.recipients.len());
        let first = message.recipients.iter().filter(|(agent, ..)| taken.insert(*agent));
        let deliveries = first.map(|(agent, _, role)| (*agent, *role, DeliveryState::default())).collect();
        Placed {
            id,
            project: message.project,
            sender: message.from,
            from_as: message.from_as.as_deref(),
            created_at,
            thread: message.thread.as_deref().map_or_else(|| Cow::Owned(id.to_string()), Cow::Borrowed),
            reply_to: message.reply_to,
            marks_read: message.marks_read,
            importance: message.importance,
            ack_required: message.ack_required,
            kind: message.kind,
            work_id: message.work_id.as_deref(),
            is_passing: message.is_passing,
            door: message.door,
            vouched: message.vouched,
            to: lines_of(channel.as_deref().into_iter().chain(named(Role::To))),
            cc: lines_of(named(Role::Cc)),
            subject: &message.subject,
            body: &message.body,
            own_id: message.json.own_id.as_deref().map(Cow::Borrowed),
            problems: written_problems(&message.json.problems),
            deliveries,
            seq,
        }
    }

    /// A message that comes whole, under its own number and time.
    pub(crate) fn of_record(
        record: &'a Record,
        project: ProjectId,
        agents: &HashMap<String, AgentId>,
        seq: i64,
    ) -> Self {
        let message = &record.message;
        let deliveries = record
            .deliveries
            .iter()
            .map(|delivery| (agents[&delivery.recipient], delivery.role, delivery.state.clone()));
        Placed {
            id: message.id,
            project,
            sender: agents[&message.from],
            // Whoever was renamed since sent it under this name.
            from_as: Some(&message.from),
            created_at: message.created_at,
            thread: Cow::Borrowed(&message.thread),
            reply_to: message.reply_to,
            marks_read: false,
            importance: message.importance,
            ack_required: message.ack_required,
            kind: message.kind,
            work_id: message.work_id.as_deref(),
            is_passing: mail::work::is_passing(message),
            door: &message.door,
            vouched: message.vouched,
            to: lines_of(message.to.iter().map(String::as_str)),
            cc: lines_of(message.cc.iter().map(String::as_str)),
            subject: &message.subject,
            body: &message.body,
            own_id: mail::responses::own_id(&message.body).map(Cow::Owned),
            problems: written_problems(&message.problems),
            deliveries: deliveries.collect(),
            seq,
        }
    }
}

/// Keeps new messages, but for those whose key was used before. Posts and messages under an open key come one at a time:
/// what stands for one is looked up before the others are written.
pub(crate) async fn append(tx: &mut Tx<'_>, messages: &[&NewMessage]) -> Outcome<Vec<Appended>> {
    let mut used = used_before(tx, messages).await?;
    let mut answers = Vec::with_capacity(messages.len());
    let (mut new, mut placed) = (Vec::with_capacity(messages.len()), Vec::with_capacity(messages.len()));
    for message in messages.iter().copied() {
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
        if let Some(open) = open_keys::standing_for(tx, message).await? {
            answers.push(Appended::Repeated(open));
            continue;
        }
        let id = tx.next_message().await?;
        let (seq, created_at) = tx.next_place(message.project, message.now).await?;
        if let Some(key) = &message.idempotency {
            used.insert((message.from, &key.key), (key.fingerprint, id));
        }
        new.push((message, id));
        placed.push(Placed::of_new(message, id, created_at, seq));
        answers.push(Appended::New { id, created_at });
    }
    insert(tx, &placed, [keys(&new), open_keys::rows(&new), activity(&new)]).await?;
    for (placed, (message, id)) in placed.iter().zip(&new) {
        open_keys::replace(tx, message, *id, placed.created_at).await?;
        if let Some(post) = &message.post {
            channels::insert(tx, placed, post, message.now).await?;
        }
    }
    mark_answered(tx, &placed).await?;
    Ok(answers)
}

/// Marks read for the author of each answer what it answers, if that is its own to read and of the same project. (What an answer
/// that went to another project answers is another transaction's.)
async fn mark_answered(tx: &mut Tx<'_>, placed: &[Placed<'_>]) -> Outcome<()> {
    let sql = "SELECT d.recipient_id, d.message_id FROM delivery d
               CROSS JOIN message m ON m.id = d.message_id
               WHERE d.recipient_id = ?1 AND d.message_id = ?2 AND d.read_at IS NULL AND m.project_id = ?3";
    let marking = || placed.iter().filter(|answer| answer.marks_read);
    let answers = || marking().filter_map(|answer| Some((answer, answer.reply_to?)));
    let asked: Vec<_> = answers().map(|(answer, id)| *values![answer.sender, id, answer.project]).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let mut unread: HashSet<(AgentId, MessageId)> = tx.rows_many(sql, asked).await?.into_iter().collect();
    let mut read = Vec::new();
    for (answer, id) in answers() {
        // Two answers to one message read it once.
        if unread.remove(&(answer.sender, id)) {
            tx.record(answer.project, EventKind::MessageRead, id.0, Some(answer.sender), answer.created_at).await?;
            read.push(*values![answer.sender, id, answer.created_at]);
        }
    }
    let sql = "UPDATE delivery SET read_at = ?3 WHERE recipient_id = ?1 AND message_id = ?2";
    tx.execute_many(sql, read).await
}

/// Keeps a message, tries to reserve what it asks for, and keeps the answer: all of it, or nothing if it is there already.
pub(crate) async fn append_and_answer(tx: &mut Tx<'_>, message: &NewMessage) -> Outcome<Appended> {
    let appended = append(tx, &[message]).await?.remove(0);
    let (Some(response), Appended::New { id, .. }) = (&message.json.response, &appended) else { return Ok(appended) };
    let mut ended = Vec::new();
    for attempt in response.attempts() {
        ended.push(reservations::reserve(tx, attempt.request.clone(), message.now).await?);
        if let Some(Reserved::Granted(_)) = ended.last() {
            break;
        }
    }
    append(tx, &[&response.answer(message, *id, &ended)]).await?;
    Ok(appended)
}

/// Writes messages that have their numbers, their deliveries and their events, and what refers to them.
pub(crate) async fn insert<const N: usize>(
    tx: &mut Tx<'_>,
    messages: &[Placed<'_>],
    more: [Many<'_>; N],
) -> Outcome<()> {
    let words: Vec<String> = match tx {
        Tx::Sqlite(tx) => {
            tx.make_findable(messages.iter().map(|message| message.id));
            Vec::new()
        }
        Tx::Postgres(_) => messages
            .iter()
            .map(|message| kept_words(message.project, message.sender, message.subject, message.body))
            .collect(),
    };
    let [work, word] = work(messages);
    let mut all = vec![rows(messages, &words), deliveries(messages), work, word, own_ids(messages), faults(messages)];
    all.extend(more);
    tx.execute_all(&all).await?;
    for message in messages {
        message.deliveries.iter().for_each(|(recipient, ..)| tx.wake(*recipient));
        let event = Event {
            seq: message.seq,
            kind: EventKind::MessageSent,
            reference: message.id.0,
            agent: Some(message.sender),
            at: message.created_at,
        };
        tx.record_as(message.project, event);
    }
    Ok(())
}

fn rows<'v>(messages: &'v [Placed<'_>], words: &'v [String]) -> Many<'v> {
    let (sql, width) = if words.is_empty() { (MESSAGE, 17) } else { (MESSAGE_WITH_WORDS, 18) };
    let mut values = Vec::with_capacity(messages.len() * width);
    for (at, message) in messages.iter().enumerate() {
        let Placed { id, project, sender, created_at, reply_to, importance, ack_required, kind, .. } = *message;
        let Placed { ref thread, work_id, door, vouched, ref to, ref cc, subject, body, from_as, .. } = *message;
        values.extend(values![id, project, sender, created_at, &**thread, reply_to, importance, ack_required, kind]);
        values.extend(values![work_id, door, vouched, to, cc, subject, body, from_as]);
        values.extend(words.get(at).map(Value::from));
    }
    Many { sql, width, values }
}

fn deliveries<'v>(messages: &'v [Placed<'_>]) -> Many<'v> {
    let deliveries = messages.iter().flat_map(|message| {
        (0_i32..).zip(&message.deliveries).map(|(position, (recipient, role, state))| {
            let DeliveryState { shown_at, read_at, acked_at, ack_note, archived_at } = state;
            let Placed { id, ack_required: ack, kind, .. } = *message;
            *values![*recipient, id, *role, position, ack, *shown_at, *read_at, *acked_at, ack_note, *archived_at, kind]
        })
    });
    Many::of(DELIVERY, deliveries)
}

/// What typed messages say of the work. The last one counts: a statement may write a row only once.
fn work<'v>(messages: &'v [Placed<'_>]) -> [Many<'v>; 2] {
    let (mut newest, mut words) = (BTreeMap::new(), BTreeMap::new());
    for message in messages {
        let typed = message.kind.filter(|kind| kind.is_typed());
        let (Some(kind), Some(work)) = (typed.map(Kind::as_str), message.work_id) else { continue };
        let place = if message.is_passing { 0 } else { message.id.0 };
        newest.insert((message.project, work), message.id);
        words.insert((message.project, work, kind, message.sender, place), message.id);
    }
    let newest = newest.into_iter().map(|((project, work), id)| *values![project, work, id]);
    let words = words.into_iter();
    let words =
        words.map(|((project, work, kind, sender, place), id)| *values![project, work, kind, sender, place, id]);
    [Many::of(WORK, newest), Many::of(WORD, words)]
}

fn own_ids<'v>(messages: &'v [Placed<'_>]) -> Many<'v> {
    let called = messages.iter().filter_map(|message| Some((message, message.own_id.as_deref()?)));
    Many::of(OWN_ID, called.map(|(message, own_id)| *values![message.project, own_id, message.id]))
}

fn faults<'v>(messages: &'v [Placed<'_>]) -> Many<'v> {
    let faulty = messages.iter().filter_map(|message| Some((message.id, message.problems.as_deref()?)));
    Many::of(FAULT, faulty.map(|(id, problems)| *values![id, problems]))
}

fn keys<'v>(new: &[(&'v NewMessage, MessageId)]) -> Many<'v> {
    let keyed = new.iter().filter_map(|(message, id)| Some((message.from, message.idempotency.as_ref()?, *id)));
    Many::of(KEY, keyed.map(|(from, key, id)| *values![from, &key.key, &key.fingerprint, id]))
}

fn activity<'v>(new: &[(&NewMessage, MessageId)]) -> Many<'v> {
    let mut newest: BTreeMap<AgentId, Timestamp> = BTreeMap::new();
    // An agent of another project is looked after in a transaction of that project.
    for (message, _) in new.iter().filter(|(message, _)| message.from_as.is_none()) {
        let at = newest.entry(message.from).or_insert(message.now);
        *at = message.now.max(*at);
    }
    Many::of(ACTIVE, newest.into_iter().map(|(sender, at)| *values![sender, at]))
}

type Used<'a> = HashMap<(AgentId, &'a str), ([u8; 32], MessageId)>;

/// The keys that were used before, with what was sent under them.
async fn used_before<'a>(tx: &mut Tx<'_>, messages: &[&'a NewMessage]) -> Outcome<Used<'a>> {
    let sql = "SELECT sender_id, key, fingerprint, message_id FROM idempotency WHERE sender_id = ?1 AND key = ?2";
    let keys = messages.iter().filter_map(|message| Some((message.from, message.idempotency.as_ref()?.key.as_str())));
    let keys: Vec<(AgentId, &str)> = keys.collect();
    let found: Vec<(AgentId, String, _)> =
        tx.rows_many(sql, keys.iter().map(|(from, key)| *values![*from, *key])).await?;
    let mut used = Used::new();
    for (sender, key, first) in found {
        let asked = keys.iter().find(|asked| **asked == (sender, key.as_str()));
        used.extend(asked.map(|asked| (*asked, first)));
    }
    Ok(used)
}
