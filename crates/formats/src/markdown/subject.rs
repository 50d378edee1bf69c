//! The subject of a coordination message: its kind, and perhaps the work it is about.
//!
//! People and agents write subjects freely, so a word counts as a kind by its place and its case. The body is not read
//! here.

use super::Kind;
use super::lines::without_mark;

/// How much of a subject is looked at, in bytes. What comes later is a body in the wrong place.
const LOOKED_AT: usize = 4096;
/// What mail programs put before the subject of a message that they answer or pass on.
const REPLY_MARKS: [&str; 4] = ["re:", "fwd:", "fw:", "aw:"];

/// Whether a subject is that of an answer, or of a message that was passed on.
pub fn is_answer(subject: &str) -> bool {
    split_reply_mark(trim(subject)).is_some()
}

/// Whether a subject names its kind plainly: in capitals, before any other word, and not as an answer that took it over.
///
/// What stands in brackets, and the id before a colon, are no other words.
pub fn is_plain(subject: &str) -> bool {
    !is_answer(subject) && Subject::read(subject).is_plain
}

/// The kind that a subject means, when it is misspelt and so names none.
pub fn meant(subject: &str) -> Option<Kind> {
    Subject::read(subject).slip
}

/// What a subject says.
#[derive(Default)]
pub(super) struct Subject<'t> {
    /// The kind, when the subject names one.
    pub kind: Option<Kind>,
    /// Whether the kind is named in capitals at the first place.
    pub is_plain: bool,
    /// The kind that was meant, when it is misspelt.
    pub slip: Option<Kind>,
    /// The id in brackets, else the one before a colon.
    pub id: Option<&'t str>,
}

impl<'t> Subject<'t> {
    pub fn read(subject: &'t str) -> Self {
        let mut rest = trim(subject);
        rest = &rest[..rest.floor_char_boundary(LOOKED_AT)];
        while let Some(after) = split_reply_mark(rest) {
            rest = after;
        }
        let brackets = Brackets::read(rest);
        let (named, prefix, rest) = first_place(brackets.rest);
        let id = brackets.id.or(prefix);
        match brackets.named.or(named).or_else(|| words(rest).find_map(later_kind).map(Named::Kind)) {
            Some(Named::Plainly(kind)) => Self { kind: Some(kind), is_plain: true, id, ..Self::default() },
            Some(Named::Kind(kind)) => Self { kind: Some(kind), id, ..Self::default() },
            Some(Named::Slip(kind)) => Self { slip: Some(kind), id, ..Self::default() },
            None => {
                let likely = brackets.id.filter(|id| looks_like_an_id(id));
                Self { id: likely.or(prefix.filter(|id| is_likely_prefix(id))), ..Self::default() }
            }
        }
    }
}

/// A kind, by its name or by what was meant for its name.
#[derive(Clone, Copy)]
enum Named {
    Plainly(Kind),
    Kind(Kind),
    Slip(Kind),
}

impl Named {
    fn by(word: &str) -> Option<Self> {
        let kind = Kind::parse_any_case(word)?;
        Some(if word == kind.as_str() { Self::Plainly(kind) } else { Self::Kind(kind) })
    }
}

/// What stands in brackets at the start of a subject.
struct Brackets<'t> {
    named: Option<Named>,
    id: Option<&'t str>,
    rest: &'t str,
}

impl<'t> Brackets<'t> {
    fn read(subject: &'t str) -> Self {
        let mut found = Self { named: None, id: None, rest: subject };
        while let Some((inside, after)) = found.rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            let inside = inside.trim_start_matches('[').trim();
            if let Some(named) = whole_kind(inside) {
                found.named = found.named.or(Some(named));
            } else if !inside.is_empty() {
                found.id = found.id.or(Some(inside));
            }
            found.rest = after.trim_start_matches(']').trim_start();
        }
        found
    }
}

/// What is named at the first place after brackets, the id before a colon, and where to look on.
fn first_place(text: &str) -> (Option<Named>, Option<&str>, &str) {
    if let Some(named) = kind_at_start(text) {
        return (Some(named), None, text);
    }
    if let Some(torn) = text.strip_prefix('[') {
        // A bracket that is never closed holds no id, but does not hide the kind behind it either.
        let after = torn.split_once(char::is_whitespace).map_or("", |(_, after)| after);
        return (kind_at_start(after), None, text);
    }
    match split_prefix(text) {
        Some((id, after)) => (kind_at_start(after), Some(id), after),
        None => (None, None, text),
    }
}

fn kind_at_start(text: &str) -> Option<Named> {
    let word = words(text).next()?;
    Named::by(word).or_else(|| slip_at_start(text).map(|(kind, _)| Named::Slip(kind)))
}

