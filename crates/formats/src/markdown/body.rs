//! What stands around a body as a whole, and is no part of what it says.
//!
//! Agents copy the protocol's examples with their fences, and scripts send texts that are indented as their own lines
//! are. What stands around a part of a body stays as it is, and no line is looked at for its meaning.

use std::borrow::Cow;

use super::lines::{whole_block, without_mark};

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

/// What stands in the fence that encloses all of `body`. JSON in a fence is a format of its own, and stays in it.
pub(super) fn fenced(body: &str) -> Option<&str> {
    let (info, inside) = whole_block(body)?;
    (!info.eq_ignore_ascii_case("json")).then_some(inside)
}

/// The spaces and tabs that every line begins with, blank lines aside.
fn shared_indent(body: &str) -> &str {
    let before_text = &body[..body.len() - body.trim_start().len()];
    let first = before_text.rsplit('\n').next().unwrap_or_default();
    let mut indent = &first[..first.len() - first.trim_start_matches(is_indent).len()];
    // Most bodies are not indented, which their first line tells.
    let mut lines = body[before_text.len()..].split('\n').skip(1).filter(|line| !line.trim_start().is_empty());
    while !indent.is_empty()
        && let Some(line) = lines.next()
    {
        let alike = indent.bytes().zip(line.bytes()).take_while(|(one, other)| one == other).count();
        indent = &indent[..alike];
    }
    indent
}

fn without_indent(body: &str, indent: &str) -> String {
    let mut text = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        // Only a blank line may have less.
        text.push_str(line.strip_prefix(indent).unwrap_or_else(|| line.trim_start_matches(is_indent)));
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
    fn a_text_with_one_line_that_is_not_indented_is_taken_as_it_is() {
        for body in ["a\n  b", "  a\n  b\nc", "  a\n\tb", "\u{a0}a\n\u{a0}b", "\ra", "  \n\n", "  \n a\n\u{e9}"] {
            assert!(matches!(unwrapped(body), Cow::Borrowed(same) if same == body), "{body}");
        }
    }
}
