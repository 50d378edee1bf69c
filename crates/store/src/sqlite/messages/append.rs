//! How a message comes in: its row, its deliveries, its event and its words, in one transaction.
//!
//! This is the hottest write of the store; it asks only what it cannot know.

use jiff::Timestamp;
use mail::clock::from_micros;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId};
use mail::messages::{Appended, IdempotencyKey, NewMessage};
use rusqlite::{Connection, OptionalExtension};

use crate::placed::{Placed, placed};
use crate::sqlite::channels;
use crate::sqlite::events::record_as;
use crate::sqlite::search::{Words, scope_of};
use crate::sqlite::work;
use crate::sqlite::writer::Desk;
use crate::values::{importance_number, role_number};

/// Keeps a new message, unless its key was used before.
pub(super) fn append(desk: &mut Desk<'_>, message: NewMessage) -> rusqlite::Result<Appended> {
    let connection = desk.connection;
    if let Some(key) = &message.idempotency
        && let Some(earlier) = used_before(connection, message.from, key)?
    {
        return Ok(earlier);
    }
    if let Some(earlier) = channels::there_already(connection, &message)? {
        return Ok(earlier);
    }
    let (seq, created_at) = connection
        .prepare_cached(
            "UPDATE project SET next_seq = next_seq + 1, last_message_at = max(?2, last_message_at + 1)
             WHERE id = ?1 RETURNING next_seq - 1, last_message_at",
        )?
        .query_row((message.project.0, message.now.as_microsecond()), |row| {
            Ok((row.get(0)?, from_micros(row.get(1)?)))
        })?;
    let id = next_id(connection)?;
    let own_thread = id.to_string();
    let placed = placed(&message, id, created_at, &own_thread, seq);
    insert(connection, &placed)?;
    if let Some(post) = &message.post {
        channels::insert(connection, &placed, post, message.now)?;
    }
    connection
        .prepare_cached("UPDATE agent SET last_active_at = max(last_active_at, ?2) WHERE id = ?1")?
        .execute((message.from.0, message.now.as_microsecond()))?;
    if let Some(key) = &message.idempotency {
        connection
            .prepare_cached(
                "INSERT INTO idempotency (sender_id, key, fingerprint, message_id) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((message.from.0, &key.key, key.fingerprint, id.0))?;
    }
    let scope = scope_of(message.project, message.from);
    desk.words.push(Words { message: id.0, scope, subject: message.subject, body: message.body });
    Ok(Appended::New { id, created_at })
}

/// The next message's number. Nothing is ever deleted, so that numbers rise in the order of commits.
fn next_id(connection: &Connection) -> rusqlite::Result<MessageId> {
    connection
        .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM message")?
        .query_row([], |row| row.get(0).map(MessageId))
}

/// Writes the row, the copies and the event. The words are for whoever calls this to add.
pub(in crate::sqlite) fn insert(connection: &Connection, message: &Placed<'_>) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required,
                 kind, work_id, door, vouched, to_names, cc_names, subject, body, from_name)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
                 (SELECT name FROM agent WHERE id = ?3))",
        )?
        .execute((
            message.id.0,
            message.project.0,
            message.sender.0,
            message.created_at.as_microsecond(),
            message.thread,
            message.reply_to.map(|id| id.0),
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
        ))?;
    insert_copies(connection, message)?;
    work::hear(connection, message)?;
    let event = Event {
        seq: message.seq,
        kind: EventKind::MessageSent,
        reference: message.id.0,
        agent: Some(message.sender),
        at: message.created_at,
    };
    record_as(connection, message.project, event)
}

fn insert_copies(connection: &Connection, message: &Placed<'_>) -> rusqlite::Result<()> {
    let micros = |time: Option<Timestamp>| time.map(Timestamp::as_microsecond);
    let mut statement = connection.prepare_cached(
        "INSERT INTO delivery (recipient_id, message_id, role, position, ack_required,
             shown_at, read_at, acked_at, ack_note, archived_at, kind)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    for (position, (recipient, role, state)) in (0_i64..).zip(&message.copies) {
        statement.execute((
            recipient.0,
            message.id.0,
            role_number(*role),
            position,
            message.ack_required,
            micros(state.shown_at),
            micros(state.read_at),
            micros(state.acked_at),
            &state.ack_note,
            micros(state.archived_at),
            message.kind,
        ))?;
    }
    Ok(())
}

fn used_before(connection: &Connection, sender: AgentId, key: &IdempotencyKey) -> rusqlite::Result<Option<Appended>> {
    connection
        .prepare_cached("SELECT fingerprint, message_id FROM idempotency WHERE sender_id = ?1 AND key = ?2")?
        .query_row((sender.0, &key.key), |row| {
            let (fingerprint, first): ([u8; 32], i64) = (row.get(0)?, row.get(1)?);
            let first = MessageId(first);
            let same = fingerprint == key.fingerprint;
            Ok(if same { Appended::Repeated(first) } else { Appended::KeyTaken(first) })
        })
        .optional()
}
