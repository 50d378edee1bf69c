//! Wake-ups of idle sessions. When there is one is decided by `mail`; this file writes down who claimed it and what became of it.

use mail::wake_ups::{
    Answered, Decision, LastWakeUp, MOST_COUNTED, UnseenMail, WakeClaim, WakeFor, WakeOutcome, WakeReceipt,
    WakeUpStore, decide, told_of, was_last,
};

use crate::prelude::*;

/// How many wake-ups are looked at that may have told of a message.
const MOST_LOOKED_AT: i64 = 8;

#[async_trait]
impl WakeUpStore for Engine {
    async fn claim_wake_up(
        &self,
        project: ProjectId,
        agent: AgentId,
        session: &str,
        rule: WakeFor,
        outcome: Option<WakeOutcome>,
        now: Timestamp,
    ) -> Stored<WakeClaim> {
        // The usual answer is that there is nothing, and must not wait for the disk.
        let looked = self.read("look for a wake-up", async |tx| due(tx, agent, session, rule, now).await).await?;
        match looked {
            Due::Nothing => return Ok(WakeClaim::Nothing),
            Due::Later(time) => return Ok(WakeClaim::Later(time)),
            Due::Now { .. } => {}
        }
        let session = session.to_owned();
        let claiming = in_job!(|tx| match due(tx, agent, &session, rule, now).await? {
            Due::Nothing => Ok(WakeClaim::Nothing),
            Due::Later(time) => Ok(WakeClaim::Later(time)),
            Due::Now { tries, unseen } => claim(tx, agent, &session, (tries, unseen), outcome, now).await,
        });
        self.write("claim a wake-up", Home::Project(project), claiming).await
    }

    async fn settle_wake_up(&self, agent: AgentId, number: i64, outcome: WakeOutcome, now: Timestamp) -> Stored<bool> {
        let sql = "UPDATE wake_up SET outcome = ?3, settled_at = ?4
                   WHERE agent_id = ?1 AND number = ?2 AND outcome IS NULL";
        let settling = in_job!(|tx| Ok(tx.execute(sql, values![agent, number, outcome, now]).await? > 0));
        self.write("settle a wake-up", Home::Agent(agent), settling).await
    }

    async fn wake_receipts(&self, messages: &[MessageId]) -> Stored<Vec<WakeReceipt>> {
        let sql = "SELECT d.message_id, a.name, w.session, w.outcome, w.settled_at
                   FROM delivery d INDEXED BY delivery_by_message
                   CROSS JOIN agent a ON a.id = d.recipient_id
                   CROSS JOIN wake_up w ON w.agent_id = d.recipient_id AND w.number IN (
                       SELECT n.number FROM wake_up n INDEXED BY wake_up_by_message
                       WHERE n.agent_id = d.recipient_id AND n.up_to >= d.message_id ORDER BY n.up_to, n.number LIMIT ?2)
                   WHERE d.message_id = ?1 AND w.first <= ?1 AND w.outcome IS NOT NULL
                       AND (d.shown_at IS NULL OR d.shown_at >= w.claimed_at)
                       AND (d.read_at IS NULL OR d.read_at >= w.claimed_at)
                       AND (d.archived_at IS NULL OR d.archived_at >= w.claimed_at)
                   ORDER BY d.role, d.position, w.number";
        let asked = messages.iter().map(|message| [Value::from(*message), Value::from(MOST_LOOKED_AT)]);
        self.read("read what became of wake-ups", async |tx| tx.rows_many(sql, asked).await).await
    }
}

/// What is due of an agent's wake-ups.
enum Due {
    Nothing,
    Later(Timestamp),
    Now { tries: u32, unseen: Vec<UnseenMail> },
}

async fn due(tx: &mut Tx<'_>, agent: AgentId, session: &str, rule: WakeFor, now: Timestamp) -> Outcome<Due> {
    let last = last(tx, agent).await?;
    // In a burst of mail all but the first ends here, before anything is read of it.
    match decide(Some(MessageId(i64::MAX)), last.as_ref(), now) {
        Decision::Nothing => return Ok(Due::Nothing),
        Decision::Later(time) => return Ok(Due::Later(time)),
        Decision::Now { .. } => {}
    }
    let unseen = unseen(tx, agent).await?;
    if unseen.is_empty() {
        return Ok(Due::Nothing);
    }
    // What was there when the session began, it was told then.
    let began: Option<Timestamp> =
        tx.row("SELECT began_at FROM session WHERE agent_id = ?1 AND key = ?2", values![agent, session]).await?;
    let is_since = |one: &&UnseenMail| began.is_none_or(|began| one.created_at > began);
    let newest = unseen.iter().filter(is_since).find(|one| one.wakes(agent, rule)).map(|one| one.id);
    Ok(match decide(newest, last.as_ref(), now) {
        Decision::Nothing => Due::Nothing,
        Decision::Later(time) => Due::Later(time),
        Decision::Now { tries } => Due::Now { tries, unseen },
    })
}

