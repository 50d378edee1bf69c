//! Labels such as `Bead: ol-1`, and the lists below them.
//!
//! A label counts at the start of a line, however that line is decorated. Whether a line is prose at all, and which
//! labels mean anything, is for the caller.

use super::lines::lines;

/// How many blank lines may stand between a label and its list, or between two items.
const MOST_BLANKS: usize = 3;
/// How many items of a list are read. More are no list that anybody reads, and each costs.
pub(super) const MOST_ITEMS: usize = 10_000;
/// The label of the bead.
pub(super) const BEAD: &str = "Bead";
/// The same in the message that accepts one.
pub(super) const ACCEPTED_BEAD: &str = "Accepted bead";
/// The label of the issue, which is another word for a bead.
pub(super) const ISSUE: &str = "Issue";
/// Emphasis and bold type together take three marks; more are no emphasis.
const LONGEST_EMPHASIS: usize = 3;
/// How many digits the number of a list item may have in Markdown.
const LONGEST_NUMBER: usize = 9;

/// What the wanted labels say, as far as they have been met.
pub(super) struct Labels<'t> {
    names: Vec<&'static str>,
    list_name: Option<&'static str>,
    values: Vec<(&'static str, &'t str)>,
    list: Option<Vec<String>>,
}

impl<'t> Labels<'t> {
    /// Looks for these labels and the list.
    pub fn wanted(names: Vec<&'static str>, list: Option<&'static str>) -> Self {
        Self { names, list_name: list, values: Vec::new(), list: None }
    }

    /// Takes note of the labels in a line of prose, with `below` following it. Only if it `may_return` is it looked
    /// through for carriage returns, which few texts have.
    pub fn meet(&mut self, line: &'t str, below: &'t str, may_return: bool) {
        let mut rest = line.trim_start();
        let indent = line.len() - rest.len();
        if rest.is_empty() || rest.starts_with('>') {
            return;
        }
        // Some texts end their lines with a carriage return alone; a value still goes on to the end of the line.
        loop {
            self.meet_one(rest, indent, below);
            let Some(at) = may_return.then(|| rest.find('\r')).flatten() else { return };
            rest = rest[at..].trim_start();
        }
    }

