//! Search, in PostgreSQL: newest first, within one project, and never for long.
//!
//! A message is found by its words, which are those that SQLite finds. The newest messages are looked through first, then
//! the index tells which of all may match; what it cannot tell, such as whether words stand side by side, is decided by
//! reading the message. There is no ranking.

mod lowering;
mod places;

use mail::messages::{Message, PAGE_BYTES};
use mail::search::query::{Field, Query};
use mail::{StoreError, Stored};

use super::tx::PostgresTx;
use super::{Postgres, SEARCH_DEADLINE, taken};
use crate::error::{Outcome, refused};
use crate::messages::{BODY, COLUMNS, size_of};
use crate::row::values;
use crate::search::{BODY_SHOWN, Search, senders};
use crate::tx::Tx;
use crate::words::{MORE, quoted, words};
use lowering::Lowered;
use places::{are_near, begins_with, places, read};

/// How many messages that may match are fetched at once.
const AT_ONCE: usize = 100;

impl Postgres {
    /// The newest messages that match.
    pub(crate) async fn search(&self, search: &Search) -> Stored<Vec<Message>> {
        let found = async { find(&mut PostgresTx::reading(taken(&self.searchers).await?).tx(), search).await };
        let in_time = tokio::time::timeout(SEARCH_DEADLINE, found);
        let found = self.health.unless_away(async { in_time.await.map_or(Ok(None), |found| found.map(Some)) }).await;
        found.map_err(refused("search"))?.ok_or(StoreError::TooSlow)
    }
}

async fn find(tx: &mut Tx<'_>, search: &Search) -> Outcome<Vec<Message>> {
    let senders = senders(tx, search).await?;
    let wanted = lowering::lower(&search.query, search.project, &senders);
    // Words of nearly every message are in the newest ones too; the index would have to name all that have them.
    let newest = found_in(&among_newest(search.limit), tx, search, &wanted).await?;
    if newest.len() >= search.limit { Ok(newest) } else { found_in(ALL, tx, search, &wanted).await }
}

/// Every message, found by the index of words.
const ALL: &str = "message m";

/// The newest messages of a project, some for each that is wanted.
fn among_newest(limit: usize) -> String {
    let some = limit.saturating_mul(5).min(AT_ONCE * 5);
    format!("(SELECT * FROM message WHERE project_id = ?1 AND id < ?3 ORDER BY id DESC LIMIT {some}) m")
}

/// The newest of the messages in `place` that match.
async fn found_in(place: &str, tx: &mut Tx<'_>, search: &Search, wanted: &Lowered) -> Outcome<Vec<Message>> {
    let sql = candidates_sql(wanted, place);
    let Search { project, query, about, before, limit } = search;
    let mut before = *before;
    let (mut found, mut bytes) = (Vec::new(), 0);
    loop {
        let values = values![*project, &wanted.text, before, AT_ONCE.min(*limit), about.kind, &about.work_id];
        // Each comes with whether it has words that the index does not know.
        let candidates = tx.page(&sql, values, |(message, _): &(Message, bool)| size_of(message)).await?;
        // Of the newest, those behind the last one would be others.
        let is_last = candidates.is_empty() || place != ALL;
        for (mut message, has_more) in candidates {
            before = message.id.0;
            if (wanted.is_exact && !has_more) || matches(query, &message) {
                shorten(&mut message.body);
                bytes += message.body.len();
                found.push(message);
            }
            if found.len() >= *limit || bytes > PAGE_BYTES {
                return Ok(found);
            }
        }
        if is_last {
            return Ok(found);
        }
    }
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

/// Whether a message with its whole body matches.
fn matches(query: &Query, message: &Message) -> bool {
    let text = Text { from: &message.from, subject: words(&message.subject), body: words(&message.body) };
    text.matches(query)
}

struct Text<'a> {
    from: &'a str,
    subject: Vec<String>,
    body: Vec<String>,
}

impl Text<'_> {
    fn matches(&self, query: &Query) -> bool {
        match query {
            Query::Word { text, field } | Query::Phrase { text, field } => self.has(&words(text), *field, false),
            Query::Prefix { text, field } => self.has(&words(text), *field, true),
            Query::Start { sequence, field } => {
                let words = words(&sequence.text);
                self.somewhere(*field, |text| begins_with(&words, text, sequence.is_prefix))
            }
            Query::Near { sequences, most_between, field } => {
                let sequences = read(sequences);
                self.somewhere(*field, |text| are_near(&sequences, *most_between, text))
            }
            Query::From(name) => self.from.eq_ignore_ascii_case(name),
            Query::And(parts) => parts.iter().all(|part| self.matches(part)),
            Query::Or(parts) => parts.iter().any(|part| self.matches(part)),
            Query::Not(inner) => !self.matches(inner),
        }
    }

    fn has(&self, phrase: &[String], field: Field, is_prefix: bool) -> bool {
        self.somewhere(field, |text| places(phrase, text, is_prefix).next().is_some())
    }

    /// Whether the subject or the body is so, as `field` says.
    fn somewhere(&self, field: Field, is_so: impl Fn(&[String]) -> bool) -> bool {
        match field {
            Field::Any => is_so(&self.subject) || is_so(&self.body),
            Field::Subject => is_so(&self.subject),
            Field::Body => is_so(&self.body),
        }
    }
}
