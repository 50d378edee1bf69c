//! Watchers and their runs, in PostgreSQL.

use async_trait::async_trait;
use deadpool_postgres::GenericClient;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::channels::WATCHER;
use mail::ids::{AgentId, MessageId};
use mail::watches::{
    Begun, MOST_HOPS, NewWatch, Outcome as RunOutcome, Run, RunQuery, RunState, Taken, WatchStore, answer_key,
    interrupted,
};
use tokio_postgres::Row;

use super::desk::Desk;
use super::rows::{self, Outcome, limit_of, only, time};
use super::{Postgres, taken};
use crate::values::unknown;

#[async_trait]
impl WatchStore for Postgres {
    async fn begin_watch(&self, watch: &NewWatch, now: Timestamp) -> Result<Begun, StoreError> {
        let watch = watch.clone();
        self.write_for("begin to watch", watch.agent, move |desk| async move { begin(desk, &watch, now).await }.boxed())
            .await
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
        self.write_for("go on watching", agent, move |desk| {
            async move {
                let sql = "UPDATE watch SET position = greatest(position, $4), held_until = $5
                           WHERE agent_id = $1 AND channel = $2 AND holder = $3";
                let held =
                    desk.execute(sql, &[&agent.0, &channel, &holder, &position.0, &until.as_microsecond()]).await?;
                Ok(held > 0)
            }
            .boxed()
        })
        .await
    }

    async fn end_watch(&self, agent: AgentId, channel: &str, holder: &str) -> Result<bool, StoreError> {
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        self.write_for("end a watch", agent, move |desk| {
            async move {
                let sql = "UPDATE watch SET holder = '', held_until = 0
                           WHERE agent_id = $1 AND channel = $2 AND holder = $3";
                Ok(desk.execute(sql, &[&agent.0, &channel, &holder]).await? > 0)
            }
            .boxed()
        })
        .await
    }

    async fn hops(&self, message: MessageId) -> Result<u32, StoreError> {
        let found = async { hops(&taken(&self.readers).await?, message).await };
        self.answered("follow a chain of answers", found).await
    }

    async fn take_on(
        &self,
        agent: AgentId,
        channel: &str,
        message: MessageId,
        now: Timestamp,
    ) -> Result<Taken, StoreError> {
        let channel = channel.to_owned();
        self.write_for("take a message on", agent, move |desk| {
            async move { take_on(desk, agent, &channel, message, now).await }.boxed()
        })
        .await
    }

    async fn finish_run(
        &self,
        agent: AgentId,
        message: MessageId,
        outcome: &RunOutcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let outcome = outcome.clone();
        self.write_for("finish a run", agent, move |desk| {
            async move { end_run(desk, agent, message, outcome.state(), outcome.note(), now).await }.boxed()
        })
        .await
    }

    async fn runs(&self, agent: AgentId, query: RunQuery<'_>) -> Result<Vec<Run>, StoreError> {
        // The state is written out, so that the planner sees that the small index holds what is asked for.
        let state = query.state.map(|state| format!(" AND state = '{}'", state.as_str())).unwrap_or_default();
        let sql = format!(
            "SELECT message_id, channel, state, tries, note, at FROM watch_run
             WHERE agent_id = $1 AND ($2::text IS NULL OR channel = $2){state} ORDER BY message_id LIMIT $3"
        );
        self.read_as("list runs", &sql, &[&agent.0, &query.channel, &limit_of(query.limit)], run_of).await
    }

    async fn retry_runs(
        &self,
        agent: AgentId,
        messages: &[MessageId],
        now: Timestamp,
    ) -> Result<Vec<MessageId>, StoreError> {
        let messages: Vec<i64> = messages.iter().map(|message| message.0).collect();
        self.write_for("try runs again", agent, move |desk| {
            async move {
                let sql = "UPDATE watch_run SET state = 'again', tries = 0, at = $3
                           WHERE agent_id = $1 AND state = 'failed' AND (cardinality($2::bigint[]) = 0
                               OR message_id = ANY ($2)) RETURNING message_id";
                let rows = desk.changed_rows(sql, &[&agent.0, &messages, &now.as_microsecond()]).await?;
                let mut again = rows.iter().map(|row| Ok(MessageId(row.try_get(0)?))).collect::<Outcome<Vec<_>>>()?;
                again.sort_unstable();
                Ok(again)
            }
            .boxed()
        })
        .await
    }
}

async fn begin(desk: &Desk, watch: &NewWatch, now: Timestamp) -> Outcome<Begun> {
    let place = desk
        .rows(
            "SELECT position, holder, held_until FROM watch WHERE agent_id = $1 AND channel = $2",
            &[&watch.agent.0, &watch.channel],
        )
        .await?;
    let position = match place.first() {
        Some(row) => {
            let (holder, until): (String, _) = (row.try_get(1)?, time(row, 2)?);
            if now < until && holder != watch.holder && watch.instead_of.as_ref() != Some(&holder) {
                return Ok(Begun::Held { holder, until });
            }
            MessageId(row.try_get(0)?)
        }
        None => last_before(desk, watch.agent, watch.since).await?,
    };
    desk.execute(
        "INSERT INTO watch (agent_id, channel, position, holder, held_until) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (agent_id, channel) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until",
        &[&watch.agent.0, &watch.channel, &position.0, &watch.holder, &watch.until.as_microsecond()],
    )
    .await?;
    let cut_off = desk
        .rows(
            "SELECT message_id, tries FROM watch_run WHERE agent_id = $1 AND channel = $2 AND state = 'running'",
            &[&watch.agent.0, &watch.channel],
        )
        .await?;
    let mut given_up = Vec::new();
    for row in &cut_off {
        let (message, tries) = (MessageId(row.try_get(0)?), row.try_get::<_, i32>(1)?.unsigned_abs());
        let (state, note) = if is_answered(desk, watch.agent, message).await? {
            (RunState::Answered, String::new())
        } else {
            interrupted(tries)
        };
        end_run(desk, watch.agent, message, state, &note, now).await?;
        given_up.extend((state == RunState::Failed).then_some(message));
    }
    Ok(Begun::Started { position, given_up })
}

