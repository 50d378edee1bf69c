//! From the tree of a query to the language of FTS5.
//!
//! FTS5 has no plain NOT, only `this NOT that`, so negations are pushed down to the words and taken away there from all
//! that is in the project. Its parser is not deep either: what is nested deepest is written first, where it costs one
//! place of the parser's stack and not three. Every word is quoted, so that nothing a user types is an operator.

use std::cmp::Reverse;

use mail::ids::{AgentId, ProjectId};
use mail::search::query::{Field, Query, Sequence};

use crate::words::words;

/// Writes `query` for FTS5, within the walls of `project`. `senders` are those who have the names it asks for, in small
/// letters.
pub(super) fn lower(query: &Query, project: ProjectId, senders: &[(String, AgentId)]) -> String {
    let lowering = Lowering { project: Lowered::leaf(format!("scope : \"p{project}\"")), senders };
    let wanted = lowering.matching(query);
    joined(" AND ", vec![wanted, lowering.project]).text
}

struct Lowering<'a> {
    project: Lowered,
    senders: &'a [(String, AgentId)],
}

/// A part that stands for itself wherever it is put, and how deep its parentheses go.
#[derive(Clone)]
struct Lowered {
    text: String,
    depth: usize,
}

impl Lowered {
    fn leaf(text: String) -> Self {
        Self { text, depth: 0 }
    }
}

impl Lowering<'_> {
    fn matching(&self, query: &Query) -> Lowered {
        match query {
            Query::Word { text, field } | Query::Phrase { text, field } => {
                Lowered::leaf(format!("{} : {}", column(*field), quoted(text)))
            }
            Query::Prefix { text, field } => Lowered::leaf(format!("{} : {} *", column(*field), quoted(text))),
            Query::Start { sequence, field } => {
                let Some(sequence) = phrase(sequence) else { return nothing() };
                Lowered::leaf(format!("{} : ^ {sequence}", column(*field)))
            }
            Query::Near { sequences, most_between, field } => {
                let phrases: Vec<String> = sequences.iter().filter_map(phrase).collect();
                if phrases.is_empty() {
                    return nothing();
                }
                Lowered::leaf(format!("{} : NEAR({}, {most_between})", column(*field), phrases.join(" ")))
            }
            Query::From(name) => self.written_by(name),
            Query::And(parts) => self.all(parts),
            Query::Or(parts) => self.any(parts),
            Query::Not(inner) => match &**inner {
                Query::Not(twice) => self.matching(twice),
                Query::And(parts) => self.any(&negated(parts)),
                Query::Or(parts) => self.all(&negated(parts)),
                word => self.without(Vec::new(), vec![self.matching(word)]),
            },
        }
    }

    fn any(&self, parts: &[Query]) -> Lowered {
        joined(" OR ", parts.iter().map(|part| self.matching(part)).collect())
    }

    fn all(&self, parts: &[Query]) -> Lowered {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Query::Not(inner) if !matches!(**inner, Query::Not(_) | Query::And(_) | Query::Or(_)) => {
                    unwanted.push(self.matching(inner));
                }
                other => wanted.push(self.matching(other)),
            }
        }
        if unwanted.is_empty() { joined(" AND ", wanted) } else { self.without(wanted, unwanted) }
    }

    /// What matches all that is wanted, or just belongs to the project, and nothing of what is unwanted.
    fn without(&self, mut wanted: Vec<Lowered>, unwanted: Vec<Lowered>) -> Lowered {
        if wanted.is_empty() {
            wanted.push(self.project.clone());
        }
        let (wanted, unwanted) = (joined(" AND ", wanted), joined(" OR ", unwanted));
        Lowered {
            text: format!("({} NOT {})", wanted.text, unwanted.text),
            depth: 1 + wanted.depth.max(unwanted.depth + 2),
        }
    }

    fn written_by(&self, name: &str) -> Lowered {
        let theirs = self.senders.iter().filter(|(known, _)| name.eq_ignore_ascii_case(known));
        let scopes: Vec<Lowered> = theirs.map(|(_, sender)| Lowered::leaf(format!("scope : \"a{sender}\""))).collect();
        if scopes.is_empty() {
            return nothing();
        }
        joined(" OR ", scopes)
    }
}

/// No scope holds this word, so that it finds nothing, and `NOT` it finds everything.
fn nothing() -> Lowered {
    Lowered::leaf("scope : \"nobody\"".to_owned())
}

/// A phrase of FTS5; none if there is no word in it.
fn phrase(sequence: &Sequence) -> Option<String> {
    let star = if sequence.is_prefix { " *" } else { "" };
    (!words(&sequence.text).is_empty()).then(|| format!("{}{star}", quoted(&sequence.text)))
}

/// The parts with an operator between them, the deepest first.
fn joined(operator: &str, mut parts: Vec<Lowered>) -> Lowered {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    parts.sort_by_key(|part| Reverse(part.depth));
    let depth = parts.iter().enumerate().map(|(place, part)| part.depth + if place == 0 { 1 } else { 3 });
    let depth = depth.max().unwrap_or(0);
    let texts: Vec<String> = parts.into_iter().map(|part| part.text).collect();
    Lowered { text: format!("({})", texts.join(operator)), depth }
}

fn negated(parts: &[Query]) -> Vec<Query> {
    parts.iter().map(|part| Query::Not(Box::new(part.clone()))).collect()
}

fn column(field: Field) -> &'static str {
    match field {
        // Never the hidden column, whose words look like numbers of ours.
        Field::Any => "{subject body}",
        Field::Subject => "subject",
        Field::Body => "body",
    }
}

/// A string of FTS5. Punctuation inside makes it a phrase of its parts.
fn quoted(text: &str) -> String {
    // FTS5 reads a query as far as the first NUL; in a message it separates words like any other such character.
    format!("\"{}\"", text.replace('"', "\"\"").replace('\0', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(query: &str) -> String {
        let senders = [("bob".to_owned(), AgentId(7)), ("bob".to_owned(), AgentId(9))];
        lower(&Query::parse(query).unwrap(), ProjectId(3), &senders)
    }

    #[test]
    fn every_query_stays_within_the_project() {
        assert_eq!(lowered("deploy"), r#"({subject body} : "deploy" AND scope : "p3")"#);
        assert_eq!(lowered("NOT deploy"), r#"((scope : "p3" NOT {subject body} : "deploy") AND scope : "p3")"#);
    }

    #[test]
    fn senders_are_words_of_the_scope() {
        assert_eq!(lowered("from:bob"), r#"((scope : "a7" OR scope : "a9") AND scope : "p3")"#);
        assert_eq!(lowered("from:eve"), r#"(scope : "nobody" AND scope : "p3")"#);
    }

    #[test]
    fn what_is_near_and_what_is_first_are_asked_of_fts5() {
        assert_eq!(lowered("subject:NEAR(a \"b c\"*, 5)"), r#"(subject : NEAR("a" "b c" *, 5) AND scope : "p3")"#);
        assert_eq!(lowered("NEAR(a 🦀x b)").matches('"').count(), 8);
        assert_eq!(lowered("^a*"), r#"({subject body} : ^ "a" * AND scope : "p3")"#);
    }

    #[test]
    fn negations_stand_at_the_words_alone() {
        assert_eq!(
            lowered("NOT (body:a OR (body:b AND NOT body:c))"),
            r#"((((scope : "p3" NOT body : "b") OR body : "c") NOT body : "a") AND scope : "p3")"#
        );
    }
}