/// The kind that `text` names and says nothing besides.
fn whole_kind(text: &str) -> Option<Named> {
    let mut words = words(text);
    let word = words.next()?;
    if words.next().is_none()
        && let Some(named) = Named::by(word)
    {
        return Some(named);
    }
    slip_at_start(text).filter(|(_, after)| self::words(after).next().is_none()).map(|(kind, _)| Named::Slip(kind))
}

/// A kind further on: prose has these words too, but not in capitals.
fn later_kind(word: &str) -> Option<Kind> {
    Kind::parse_any_case(word).filter(|kind| word == kind.as_str() || word.contains('_'))
}

/// The kind that is meant by `OFFERING-READY` or `Help request`, and what follows it.
fn slip_at_start(text: &str) -> Option<(Kind, &str)> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    Kind::ALL.into_iter().filter(|kind| kind.as_str().contains('_')).find_map(|kind| {
        let after = strip_spaced(text, kind.as_str())?;
        let end = after.find(is_between_words).unwrap_or(after.len());
        bare(&after[..end]).is_empty().then_some((kind, after))
    })
}

/// Strips the letters of `name`, in any case, with any gaps between them.
fn strip_spaced<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let is_gap = |c: char| c == '-' || c == '_' || c.is_whitespace();
    let mut rest = text;
    for (at, word) in name.split('_').enumerate() {
        rest = if at == 0 { rest } else { rest.trim_start_matches(is_gap) };
        let (start, after) = rest.split_at_checked(word.len())?;
        rest = start.eq_ignore_ascii_case(word).then_some(after)?;
    }
    Some(rest)
}

/// Splits `ol-1: DONE` or `ol-1:DONE` at its colon. `Status: DONE` and `12:30` begin with no id.
fn split_prefix(text: &str) -> Option<(&str, &str)> {
    let (id, after) = text.split_once(':')?;
    let is_id = id.contains(|c: char| c == '-' || c.is_ascii_digit()) && !id.contains(char::is_whitespace);
    // In `a-1/DONE: all green` the kind stands before the colon.
    let is_id = is_id && words(id).find_map(later_kind).is_none();
    let stands_apart = after.starts_with(char::is_whitespace) || kind_at_start(after).is_some();
    (is_id && stands_apart).then_some((id, after))
}

