//! Search, in PostgreSQL: newest first, within one project, and never for long.
//!
//! A message is found by its words, which are those that SQLite finds. The newest messages are looked through first, then
//! the index tells which of all may match; what it cannot tell, such as whether words stand side by side, is decided by
//! reading the message. There is no ranking.

mod lowering;
mod reading;

use formats::Kind;
use mail::StoreError;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{About, Message, PAGE_BYTES};
use mail::search::query::Query;

use super::tx::PostgresTx;
use super::{Postgres, taken};
use crate::error::{Outcome, refused};
use crate::messages::{AFTER_BODY, BODY, COLUMNS, message_of};
use crate::row::{Row, values};
use crate::search::senders;
use crate::tx::Tx;
use crate::words::{MORE, quoted};
use lowering::Lowered;

/// How many characters of a body a search returns: as many as make 64 KiB of plain letters.
const BODY_SHOWN: usize = 64 * 1024;
/// How many messages that may match are fetched at once.
const AT_ONCE: usize = 100;

impl Postgres {
    /// The newest messages that match.
    pub(crate) async fn search(
        &self,
        project: ProjectId,
        query: &Query,
        about: &About,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Message>, StoreError> {
        let found = self.find(project, query, about, before, limit);
        let in_time = tokio::time::timeout(self.options.search_deadline, found);
        let found = self.unless_away(async { in_time.await.map_or(Ok(None), |found| found.map(Some)) }).await;
        found.map_err(refused("search"))?.ok_or(StoreError::TooSlow)
    }

    async fn find(
        &self,
        project: ProjectId,
        query: &Query,
        about: &About,
        before: Option<MessageId>,
        limit: usize,
    ) -> Outcome<Vec<Message>> {
        let mut reader = PostgresTx::reading(taken(&self.searchers).await?);
        let tx = &mut reader.tx();
        let senders = senders(tx, project, query).await?;
        let wanted = lowering::lower(query, project, &senders);
        let ask = Ask { project, query, wanted, about, before: before.map_or(i64::MAX, |id| id.0), limit };
        // Words of nearly every message are in the newest ones too; the index would have to name all that have them.
        let newest = ask.answer(tx, &among_newest(limit)).await?;
        if newest.len() >= limit { Ok(newest) } else { ask.answer(tx, ALL).await }
    }
}

/// What is searched for.
struct Ask<'a> {
    project: ProjectId,
    query: &'a Query,
    wanted: Lowered,
    about: &'a About,
    before: i64,
    limit: usize,
}

/// Every message, found by the index of words.
const ALL: &str = "message m";

/// The newest messages of a project, some for each that is wanted.
fn among_newest(limit: usize) -> String {
    let some = limit.saturating_mul(5).min(AT_ONCE * 5);
    format!("(SELECT * FROM message WHERE project_id = ?1 AND id < ?3 ORDER BY id DESC LIMIT {some}) m")
}

impl Ask<'_> {
    /// The newest of the messages in `place` that match.
    async fn answer(&self, tx: &mut Tx<'_>, place: &str) -> Outcome<Vec<Message>> {
        let sql = candidates_sql(&self.wanted, place);
        let (kind, mut before) = (self.about.kind.map(Kind::as_str), self.before);
        let (mut found, mut bytes) = (Vec::new(), 0);
        loop {
            let at_once = AT_ONCE.min(self.limit);
            let values = values![self.project, &self.wanted.text, before, at_once, kind, &self.about.work_id];
            let mut seen = 0;
            let candidates = tx.page(&sql, values, candidate_of, |one| one.message.body.len()).await?;
            for candidate in candidates {
                seen += 1;
                before = candidate.message.id.0;
                if (self.wanted.is_exact && !candidate.has_more) || reading::matches(self.query, &candidate.message) {
                    let mut message = candidate.message;
                    shorten(&mut message.body);
                    bytes += message.body.len();
                    found.push(message);
                }
                if found.len() >= self.limit || bytes > PAGE_BYTES {
                    return Ok(found);
                }
            }
            // Of the newest, those behind the last one would be others.
            if seen == 0 || place != ALL {
                return Ok(found);
            }
        }
    }
}

/// A message that may match.
struct Candidate {
    message: Message,
    /// Whether it has words that the index does not know.
    has_more: bool,
}

fn candidate_of(row: &Row<'_>) -> Outcome<Candidate> {
    Ok(Candidate { message: message_of(row)?, has_more: row.get(AFTER_BODY)? })
}

/// A body is read whole only where it is read to decide.
fn candidates_sql(wanted: &Lowered, place: &str) -> String {
    let more = format!("m.words @@ {}::tsquery", quoted(&quoted(MORE)));
    let body = if wanted.is_exact {
        format!("CASE WHEN {more} THEN {BODY} ELSE left({BODY}, {BODY_SHOWN}) END")
    } else {
        BODY.to_owned()
    };
    format!(
        "SELECT {COLUMNS}, {body}, {more} FROM {place}
         WHERE m.project_id = ?1 AND m.words @@ ?2::text::tsquery AND m.id < ?3
         AND (?5::text IS NULL OR m.kind = ?5) AND (?6::text IS NULL OR m.work_id = ?6)
         ORDER BY m.id DESC LIMIT ?4"
    )
}

fn shorten(body: &mut String) {
    if let Some((end, _)) = body.char_indices().nth(BODY_SHOWN) {
        body.truncate(end);
    }
}
