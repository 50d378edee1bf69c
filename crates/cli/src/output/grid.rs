//! A table that fits the screen: one line a row, cut where there is no room, never wrapped. In a pipe or a file it is as wide as
//! most people read, unless the environment says another width: programs that want it all ask for JSON.
//!
//! What gives way, and how far, is the caller's to say; that no cell can steer the terminal is seen to here.

use std::collections::BTreeMap;

use anstyle::Style;

use super::Screen;
use super::text;

/// What stands between two columns.
const GAP: &str = "  ";

/// Lines of a terminal that are no rows: head, blank line, sum, the line that says what was left out, and the cursor.
const OTHER_LINES: usize = 5;

/// How a table looks.
pub struct Layout<const N: usize> {
    /// The columns: the head of each, and how wide it may be.
    pub columns: [(&'static str, usize); N],
    /// Which columns give way where there is no room, one after the other, and how narrow each may become at its turn.
    pub giving: &'static [(usize, usize)],
}

/// A cell, and how it looks.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What it says; any text.
    pub text: String,
    /// How it looks.
    pub style: Style,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, style: Style::new() }
    }
}

impl<const N: usize> Layout<N> {
    /// The lines of a table, its head first.
    pub fn lines(&self, rows: impl IntoIterator<Item = [Cell; N]>, screen: &Screen) -> Vec<String> {
        let head = self.columns.map(|(head, _)| Cell { text: head.to_owned(), style: Style::new().bold() });
        let most = self.columns.map(|(_, most)| most);
        let available = screen.table_width();
        let cut = |row: [Cell; N]| -> [Cell; N] {
            std::array::from_fn(|at| Cell { text: text::line(&row[at].text, most[at]), ..row[at] })
        };
        let fitted: Vec<[Cell; N]> = [head].into_iter().chain(rows).map(cut).collect();
        let wanted: [usize; N] =
            std::array::from_fn(|at| fitted.iter().map(|row| text::width(&row[at].text)).max().unwrap_or(0));
        let widths = widths(wanted, self.giving, available);
        fitted.iter().map(|row| one_line(row, &widths, screen)).collect()
    }

    /// The table as a text.
    pub fn text(&self, rows: impl IntoIterator<Item = [Cell; N]>, screen: &Screen) -> String {
        self.lines(rows, screen).join("\n")
    }

    /// The table and the line that sums it up. Rows for which the screen has no lines are only counted.
    pub fn summed(&self, rows: impl ExactSizeIterator<Item = [Cell; N]>, sum: &str, screen: &Screen) -> String {
        let most = screen.height.map_or(usize::MAX, |height| height.saturating_sub(OTHER_LINES).max(1));
        let left_out = rows.len().saturating_sub(most);
        let mut lines = self.lines(rows.take(most), screen);
        if left_out > 0 {
            lines.push(format!("… and {left_out} more"));
        }
        lines.extend([String::new(), text::line(sum, screen.width)]);
        lines.join("\n")
    }
}

/// How many things there are, and how many in each state: `states` has the place and the name of each thing's.
pub fn sum(noun: &str, states: impl ExactSizeIterator<Item = (usize, String)>) -> String {
    let (all, mut counts) = (states.len(), BTreeMap::new());
    for state in states {
        *counts.entry(state).or_insert(0) += 1;
    }
    let counts: Vec<String> = counts.into_iter().map(|((_, name), count)| format!("{count} {name}")).collect();
    format!("{all} {noun}{}: {}", if all == 1 { "" } else { "s" }, counts.join(", "))
}

/// How wide each column is, so that all of them fit if they can.
fn widths<const N: usize>(mut widths: [usize; N], giving: &[(usize, usize)], available: usize) -> [usize; N] {
    let gaps = GAP.len() * N.saturating_sub(1);
    for (at, least) in giving {
        let too_much = (widths.iter().sum::<usize>() + gaps).saturating_sub(available);
        let spare = widths[*at].saturating_sub(*least);
        widths[*at] -= too_much.min(spare);
    }
    widths
}

fn one_line<const N: usize>(row: &[Cell; N], widths: &[usize; N], screen: &Screen) -> String {
    let mut line = String::new();
    // Blanks are written before the next text, so that no line ends with them.
    let mut blanks = 0;
    for (cell, width) in row.iter().zip(widths) {
        let shown = text::line(&cell.text, *width);
        let taken = text::width(&shown);
        if taken > 0 {
            line.push_str(&" ".repeat(blanks));
            line.push_str(&screen.paint(&shown, cell.style));
            blanks = 0;
        }
        blanks += width.saturating_sub(taken) + GAP.len();
    }
    line
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;

    const TABLE: Layout<3> =
        Layout { columns: [("A", 10), ("WHAT", 50), ("B", 10)], giving: &[(1, 6), (2, 3), (0, 3), (1, 4)] };

    fn row(cells: [&str; 3]) -> [Cell; 3] {
        cells.map(|text| Cell::from(text.to_owned()))
    }

    fn shown(rows: &[[Cell; 3]], width: usize) -> Vec<String> {
        TABLE.lines(rows.iter().cloned(), &Screen { width, height: None, is_coloured: false })
    }

    #[test]
    fn columns_stand_below_each_other_and_no_line_ends_with_blanks() {
        let rows = [row(["x", "漢字", ""]), row(["long-name", "y", "z"])];
        assert_eq!(shown(&rows, 80), ["A          WHAT  B", "x          漢字", "long-name  y     z"]);
    }

    #[test]
    fn what_may_give_way_does_and_every_line_fits() {
        let rows = [row(["first", &"word ".repeat(30), "someone"])];
        for width in 14..80 {
            let lines = shown(&rows, width);
            assert_eq!(lines.len(), 2);
            assert!(lines.iter().all(|line| text::width(line) <= width), "{width}: {lines:?}");
        }
        assert_eq!(shown(&rows, 30)[1], "first  word word wor…  someone");
        assert_eq!(shown(&rows, 16)[1], "fi…  word…   so…");
        assert_eq!(shown(&rows, 14)[1], "fi…  wor…  so…", "what gave way first gives way again");
    }

    #[test]
    fn in_a_pipe_a_table_is_as_wide_as_people_read() {
        const WIDE: Layout<3> = Layout { columns: [("A", 10), ("WHAT", 500), ("B", 10)], giving: &[(1, 6)] };
        let rows = [row(["x", &"word".repeat(300), "someone"])];
        let pipe = Screen { width: Screen::ENDLESS, height: None, is_coloured: false };
        let lines = WIDE.lines(rows.iter().cloned(), &pipe);
        assert_eq!(text::width(&lines[1]), 100);
        assert_eq!(lines, WIDE.lines(rows.iter().cloned(), &Screen { width: 100, ..pipe }));
    }

    #[test]
    fn a_colour_takes_no_room_and_no_cell_brings_its_own() {
        let screen = Screen { width: 40, height: None, is_coloured: true };
        let style = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let red = Cell { text: "x\x1b[0m".to_owned(), style };
        let lines = TABLE.lines([[red, Cell::from("y".to_owned()), Cell::default()]], &screen);
        assert_eq!(lines[1], "\x1b[31mx�[0m\x1b[0m  y");
        assert!(shown(&[row(["x", "y", "z"])], 40).iter().all(|line| !line.contains('\x1b')));
    }
}