fn split_reply_mark(subject: &str) -> Option<&str> {
    REPLY_MARKS.iter().find_map(|mark| {
        let (start, after) = subject.split_at_checked(mark.len())?;
        start.eq_ignore_ascii_case(mark).then(|| after.trim_start())
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_between_words).map(bare).filter(|word| !word.is_empty())
}

/// Slashes, brackets, arrows and the like part words; hyphens and dots do not, for `FAILED-tests` and `DONE.md` are
/// other words.
fn is_between_words(c: char) -> bool {
    !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A word without the dashes and dots around it, as in `DONE...`.
fn bare(word: &str) -> &str {
    word.trim_matches(['-', '.'])
}

fn trim(subject: &str) -> &str {
    without_mark(subject).trim()
}

fn looks_like_an_id(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit()) && !text.contains(char::is_whitespace)
}

/// Whether what stands before a colon is an id although no kind follows; `utf8: broken` and `Step-by-step: how` have none.
fn is_likely_prefix(id: &str) -> bool {
    // A date has no letter to begin with.
    id.starts_with(char::is_alphabetic) && id.contains('-') && looks_like_an_id(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(subject: &str) -> Option<Kind> {
        Subject::read(subject).kind
    }

    fn id(subject: &str) -> Option<&str> {
        Subject::read(subject).id
    }

    #[test]
    fn a_kind_is_a_whole_word_whatever_stands_around_it() {
        let subjects = [
            "DONE",
            "**DONE**",
            "(DONE)",
            "DONE!",
            "ol-1:DONE",
            "[ol-1] DONE: all green",
            "✅ done",
            "[DONE] x",
            "Work DONE",
            "DONE/FAILED",
            "DONE(3/5)",
            "a-1/DONE",
            "a-1/DONE: all green",
            "DONE→x",
            "...DONE-",
            "[**DONE**] x",
        ];
        for subject in subjects {
            assert_eq!(kind(subject), Some(Kind::Done), "{subject}");
        }
        let others = [
            "DONE.md is missing",
            "FAILED-tests",
            "DONE-ish",
            "a-42-DONE",
            "Undone",
            "DONE_LIST",
            "_DONE_",
            "a-1/done",
            "ＤＯＮＥ",
            "faıled",
            "-.-",
            "",
        ];
        for subject in others {
            assert_eq!(kind(subject), None, "{subject}");
        }
        assert_eq!(kind("PROGRESS/DONE"), Some(Kind::Progress));
        assert_eq!(kind("PROGRESS(3/5)"), Some(Kind::Progress));
    }

    #[test]
    fn any_case_counts_at_the_first_place_and_capitals_further_on() {
        assert_eq!(kind("Done with the parser"), Some(Kind::Done));
        assert_eq!(kind("Fwd: Re: [ol-1] a-2: failed"), Some(Kind::Failed));
        assert_eq!(kind("PROGRESS after FAILED build"), Some(Kind::Progress));
        assert_eq!(kind("We are not done yet"), None);
        assert_eq!(kind("a new help_request for you"), Some(Kind::HelpRequest));
        assert_eq!(kind("Status: done"), None);
        assert_eq!(kind("[ol-1 done"), Some(Kind::Done));
        assert_eq!(kind("[DONE"), Some(Kind::Done));
    }

    #[test]
    fn a_misspelt_kind_is_a_slip_and_keeps_its_id() {
        for (subject, id) in [
            ("OFFERING-READY", None),
            ("[ol-1] Offering ready: x", Some("ol-1")),
            ("a-1: OfferingReady", Some("a-1")),
            ("Re: [a-1] offering-ready", Some("a-1")),
            ("[offering-ready] [a-1] x", Some("a-1")),
            ("**OFFERING - READY**", None),
            ("[Offering ready!]", None),
            ("offering-ready/x", None),
        ] {
            let read = Subject::read(subject);
            assert_eq!((read.kind, read.slip, read.id), (None, Some(Kind::OfferingReady), id), "{subject}");
        }
        assert_eq!(Subject::read("[a-1] Retry required").slip, Some(Kind::RetryRequired));
        for subject in ["Help: request", "Help requested", "OFFERING-READY.md", "Please help request"] {
            assert_eq!(Subject::read(subject).slip, None, "{subject}");
        }
    }

    #[test]
    fn the_first_bracket_with_an_id_wins_over_a_prefix() {
        assert_eq!(id("[][ a-1 ][a-2] a-3: DONE"), Some("a-1"));
        assert_eq!(id("[DONE] [a-1] x"), Some("a-1"));
        assert_eq!(id("[[a-1]] DONE"), Some("a-1"));
        assert_eq!(id("a-3: parser FAILED"), Some("a-3"));
        assert_eq!(id("a-3:DONE"), Some("a-3"));
    }

    #[test]
    fn what_is_no_id_gives_none() {
        for subject in
            ["Status: DONE", "12:30 DONE", "[a-1 DONE", "[a-1: DONE", "all of a-1: DONE", "DONE: a-1", "a-1/DONE: x"]
        {
            assert_eq!(id(subject), None, "{subject}");
        }
    }

    #[test]
    fn without_a_kind_an_id_must_look_like_one() {
        for subject in ["[URGENT] please look", "[step 2] please look", "all of a-1: hello", "a-1:hello", "a-1, hello"]
        {
            assert_eq!(id(subject), None, "{subject}");
        }
        for subject in ["utf8: broken", "Step-by-step: how", "Note: a-1", "[URGENT] Note: a-1"] {
            assert_eq!(id(subject), None, "{subject}");
        }
        for subject in ["[ol-1] please look", "ol-1: hello", "Re: ol-1: GUIDANCE", "[URGENT] ol-1: hello"] {
            assert_eq!(id(subject), Some("ol-1"), "{subject}");
        }
        assert_eq!(id("[a-1] ol-1: hello"), Some("a-1"));
    }

    #[test]
    fn a_kind_is_plain_in_capitals_at_the_first_place_of_what_is_no_answer() {
        for subject in
            ["DONE", "[a-1] DONE: x", "a-1: DONE", "[a-1] b-2: **DONE**!", "[DONE] x", "✅ SPAWN_ACK", "DONE/x"]
        {
            assert!(is_plain(subject), "{subject}");
        }
        for subject in [
            "",
            "hello",
            "Done",
            "[a-1] done: x",
            "[Done] x",
            "Work DONE",
            "a-1/DONE",
            "Re: DONE",
            "[a-1] Re: DONE",
            "Status: DONE",
            "new HELP_REQUEST",
            "HELP-REQUEST",
        ] {
            assert!(!is_plain(subject), "{subject}");
        }
    }

    #[test]
    fn an_answer_is_known_by_its_mark() {
        assert!(is_answer("  re: DONE") && is_answer("Fwd:x") && is_answer("AW: Re: y"));
        assert!(!is_answer("Refactor: x") && !is_answer("[Re: x] y") && !is_answer(""));
    }
}
