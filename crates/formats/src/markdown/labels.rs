//! Labels such as `Bead: ol-1`, and the lists below them.
//!
//! A label counts at the start of a line, however that line is decorated. Whether a line is prose at all, and which
//! labels mean anything, is for the caller.

use super::lines::lines;

/// How many items of a list are read. More are no list that anybody reads, and each costs.
pub(super) const MOST_ITEMS: usize = 10_000;
/// The other spelling of `Bead`, in the message that accepts one.
const ACCEPTED_BEAD: &str = "Accepted bead";

/// What the wanted labels say, as far as they have been met.
pub(super) struct Labels<'t> {
    names: &'static [&'static str],
    list_name: Option<&'static str>,
    values: Vec<(&'static str, &'t str)>,
    list: Option<Vec<String>>,
}

impl<'t> Labels<'t> {
    /// Looks for these labels and the list; `Bead` stands for both of its spellings.
    pub fn wanted(names: &'static [&'static str], list: Option<&'static str>) -> Self {
        Self { names, list_name: list, values: Vec::new(), list: None }
    }

    /// Takes note of the labels in a line of prose, with `below` following it.
    pub fn meet(&mut self, line: &'t str, below: &'t str) {
        let mut rest = line.trim_start();
        let indent = line.len() - rest.len();
        if rest.starts_with('>') {
            return;
        }
        // Some texts end their lines with a carriage return alone; a value still goes on to the end of the line.
        loop {
            self.meet_one(rest, indent, below);
            let Some(at) = rest.find('\r') else { return };
            rest = rest[at..].trim_start();
        }
    }

    fn meet_one(&mut self, text: &'t str, indent: usize, below: &'t str) {
        let item = bullet(text);
        let Some(label) = self.label(item.unwrap_or(text)) else { return };
        if Some(label.name) == self.list_name {
            if self.list.is_some() {
                return;
            }
            let inline: Vec<_> = label.value().split(',').filter_map(non_empty).take(MOST_ITEMS + 1).collect();
            let deeper_than = item.map(|_| indent);
            let list = if label.value().is_empty() { self.bullets(below, deeper_than) } else { inline };
            self.list = Some(list).filter(|list| !list.is_empty());
        } else if self.value(label.name).is_none() {
            self.values.extend(Some((label.name, label.value())).filter(|(_, value)| !value.is_empty()));
        }
    }

    /// The first value of a label that is not empty.
    pub fn value(&self, name: &str) -> Option<&'t str> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The items of the wanted list; one more than may be at most.
    pub fn into_list(self) -> Vec<String> {
        self.list.unwrap_or_default()
    }

    fn label(&self, text: &'t str) -> Option<Label<'t>> {
        let (text, is_bold) = text.strip_prefix("**").map_or((text, false), |text| (text, true));
        let named = |name: &&'static str| {
            // Nearly every line begins with another letter, which is quickly seen.
            let begins_alike = name.as_bytes().first() == text.as_bytes().first();
            let after = if begins_alike { text.strip_prefix(name)? } else { return None };
            after.starts_with([':', '*']).then_some((*name, after))
        };
        let accepted =
            || named(&ACCEPTED_BEAD).filter(|_| self.names.contains(&"Bead")).map(|(_, after)| ("Bead", after));
        let (name, after) = self.names.iter().chain(&self.list_name).find_map(named).or_else(accepted)?;
        let (bold_end, rest) = match (is_bold, after.strip_prefix(':')) {
            (true, None) => ("", after.strip_prefix("**:")?),
            (true, Some(rest)) => rest.strip_prefix("**").map_or(("**", rest), |rest| ("", rest)),
            (false, rest) => ("", rest?),
        };
        Some(Label { name, rest, bold_end })
    }

    /// The bullets that directly follow a label, up to the next label.
    fn bullets(&self, below: &str, deeper_than: Option<usize>) -> Vec<String> {
        let mut items = Vec::new();
        for line in lines(below).take_while(|line| line.is_prose) {
            if items.len() > MOST_ITEMS {
                break;
            }
            let text = line.text.trim_start();
            if text.is_empty() {
                continue;
            }
            let is_deep = deeper_than.is_none_or(|indent| line.text.len() - text.len() > indent);
            let item = bullet(text).filter(|item| is_deep && self.label(item).is_none());
            let Some(item) = item else { break };
            items.extend(non_empty(item));
        }
        items
    }
}

