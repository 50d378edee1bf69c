//! Reading single values, and telling what is wrong with them.
//!
//! Each takes what stands in the text, if anything does. Where a value stands is known to the reader of its kind.

use super::super::labels::MOST_ITEMS;
use super::*;

const WANTED_ID: &str = "an id of at most 256 bytes without control characters";

impl<'t> Reader<'t> {
    /// The bead, which the body names before the subject does.
    pub(super) fn bead_id(&self) -> &'t str {
        self.named_bead().or(self.subject_id).unwrap_or_default()
    }

    fn named_bead(&self) -> Option<&'t str> {
        self.body.value(self.bead_label?)
    }

    /// The bead and the issue of a message about a new worker. Either names the work, and a bead is an issue too.
    pub(super) fn required_issue(&mut self) -> (&'t str, &'t str) {
        let issue = self.body.value(ISSUE).or_else(|| self.named_bead()).unwrap_or_default();
        let bead = self.bead_id();
        if usable_id(bead).is_none() {
            self.check_id("issue_id", issue);
        }
        (bead, issue)
    }

    pub(super) fn check_id(&mut self, path: &str, id: &str) {
        if id.is_empty() {
            self.problems.push(Problem::missing(path, WANTED_ID));
        } else if usable_id(id).is_none() {
            self.problems.push(Problem::wrong(path, id, WANTED_ID));
        }
    }

    /// A text, which has to be there if anything is wanted.
    pub(super) fn required(&mut self, path: &str, found: Option<&str>, wanted: &str) -> String {
        let text = optional(found);
        if text.is_empty() && !wanted.is_empty() {
            self.problems.push(Problem::missing(path, wanted));
        }
        text
    }

    /// A text that is always the same.
    pub(super) fn constant(&mut self, path: &str, found: Option<&str>, wanted: &str) -> String {
        let text = self.required(path, found, wanted);
        if !text.is_empty() && !text.eq_ignore_ascii_case(wanted) {
            self.problems.push(Problem::wrong(path, &text, wanted));
        }
        text
    }

    /// One of a few words. Another is kept as well, so that nothing a sender wrote is lost.
    pub(super) fn word(&mut self, path: &str, found: Option<&str>, words: &[&str], word: String) -> String {
        let wanted = || words.join(" | ");
        match found {
            None => self.problems.push(Problem::missing(path, wanted())),
            Some(_) if words.contains(&word.as_str()) => {}
            Some(text) => self.problems.push(Problem::wrong(path, text, wanted())),
        }
        word
    }

    pub(super) fn verdict(&mut self, path: &str, found: Option<&str>, wanted: &str) -> Option<bool> {
        let Some(text) = found else {
            self.problems.push(Problem::missing(path, wanted));
            return None;
        };
        self.readable(path, text, read_verdict(text), wanted)
    }

    pub(super) fn percent(&mut self, path: &str, found: Option<&str>) -> Option<u64> {
        let text = found?;
        let percent = digits(text.strip_suffix('%').map_or(text, str::trim_end)).filter(|percent| *percent <= 100);
        self.readable(path, text, percent, "0% to 100%")
    }

    pub(super) fn number(&mut self, path: &str, found: Option<&str>) -> Option<u64> {
        let text = found?;
        self.readable(path, text, digits(text), "a number")
    }

    pub(super) fn time(&mut self, path: &str, found: Option<&str>) -> String {
        let text = optional(found);
        if !text.is_empty() && read_timestamp(&text).is_none() {
            self.problems.push(Problem::wrong(path, &text, "a time of RFC 3339 with its zone"));
        }
        text
    }

    /// A list that is not longer than anybody reads.
    pub(super) fn bounded(&mut self, path: &str, mut items: Vec<String>) -> Vec<String> {
        if items.len() > MOST_ITEMS {
            items.truncate(MOST_ITEMS);
            self.problems.push(Problem::wrong(path, "a longer list", format!("at most {MOST_ITEMS} items")));
        }
        items
    }

    fn readable<T>(&mut self, path: &str, text: &str, value: Option<T>, wanted: &str) -> Option<T> {
        if value.is_none() {
            self.problems.push(Problem::wrong(path, text, wanted));
        }
        value
    }
}

pub(super) fn optional(found: Option<&str>) -> String {
    found.map(with_line_feeds).unwrap_or_default()
}

/// A body without the first line if that names the bead under this label, for it is no part of the text then.
pub(super) fn without_bead_line<'t>(body: &'t str, bead_label: &str) -> &'t str {
    let body = body.trim_start();
    let (first, below) = body.split_once('\n').unwrap_or((body, ""));
    // A label behind a carriage return has text before it.
    let start = first.split('\r').next().unwrap_or_default();
    if Outline::read(start, wanted(Kind::HelpResponse)).value(bead_label).is_some() { below } else { body }
}

/// A number, perhaps with a plus before it.
fn digits(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse::<u32>().ok().filter(|_| is_digits).map(u64::from)
}

/// Reads a yes or a no in the words that people use for it; `None` for anything else.
fn read_verdict(text: &str) -> Option<bool> {
    match text.trim().to_ascii_uppercase().as_str() {
        "PASS" | "TRUE" | "YES" | "OK" => Some(true),
        "FAIL" | "FALSE" | "NO" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::read;

    #[test]
    fn a_word_is_read_in_any_case_and_an_unknown_one_is_kept() {
        let issue_type = |word: &str| {
            let read = read("HELP_REQUEST", &format!("Bead: a-1\nIssue Type: {word}\n## Problem\np\n## Question\nq"));
            (read.value.text("issue_type").to_owned(), read.problems.first().map(|problem| problem.wanted.clone()))
        };
        assert_eq!(issue_type(" spec_unclear "), ("SPEC_UNCLEAR".to_owned(), None));
        let wanted = Some("STUCK | SPEC_UNCLEAR | BLOCKED | TECHNICAL".to_owned());
        assert_eq!(issue_type("lost"), ("LOST".to_owned(), wanted.clone()));
        assert_eq!(issue_type("STUCK | BLOCKED"), ("STUCK | BLOCKED".to_owned(), wanted));
    }

    #[test]
    fn the_status_of_a_spawn_stays_as_it_is_written() {
        for (word, problems) in [("spawned", 0), ("Spawned", 1)] {
            let read = read("SPAWN_ACK", &format!("Issue: a-1\nStatus: {word}"));
            assert_eq!((read.value.text("status"), read.problems.len()), (word, problems));
        }
    }

    #[test]
    fn only_the_bare_word_is_a_verdict() {
        for yes in ["PASS", "true", "Yes", " ok "] {
            assert_eq!(read_verdict(yes), Some(true), "{yes}");
        }
        for no in ["FAIL", "False", "no"] {
            assert_eq!(read_verdict(no), Some(false), "{no}");
        }
        for neither in ["", "PASSED", "✅ PASS", "PASS (12 tests)", "PASS | FAIL", "1"] {
            assert_eq!(read_verdict(neither), None, "{neither}");
        }
    }
}
