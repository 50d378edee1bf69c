//! Watchers and their runs, in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::clock::from_micros;
use mail::ids::{AgentId, MessageId};
use mail::watches::{Begun, NewWatch, Outcome, Run, RunQuery, RunState, Taken, WatchStore, answer_key, interrupted};
use rusqlite::{Connection, OptionalExtension, Row};

use super::messages::rows::unknown;
use super::{Sqlite, limit_of};

#[async_trait]
impl WatchStore for Sqlite {
    async fn begin_watch(&self, watch: &NewWatch, now: Timestamp) -> Result<Begun, StoreError> {
        let watch = watch.clone();
        self.write("begin to watch", move |desk| begin(desk.connection, &watch, now)).await
    }

    async fn hold_watch(
        &self,
        agent: AgentId,
        channel: &str,
        holder: &str,
        position: MessageId,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        self.write("go on watching", move |desk| {
            let held = desk
                .connection
                .prepare_cached(
                    "UPDATE watch SET position = max(position, ?4), held_until = ?5
                     WHERE agent_id = ?1 AND channel = ?2 AND holder = ?3",
                )?
                .execute((agent.0, channel, holder, position.0, until.as_microsecond()))?;
            Ok(held > 0)
        })
        .await
    }

    async fn end_watch(&self, agent: AgentId, channel: &str, holder: &str) -> Result<(), StoreError> {
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        self.write("end a watch", move |desk| {
            desk.connection
                .prepare_cached(
                    "UPDATE watch SET holder = '', held_until = 0
                     WHERE agent_id = ?1 AND channel = ?2 AND holder = ?3",
                )?
                .execute((agent.0, channel, holder))
                .map(drop)
        })
        .await
    }

    async fn take_on(
        &self,
        agent: AgentId,
        channel: &str,
        message: MessageId,
        now: Timestamp,
    ) -> Result<Taken, StoreError> {
        let channel = channel.to_owned();
        self.write("take a message on", move |desk| take_on(desk.connection, agent, &channel, message, now)).await
    }

    async fn finish_run(
        &self,
        agent: AgentId,
        message: MessageId,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let outcome = outcome.clone();
        self.write("finish a run", move |desk| {
            set_state(desk.connection, agent, message, outcome.state(), outcome.note(), now)
        })
        .await
    }

