//! The lines of a Markdown text, and which of them are prose.
//!
//! It knows line ends and code fences and nothing else of Markdown: labels, headings and lists are for those who look
//! for them.

/// The lines of `text` outside code fences, without their line ends.
///
/// A fence that is never closed hides everything below it, as Markdown says. A carriage return ends a line only
/// together with a line feed.
pub fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    lines(without_mark(text)).filter(|line| line.is_prose).map(|line| line.text)
}

/// `text` without the byte order mark that some editors put in front.
pub(super) fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// What stands behind and within the fence that encloses all of `text`, white space around it aside.
pub(super) fn whole_block(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let mut lines = lines(text);
    let first = lines.next().filter(|line| !line.is_prose)?;
    while let Some(line) = lines.next() {
        if lines.open.is_none() {
            let info = first.text.trim_start_matches(['`', '~']).trim();
            return (line.end == text.len()).then(|| (info, &text[first.end..line.start]));
        }
    }
    None
}

/// All lines of `text`, which must not begin within a fence.
pub(super) fn lines(text: &str) -> Lines<'_> {
    Lines { text, at: 0, open: None }
}

/// One line of a text.
pub(super) struct Line<'t> {
    /// What it says, without its line end.
    pub text: &'t str,
    /// Where it begins.
    pub start: usize,
    /// Where the next line begins.
    pub end: usize,
    /// Whether it is neither a fence nor within one.
    pub is_prose: bool,
}

/// The lines of a text; see [`lines`].
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    open: Option<Fence>,
}

impl Lines<'_> {
    /// What would close the fence that is open now.
    pub fn missing_close(&self) -> Option<String> {
        self.open.map(|fence| String::from(fence.mark).repeat(fence.length))
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        // Most lines are short, and a search made for long texts takes longer to set up than to run.
        let (text, length) = match rest.bytes().position(|byte| byte == b'\n') {
            Some(at) => (rest[..at].trim_end_matches('\r'), at + 1),
            None => (rest, rest.len()),
        };
        let start = self.at;
        self.at += length;
        let fence = if may_be_a_fence(text) { Fence::at_start_of(text) } else { None };
        Some(Line { text, start, end: self.at, is_prose: self.meet(fence) })
    }
}

impl Lines<'_> {
    /// Whether a line with this fence, or none, is prose.
    fn meet(&mut self, fence: Option<Fence>) -> bool {
        match (self.open, fence) {
            (None, None) => return true,
            (None, Some(fence)) => self.open = Some(fence),
            (Some(opened), Some(fence)) if fence.closes(opened) => self.open = None,
            (Some(_), _) => {}
        }
        false
    }
}

/// Whether a line is worth a second look. Nearly none is, and its first letter tells.
fn may_be_a_fence(line: &str) -> bool {
    let first = line.bytes().find(|byte| !matches!(byte, b' ' | b'\t'));
    first.is_some_and(|byte| matches!(byte, b'`' | b'~') || byte.is_ascii_whitespace() || !byte.is_ascii())
}

/// A row of backticks or tildes at the start of a line.
#[derive(Clone, Copy)]
struct Fence {
    mark: char,
    length: usize,
    bare: bool,
}

impl Fence {
    fn at_start_of(line: &str) -> Option<Self> {
        // A fence may stand in a list, so any indentation will do.
        let line = line.trim_start();
        let mark = ['`', '~'].into_iter().find(|mark| line.starts_with(*mark))?;
        let after = line.trim_start_matches(mark);
        let length = line.len() - after.len();
        // Three backticks and one more further on are code within a line, as in ```x```.
        let is_fence = length >= 3 && !(mark == '`' && after.contains('`'));
        is_fence.then(|| Self { mark, length, bare: after.trim().is_empty() })
    }

    fn closes(self, opened: Self) -> bool {
        self.bare && self.mark == opened.mark && self.length >= opened.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<&str> {
        prose_lines(text).collect()
    }

    #[test]
    fn what_stands_in_a_fence_is_not_prose() {
        assert_eq!(prose("a\n```sh\nb\n```\nc"), ["a", "c"]);
        assert_eq!(prose("a\r\n~~~\r\nb\r\n~~~\r\nc\r\n"), ["a", "c"]);
    }

    #[test]
    fn a_fence_is_closed_only_by_its_like() {
        assert_eq!(prose("````\n```\n~~~\n````\nc"), ["c"]);
        assert_eq!(prose("```\n```rust\nb\n```\nc"), ["c"]);
        assert!(prose("```\nb\nc").is_empty());
    }

    #[test]
    fn code_within_a_line_opens_nothing() {
        assert_eq!(prose("```x``` is code\nb"), ["```x``` is code", "b"]);
    }

    #[test]
    fn a_line_knows_where_it_stands() {
        let text = "a\r\n\n\u{e9}\rb";
        let places: Vec<_> = lines(text).map(|line| (line.text, line.start, line.end)).collect();
        assert_eq!(places, [("a", 0, 3), ("", 3, 4), ("\u{e9}\rb", 4, text.len())]);
    }

    #[test]
    fn a_text_that_is_one_block_is_known_with_what_it_holds() {
        assert_eq!(whole_block(" \n ~~~ sh -e \r\na\r\n```\n~~~ \n"), Some(("sh -e", "a\r\n```\n")));
        assert_eq!(whole_block("```\na\n```\n\nb"), None);
        assert_eq!(whole_block("```\na"), None);
        assert_eq!(whole_block("a"), None);
    }

    #[test]
    fn an_open_fence_tells_what_would_close_it() {
        let close = |text| {
            let mut lines = lines(text);
            lines.by_ref().for_each(drop);
            lines.missing_close()
        };
        assert_eq!(close("a\n  ~~~~ sh\n~~~\nb"), Some("~~~~".into()));
        assert_eq!(close("```\nb\n```"), None);
    }
}
