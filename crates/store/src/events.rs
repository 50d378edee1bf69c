//! The event log and its cursors. How a reader hears of changes stands with each engine.

use std::time::Duration;

use mail::events::{Changes, Cursor, Event, EventStore};

use crate::prelude::*;

/// Writes an event.
pub(crate) const EVENT: &str =
    "INSERT INTO event (project_id, seq, kind, reference, agent_id, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

#[async_trait]
impl EventStore for Engine {
    async fn events(&self, project: ProjectId, seq: i64, limit: usize) -> Stored<Vec<Event>> {
        let sql = "SELECT seq, kind, reference, agent_id, at FROM event
                   WHERE project_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
        let values = values![project, seq, limit];
        self.read("read the event log", async |tx| tx.rows(sql, values).await).await
    }

    async fn advance_cursor(&self, sink: &str, project: ProjectId, seq: i64) -> Stored<()> {
        let sql = "INSERT INTO cursor (sink, project_id, seq) VALUES (?1, ?2, ?3)
                   ON CONFLICT (sink, project_id) DO UPDATE SET seq = excluded.seq WHERE cursor.seq < excluded.seq";
        let sink = sink.to_owned();
        let moving = in_job!(|tx| tx.execute(sql, values![&sink, project, seq]).await.map(drop));
        self.write("move a cursor", Home::Project(project), moving).await
    }

    async fn cursors(&self) -> Stored<Vec<Cursor>> {
        let sql = "SELECT c.sink, p.slug, c.seq, p.next_seq - 1 FROM cursor c JOIN project p ON p.id = c.project_id
                   ORDER BY c.sink, p.slug";
        self.read("list cursors", async |tx| tx.rows(sql, &[]).await).await
    }

    async fn hold_cursor(
        &self,
        sink: &str,
        project: ProjectId,
        holder: &str,
        until: Timestamp,
        now: Timestamp,
    ) -> Stored<Option<i64>> {
        let doing = "hold a cursor";
        // Whoever asks in vain writes nothing and waits for no disk.
        let held = "SELECT 1 FROM cursor WHERE sink = ?1 AND project_id = ?2 AND holder <> ?3 AND held_until > ?4";
        let values = values![sink, project, holder, now];
        if self.read(doing, async |tx| tx.exists(held, values).await).await? {
            return Ok(None);
        }
        let sql = "INSERT INTO cursor (sink, project_id, seq, holder, held_until) VALUES (?1, ?2, 0, ?3, ?4)
                   ON CONFLICT (sink, project_id) DO UPDATE SET holder = ?3, held_until = ?4
                   WHERE cursor.holder = ?3 OR cursor.held_until <= ?5 RETURNING seq";
        let (sink, holder) = (sink.to_owned(), holder.to_owned());
        let holding = in_job!(|tx| tx.row(sql, values![&sink, project, &holder, until, now]).await);
        // Nothing of the project is written, so its lock is not needed.
        self.write(doing, Home::Nobody, holding).await
    }

    async fn changes(&self, after: Option<i64>, at_most: Duration) -> Stored<Changes> {
        match self {
            Self::Sqlite(store) => store.changes(after, at_most).await,
            Self::Postgres(store) => Ok(store.changes(after, at_most).await),
        }
    }
}

from_row! {
    Event { seq, kind, reference, agent, at }
    Cursor { sink, project, seq, newest }
}

/// The last message of a project that was sent before that time, and the number of its event; 0 if there is none. Times
/// rise with the numbers, and there is no index of times: the log is halved until it is found.
pub(crate) async fn last_sent_before(
    tx: &mut Tx<'_>,
    project: ProjectId,
    time: Timestamp,
) -> Outcome<(i64, MessageId)> {
    let newest = tx.row("SELECT next_seq - 1 FROM project WHERE id = ?1", values![project]).await?;
    let last_sent = "SELECT seq, reference, at FROM event
                     WHERE project_id = ?1 AND seq > ?2 AND seq <= ?3 AND kind = 'message.sent'
                     ORDER BY seq DESC LIMIT 1";
    let (mut low, mut high, mut found) = (0_i64, newest.unwrap_or(0), (0, MessageId(0)));
    // Whatever was sent up to `low` came before that time, and whatever was sent above `high` did not.
    while low < high {
        let middle = high - (high - low) / 2;
        let sent: Option<(i64, MessageId, Timestamp)> = tx.row(last_sent, values![project, low, middle]).await?;
        match sent {
            Some((seq, _, at)) if at >= time => high = seq - 1,
            Some((seq, message, _)) => (low, found) = (middle, (seq, message)),
            None => low = middle,
        }
    }
    Ok(found)
}
