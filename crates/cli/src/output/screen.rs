//! What standard output is: a terminal of some size, or a pipe or file. Nothing is printed here.

use std::io::{self, IsTerminal};

use anstyle::Style;
use terminal_size::{Height, Width};

/// How wide a table is where nobody can say how wide it may be.
const USUAL_WIDTH: usize = 100;
/// What is narrower or lower was not meant.
const LEAST_WIDTH: usize = 40;
const LEAST_HEIGHT: usize = 5;

/// Where answers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// How many columns there are.
    pub width: usize,
    /// How many lines a terminal has; none where text just goes on.
    pub height: Option<usize>,
    /// Whether colours are shown.
    pub is_coloured: bool,
}

impl Screen {
    /// Standard output as it is now: a terminal may have become another size.
    pub fn of_stdout() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !io::stdout().is_terminal() || is_dumb {
            return Self { width: USUAL_WIDTH, height: None, is_coloured: false };
        }
        // See no-color.org: any value but an empty one counts.
        let is_coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let (width, height) = match terminal_size::terminal_size_of(io::stdout()) {
            Some((Width(width), Height(height))) if width > 0 => (usize::from(width), usize::from(height)),
            _ => (USUAL_WIDTH, 24),
        };
        Self { width: width.max(LEAST_WIDTH), height: Some(height.max(LEAST_HEIGHT)), is_coloured }
    }

    /// Text in a style, where styles are shown.
    pub fn paint(&self, text: &str, style: Style) -> String {
        if self.is_coloured && !style.is_plain() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }
}