    async fn runs(&self, agent: AgentId, query: RunQuery<'_>) -> Result<Vec<Run>, StoreError> {
        self.read("list runs", |connection| {
            // The state is written out, because only then SQLite sees that the small index holds what is asked for.
            let state = query.state.map(|state| format!(" AND state = '{}'", state.as_str())).unwrap_or_default();
            let sql = format!(
                "SELECT message_id, channel, state, tries, note, at FROM watch_run
                 WHERE agent_id = ?1 AND (?2 IS NULL OR channel = ?2){state} ORDER BY message_id LIMIT ?3"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            statement.query_map((agent.0, query.channel, limit_of(query.limit)), run_of)?.collect()
        })
    }

    async fn retry_runs(
        &self,
        agent: AgentId,
        messages: &[MessageId],
        now: Timestamp,
    ) -> Result<Vec<MessageId>, StoreError> {
        let messages = messages.to_vec();
        self.write("try runs again", move |desk| retry(desk.connection, agent, &messages, now)).await
    }
}

fn begin(connection: &Connection, watch: &NewWatch, now: Timestamp) -> rusqlite::Result<Begun> {
    let there = connection
        .prepare_cached("SELECT position, holder, held_until FROM watch WHERE agent_id = ?1 AND channel = ?2")?
        .query_row((watch.agent.0, &watch.channel), |row| {
            Ok((MessageId(row.get(0)?), row.get::<_, String>(1)?, from_micros(row.get(2)?)))
        })
        .optional()?;
    let position = match there {
        Some((_, holder, until))
            if now < until && holder != watch.holder && watch.instead_of.as_ref() != Some(&holder) =>
        {
            return Ok(Begun::Held { holder, until });
        }
        Some((position, ..)) => position,
        None => last_before(connection, watch.agent, watch.since)?,
    };
    connection
        .prepare_cached(
            "INSERT INTO watch (agent_id, channel, position, holder, held_until) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (agent_id, channel) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until",
        )?
        .execute((watch.agent.0, &watch.channel, position.0, &watch.holder, watch.until.as_microsecond()))?;
    let cut_off: Vec<(i64, u32)> = connection
        .prepare_cached(
            "SELECT message_id, tries FROM watch_run WHERE agent_id = ?1 AND channel = ?2 AND state = 'running'",
        )?
        .query_map((watch.agent.0, &watch.channel), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (message, tries) in cut_off {
        let message = MessageId(message);
        let (state, note) = if is_answered(connection, watch.agent, message)? {
            (RunState::Answered, String::new())
        } else {
            interrupted(tries)
        };
        set_state(connection, watch.agent, message, state, &note, now)?;
    }
    Ok(Begun::Started { position })
}

/// Whether the answer of the agent's watcher to a message was kept.
fn is_answered(connection: &Connection, agent: AgentId, message: MessageId) -> rusqlite::Result<bool> {
    let name: String =
        connection.prepare_cached("SELECT name FROM agent WHERE id = ?1")?.query_row([agent.0], |row| row.get(0))?;
    connection
        .prepare_cached("SELECT 1 FROM idempotency WHERE sender_id = ?1 AND key = ?2")?
        .exists((agent.0, answer_key(&name, message)))
}

/// The last message of the agent's project that came before that time. Times rise with the numbers, so it is looked for
/// from the newest on; there is no index of times, and this is asked once for each place.
fn last_before(connection: &Connection, agent: AgentId, time: Timestamp) -> rusqlite::Result<MessageId> {
    let found = connection
        .prepare_cached(
            "SELECT id FROM message NOT INDEXED
             WHERE project_id = (SELECT project_id FROM agent WHERE id = ?1) AND created_at < ?2
             ORDER BY id DESC LIMIT 1",
        )?
        .query_row((agent.0, time.as_microsecond()), |row| row.get(0))
        .optional()?;
    Ok(MessageId(found.unwrap_or(0)))
}

fn take_on(
    connection: &Connection,
    agent: AgentId,
    channel: &str,
    message: MessageId,
    now: Timestamp,
) -> rusqlite::Result<Taken> {
    let key = (agent.0, message.0, channel, now.as_microsecond());
    let new = connection
        .prepare_cached(
            "INSERT INTO watch_run (agent_id, message_id, channel, state, tries, note, at)
             VALUES (?1, ?2, ?3, 'running', 1, '', ?4) ON CONFLICT DO NOTHING",
        )?
        .execute(key)?;
    if new > 0 {
        return Ok(Taken::New);
    }
    let again = connection
        .prepare_cached(
            "UPDATE watch_run SET state = 'running', tries = tries + 1, note = '', channel = ?3, at = ?4
             WHERE agent_id = ?1 AND message_id = ?2 AND state = 'again'",
        )?
        .execute(key)?;
    Ok(if again > 0 { Taken::Again } else { Taken::Already })
}

fn set_state(
    connection: &Connection,
    agent: AgentId,
    message: MessageId,
    state: RunState,
    note: &str,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached("UPDATE watch_run SET state = ?3, note = ?4, at = ?5 WHERE agent_id = ?1 AND message_id = ?2")?
        .execute((agent.0, message.0, state.as_str(), note, now.as_microsecond()))?;
    Ok(changed > 0)
}

fn retry(
    connection: &Connection,
    agent: AgentId,
    messages: &[MessageId],
    now: Timestamp,
) -> rusqlite::Result<Vec<MessageId>> {
    let mut failed: Vec<MessageId> = connection
        .prepare_cached(
            "SELECT message_id FROM watch_run WHERE agent_id = ?1 AND state = 'failed' ORDER BY message_id",
        )?
        .query_map([agent.0], |row| row.get(0).map(MessageId))?
        .collect::<Result<_, _>>()?;
    if !messages.is_empty() {
        failed.retain(|message| messages.contains(message));
    }
    let mut again = connection.prepare_cached(
        "UPDATE watch_run SET state = 'again', tries = 0, at = ?3 WHERE agent_id = ?1 AND message_id = ?2",
    )?;
    for message in &failed {
        again.execute((agent.0, message.0, now.as_microsecond()))?;
    }
    Ok(failed)
}

fn run_of(row: &Row<'_>) -> rusqlite::Result<Run> {
    let state = row.get_ref(2)?.as_str()?;
    Ok(Run {
        message: MessageId(row.get(0)?),
        channel: row.get(1)?,
        state: RunState::parse(state).ok_or_else(|| unknown(2, "state of a run", state))?,
        tries: row.get(3)?,
        note: row.get(4)?,
        at: from_micros(row.get(5)?),
    })
}