    fn meet_one(&mut self, text: &'t str, indent: usize, below: &'t str) {
        let Some(label) = self.label(text) else { return };
        if Some(label.name) == self.list_name {
            if self.list.is_some() {
                return;
            }
            let inline: Vec<_> = label.value().split(',').filter_map(non_empty).take(MOST_ITEMS + 1).collect();
            let deeper_than = label.is_item.then_some(indent);
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
    pub fn take_list(&mut self) -> Vec<String> {
        self.list.take().unwrap_or_default()
    }

    /// The label that `text` begins with, behind the marker of a list or not.
    fn label(&self, text: &'t str) -> Option<Label<'t>> {
        // `*Bead:* x` is emphasis rather than an item without its space, so this is tried first.
        self.emphasised(text).or_else(|| {
            let item = bullet(text);
            let label = self.emphasised(item.or_else(|| other_item(text))?)?;
            Some(Label { is_item: item.is_some(), ..label })
        })
    }

    /// The label that `text` begins with, in emphasis or not.
    fn emphasised(&self, text: &'t str) -> Option<Label<'t>> {
        // Nearly every line begins with neither, which is quickly seen.
        let inside = match text.as_bytes().first()? {
            b'*' | b'_' => text.trim_start_matches(['*', '_']),
            first if first.is_ascii_uppercase() => text,
            _ => return None,
        };
        let emphasis = &text[..text.len() - inside.len()];
        if emphasis.len() > LONGEST_EMPHASIS {
            return None;
        }
        // Every label begins with a capital.
        let initial = inside.bytes().next().filter(u8::is_ascii_uppercase)?;
        let (name, after) = self.names.iter().chain(&self.list_name).find_map(|name| {
            let begins_alike = name.as_bytes().first() == Some(&initial);
            let after = if begins_alike { inside.strip_prefix(name)? } else { return None };
            after.starts_with([':', '*', '_']).then_some((*name, after))
        })?;
        let Some(rest) = after.strip_prefix(':') else {
            let rest = without_close(after, emphasis)?.strip_prefix(':')?;
            return Some(Label { name, rest, emphasis: "", is_item: false });
        };
        Some(match without_close(rest, emphasis) {
            Some(rest) => Label { name, rest, emphasis: "", is_item: false },
            // One star that nothing closes is a bullet.
            None => Label { name, rest, emphasis, is_item: emphasis == "*" },
        })
    }

    /// The bullets that directly follow a label, up to the next label.
    fn bullets(&self, below: &str, deeper_than: Option<usize>) -> Vec<String> {
        let (mut items, mut blanks) = (Vec::new(), 0);
        for line in lines(below).take_while(|line| line.is_prose) {
            if items.len() > MOST_ITEMS {
                break;
            }
            let text = line.text.trim_start();
            if text.is_empty() {
                blanks += 1;
                // What stands far below belongs to something else.
                if blanks > MOST_BLANKS {
                    break;
                }
                continue;
            }
            blanks = 0;
            let is_deep = deeper_than.is_none_or(|indent| line.text.len() - text.len() > indent);
            let item = bullet(text).filter(|_| is_deep && self.label(text).is_none());
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
    /// What opens the emphasis that label and value share.
    emphasis: &'t str,
    /// Whether it stands in an item of a list that bullets make.
    is_item: bool,
}

impl<'t> Label<'t> {
    fn value(&self) -> &'t str {
        let value = self.rest.trim();
        let closed = self.emphasis.chars().try_fold(value, |value, mark| value.strip_suffix(mark));
        closed.unwrap_or(value).trim_end()
    }
}

/// What follows the close of `emphasis`, which is its opening turned around.
fn without_close<'t>(text: &'t str, emphasis: &str) -> Option<&'t str> {
    emphasis.chars().rev().try_fold(text, |text, mark| text.strip_prefix(mark))
}

/// The bullets of a section that is a list, however deep, without the lines between them; one more than may be at most.
pub(super) fn all_bullets(section: &str) -> Vec<String> {
    let prose = lines(section).filter(|line| line.is_prose);
    prose.filter_map(|line| bullet(line.text.trim_start())).filter_map(non_empty).take(MOST_ITEMS + 1).collect()
}

/// What follows the bullet that `text` begins with. Two of them begin bold type or draw a line.
fn bullet(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|first| matches!(first, '-' | '*'))?;
    let item = &text[mark.len_utf8()..];
    (!item.starts_with(mark)).then(|| item.trim_start())
}

/// What follows another marker of a list. Its items are not read as such, but may have a label.
fn other_item(text: &str) -> Option<&str> {
    let numbered = || {
        let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = (1..=LONGEST_NUMBER).contains(&(text.len() - after.len()));
        after.strip_prefix(['.', ')']).filter(|_| has_number)
    };
    let item = text.strip_prefix(['+', '•']).or_else(numbered)?;
    item.starts_with(char::is_whitespace).then(|| item.trim_start())
}

fn non_empty(item: &str) -> Option<String> {
    let item = item.trim();
    (!item.is_empty()).then(|| item.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::outline::{Outline, Wanted};

    fn outline(body: &str) -> Outline<'_> {
        let labels = vec!["Bead", "Step", "Accepted bead"];
        Outline::read(body, Wanted { labels, list: Some("Files"), sections: vec![] })
    }

    fn bead(body: &str) -> Option<&str> {
        outline(body).value("Bead")
    }

    fn files(body: &str) -> Vec<String> {
        outline(body).take_list()
    }

    #[test]
    fn a_label_counts_at_the_start_of_a_line_behind_any_marker_of_a_list() {
        for marker in ["", "\t- ", "-", "* ", "*", "*\t", "+ ", "• ", "1. ", "  27) "] {
            assert_eq!(bead(&format!("a\n{marker}Bead: x \nBead: y")), Some("x"), "{marker}");
        }
        for marker in ["- ", "-", "* ", "+ ", "• ", "1. "] {
            assert_eq!(bead(&format!("{marker}**Bead:** x\nBead: y")), Some("x"), "{marker}");
        }
        let others = [
            "The Bead: y",
            "bead: y",
            "> Bead: y",
            "> q\rBead: y",
            "Beads: y",
            "Bead : y",
            "--Bead: y",
            "+Bead: y",
            "1.Bead: y",
            "1234567890. Bead: y",
            ". Bead: y",
            "1 Bead: y",
            "- - Bead: y",
        ];
        for line in others {
            assert_eq!(bead(&format!("{line}\nBead: x")), Some("x"), "{line}");
        }
    }

    #[test]
    fn a_label_counts_in_any_emphasis() {
        for (open, close) in [("*", "*"), ("**", "**"), ("***", "***"), ("_", "_"), ("__", "__"), ("**_", "_**")] {
            for line in
                [format!("{open}Bead:{close} x"), format!("{open}Bead{close}: x"), format!("{open}Bead: x{close}")]
            {
                assert_eq!(bead(&line), Some("x"), "{line}");
                assert_eq!(bead(&format!("- {line}")), Some("x"), "{line}");
            }
        }
        for line in ["****Bead:**** y", "Bead**: y", "_Bead*: y", "*_Bead*_: y"] {
            assert_eq!(bead(&format!("{line}\nBead: x")), Some("x"), "{line}");
        }
    }

    #[test]
    fn a_bullet_needs_no_space_but_two_of_them_are_none() {
        assert_eq!(files("Files:\n-a\n*b\n- -c\n-**d**\n--e"), ["a", "b", "-c", "**d**"]);
        for line in ["---", "--x", "**x**", "***", "+ x", "1. x", "• x"] {
            assert!(files(&format!("Files:\n{line}\n- a")).is_empty(), "{line}");
            assert_eq!(super::all_bullets(&format!("-a.py\n{line}\n* b.py")), ["a.py", "b.py"], "{line}");
        }
    }

    #[test]
    fn the_two_spellings_of_a_bead_are_two_labels() {
        let body = outline("Accepted bead: x\nBead: y");
        assert_eq!((body.value("Bead"), body.value("Accepted bead")), (Some("y"), Some("x")));
    }

    #[test]
    fn the_first_value_that_is_not_empty_wins() {
        assert_eq!(bead("Bead: \u{a0}\n```\nBead: y\n```\nBead: x\nBead: z"), Some("x"));
        assert_eq!(bead("Bead: ** x"), Some("** x"));
    }

    #[test]
    fn a_carriage_return_alone_ends_no_value_but_a_label_may_follow_it() {
        let body = outline("a\rBead: x\r\rStep: y\r\nz");
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
        for sibling in [" - Files:\n - a", "-Files:\n-a", "*Files:\n*a"] {
            assert!(files(sibling).is_empty(), "{sibling}");
        }
        assert_eq!(files("*Files:*\n*a"), ["a"]);
        assert_eq!(files("1. Files:\n- a"), ["a"]);
    }

    #[test]
    fn a_label_among_the_bullets_ends_the_list() {
        assert_eq!(files("Files:\n- a\n- Step: b\n- c"), ["a"]);
        assert_eq!(files("Files:\n\n\n\n- a\n\n\n\n\n- b"), ["a"], "so does much empty space");
        assert_eq!(outline("Files:\n- a\n- Step: b").value("Step"), Some("b"));
    }
}
