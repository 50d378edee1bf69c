//! Watchers and their runs.

use mail::channels::WATCHER;
use mail::watches::{
    Begun, MOST_HOPS, NewWatch, Run, RunOutcome, RunQuery, RunState, Taken, WatchStore, answer_key, interrupted,
};

use crate::events::last_sent_before;
use crate::prelude::*;

#[async_trait]
impl WatchStore for Engine {
    async fn begin_watch(&self, watch: &NewWatch, now: Timestamp) -> Stored<Begun> {
        // Looked for before the transaction, in which nobody else can write.
        let first = self.read("find where to begin", async |tx| first_position(tx, watch).await).await?;
        let (agent, watch) = (watch.agent, watch.clone());
        let beginning = in_job!(|tx| begin(tx, &watch, first, now).await);
        self.write("begin to watch", Home::Agent(agent), beginning).await
    }

    async fn hold_watch(
        &self,
        agent: AgentId,
        channel: &str,
        holder: &str,
        position: MessageId,
        until: Timestamp,
    ) -> Stored<bool> {
        let sql = "UPDATE watch SET position = CASE WHEN position < ?4 THEN ?4 ELSE position END, held_until = ?5
                   WHERE agent_id = ?1 AND channel = ?2 AND holder = ?3";
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        let holding = in_job!(|tx| Ok(tx.execute(sql, values![agent, &channel, &holder, position, until]).await? > 0));
        self.write("go on watching", Home::Agent(agent), holding).await
    }

    async fn end_watch(&self, agent: AgentId, channel: &str, holder: &str) -> Stored<bool> {
        let sql = "UPDATE watch SET holder = '', held_until = 0 WHERE agent_id = ?1 AND channel = ?2 AND holder = ?3";
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        let ending = in_job!(|tx| Ok(tx.execute(sql, values![agent, &channel, &holder]).await? > 0));
        self.write("end a watch", Home::Agent(agent), ending).await
    }

    async fn hops(&self, message: MessageId) -> Stored<u32> {
        self.read("follow a chain of answers", async |tx| hops(tx, message).await).await
    }

    async fn take_on(&self, agent: AgentId, channel: &str, message: MessageId, now: Timestamp) -> Stored<Taken> {
        let channel = channel.to_owned();
        let taking = in_job!(|tx| take_on(tx, agent, &channel, message, now).await);
        self.write("take a message on", Home::Agent(agent), taking).await
    }

    async fn finish_run(
        &self,
        agent: AgentId,
        message: MessageId,
        outcome: &RunOutcome,
        now: Timestamp,
    ) -> Stored<bool> {
        let outcome = outcome.clone();
        let finishing = in_job!(|tx| end_run(tx, agent, message, outcome.state(), outcome.note(), now).await);
        self.write("finish a run", Home::Agent(agent), finishing).await
    }

    async fn runs(&self, agent: AgentId, query: RunQuery<'_>) -> Stored<Vec<Run>> {
        // The state is written out, because only then it is seen that the small index holds what is asked for.
        let state = query.state.map(|state| format!(" AND state = '{}'", state.as_str())).unwrap_or_default();
        let sql = format!(
            "SELECT message_id, channel, state, tries, note, at FROM watch_run
             WHERE agent_id = ?1 AND (CAST(?2 AS TEXT) IS NULL OR channel = ?2){state} ORDER BY message_id LIMIT ?3"
        );
        let values = values![agent, query.channel, query.limit];
        self.read("list runs", async |tx| tx.rows(&sql, values).await).await
    }

    async fn retry_runs(&self, agent: AgentId, messages: &[MessageId], now: Timestamp) -> Stored<Vec<MessageId>> {
        let messages = messages.to_vec();
        let retrying = in_job!(|tx| {
            let sql = "SELECT message_id FROM watch_run WHERE agent_id = ?1 AND state = 'failed' ORDER BY message_id";
            let mut failed: Vec<MessageId> = tx.rows(sql, values![agent]).await?;
            if !messages.is_empty() {
                failed.retain(|message| messages.contains(message));
            }
            let sql =
                "UPDATE watch_run SET state = 'again', tries = 0, at = ?3 WHERE agent_id = ?1 AND message_id = ?2";
            tx.execute_many(sql, failed.iter().map(|message| *values![agent, *message, now])).await?;
            Ok(failed)
        });
        self.write("try runs again", Home::Agent(agent), retrying).await
    }
}

