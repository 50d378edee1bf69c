//! What stands around a body as a whole, and is no part of what it says.
//!
//! Agents copy the protocol's examples with their fences, and scripts send texts that are indented as their own lines
//! are. What stands around a part of a body stays as it is, and no line is looked at for its meaning.

use std::borrow::Cow;

use super::lines::{lines, prose_lines, whole_block, without_mark};
use super::sections::Heading;

/// The least indentation below a first line that counts as one of the whole body. With less, headings are read anyway.
const DEEP: usize = 4;

/// A body without the mark of an editor, without the fence that encloses all of it, and without the indentation that
/// all of its lines share. One fence is taken away, not a second within it.
pub(super) fn unwrapped(body: &str) -> Cow<'_, str> {
    let body = without_mark(body);
    let body = fenced(body).unwrap_or(body);
    match shared_indent(body) {
        "" => Cow::Borrowed(body),
        indent => Cow::Owned(without_indent(body, indent)),
    }
}

/// The same without the indentation that all lines but the first share, when that is a field or a heading and there are
/// headings among them.
///
/// A text in a script often begins right behind its quotes, and the rest of it stands as deep as the script.
pub(super) fn unwrapped_below(body: &str) -> Cow<'_, str> {
    let start = body.len() - body.trim_start().len();
    let Some((first, below)) = body[start..].split_once('\n') else { return Cow::Borrowed(body) };
    let is_field = first.contains(':') || Heading::at_start_of(first).is_some();
    let indent = shared_indent(below);
    if !is_field || (indent.len() < DEEP && !indent.contains('\t')) {
        return Cow::Borrowed(body);
    }
    let outdented = without_indent(below, indent);
    if !prose_lines(&outdented).any(|line| Heading::at_start_of(line).is_some()) {
        return Cow::Borrowed(body);
    }
    Cow::Owned(format!("{}{outdented}", &body[..body.len() - below.len()]))
}

/// What stands in the fence that encloses all of `body`. JSON in a fence is a format of its own, and stays in it.
pub(super) fn fenced(body: &str) -> Option<&str> {
    let (info, inside) = whole_block(body)?;
    (!info.eq_ignore_ascii_case("json")).then_some(inside)
}

/// The spaces and tabs that every line begins with, blank lines and what is in a fence aside.
fn shared_indent(body: &str) -> &str {
    let mut lines = lines(body).filter(|line| line.is_prose && !line.text.trim_start().is_empty());
    let first = lines.next().map_or("", |line| line.text);
    let mut indent = &first[..first.len() - first.trim_start_matches(is_indent).len()];
    // Most bodies are not indented, which their first line tells.
    while !indent.is_empty()
        && let Some(line) = lines.next()
    {
        let alike = indent.bytes().zip(line.text.bytes()).take_while(|(one, other)| one == other).count();
        indent = &indent[..alike];
    }
    indent
}

fn without_indent(body: &str, indent: &str) -> String {
    let mut text = String::with_capacity(body.len());
    let (mut was_prose, mut is_outside) = (true, false);
    for line in lines(body) {
        // A fence that begins left of the text is as it should be.
        is_outside = !line.is_prose && if was_prose { !line.text.starts_with(indent) } else { is_outside };
        was_prose = line.is_prose;
        let whole = &body[line.start..line.end];
        text.push_str(match whole.strip_prefix(indent) {
            _ if is_outside => whole,
            Some(rest) => rest,
            // Only a blank line may have less, and what is in a fence.
            None => whole.trim_start_matches(is_indent),
        });
    }
    text
}

fn is_indent(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_around_all_of_a_body_is_no_part_of_it() {
        for body in [
            "```\nBead: x\n```",
            "\u{feff}\n\n```markdown\r\nBead: x\n```  \n\n",
            "~~~~ md title\nBead: x\n~~~~~",
            "  ```\n  Bead: x\n  ```\n",
        ] {
            assert_eq!(unwrapped(body).trim_end(), "Bead: x", "{body}");
        }
        assert_eq!(unwrapped("````\na\n```\nb\n```\n````"), "a\n```\nb\n```\n");
        assert_eq!(unwrapped("````\n```\nb\n```\n````"), "```\nb\n```\n");
        assert_eq!(unwrapped("```\n```"), "");
    }

    #[test]
    fn a_fence_around_a_part_of_a_body_stays() {
        for body in [
            "a\n```\nb\n```",
            "```\na\n```\nb",
            "```\na\n```\n```\nb\n```",
            "```\na\n```\n\n~~~\nb\n~~~",
            "```\na",
            "```\na\n~~~",
            "````\na\n```",
            "```json\n{}\n```",
            "~~~ JSON \n{}\n~~~",
            "```a```",
            "```",
            "",
        ] {
            assert_eq!(unwrapped(body), body);
        }
    }

    #[test]
    fn indentation_that_all_lines_share_is_no_part_of_them() {
        assert_eq!(unwrapped("    a\n\n      b\r\n  \n    c\n  "), "a\n\n  b\r\n\nc\n");
        assert_eq!(unwrapped("\n\t\ta\n\t b"), "\n\ta\n b");
        assert_eq!(unwrapped("  a"), "a");
    }

    #[test]
    fn a_fence_left_of_an_indented_text_stays_as_it_is() {
        let body = "    a\n```py\ndef f():\n    pass\n```\n    ## b\n      ```\n        c\n    ```";
        assert_eq!(unwrapped(body), "a\n```py\ndef f():\n    pass\n```\n## b\n  ```\n    c\n```");
    }

    #[test]
    fn headings_that_are_indented_below_the_first_line_are_read() {
        assert_eq!(unwrapped_below("Bead: x\n\n    ## a\n      b\n"), "Bead: x\n\n## a\n  b\n");
        assert_eq!(unwrapped_below("\n\nBead: x\r\n\t## a\r\n\tb"), "\n\nBead: x\r\n## a\r\nb");
        for body in [
            "Bead: x\n    ## a\nb",
            "Bead: x\n   ## a",
            "Bead: x\n    a\n    b",
            "- Files:\n    - a",
            "Hello\n    ## a",
            "Bead: x\n    ```\n    ## a\n    ```",
            "Bead: x",
            "",
        ] {
            assert!(matches!(unwrapped_below(body), Cow::Borrowed(same) if same == body), "{body}");
        }
    }

    #[test]
    fn a_text_with_one_line_that_is_not_indented_is_taken_as_it_is() {
        for body in ["a\n  b", "  a\n  b\nc", "  a\n\tb", "\u{a0}a\n\u{a0}b", "\ra", "  \n\n", "  \n a\n\u{e9}"] {
            assert!(matches!(unwrapped(body), Cow::Borrowed(same) if same == body), "{body}");
        }
    }
}
