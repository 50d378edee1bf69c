//! Watchers and their runs, in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::channels::WATCHER;
use mail::clock::from_micros;
use mail::events::EventKind;
use mail::ids::{AgentId, MessageId};
use mail::watches::{
    Begun, MOST_HOPS, NewWatch, Outcome, Run, RunQuery, RunState, Taken, WatchStore, answer_key, interrupted,
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::messages::rows::unknown;
use super::{Sqlite, limit_of};

#[async_trait]
impl WatchStore for Sqlite {
    async fn begin_watch(&self, watch: &NewWatch, now: Timestamp) -> Result<Begun, StoreError> {
        // Looked for before the transaction, in which nobody else can write.
        let first =
            self.read("find where to begin", |connection| match place(connection, watch.agent, &watch.channel)? {
                Some(_) => Ok(MessageId(0)),
                None => last_before(connection, watch.agent, watch.since),
            })?;
        let watch = watch.clone();
        self.write("begin to watch", move |desk| begin(desk.connection, &watch, first, now)).await
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

    async fn end_watch(&self, agent: AgentId, channel: &str, holder: &str) -> Result<bool, StoreError> {
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        self.write("end a watch", move |desk| {
            let held = desk
                .connection
                .prepare_cached(
                    "UPDATE watch SET holder = '', held_until = 0
                     WHERE agent_id = ?1 AND channel = ?2 AND holder = ?3",
                )?
                .execute((agent.0, channel, holder))?;
            Ok(held > 0)
        })
        .await
    }

    async fn hops(&self, message: MessageId) -> Result<u32, StoreError> {
        self.read("follow a chain of answers", |connection| hops(connection, message))
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
            end_run(desk.connection, agent, message, outcome.state(), outcome.note(), now)
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

/// Whether anybody holds a place for the agent whose time is not over.
pub(super) fn is_watched(connection: &Connection, agent: AgentId, now: Timestamp) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM watch WHERE agent_id = ?1 AND held_until > ?2")?
        .exists((agent.0, now.as_microsecond()))
}

/// How far the last watcher of a place has looked, who it is, and how long it holds the place.
fn place(
    connection: &Connection,
    agent: AgentId,
    channel: &str,
) -> rusqlite::Result<Option<(MessageId, String, Timestamp)>> {
    connection
        .prepare_cached("SELECT position, holder, held_until FROM watch WHERE agent_id = ?1 AND channel = ?2")?
        .query_row((agent.0, channel), |row| Ok((MessageId(row.get(0)?), row.get(1)?, from_micros(row.get(2)?))))
        .optional()
}

/// Takes the place; `first` is where to begin if nobody ever watched here.
fn begin(connection: &Connection, watch: &NewWatch, first: MessageId, now: Timestamp) -> rusqlite::Result<Begun> {
    let position = match place(connection, watch.agent, &watch.channel)? {
        Some((_, holder, until))
            if now < until && holder != watch.holder && watch.instead_of.as_ref() != Some(&holder) =>
        {
            return Ok(Begun::Held { holder, until });
        }
        Some((position, ..)) => position,
        None => first,
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
    let mut given_up = Vec::new();
    for (message, tries) in cut_off {
        let message = MessageId(message);
        let (state, note) = if is_answered(connection, watch.agent, message)? {
            (RunState::Answered, String::new())
        } else {
            interrupted(tries)
        };
        end_run(connection, watch.agent, message, state, &note, now)?;
        given_up.extend((state == RunState::Failed).then_some(message));
    }
    Ok(Begun::Started { position, given_up })
}

/// Whether the answer of the agent's watcher to a message was kept.
fn is_answered(connection: &Connection, agent: AgentId, message: MessageId) -> rusqlite::Result<bool> {
    let name: String =
        connection.prepare_cached("SELECT name FROM agent WHERE id = ?1")?.query_row([agent.0], |row| row.get(0))?;
    connection
        .prepare_cached("SELECT 1 FROM idempotency WHERE sender_id = ?1 AND key = ?2")?
        .exists((agent.0, answer_key(&name, message)))
}

/// The last message of the agent's project that came before that time. Times rise with the numbers, and there is no index
/// of times: the log of the project is halved until it is found.
fn last_before(connection: &Connection, agent: AgentId, time: Timestamp) -> rusqlite::Result<MessageId> {
    let (project, newest): (i64, i64) = connection
        .prepare_cached("SELECT id, next_seq - 1 FROM project WHERE id = (SELECT project_id FROM agent WHERE id = ?1)")?
        .query_row([agent.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut last_sent = connection.prepare_cached(
        "SELECT seq, reference, at FROM event WHERE project_id = ?1 AND seq > ?2 AND seq <= ?3 AND kind = ?4
         ORDER BY seq DESC LIMIT 1",
    )?;
    let (mut low, mut high, mut found) = (0, newest, 0);
    // Whatever was sent up to `low` came before that time, and whatever was sent above `high` did not.
    while low < high {
        let middle = high - (high - low) / 2;
        let sent = last_sent
            .query_row((project, low, middle, EventKind::MessageSent.as_str()), |row| {
                Ok((row.get::<_, i64>(0)?, row.get(1)?, row.get::<_, i64>(2)?))
            })
            .optional()?;
        match sent {
            Some((seq, _, at)) if at >= time.as_microsecond() => high = seq - 1,
            Some((_, message, _)) => (low, found) = (middle, message),
            None => low = middle,
        }
    }
    Ok(MessageId(found))
}

/// Counts back from answer to question for as long as watchers answered; a post has counted already.
fn hops(connection: &Connection, message: MessageId) -> rusqlite::Result<u32> {
    let mut step = connection.prepare_cached(
        "SELECT m.reply_to, m.from_name, m.sender_id, (SELECT hops FROM post WHERE message_id = m.id)
         FROM message m WHERE m.id = ?1",
    )?;
    let mut key =
        connection.prepare_cached("SELECT 1 FROM idempotency WHERE sender_id = ?1 AND key = ?2 AND message_id = ?3")?;
    let (mut at, mut count) = (message.0, 0);
    while count < MOST_HOPS {
        let found = step
            .query_row([at], |row| {
                Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get(3)?))
            })
            .optional()?;
        let Some((answered, from, sender, said)) = found else { break };
        if let Some(said) = said {
            let said: u32 = said;
            count += said;
            break;
        }
        let Some(question) = answered else { break };
        if !key.exists((sender, answer_key(&from, MessageId(question)), at))? {
            break;
        }
        (at, count) = (question, count + 1);
    }
    Ok(count.min(MOST_HOPS))
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
        if !is_answered_in_channel(connection, agent, message)? {
            return Ok(Taken::New);
        }
        end_run(connection, agent, message, RunState::Answered, "", now)?;
        return Ok(Taken::Already);
    }
    let again = connection
        .prepare_cached(
            "UPDATE watch_run SET state = 'running', tries = tries + 1, note = '', channel = ?3, at = ?4
             WHERE agent_id = ?1 AND message_id = ?2 AND state = 'again'",
        )?
        .execute(key)?;
    Ok(if again > 0 { Taken::Again } else { Taken::Already })
}

/// Whether a watcher of the agent has answered a post, here or at another office that shares the channel.
fn is_answered_in_channel(connection: &Connection, agent: AgentId, message: MessageId) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM message m INDEXED BY message_by_answered CROSS JOIN post o ON o.message_id = m.id
             WHERE m.reply_to = ?2 AND m.sender_id = ?1 AND o.mode = ?3",
        )?
        .exists((agent.0, message.0, WATCHER))
}

/// Ends what is running; `false` if it is not.
fn end_run(
    connection: &Connection,
    agent: AgentId,
    message: MessageId,
    state: RunState,
    note: &str,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let changed = connection
        .prepare_cached(
            "UPDATE watch_run SET state = ?3, note = ?4, at = ?5
             WHERE agent_id = ?1 AND message_id = ?2 AND state = 'running'",
        )?
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::migrations;
    use super::*;

    /// A project with bob, and what was made of `mail`.
    fn filled(mail: &str) -> Connection {
        let mut connection = Connection::open_in_memory().unwrap();
        migrations::migrate(&mut connection, migrations::ALL).unwrap();
        connection
            .execute_batch(
                "INSERT INTO project (id, slug, human_key, created_at, next_seq) VALUES (1, 'a', '/a', 0, 50001);
                 INSERT INTO agent VALUES (1, 1, 'bob', '', '', '', 0, 0, NULL), (2, 1, 'carol', '', '', '', 0, 0, NULL);",
            )
            .unwrap();
        connection.execute_batch(mail).unwrap();
        connection
    }

    /// Counts the steps that SQLite takes from now on.
    fn counted(connection: &mut Connection) -> Arc<AtomicU32> {
        let steps = Arc::new(AtomicU32::new(0));
        let counted = steps.clone();
        let count = move || counted.fetch_add(1, Ordering::Relaxed) == u32::MAX;
        connection.progress_handler(1, Some(count)).unwrap();
        steps
    }

    #[test]
    fn a_message_is_taken_on_without_looking_at_all_that_was_sent_since() {
        // All that carol says answers message 1, and what bob says answers what carol said last.
        let mut connection = filled(
            "INSERT INTO channel VALUES (1, 1, 'dev', 0);
             WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 20000)
             INSERT INTO message SELECT id, 1, 2 - id % 2, id, 't', iif(id % 2, nullif(id - 1, 0), 1), 1, 0, NULL, NULL,
                    'mcp', '', NULL, '', '', '', '', '' FROM n;
             INSERT INTO post SELECT id, 1, id, '', NULL, 'chat', 'watcher', 1, id, NULL, NULL, NULL FROM message;",
        );
        let steps = counted(&mut connection);
        let takes =
            |message| take_on(&connection, AgentId(1), "dev", MessageId(message), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!([1, 2, 1, 20_000].map(takes), [Taken::New, Taken::Already, Taken::Already, Taken::New]);
        assert!(steps.load(Ordering::Relaxed) < 1_000, "{steps:?} steps for four messages");
    }

    #[test]
    fn where_to_begin_is_found_without_looking_at_all_mail() {
        let mut connection = filled(
            "WITH RECURSIVE n (seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n WHERE seq < 50000)
                 INSERT INTO event SELECT 1, seq, iif(seq % 5, 'message.read', 'message.sent'), seq, 1, seq FROM n;",
        );
        let steps = counted(&mut connection);
        for (micros, last) in [(0, 0), (5, 0), (6, 5), (25_001, 25_000), (25_000, 24_995), (99_999, 50_000)] {
            let time = Timestamp::from_microsecond(micros).unwrap();
            assert_eq!(last_before(&connection, AgentId(1), time).unwrap(), MessageId(last), "{micros}");
        }
        assert!(steps.load(Ordering::Relaxed) < 50_000, "{steps:?} steps for six answers");
    }
}
