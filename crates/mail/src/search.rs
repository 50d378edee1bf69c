//! Search: finding what was said.
//!
//! One query language for every store: parsed once into a tree ([`query::Query`]) that each engine lowers to its own.
//! Results come newest first, because a limit should keep what is new.

pub mod query;

use async_trait::async_trait;

use crate::error::Stored;
use crate::ids::{MessageId, ProjectId};
use crate::messages::{About, Message};
use query::Query;

/// How much of a body a search result shows, in characters.
const SNIPPET: usize = 200;

/// What finds messages by their words.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// Messages of the project that match and are about `about`, newest first, with a number below `before`, at most
    /// `limit`.
    ///
    /// Words are compared without case and accents. `from:` compares the sender's whole name without ASCII case. Gives
    /// up with [`StoreError::TooSlow`](crate::StoreError::TooSlow) rather than hold up other work. Bodies may be cut to
    /// their first 64 KiB. A page ends early once its bodies exceed [`PAGE_BYTES`](crate::messages::PAGE_BYTES).
    async fn search(
        &self,
        project: ProjectId,
        query: &Query,
        about: &About,
        before: Option<MessageId>,
        limit: usize,
    ) -> Stored<Vec<Message>>;
}

/// The words and phrases that a query looks for, in lower case; not those that it leaves out.
pub fn words(query: &Query) -> Vec<String> {
    let mut words = Vec::new();
    wanted_words(query, &mut words);
    words
}

/// The part of `body` around the first word of `query` that stands in it, on one line.
pub fn snippet(body: &str, query: &Query) -> String {
    let words = words(query);
    let lower = body.to_lowercase();
    let found = words.iter().filter_map(|word| lower.find(word.as_str())).min().unwrap_or(0);
    // Lower-casing may change lengths, so the place is only near; the start is moved back to keep the word in view.
    let start = body.floor_char_boundary(found.min(body.len()).saturating_sub(SNIPPET / 4));
    let letters = body[start..].chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    format!("{}{}", if start > 0 { "…" } else { "" }, formats::cut(letters, SNIPPET))
}

fn wanted_words(query: &Query, words: &mut Vec<String>) {
    match query {
        Query::Word { text, .. } | Query::Prefix { text, .. } | Query::Phrase { text, .. } => {
            words.push(text.to_lowercase());
        }
        Query::Start { sequence, .. } => words.push(sequence.text.to_lowercase()),
        Query::Near { sequences, .. } => words.extend(sequences.iter().map(|sequence| sequence.text.to_lowercase())),
        Query::And(parts) | Query::Or(parts) => parts.iter().for_each(|part| wanted_words(part, words)),
        Query::From(_) | Query::Not(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_word_that_was_looked_for() {
        let body = format!("{}\nthe needle lies here{}", "hay ".repeat(200), " hay".repeat(200));
        let shown = snippet(&body, &Query::parse("needle").unwrap());
        assert!(shown.contains("the needle lies here"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'));
    }

    #[test]
    fn a_snippet_never_cuts_a_character() {
        let body = "ß漢字İ".repeat(300);
        for word in ["ß", "字i", "nothing"] {
            snippet(&body, &Query::parse(word).unwrap());
        }
    }
}
