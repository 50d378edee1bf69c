//! The head of a coordination message: its kind, and the work it is about.
//!
//! The kind comes from the subject alone, the work id from the body first. Nothing else of the body is read.

use super::{Kind, prose_lines};

/// An id longer than this, in bytes, is a sentence that happens to follow a label.
const LONGEST_ID: usize = 256;
/// What mail programs put before the subject of a message that they answer or pass on.
const REPLY_MARKS: [&str; 4] = ["re:", "fwd:", "fw:", "aw:"];

/// What the head of a message says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// The kind, when the subject names one.
    pub kind: Option<Kind>,
    /// The id of the piece of work, when the message names one.
    pub work_id: Option<String>,
}

/// Reads the kind and the work id of a message. Never fails: a message that names neither has neither.
///
/// The kind is the first word of the subject after an id in brackets or before a colon. The id is what follows `Bead:`
/// or `Accepted bead:` in the body, else `Issue:` there, else the id in the subject.
pub fn read_head(subject: &str, body: &str) -> Head {
    let subject = Subject::read(subject);
    let work_id = labelled_id(body).or(subject.id);
    Head { kind: subject.kind, work_id: work_id.map(str::to_owned) }
}

struct Subject<'a> {
    kind: Option<Kind>,
    id: Option<&'a str>,
}

impl<'a> Subject<'a> {
    fn read(subject: &'a str) -> Self {
        let mut rest = without_reply_marks(subject.trim());
        let mut bracketed = None;
        while let Some(inside) = rest.strip_prefix('[') {
            let Some((id, after)) = inside.split_once(']') else {
                // A bracket that is never closed holds no id, but does not hide the kind behind it either.
                rest = split_word(rest).1;
                break;
            };
            bracketed = bracketed.or(checked_id(id));
            rest = after.trim_start();
        }
        let (word, after) = split_word(rest);
        if let Some(kind) = kind_of(word, after) {
            return Self { kind: Some(kind), id: bracketed };
        }
        let prefix = word.strip_suffix(':').and_then(checked_id);
        let (word, after) = split_word(after);
        if let (Some(id), Some(kind)) = (prefix, kind_of(word, after)) {
            return Self { kind: Some(kind), id: bracketed.or(Some(id)) };
        }
        // Brackets are used for much else, as in `[URGENT] please look`.
        Self { kind: None, id: bracketed.filter(|id| looks_like_an_id(id)) }
    }
}

/// Reads the kind in `word`, with `after` standing behind it.
///
/// `Done with the parser` is prose: a kind that is also a word of English counts in lower case only when no word
/// follows it directly.
fn kind_of(word: &str, after: &str) -> Option<Kind> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let kind = Kind::parse(bare)?;
    let is_plain = bare == kind.as_str() || bare.contains('_');
    let goes_on = word.ends_with(bare) && after.starts_with(char::is_alphanumeric);
    (is_plain || !goes_on).then_some(kind)
}

fn labelled_id(body: &str) -> Option<&str> {
    let mut issue = None;
    for line in prose_lines(body) {
        let line = without_decoration(line);
        if let Some(id) = value_of(line, "Bead").or_else(|| value_of(line, "Accepted bead")) {
            return Some(id);
        }
        // `Issue:` also opens many a sentence, and an id has no spaces.
        issue = issue.or_else(|| value_of(line, "Issue").filter(|id| !id.contains(char::is_whitespace)));
    }
    issue
}

/// The value behind `label:`, also when the label is bold.
fn value_of<'a>(line: &'a str, label: &str) -> Option<&'a str> {
    let after = line.strip_prefix(label)?;
    let value = after.strip_prefix(':').or_else(|| after.strip_prefix("**:"))?;
    checked_id(value.strip_prefix("**").unwrap_or(value))
}

fn without_decoration(line: &str) -> &str {
    let line = line.trim_start();
    let line = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")).unwrap_or(line).trim_start();
    line.strip_prefix("**").unwrap_or(line)
}

fn without_reply_marks(subject: &str) -> &str {
    let mut rest = subject;
    while let Some(mark) =
        REPLY_MARKS.iter().find(|mark| rest.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark)))
    {
        rest = rest[mark.len()..].trim_start();
    }
    rest
}

fn split_word(text: &str) -> (&str, &str) {
    let (word, after) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    (word, after.trim_start())
}

fn checked_id(text: &str) -> Option<&str> {
    let id = text.trim();
    // An id names a thread, and so stands in headers and addresses, where a control character cannot.
    let is_id = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(char::is_control);
    is_id.then_some(id)
}

fn looks_like_an_id(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(subject: &str) -> Option<Kind> {
        read_head(subject, "").kind
    }

    fn id(subject: &str, body: &str) -> Option<String> {
        read_head(subject, body).work_id
    }

    #[test]
    fn a_kind_counts_only_in_its_place() {
        assert_eq!(kind("DONE"), Some(Kind::Done));
        assert_eq!(kind("[ol-1] DONE: all green"), Some(Kind::Done));
        assert_eq!(kind("ol-1: DONE, at last"), Some(Kind::Done));
        assert_eq!(kind("Fwd: Re: [ol-1] FAILED"), Some(Kind::Failed));
        assert_eq!(kind("We are not DONE yet"), None);
        assert_eq!(kind("DONE.md is missing"), None);
        assert_eq!(kind("FAILED-tests"), None);
    }

    #[test]
    fn prose_that_begins_like_a_kind_is_prose() {
        assert_eq!(kind("Done with the parser"), None);
        assert_eq!(kind("Failed to build"), None);
        assert_eq!(kind("done"), Some(Kind::Done));
        assert_eq!(kind("Progress: step 3"), Some(Kind::Progress));
        assert_eq!(kind("help_request about auth"), Some(Kind::HelpRequest));
    }

    #[test]
    fn an_id_in_a_code_fence_or_quote_is_somebody_elses() {
        assert_eq!(id("PROGRESS", "```\nBead: a-1\n```\n> Bead: a-2\nBead: a-3"), Some("a-3".into()));
        assert_eq!(id("[a-4] PROGRESS", "```\nBead: a-1\n```"), Some("a-4".into()));
    }

    #[test]
    fn an_issue_counts_after_a_bead_and_only_as_one_word() {
        assert_eq!(id("SPAWN_ACK", "Issue: a-1"), Some("a-1".into()));
        assert_eq!(id("SPAWN_ACK", "Issue: a-1\nBead: a-2"), Some("a-2".into()));
        assert_eq!(id("hello", "Issue: the parser is slow"), None);
    }

    #[test]
    fn brackets_without_a_kind_hold_an_id_only_if_it_looks_like_one() {
        assert_eq!(id("[URGENT] please look", ""), None);
        assert_eq!(id("[ol-1] please look", ""), Some("ol-1".into()));
    }

    #[test]
    fn an_id_has_no_control_character() {
        assert_eq!(id("DONE", "Bead: a\tb"), None);
        assert_eq!(id("DONE", "Bead: a\u{1b}b\nBead:\ta-1\t"), Some("a-1".into()));
        assert_eq!(id("[a\tb] DONE", ""), None);
    }

    #[test]
    fn a_value_as_long_as_a_sentence_is_no_id() {
        assert_eq!(id("DONE", &format!("Bead: {}", "x".repeat(LONGEST_ID + 1))), None);
        assert_eq!(id("[] DONE", "Bead:\n"), None);
    }
}
