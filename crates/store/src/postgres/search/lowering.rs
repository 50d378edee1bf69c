//! From the tree of a query to a `tsquery`.
//!
//! What comes out finds every message that matches, and perhaps more: it says whether it is exact. A negation of what is
//! not exact cannot be asked for at all, so that it finds everything and the message is read. Every word is quoted, so that
//! nothing a user types is an operator.

use mail::ids::{AgentId, ProjectId};
use mail::search::query::{Field, Query, Sequence};

use crate::words::{BODY, LONGEST_KEPT, MORE, PROJECT, SENDER, SUBJECT, cut, quoted, words};

/// A query in PostgreSQL's language.
pub(super) struct Lowered {
    pub(super) text: String,
    /// Whether it finds nothing but what matches.
    pub(super) is_exact: bool,
}

/// Writes `query`, within the walls of `project`. `senders` are those who have the names it asks for, in small letters.
pub(super) fn lower(query: &Query, project: ProjectId, senders: &[(String, AgentId)]) -> Lowered {
    let wanted = Lowering { senders }.matching(query);
    let home = quoted(&format!("{PROJECT}{project}"));
    // A message with more words than the index knows has to be read in any case.
    let text = wanted.text.map_or_else(|| home.clone(), |text| format!("{home} & ({text} | {})", quoted(MORE)));
    Lowered { text, is_exact: wanted.is_exact }
}

struct Lowering<'a> {
    senders: &'a [(String, AgentId)],
}

/// A part; without a text it finds everything.
struct Part {
    text: Option<String>,
    is_exact: bool,
}

impl Lowering<'_> {
    fn matching(&self, query: &Query) -> Part {
        match query {
            Query::Word { text, field } | Query::Phrase { text, field } => phrase(text, *field, false),
            Query::Prefix { text, field } => phrase(text, *field, true),
            Query::Start { sequence, field } => {
                Part { is_exact: false, ..phrase(&sequence.text, *field, sequence.is_prefix) }
            }
            Query::Near { sequences, field, .. } => near(sequences, *field),
            Query::From(name) => self.written_by(name),
            Query::And(parts) => self.all(parts),
            Query::Or(parts) => self.any(parts),
            Query::Not(inner) => match self.matching(inner) {
                Part { text: Some(text), is_exact: true } => Part { text: Some(format!("!({text})")), is_exact: true },
                _ => Part { text: None, is_exact: false },
            },
        }
    }

    fn all(&self, parts: &[Query]) -> Part {
        let parts: Vec<Part> = parts.iter().map(|part| self.matching(part)).collect();
        let is_exact = parts.iter().all(|part| part.is_exact);
        let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
        Part { text: (!texts.is_empty()).then(|| joined(" & ", &texts)), is_exact }
    }

    fn any(&self, parts: &[Query]) -> Part {
        let parts: Vec<Part> = parts.iter().map(|part| self.matching(part)).collect();
        let is_exact = parts.iter().all(|part| part.is_exact);
        let texts: Option<Vec<String>> = parts.into_iter().map(|part| part.text).collect();
        Part { text: texts.map(|texts| joined(" | ", &texts)), is_exact }
    }

    fn written_by(&self, name: &str) -> Part {
        let theirs = self.senders.iter().filter(|(known, _)| name.eq_ignore_ascii_case(known));
        let senders: Vec<String> = theirs.map(|(_, sender)| quoted(&format!("{SENDER}{sender}"))).collect();
        let text = if senders.is_empty() { nothing() } else { joined(" | ", &senders) };
        Part { text: Some(text), is_exact: true }
    }
}

/// No message has this word, so that it finds nothing, and its negation everything.
fn nothing() -> String {
    quoted("nothing")
}

fn phrase(text: &str, field: Field, is_prefix: bool) -> Part {
    let words = words(text);
    let Some(last) = words.len().checked_sub(1) else { return Part { text: Some(nothing()), is_exact: true } };
    let in_field = |field: char| {
        let words = words.iter().enumerate().map(|(place, word)| {
            let kept = cut(word);
            let star = if is_prefix && place == last && kept.len() == word.len() { ":*" } else { "" };
            format!("{}{star}", quoted(&format!("{field}{kept}")))
        });
        joined(" & ", &words.collect::<Vec<_>>())
    };
    let text = match field {
        Field::Any => joined(" | ", &[in_field(SUBJECT), in_field(BODY)]),
        Field::Subject => in_field(SUBJECT),
        Field::Body => in_field(BODY),
    };
    // A word that was cut stands for all that begin like it.
    let is_exact = last == 0 && words[0].len() < LONGEST_KEPT;
    Part { text: Some(text), is_exact }
}

/// All words, in one place; how far apart they are is for the reader.
fn near(sequences: &[Sequence], field: Field) -> Part {
    let in_field = |field: Field| {
        let there = sequences.iter().filter(|sequence| !words(&sequence.text).is_empty());
        let texts: Vec<String> =
            there.filter_map(|sequence| phrase(&sequence.text, field, sequence.is_prefix).text).collect();
        if texts.is_empty() { nothing() } else { joined(" & ", &texts) }
    };
    let text = match field {
        Field::Any => joined(" | ", &[in_field(Field::Subject), in_field(Field::Body)]),
        field => in_field(field),
    };
    Part { text: Some(text), is_exact: false }
}

fn joined(operator: &str, parts: &[String]) -> String {
    if let [only] = parts { only.clone() } else { format!("({})", parts.join(operator)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(query: &str) -> (String, bool) {
        let senders = [("bob".to_owned(), AgentId(7)), ("bob".to_owned(), AgentId(9))];
        let lowered = lower(&Query::parse(query).unwrap(), ProjectId(3), &senders);
        (lowered.text, lowered.is_exact)
    }

    #[test]
    fn every_query_stays_within_the_project() {
        assert_eq!(lowered("deploy"), ("'p3' & (('sdeploy' | 'bdeploy') | 'o')".to_owned(), true));
        assert_eq!(lowered("NOT deploy"), ("'p3' & (!(('sdeploy' | 'bdeploy')) | 'o')".to_owned(), true));
    }

    #[test]
    fn senders_are_words_of_the_index() {
        assert_eq!(lowered("from:bob"), ("'p3' & (('a7' | 'a9') | 'o')".to_owned(), true));
        assert_eq!(lowered("from:eve"), ("'p3' & ('nothing' | 'o')".to_owned(), true));
    }

    #[test]
    fn what_the_index_cannot_tell_is_left_to_reading() {
        assert_eq!(lowered("body:\"red green\""), ("'p3' & (('bred' & 'bgreen') | 'o')".to_owned(), false));
        assert_eq!(lowered("body:blue NOT \"red green\""), ("'p3' & ('bblue' | 'o')".to_owned(), false));
        assert_eq!(lowered("NOT \"red green\""), ("'p3'".to_owned(), false));
        assert_eq!(lowered("subject:dep*"), ("'p3' & ('sdep':* | 'o')".to_owned(), true));
        assert_eq!(lowered("^red"), ("'p3' & (('sred' | 'bred') | 'o')".to_owned(), false));
        assert_eq!(lowered("body:NEAR(red gr*)"), ("'p3' & (('bred' & 'bgr':*) | 'o')".to_owned(), false));
    }
}
