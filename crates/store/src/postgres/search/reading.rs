//! Whether a message matches a query, by reading it: what the index can only guess.

use mail::messages::Message;
use mail::search::query::{Field, Query};

use crate::words::words;

/// Whether a message with its whole body matches.
pub(super) fn matches(query: &Query, message: &Message) -> bool {
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
            Query::From(name) => self.from.eq_ignore_ascii_case(name),
            Query::And(parts) => parts.iter().all(|part| self.matches(part)),
            Query::Or(parts) => parts.iter().any(|part| self.matches(part)),
            Query::Not(inner) => !self.matches(inner),
        }
    }

    fn has(&self, phrase: &[String], field: Field, is_prefix: bool) -> bool {
        let stands_in = |text: &[String]| stands_in(phrase, text, is_prefix);
        match field {
            Field::Any => stands_in(&self.subject) || stands_in(&self.body),
            Field::Subject => stands_in(&self.subject),
            Field::Body => stands_in(&self.body),
        }
    }
}

/// Whether words stand side by side in a text; of the last, only the beginning if `is_prefix`.
fn stands_in(phrase: &[String], text: &[String], is_prefix: bool) -> bool {
    let Some((last, first)) = phrase.split_last() else { return false };
    text.windows(phrase.len()).any(|place| {
        let end = &place[first.len()];
        place.starts_with(first) && if is_prefix { end.starts_with(last.as_str()) } else { end == last }
    })
}
