//! The outline of a body: its labels and its sections, found in one pass.
//!
//! A body may be long and hostile, so it is gone through once, and a section whose labels are wanted once more. What
//! is not wanted is not kept.

use super::labels::{Labels, all_bullets};
use super::lines::lines;
use super::sections::{Heading, Sections};

/// What to look for in a text.
#[derive(Default)]
pub(super) struct Wanted {
    /// Labels whose value is one line.
    pub labels: Vec<&'static str>,
    /// The label of a list.
    pub list: Option<&'static str>,
    /// Names of sections.
    pub sections: Vec<&'static str>,
}

/// What was found in a text.
pub(super) struct Outline<'t> {
    text: &'t str,
    labels: Labels<'t>,
    sections: Sections,
}

impl<'t> Outline<'t> {
    /// Looks through `text`, which must not begin within a fence.
    pub fn read(text: &'t str, wanted: Wanted) -> Self {
        let mut labels = Labels::wanted(wanted.labels, wanted.list);
        let mut sections = Sections::wanted(&wanted.sections);
        let may_return = text.contains('\r');
        for line in lines(text).filter(|line| line.is_prose && !line.text.is_empty()) {
            match Heading::at_start_of(line.text) {
                Some(heading) => sections.meet(&heading, line.start, line.end),
                None => labels.meet(line.text, &text[line.end..], may_return),
            }
        }
        Self { text, labels, sections }
    }

    /// The first value of a wanted label that is not empty.
    pub fn value(&self, label: &str) -> Option<&'t str> {
        self.labels.value(label)
    }

    /// The items of the wanted list.
    pub fn take_list(&mut self) -> Vec<String> {
        self.labels.take_list()
    }

    /// The text of a wanted section, trimmed.
    pub fn section(&self, name: &str) -> Option<&'t str> {
        self.sections.text(self.text, name)
    }

    /// The bullets of a wanted section.
    pub fn bullets(&self, name: &str) -> Vec<String> {
        self.section(name).map(all_bullets).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(text: &str) -> Outline<'_> {
        Outline::read(text, Wanted { labels: vec!["Bead"], list: None, sections: vec!["Changes", "Notes"] })
    }

    fn changes<'t>(body: &Outline<'t>) -> Outline<'t> {
        let wanted = Wanted { labels: vec!["Commit"], list: Some("Files"), sections: vec![] };
        Outline::read(body.section("Changes").unwrap_or_default(), wanted)
    }

    #[test]
    fn labels_within_a_section_are_those_of_its_text_alone() {
        let body = done("Commit: a\n## Changes\n### more\n- Commit: b\n- Files: c\n## Notes\nBead: d");
        let mut changes = changes(&body);
        assert_eq!(changes.value("Commit"), Some("b"));
        assert_eq!(changes.take_list(), ["c"]);
        assert_eq!(body.value("Bead"), Some("d"));
        assert_eq!(body.value("Commit"), None);
    }

    #[test]
    fn a_section_that_is_not_there_holds_nothing() {
        let body = done("- Commit: a");
        assert_eq!(body.section("Changes"), None);
        assert_eq!(changes(&body).value("Commit"), None);
        assert!(body.bullets("Notes").is_empty());
    }
}
