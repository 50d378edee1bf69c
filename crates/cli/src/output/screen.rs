//! What standard output is: a terminal of some size, or a pipe or file. Nothing is printed here.

use std::io::{self, IsTerminal};

use anstyle::Style;

use crate::config::set;

/// How wide and high a terminal is that does not say.
const USUAL_WIDTH: usize = 100;
const USUAL_HEIGHT: usize = 24;
/// No line is longer that anybody meant.
const LONGEST_MEANT: usize = 400;
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
    /// The width of what has no end: a pipe or a file, for which nothing has to be cut.
    pub const ENDLESS: usize = usize::MAX;

    /// How wide a table is: of what has no end, as wide as most people read.
    pub fn table_width(&self) -> usize {
        if self.width == Self::ENDLESS { USUAL_WIDTH } else { self.width }
    }

    /// The same for what has to be read whole, such as the paths of a refusal: in a pipe nothing is cut that anybody meant.
    pub fn uncut(self) -> Self {
        Self { width: if self.width == Self::ENDLESS { LONGEST_MEANT } else { self.width }, ..self }
    }

    /// Standard output as it is now: a terminal may have become another size.
    pub fn of_stdout() -> Self {
        let size = io::stdout().is_terminal().then(|| match rustix::termios::tcgetwinsize(io::stdout()) {
            Ok(size) => (usize::from(size.ws_col), usize::from(size.ws_row)),
            Err(_) => (0, 0),
        });
        let is_dumb = set("TERM").is_some_and(|term| term == "dumb");
        // See no-color.org: any value but an empty one counts.
        let is_coloured = !is_dumb && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let screen = Self::of(size, set("COLUMNS").as_deref());
        Self { is_coloured: is_coloured && screen.is_coloured, height: screen.height.filter(|_| !is_dumb), ..screen }
    }

    /// Standard error: as wide as a terminal there is, and of one that is none as wide as standard output.
    pub fn of_stderr() -> Self {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok().filter(|size| size.ws_col > 0);
        let width = size.map(|size| usize::from(size.ws_col).max(LEAST_WIDTH));
        let stdout = Self::of_stdout();
        Self { width: width.unwrap_or(stdout.width), height: None, is_coloured: false }
    }

    /// A terminal of so many columns and rows, 0 where it does not say; or none. `columns` is what the environment says.
    fn of(terminal: Option<(usize, usize)>, columns: Option<&str>) -> Self {
        let said = columns.and_then(|columns| columns.trim().parse().ok()).filter(|columns| *columns > 0);
        let Some((width, height)) = terminal else {
            let width = said.map_or(Self::ENDLESS, |width: usize| width.max(LEAST_WIDTH));
            return Self { width, height: None, is_coloured: false };
        };
        let width = if width > 0 { width } else { said.unwrap_or(USUAL_WIDTH) };
        let height = if height > 0 { height } else { USUAL_HEIGHT };
        Self { width: width.max(LEAST_WIDTH), height: Some(height.max(LEAST_HEIGHT)), is_coloured: true }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_no_end_unless_the_environment_says_one() {
        let width = |columns| Screen::of(None, columns).width;
        assert_eq!([width(None), width(Some("")), width(Some("0")), width(Some("wide"))], [Screen::ENDLESS; 4]);
        assert_eq!((width(Some("120")), width(Some("7"))), (120, LEAST_WIDTH));
        assert_eq!(Screen::of(None, Some("120")).height, None);
    }

    #[test]
    fn a_terminal_keeps_what_it_says_and_has_the_usual_where_it_says_nothing() {
        let size = |terminal, columns| {
            let screen = Screen::of(Some(terminal), columns);
            (screen.width, screen.height)
        };
        assert_eq!(size((132, 50), Some("80")), (132, Some(50)));
        assert_eq!(size((132, 0), None), (132, Some(USUAL_HEIGHT)));
        assert_eq!(size((0, 0), None), (USUAL_WIDTH, Some(USUAL_HEIGHT)));
        assert_eq!(size((0, 50), Some("80")), (80, Some(50)));
        assert_eq!(size((3, 1), None), (LEAST_WIDTH, Some(LEAST_HEIGHT)));
    }
}