/// A label that was met; its value is trimmed only when it is wanted, for a line can hold very many labels.
struct Label<'t> {
    name: &'static str,
    rest: &'t str,
    /// What closes the bold type that label and value share.
    bold_end: &'static str,
}

impl<'t> Label<'t> {
    fn value(&self) -> &'t str {
        let value = self.rest.trim();
        value.strip_suffix(self.bold_end).unwrap_or(value).trim_end()
    }
}

/// The bullets of a section that is a list, however deep, without the lines between them; one more than may be at most.
pub(super) fn all_bullets(section: &str) -> Vec<String> {
    let prose = lines(section).filter(|line| line.is_prose);
    prose.filter_map(|line| bullet(line.text.trim_start())).filter_map(non_empty).take(MOST_ITEMS + 1).collect()
}

/// What follows the bullet that `text` begins with.
fn bullet(text: &str) -> Option<&str> {
    let item = text.strip_prefix(['-', '*'])?;
    (item.is_empty() || item.starts_with(char::is_whitespace)).then(|| item.trim_start())
}

fn non_empty(item: &str) -> Option<String> {
    let item = item.trim();
    (!item.is_empty()).then(|| item.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::outline::{Outline, Wanted};

    const WANTED: Wanted = Wanted { labels: &["Bead", "Step"], list: Some("Files"), sections: &[] };

    fn bead(body: &str) -> Option<&str> {
        Outline::read(body, &WANTED).value("Bead")
    }

    fn files(body: &str) -> Vec<String> {
        Outline::read(body, &WANTED).into_list()
    }

    #[test]
    fn a_label_counts_at_the_start_of_a_line_however_decorated() {
        let lines =
            ["Bead: x", "\t- Bead:x", "* Bead:\tx", "**Bead:** x", "- **Bead**: x", "**Bead: x**", "Accepted bead: x"];
        for line in lines {
            assert_eq!(bead(&format!("a\n{line} \nBead: y")), Some("x"), "{line}");
        }
        let others = [
            "The Bead: y",
            "bead: y",
            "> Bead: y",
            "> q\rBead: y",
            "Beads: y",
            "Bead : y",
            "-Bead: y",
            "+ Bead: y",
            "Bead**: y",
        ];
        for line in others {
            assert_eq!(bead(&format!("{line}\nBead: x")), Some("x"), "{line}");
        }
    }

    #[test]
    fn the_first_value_that_is_not_empty_wins() {
        assert_eq!(bead("Bead: \u{a0}\n```\nBead: y\n```\nBead: x\nBead: z"), Some("x"));
        assert_eq!(bead("Bead: ** x"), Some("** x"));
    }

    #[test]
    fn a_carriage_return_alone_ends_no_value_but_a_label_may_follow_it() {
        let body = Outline::read("a\rBead: x\r\rStep: y\r\nz", &WANTED);
        assert_eq!((body.value("Bead"), body.value("Step")), (Some("x\r\rStep: y"), Some("y")));
    }

    #[test]
    fn a_list_stands_behind_its_label_or_in_the_bullets_below() {
        assert_eq!(files("Files: a, ,b,\n- c"), ["a", "b"]);
        assert_eq!(files("Files:\n\n- a, b\n\n  * c\n-\n1. d\n- e"), ["a, b", "c"]);
        assert_eq!(files("Files:\nnothing\n**Files:**\n* a"), ["a"]);
    }

    #[test]
    fn bullets_below_a_bullet_are_its_own_only_if_deeper() {
        assert_eq!(files("- Files:\n  - a\n    - b\n- c"), ["a", "b"]);
        assert!(files(" - Files:\n - a").is_empty());
    }

    #[test]
    fn a_label_among_the_bullets_ends_the_list() {
        assert_eq!(files("Files:\n- a\n- Step: b\n- c"), ["a"]);
        assert_eq!(Outline::read("Files:\n- a\n- Step: b", &WANTED).value("Step"), Some("b"));
    }
}
