//! The normal form of values: what a reader takes back unchanged from a written message.
//!
//! A value becomes part of a text with a structure of its own, so it must not look like that structure. Only what
//! would be misread is changed.

use super::lines::lines;
use super::sections::Heading;

/// Makes a text one line, without space around it.
pub fn line(text: &str) -> String {
    let parts: Vec<_> = text.split(['\n', '\r']).map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Makes a text fit for a section: no space around it, plain line feeds, no heading that would end the section or begin
/// another, and no fence left open.
///
/// Such a heading gets a backslash before it, which Markdown does not show.
pub fn block(text: &str) -> String {
    let text = plain(text);
    let mut lines = lines(&text);
    let mut block = String::with_capacity(text.len());
    for line in lines.by_ref() {
        let heading = Heading::at_start_of(line.text).filter(|_| line.is_prose);
        let (indent, rest) = line.text.split_at(line.text.len() - line.text.trim_start_matches(' ').len());
        let escape = if heading.is_some_and(|heading| heading.disturbs()) { "\\" } else { "" };
        block.extend([indent, escape, rest, "\n"]);
    }
    block.extend(lines.missing_close());
    block.truncate(block.trim_end().len());
    block
}

/// Makes a list of files, given one by one or with commas between them.
pub fn files<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> Vec<String> {
    let split = |item: T| item.as_ref().split([',', '\n', '\r']).map(|file| file.trim().to_owned()).collect::<Vec<_>>();
    items.into_iter().flat_map(split).filter(|file| !file.is_empty()).collect()
}

/// A text with plain line feeds, and without space around it.
pub(super) fn plain(text: &str) -> String {
    with_line_feeds(text.trim())
}

/// A text in which only line feeds end a line.
pub(super) fn with_line_feeds(text: &str) -> String {
    if !text.contains("\r\n") {
        return text.to_owned();
    }
    let mut parts: Vec<_> = text.split('\n').collect();
    if let Some((_, ended)) = parts.split_last_mut() {
        ended.iter_mut().for_each(|part| *part = part.trim_end_matches('\r'));
    }
    parts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line(" a\r\n\n b\rc \u{a0}"), "a b c");
        assert_eq!(line("\r\n"), "");
    }

    #[test]
    fn a_block_keeps_its_lines_and_loses_the_space_around_them() {
        assert_eq!(block("\n  a \r\n\r\r\n  b\rc\n"), "a \n\n  b\rc");
        assert_eq!(block(" \r\n"), "");
    }

    #[test]
    fn only_a_heading_that_would_be_misread_is_escaped() {
        assert_eq!(
            block("## a\n  ## b\n### c\n### Question 2\n# d\n##e"),
            "\\## a\n  \\## b\n### c\n\\### Question 2\n# d\n##e"
        );
        assert_eq!(block("```\n## a\n```\n## b"), "```\n## a\n```\n\\## b");
    }

    #[test]
    fn a_fence_left_open_is_closed_with_its_like() {
        assert_eq!(block("a\n~~~~ sh\n~~~\n## b"), "a\n~~~~ sh\n~~~\n## b\n~~~~");
    }

    #[test]
    fn files_are_split_at_commas_and_lines() {
        assert_eq!(files(["a, b,", "c\r\nd", " "]), ["a", "b", "c", "d"]);
    }
}