/// Whether the answer of the agent's watcher to a message was kept.
async fn is_answered(desk: &Desk, agent: AgentId, message: MessageId) -> Outcome<bool> {
    let names = desk.rows("SELECT name FROM agent WHERE id = $1", &[&agent.0]).await?;
    let name: String = only(&names)?.unwrap_or_default();
    let key = answer_key(&name, message);
    let kept = desk.rows("SELECT 1 FROM idempotency WHERE sender_id = $1 AND key = $2", &[&agent.0, &key]).await?;
    Ok(!kept.is_empty())
}

/// The last message of the agent's project that came before that time. Times rise with the numbers, so it is looked for
/// from the newest on.
async fn last_before(desk: &Desk, agent: AgentId, time: Timestamp) -> Outcome<MessageId> {
    let sql = "SELECT id FROM message
               WHERE project_id = (SELECT project_id FROM agent WHERE id = $1) AND created_at < $2
               ORDER BY id DESC LIMIT 1";
    let rows = desk.rows(sql, &[&agent.0, &time.as_microsecond()]).await?;
    Ok(MessageId(only(&rows)?.unwrap_or_default()))
}

async fn take_on(desk: &Desk, agent: AgentId, channel: &str, message: MessageId, now: Timestamp) -> Outcome<Taken> {
    let is_answered = is_answered_in_channel(desk, agent, message).await?;
    let first = if is_answered { RunState::Answered } else { RunState::Running };
    let at = now.as_microsecond();
    let new = "INSERT INTO watch_run (agent_id, message_id, channel, state, tries, note, at)
               VALUES ($1, $2, $3, $5, 1, '', $4) ON CONFLICT DO NOTHING";
    if desk.execute(new, &[&agent.0, &message.0, &channel, &at, &first.as_str()]).await? > 0 {
        return Ok(if is_answered { Taken::Already } else { Taken::New });
    }
    let again = "UPDATE watch_run SET state = 'running', tries = tries + 1, note = '', channel = $3, at = $4
                 WHERE agent_id = $1 AND message_id = $2 AND state = 'again'";
    Ok(if desk.execute(again, &[&agent.0, &message.0, &channel, &at]).await? > 0 {
        Taken::Again
    } else {
        Taken::Already
    })
}

/// Whether a watcher of the agent has answered a post, here or at another office that shares the channel.
async fn is_answered_in_channel(desk: &Desk, agent: AgentId, message: MessageId) -> Outcome<bool> {
    let sql = "SELECT 1 FROM message m JOIN post o ON o.message_id = m.id
               WHERE m.sender_id = $1 AND m.id > $2 AND m.reply_to = $2 AND o.mode = $3 LIMIT 1";
    Ok(!desk.rows(sql, &[&agent.0, &message.0, &WATCHER]).await?.is_empty())
}

/// Whether anybody holds a place for the agent whose time is not over.
pub(super) async fn is_watched(desk: &Desk, agent: AgentId, now: Timestamp) -> Outcome<bool> {
    let sql = "SELECT 1 FROM watch WHERE agent_id = $1 AND held_until > $2 LIMIT 1";
    Ok(!desk.rows(sql, &[&agent.0, &now.as_microsecond()]).await?.is_empty())
}

/// Counts back from answer to question for as long as watchers answered; a post has counted already.
async fn hops(client: &impl GenericClient, message: MessageId) -> Outcome<u32> {
    let step = "SELECT m.reply_to, m.from_name, m.sender_id, (SELECT hops FROM post WHERE message_id = m.id)
                FROM message m WHERE m.id = $1";
    let key = "SELECT 1 FROM idempotency WHERE sender_id = $1 AND key = $2 AND message_id = $3";
    let (mut at, mut count) = (message.0, 0);
    while count < MOST_HOPS {
        let rows = rows::rows(client, step, &[&at]).await?;
        let Some(row) = rows.first() else { break };
        if let Some(said) = row.try_get::<_, Option<i32>>(3)? {
            count += said.unsigned_abs();
            break;
        }
        let (sender, from): (i64, &str) = (row.try_get(2)?, row.try_get(1)?);
        let Some(question) = row.try_get::<_, Option<i64>>(0)? else { break };
        let answer = answer_key(from, MessageId(question));
        if rows::rows(client, key, &[&sender, &answer, &at]).await?.is_empty() {
            break;
        }
        (at, count) = (question, count + 1);
    }
    Ok(count.min(MOST_HOPS))
}

/// Ends what is running; `false` if it is not.
async fn end_run(
    desk: &Desk,
    agent: AgentId,
    message: MessageId,
    state: RunState,
    note: &str,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "UPDATE watch_run SET state = $3, note = $4, at = $5
               WHERE agent_id = $1 AND message_id = $2 AND state = 'running'";
    let values: super::Values<'_> = &[&agent.0, &message.0, &state.as_str(), &note, &now.as_microsecond()];
    Ok(desk.execute(sql, values).await? > 0)
}

fn run_of(row: &Row) -> Outcome<Run> {
    let state: &str = row.try_get(2)?;
    Ok(Run {
        message: MessageId(row.try_get(0)?),
        channel: row.try_get(1)?,
        state: RunState::parse(state).ok_or_else(|| unknown("state of a run", state))?,
        tries: row.try_get::<_, i32>(3)?.unsigned_abs(),
        note: row.try_get(4)?,
        at: time(row, 5)?,
    })
}
