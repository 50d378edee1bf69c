//! Reading single values, and telling what is wrong with them.
//!
//! Each takes what stands in the text, if anything does. Where a value stands is known to the reader of its kind.

use super::super::labels::MOST_ITEMS;
use super::*;

const WANTED_ID: &str = "an id of at most 256 bytes without control characters";

impl<'t> Reader<'t, '_> {
    /// The bead, which the body names before the subject does.
    pub(super) fn bead_id(&self) -> &'t str {
        self.named_bead().or(self.subject_id).unwrap_or_default()
    }

    fn named_bead(&self) -> Option<&'t str> {
        self.body.value(self.bead_label?)
    }

    pub(super) fn required_bead_id(&mut self) -> String {
        self.check_id("bead_id", self.bead_id());
        self.bead_id().to_owned()
    }

    /// The bead and the issue of a message about a new worker. Either names the work, and a bead is an issue too.
    pub(super) fn required_issue(&mut self) -> (String, String) {
        let issue = self.body.value("Issue").or_else(|| self.named_bead()).unwrap_or_default();
        let bead = self.bead_id();
        if usable_id(bead).is_none() {
            self.check_id("issue_id", issue);
        }
        (bead.to_owned(), issue.to_owned())
    }

    fn check_id(&mut self, path: &str, id: &str) {
        if id.is_empty() {
            self.problems.push(Problem::missing(path, WANTED_ID));
        } else if usable_id(id).is_none() {
            self.problems.push(Problem::wrong(path, id, WANTED_ID));
        }
    }

    pub(super) fn required(&mut self, path: &str, found: Option<&str>, wanted: &str) -> String {
        let text = optional(found);
        if text.is_empty() {
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

    pub(super) fn word<W: Word>(&mut self, path: &str, found: Option<&str>) -> Option<W> {
        let Some(text) = found else {
            self.problems.push(Problem::missing(path, W::WANTED));
            return None;
        };
        let word = W::read(text);
        if !word.is_known() {
            self.problems.push(Problem::wrong(path, text, W::WANTED));
        }
        Some(word)
    }

    pub(super) fn verdict(&mut self, path: &str, found: Option<&str>, wanted: &str) -> Option<bool> {
        let Some(text) = found else {
            self.problems.push(Problem::missing(path, wanted));
            return None;
        };
        self.readable(path, text, read_verdict(text), wanted)
    }

    pub(super) fn percent(&mut self, path: &str, found: Option<&str>) -> Option<u8> {
        let text = found?;
        let percent = digits(text.strip_suffix('%').unwrap_or(text)).filter(|percent| *percent <= 100);
        self.readable(path, text, percent.and_then(|percent| u8::try_from(percent).ok()), "0% to 100%")
    }

    pub(super) fn number(&mut self, path: &str, found: Option<&str>) -> Option<u32> {
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

    fn readable<T>(&mut self, path: &str, text: &str, value: Option<T>, wanted: &str) -> Option<T> {
        if value.is_none() {
            self.problems.push(Problem::wrong(path, text, wanted));
        }
        value
    }
}

/// A list that is not longer than anybody reads.
pub(super) fn bounded(problems: &mut Vec<Problem>, path: &str, mut items: Vec<String>) -> Vec<String> {
    if items.len() > MOST_ITEMS {
        items.truncate(MOST_ITEMS);
        problems.push(Problem::wrong(path, "a longer list", format!("at most {MOST_ITEMS} items")));
    }
    items
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
    if Outline::read(start, &wanted(Kind::HelpResponse)).value(bead_label).is_some() { below } else { body }
}

/// A number, perhaps with a plus before it.
fn digits(text: &str) -> Option<u32> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_digits)
}
