//! The lines of a Markdown text that are prose.
//!
//! It knows code fences and nothing else of Markdown: labels, headings and lists are for those who look for them.

/// The lines of `text` outside code fences, without their line ends.
///
/// A fence that is never closed hides everything below it, as Markdown says. A carriage return ends a line only
/// together with a line feed.
pub fn prose_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut open: Option<Fence> = None;
    text.strip_prefix('\u{feff}').unwrap_or(text).lines().filter(move |line| {
        let fence = Fence::at_start_of(line);
        match (open, fence) {
            (None, None) => true,
            (None, Some(fence)) => {
                open = Some(fence);
                false
            }
            (Some(opened), Some(fence)) if fence.closes(opened) => {
                open = None;
                false
            }
            (Some(_), _) => false,
        }
    })
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
        let mark = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
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
    use super::prose_lines;

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
}