/// How far the last watcher of a place has looked, who it is, and how long it holds the place.
async fn place(tx: &mut Tx<'_>, agent: AgentId, channel: &str) -> Outcome<Option<(MessageId, String, Timestamp)>> {
    let sql = "SELECT position, holder, held_until FROM watch WHERE agent_id = ?1 AND channel = ?2";
    tx.row(sql, values![agent, channel]).await
}

/// Where to begin if nobody ever watched here: behind the last message that came before the time that is asked for.
async fn first_position(tx: &mut Tx<'_>, watch: &NewWatch) -> Outcome<MessageId> {
    if place(tx, watch.agent, &watch.channel).await?.is_some() {
        return Ok(MessageId(0));
    }
    match tx.row("SELECT project_id FROM agent WHERE id = ?1", values![watch.agent]).await? {
        Some(project) => Ok(last_sent_before(tx, project, watch.since).await?.1),
        None => Ok(MessageId(0)),
    }
}

/// Whether anybody holds a place for the agent whose time is not over.
pub(crate) async fn is_watched(tx: &mut Tx<'_>, agent: AgentId, now: Timestamp) -> Outcome<bool> {
    tx.exists("SELECT 1 FROM watch WHERE agent_id = ?1 AND held_until > ?2 LIMIT 1", values![agent, now]).await
}

/// Takes the place; `first` is where to begin if nobody ever watched here.
async fn begin(tx: &mut Tx<'_>, watch: &NewWatch, first: MessageId, now: Timestamp) -> Outcome<Begun> {
    let position = match place(tx, watch.agent, &watch.channel).await? {
        Some((_, holder, until))
            if now < until && holder != watch.holder && watch.instead_of.as_ref() != Some(&holder) =>
        {
            return Ok(Begun::Held { holder, until });
        }
        Some((position, ..)) => position,
        None => first,
    };
    let sql = "INSERT INTO watch (agent_id, channel, position, holder, held_until) VALUES (?1, ?2, ?3, ?4, ?5)
               ON CONFLICT (agent_id, channel) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until";
    tx.execute(sql, values![watch.agent, &watch.channel, position, &watch.holder, watch.until]).await?;
    let sql = "SELECT message_id, tries FROM watch_run WHERE agent_id = ?1 AND channel = ?2 AND state = 'running'";
    let cut_off: Vec<(MessageId, u32)> = tx.rows(sql, values![watch.agent, &watch.channel]).await?;
    let mut given_up = Vec::new();
    for (message, tries) in cut_off {
        let (state, note) = if is_answered(tx, watch.agent, message).await? {
            (RunState::Answered, String::new())
        } else {
            interrupted(tries)
        };
        end_run(tx, watch.agent, message, state, &note, now).await?;
        given_up.extend((state == RunState::Failed).then_some(message));
    }
    Ok(Begun::Started { position, given_up })
}

/// Whether the answer of the agent's watcher to a message was kept.
async fn is_answered(tx: &mut Tx<'_>, agent: AgentId, message: MessageId) -> Outcome<bool> {
    let name: Option<String> = tx.row("SELECT name FROM agent WHERE id = ?1", values![agent]).await?;
    let key = answer_key(&name.unwrap_or_default(), message);
    tx.exists("SELECT 1 FROM idempotency WHERE sender_id = ?1 AND key = ?2", values![agent, &key]).await
}