async fn claim(
    tx: &mut Tx<'_>,
    agent: AgentId,
    session: &str,
    (tries, unseen): (u32, Vec<UnseenMail>),
    outcome: Option<WakeOutcome>,
    now: Timestamp,
) -> Outcome<WakeClaim> {
    let sql = "INSERT INTO wake_up (agent_id, number, session, first, up_to, tries, claimed_at, outcome, settled_at)
               VALUES (?1, (SELECT coalesce(max(w.number), 0) + 1 FROM wake_up w WHERE w.agent_id = ?1),
                   ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING number";
    let (first, up_to) = (unseen.last().map(|one| one.id), unseen.first().map(|one| one.id));
    let settled_at = outcome.map(|_| now);
    let values = values![agent, session, first, up_to, tries, now, outcome, settled_at];
    let number = tx.only(sql, values).await?;
    Ok(WakeClaim::Taken(told_of(number, &unseen)))
}

/// The unseen mail of an agent, newest first.
async fn unseen(tx: &mut Tx<'_>, agent: AgentId) -> Outcome<Vec<UnseenMail>> {
    let sql = "SELECT m.id, m.sender_id, m.from_name, m.vouched, m.importance, m.ack_required, m.created_at,
                   r.sender_id, r.reply_to, r.ack_required, r.kind
               FROM delivery d INDEXED BY delivery_unseen CROSS JOIN message m ON m.id = d.message_id
               LEFT JOIN message r ON r.id = m.reply_to
               WHERE d.recipient_id = ?1 AND d.read_at IS NULL AND d.archived_at IS NULL AND d.shown_at IS NULL
               ORDER BY d.message_id DESC LIMIT ?2";
    tx.rows(sql, values![agent, MOST_COUNTED]).await
}

/// When a wake-up was claimed, the first and the last message that it told of, its tries and its outcome.
type Kept = (Timestamp, (MessageId, MessageId), u32, Option<WakeOutcome>);

/// The last wake-up of an agent, and whether anything came of it.
async fn last(tx: &mut Tx<'_>, agent: AgentId) -> Outcome<Option<LastWakeUp>> {
    let sql = "SELECT claimed_at, first, up_to, tries, outcome FROM wake_up
               WHERE agent_id = ?1 ORDER BY number DESC LIMIT 1";
    let row: Option<Kept> = tx.row(sql, values![agent]).await?;
    let Some((claimed_at, (first, up_to), tries, outcome)) = row else { return Ok(None) };
    // Who is left alone stays so until it is heard of: its mail need not be looked at each time.
    let is_heeded = tx.exists(HEARD_OF, values![agent, claimed_at]).await?
        || !was_last(tries) && tx.exists(LOOKED_AT, values![agent, claimed_at, first, up_to, MOST_COUNTED]).await?;
    let is_held = outcome == Some(WakeOutcome::Held);
    Ok(Some(LastWakeUp { claimed_at, up_to, tries, is_heeded, is_held }))
}

/// Whether an agent was heard of after a time: it acted, sent something, or its client told of a session.
const HEARD_OF: &str = "SELECT 1 FROM agent a WHERE a.id = ?1 AND (a.last_active_at > ?2
     OR EXISTS (SELECT 1 FROM presence p WHERE p.agent_id = ?1 AND p.seen_at > ?2)
     OR EXISTS (SELECT 1 FROM session s WHERE s.agent_id = ?1 AND s.seen_at > ?2))";
/// Whether it was shown mail of a wake-up after that, or did anything with it. A wake-up that told of an old message as well may span all
/// mail since, of which the newest is looked at.
const LOOKED_AT: &str = "SELECT 1 FROM (
         SELECT shown_at, read_at, acked_at, archived_at FROM delivery
         WHERE recipient_id = ?1 AND message_id >= ?3 AND message_id <= ?4 ORDER BY message_id DESC LIMIT ?5) d
     WHERE d.shown_at > ?2 OR d.read_at > ?2 OR d.acked_at > ?2 OR d.archived_at > ?2 LIMIT 1";

impl FromRow for UnseenMail {
    fn from_row(row: &Row<'_>, at: &mut usize) -> Outcome<Self> {
        Ok(Self {
            id: FromRow::from_row(row, at)?,
            sender: FromRow::from_row(row, at)?,
            from: FromRow::from_row(row, at)?,
            vouched: FromRow::from_row(row, at)?,
            importance: FromRow::from_row(row, at)?,
            ack_required: FromRow::from_row(row, at)?,
            created_at: FromRow::from_row(row, at)?,
            answered: answered(row, at)?,
        })
    }
}

/// The message that was answered; none where nothing is said of it.
fn answered(row: &Row<'_>, at: &mut usize) -> Outcome<Option<Answered>> {
    let sender: Option<AgentId> = FromRow::from_row(row, at)?;
    let reply_to: Option<MessageId> = FromRow::from_row(row, at)?;
    let ack_required: Option<bool> = FromRow::from_row(row, at)?;
    let kind = FromRow::from_row(row, at)?;
    let ack_required = ack_required.unwrap_or_default();
    Ok(sender.map(|sender| Answered { sender, is_reply: reply_to.is_some(), ack_required, kind }))
}

from_row! { WakeReceipt { message, recipient, session, outcome, at } }
