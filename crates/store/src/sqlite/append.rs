//! How a message comes in: its row, its deliveries, its event and its words, in one transaction.
//!
//! This is the hottest write of the store; it asks only what it cannot know.

use jiff::Timestamp;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{Appended, IdempotencyKey, NewMessage};

use super::search::{Words, scope_of};
use super::{SqliteTx, now};
use crate::channels;
use crate::error::{Outcome, SqlError};
use crate::placed::{Placed, placed};
use crate::row::values;
use crate::tx::{Tx, no_project};
use crate::values::{importance_number, role_number};

/// Keeps a new message, unless its key was used before.
pub(super) fn append(tx: &mut Tx<'_>, message: NewMessage) -> Outcome<Appended> {
    let Tx::Sqlite(tx) = tx else { return Err(SqlError::Unknown("another engine's transaction".to_owned())) };
    if let Some(key) = &message.idempotency
        && let Some(earlier) = used_before(tx, message.from, key)?
    {
        return Ok(earlier);
    }
    if message.post.is_some()
        && let Some(earlier) = now(channels::there_already(&mut tx.tx(), &message))?
    {
        return Ok(Appended::Repeated(earlier));
    }
    let (seq, created_at) = take_place(tx, &message)?;
    let id = next_id(tx)?;
    let own_thread = id.to_string();
    let placed = placed(&message, id, created_at, &own_thread, seq);
    insert(tx, &placed)?;
    if let Some(post) = &message.post {
        now(channels::insert(&mut tx.tx(), &placed, post, message.now))?;
    }
    let active = "UPDATE agent SET last_active_at = max(last_active_at, ?2) WHERE id = ?1";
    tx.execute(active, values![message.from, message.now])?;
    if let Some(IdempotencyKey { key, fingerprint }) = &message.idempotency {
        let sql = "INSERT INTO idempotency (sender_id, key, fingerprint, message_id) VALUES (?1, ?2, ?3, ?4)";
        tx.execute(sql, values![message.from, key, fingerprint, id])?;
    }
    let scope = scope_of(message.project, message.from);
    tx.words().push(Words { message: id.0, scope, subject: message.subject, body: message.body });
    Ok(Appended::New { id, created_at })
}

/// The number of the message's event, and its time, which is later than any before.
fn take_place(tx: &mut SqliteTx<'_>, message: &NewMessage) -> Outcome<(i64, Timestamp)> {
    let sql = "UPDATE project SET next_seq = next_seq + 1, last_message_at = max(?2, last_message_at + 1)
               WHERE id = ?1 RETURNING next_seq - 1, last_message_at";
    let place = now(tx.tx().row(sql, values![message.project, message.now], |row| Ok((row.get(0)?, row.get(1)?))))?;
    place.ok_or_else(|| no_project(message.project))
}

impl SqliteTx<'_> {
    pub(crate) fn take_time(&mut self, project: ProjectId, time: Timestamp) -> Outcome<i64> {
        let sql =
            "UPDATE project SET next_seq = next_seq + 1, last_message_at = ?2 WHERE id = ?1 RETURNING next_seq - 1";
        now(self.tx().one(sql, values![project, time]))?.ok_or_else(|| no_project(project))
    }

    pub(crate) fn insert_numbered(&mut self, messages: &[Placed<'_>]) -> Outcome<()> {
        for message in messages {
            insert(self, message)?;
            let scope = scope_of(message.project, message.sender);
            let (subject, body) = (message.subject.to_owned(), message.body.to_owned());
            self.words().push(Words { message: message.id.0, scope, subject, body });
        }
        Ok(())
    }
}

/// The next message's number. Nothing is ever deleted, so that numbers rise in the order of commits.
fn next_id(tx: &mut SqliteTx<'_>) -> Outcome<MessageId> {
    let id = now(tx.tx().one("SELECT coalesce(max(id), 0) + 1 FROM message", &[]))?;
    Ok(id.expect("there is always a maximum"))
}

/// Writes the row, the copies and the event. The words are for whoever calls this to add.
fn insert(tx: &mut SqliteTx<'_>, message: &Placed<'_>) -> Outcome<()> {
    tx.execute(
        "INSERT INTO message (id, project_id, sender_id, created_at, thread, reply_to, importance, ack_required,
             kind, work_id, door, vouched, to_names, cc_names, subject, body, from_name)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,
             (SELECT name FROM agent WHERE id = ?3))",
        values![
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
        ],
    )?;
    insert_copies(tx, message)?;
    note_work(tx, message)?;
    let event = Event {
        seq: message.seq,
        kind: EventKind::MessageSent,
        reference: message.id.0,
        agent: Some(message.sender),
        at: message.created_at,
    };
    tx.record_as(message.project, event)
}

fn insert_copies(tx: &mut SqliteTx<'_>, message: &Placed<'_>) -> Outcome<()> {
    let sql = "INSERT INTO delivery (recipient_id, message_id, role, position, ack_required,
                   shown_at, read_at, acked_at, ack_note, archived_at, kind)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    for (position, (recipient, role, state)) in (0_i64..).zip(&message.copies) {
        let values = values![
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
        ];
        tx.execute(sql, values)?;
    }
    Ok(())
}

/// Notes what a typed message says of the work.
fn note_work(tx: &mut SqliteTx<'_>, message: &Placed<'_>) -> Outcome<()> {
    let (Some(kind), Some(work_id)) = (message.kind, message.work_id) else { return Ok(()) };
    let place = if message.is_passing { 0 } else { message.id.0 };
    let newest = "INSERT INTO work (project_id, work_id, newest) VALUES (?1, ?2, ?3)
                  ON CONFLICT DO UPDATE SET newest = excluded.newest";
    tx.execute(newest, values![message.project, work_id, message.id])?;
    let word = "INSERT INTO work_word (project_id, work_id, kind, sender_id, place, message_id)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET message_id = excluded.message_id";
    tx.execute(word, values![message.project, work_id, kind, message.sender, place, message.id]).map(drop)
}

fn used_before(tx: &mut SqliteTx<'_>, sender: AgentId, key: &IdempotencyKey) -> Outcome<Option<Appended>> {
    let sql = "SELECT fingerprint, message_id FROM idempotency WHERE sender_id = ?1 AND key = ?2";
    now(tx.tx().row(sql, values![sender, &key.key], |row| {
        let (fingerprint, first): ([u8; 32], MessageId) = (row.get(0)?, row.get(1)?);
        let is_same = fingerprint == key.fingerprint;
        Ok(if is_same { Appended::Repeated(first) } else { Appended::KeyTaken(first) })
    }))
}