/// Counts back from answer to question for as long as watchers answered; a post has counted already.
async fn hops(tx: &mut Tx<'_>, message: MessageId) -> Outcome<u32> {
    let step = "SELECT m.reply_to, m.from_name, m.sender_id, (SELECT hops FROM post WHERE message_id = m.id)
                FROM message m WHERE m.id = ?1";
    let key = "SELECT 1 FROM idempotency WHERE sender_id = ?1 AND key = ?2 AND message_id = ?3";
    let (mut at, mut count) = (message, 0);
    while count < MOST_HOPS {
        let found: Option<(_, String, AgentId, Option<u32>)> = tx.row(step, values![at]).await?;
        let Some((answered, from, sender, counted)) = found else { break };
        if let Some(counted) = counted {
            count += counted;
            break;
        }
        let Some(question) = answered else { break };
        if !tx.exists(key, values![sender, &answer_key(&from, question), at]).await? {
            break;
        }
        (at, count) = (question, count + 1);
    }
    Ok(count.min(MOST_HOPS))
}

async fn take_on(tx: &mut Tx<'_>, agent: AgentId, channel: &str, message: MessageId, now: Timestamp) -> Outcome<Taken> {
    let is_answered = is_answered_in_channel(tx, agent, message).await?;
    let first = if is_answered { RunState::Answered } else { RunState::Running };
    let new = "INSERT INTO watch_run (agent_id, message_id, channel, state, tries, note, at)
               VALUES (?1, ?2, ?3, ?5, 1, '', ?4) ON CONFLICT DO NOTHING";
    if tx.execute(new, values![agent, message, channel, now, first]).await? > 0 {
        return Ok(if is_answered { Taken::Already } else { Taken::New });
    }
    let again = "UPDATE watch_run SET state = 'running', tries = tries + 1, note = '', channel = ?3, at = ?4
                 WHERE agent_id = ?1 AND message_id = ?2 AND state = 'again'";
    let again = tx.execute(again, values![agent, message, channel, now]).await?;
    Ok(if again > 0 { Taken::Again } else { Taken::Already })
}

/// Whether a watcher of the agent has answered a post, here or at another office that shares the channel.
async fn is_answered_in_channel(tx: &mut Tx<'_>, agent: AgentId, message: MessageId) -> Outcome<bool> {
    let sql = "SELECT 1 FROM message m INDEXED BY message_by_answered CROSS JOIN post o ON o.message_id = m.id
               WHERE m.reply_to = ?2 AND m.sender_id = ?1 AND o.mode = ?3 LIMIT 1";
    tx.exists(sql, values![agent, message, WATCHER]).await
}

/// Ends what is running; `false` if it is not.
async fn end_run(
    tx: &mut Tx<'_>,
    agent: AgentId,
    message: MessageId,
    state: RunState,
    note: &str,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "UPDATE watch_run SET state = ?3, note = ?4, at = ?5
               WHERE agent_id = ?1 AND message_id = ?2 AND state = 'running'";
    Ok(tx.execute(sql, values![agent, message, state, note, now]).await? > 0)
}

from_row! { Run { message, channel, state, tries, note, at } }

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use mail::ids::ProjectId;

    use super::*;
    use crate::sqlite::{in_memory, now, reading};
    use rusqlite::Connection;

    /// A project with bob, and what was made of `mail`.
    fn filled(mail: &str) -> Connection {
        let connection = in_memory();
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
        let mut takes = |message| {
            let taking =
                |tx: &mut Tx<'_>| now(take_on(tx, AgentId(1), "dev", MessageId(message), Timestamp::UNIX_EPOCH));
            reading(&mut connection, taking).unwrap()
        };
        assert_eq!([1, 2, 1, 20_000].map(&mut takes), [Taken::New, Taken::Already, Taken::Already, Taken::New]);
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
            let looking = |tx: &mut Tx<'_>| now(last_sent_before(tx, ProjectId(1), time));
            assert_eq!(reading(&mut connection, looking).unwrap().1, MessageId(last), "{micros}");
        }
        assert!(steps.load(Ordering::Relaxed) < 50_000, "{steps:?} steps for six answers");
    }
}
