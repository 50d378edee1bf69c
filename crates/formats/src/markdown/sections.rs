//! The sections of a body: a heading, and the text below it.
//!
//! It finds the sections that are asked for and keeps no others. What a section means is for the reader of its kind.

/// Every section that some kind of message has.
const NAMES: &str = "Problem|What I Tried|Files Touched|Question|Changes|Self-Validation|Summary|Failure|Partial Progress|\
                     Recommendation|Progress|Next Steps";

/// A heading of the second level or deeper. The first level is a title, and neither opens nor ends a section.
pub(super) struct Heading<'t> {
    level: usize,
    name: &'t str,
}

impl<'t> Heading<'t> {
    /// The heading that `line` is, when the line is prose.
    pub fn at_start_of(line: &'t str) -> Option<Self> {
        let hashes = line.trim_start_matches(' ');
        // Four spaces make a block of code.
        if line.len() - hashes.len() > 3 || !hashes.starts_with("##") {
            return None;
        }
        let after = hashes.trim_start_matches('#');
        let level = hashes.len() - after.len();
        (level <= 6 && after.starts_with([' ', '\t'])).then(|| Self { level, name: bare_name(after) })
    }

    /// Whether it would end a section of a message, or be taken for the start of one.
    pub fn disturbs(&self) -> bool {
        self.level == 2 || NAMES.split('|').any(|name| self.likeness(name).is_some())
    }

    fn likeness(&self, name: &str) -> Option<Likeness> {
        let (start, rest) = self.name.split_at_checked(name.len())?;
        if !start.eq_ignore_ascii_case(name) || rest.starts_with(char::is_alphanumeric) {
            return None;
        }
        Some(if rest.is_empty() { Likeness::Same } else { Likeness::Longer })
    }
}

enum Likeness {
    Same,
    Longer,
}

/// The name without closing hashes, a colon behind it, or bold type.
fn bare_name(after_hashes: &str) -> &str {
    let name = after_hashes.trim();
    let open = name.trim_end_matches('#');
    // `C#` is a name, `Problem ##` a closed heading.
    let name = if open.is_empty() || open.ends_with(char::is_whitespace) { open } else { name };
    name.trim_matches(|c: char| matches!(c, '*' | ':') || c.is_whitespace())
}

/// The sections that are wanted, as far as they have been met.
pub(super) struct Sections {
    slots: Vec<Slot>,
}

struct Slot {
    name: &'static str,
    same: Option<Span>,
    longer: Option<Span>,
}

struct Span {
    level: usize,
    start: usize,
    end: Option<usize>,
}

impl Sections {
    /// Looks for the sections with these names.
    pub fn wanted(names: &[&'static str]) -> Self {
        Self { slots: names.iter().map(|name| Slot { name, same: None, longer: None }).collect() }
    }

    /// Takes note of a heading that begins at `start`, with its text beginning at `text`.
    pub fn meet(&mut self, heading: &Heading<'_>, start: usize, text: usize) {
        for slot in &mut self.slots {
            for span in slot.same.iter_mut().chain(&mut slot.longer) {
                if heading.level <= span.level {
                    span.end.get_or_insert(start);
                }
            }
            let place = match heading.likeness(slot.name) {
                Some(Likeness::Same) => &mut slot.same,
                Some(Likeness::Longer) => &mut slot.longer,
                None => continue,
            };
            place.get_or_insert(Span { level: heading.level, start: text, end: None });
        }
    }

    /// The text of a wanted section, which a heading of just this name gives before one that only begins with it.
    pub fn text<'t>(&self, body: &'t str, name: &str) -> Option<&'t str> {
        let slot = self.slots.iter().find(|slot| slot.name == name)?;
        let span = slot.same.as_ref().or(slot.longer.as_ref())?;
        Some(body[span.start..span.end.unwrap_or(body.len())].trim())
    }
}

#[cfg(test)]
mod tests {
    use super::super::outline::{Outline, Wanted};

    fn problem(body: &str) -> Option<&str> {
        Outline::read(body, Wanted { sections: vec!["Problem"], ..Wanted::default() }).section("Problem")
    }

    #[test]
    fn a_heading_has_at_most_three_spaces_before_and_one_after_its_hashes() {
        assert_eq!(problem("   ## Problem\nx"), Some("x"));
        assert_eq!(problem("    ## Problem\nx"), None);
        assert_eq!(problem("##Problem\nx"), None);
        assert_eq!(problem("# Problem\nx"), None);
        assert_eq!(problem("####### Problem\nx"), None);
    }

    #[test]
    fn a_name_may_be_closed_bold_or_in_any_case() {
        for heading in ["## Problem:", "## PROBLEM", "## Problem ##", "### **Problem:**", "##\tproblem\t"] {
            assert_eq!(problem(&format!("{heading}\nx")), Some("x"), "{heading}");
        }
        assert_eq!(problem("## \u{fb01}Problem\nx"), None);
    }

    #[test]
    fn an_exact_name_beats_an_earlier_one_that_only_begins_with_it() {
        assert_eq!(problem("## Problem statement\nx\n## Problem\ny"), Some("y"));
        assert_eq!(problem("## Problem statement\nx\n## Problem two\ny"), Some("x"));
        assert_eq!(problem("## Problematic\nx"), None);
        assert_eq!(problem("## Problem\n## Problem\ny"), Some(""));
    }

    #[test]
    fn a_section_ends_at_a_heading_as_high_as_its_own() {
        assert_eq!(problem("### Problem\nx\n#### y\n# z\n### a\nb"), Some("x\n#### y\n# z"));
        assert_eq!(problem("### Problem\nx\n## a\nb"), Some("x"));
        assert_eq!(problem("## Problem\n```\n## a\n```\nb"), Some("```\n## a\n```\nb"));
    }
}
