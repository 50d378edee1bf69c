//! A table that fits the screen: one line a row, cut where there is no room, never wrapped. Into a pipe or a file every cell
//! goes whole, up to a length that nobody meant.
//!
//! What gives way, and how far, is the caller's to say; that no cell can steer the terminal is seen to here.

use anstyle::Style;

use super::Screen;
use super::text;

/// What stands between two columns.
const GAP: &str = "  ";
/// How wide a column may be where there is no end to a line. All rows are as wide as the widest, so there is a limit.
const MOST_WITHOUT_END: usize = 400;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub head: &'static str,
    /// How wide it may be.
    pub most: usize,
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

/// The lines of a table, its head first. Where there is no room columns give way, one after the other: `giving` names them,
/// and how narrow each may become at its turn.
pub fn lines<const N: usize>(
    columns: &[Column; N],
    giving: &[(usize, usize)],
    rows: &[[Cell; N]],
    screen: &Screen,
) -> Vec<String> {
    let head = columns.map(|column| Cell { text: column.head.to_owned(), style: Style::new().bold() });
    let most = |column: &Column| match screen.width {
        Screen::ENDLESS => column.most.max(MOST_WITHOUT_END),
        _ => column.most,
    };
    let fitted: Vec<[Cell; N]> = [&head]
        .into_iter()
        .chain(rows)
        .map(|row| std::array::from_fn(|at| Cell { text: text::line(&row[at].text, most(&columns[at])), ..row[at] }))
        .collect();
    let wanted: [usize; N] =
        std::array::from_fn(|at| fitted.iter().map(|row| text::width(&row[at].text)).max().unwrap_or(0));
    let widths = widths(wanted, giving, screen.width);
    fitted.iter().map(|row| one_line(row, &widths, screen)).collect()
}

/// How wide each column is, so that all of them fit if they can.
fn widths<const N: usize>(mut widths: [usize; N], giving: &[(usize, usize)], room: usize) -> [usize; N] {
    let gaps = GAP.len() * N.saturating_sub(1);
    for (at, least) in giving {
        let too_much = (widths.iter().sum::<usize>() + gaps).saturating_sub(room);
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

    const COLUMNS: [Column; 3] =
        [Column { head: "A", most: 10 }, Column { head: "WHAT", most: 50 }, Column { head: "B", most: 10 }];
    const GIVING: [(usize, usize); 4] = [(1, 6), (2, 3), (0, 3), (1, 4)];

    fn row(cells: [&str; 3]) -> [Cell; 3] {
        cells.map(|text| Cell::from(text.to_owned()))
    }

    fn shown(rows: &[[Cell; 3]], width: usize) -> Vec<String> {
        lines(&COLUMNS, &GIVING, rows, &Screen { width, height: None, is_coloured: false })
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
    fn into_a_pipe_every_cell_goes_whole() {
        let rows = [row([&"long-name".repeat(3), &"word".repeat(30), "someone"])];
        let whole = format!("{}  {}  someone", "long-name".repeat(3), "word".repeat(30));
        assert_eq!(shown(&rows, Screen::ENDLESS)[1], whole);
        let endless = [row([&"x".repeat(10_000), "y", "z"])];
        assert!(text::width(&shown(&endless, Screen::ENDLESS)[1]) < 500);
    }

    #[test]
    fn a_colour_takes_no_room_and_no_cell_brings_its_own() {
        let screen = Screen { width: 40, height: None, is_coloured: true };
        let style = Style::new().fg_color(Some(AnsiColor::Red.into()));
        let red = Cell { text: "x\x1b[0m".to_owned(), style };
        let lines = lines(&COLUMNS, &GIVING, &[[red, Cell::from("y".to_owned()), Cell::default()]], &screen);
        assert_eq!(lines[1], "\x1b[31mx�[0m\x1b[0m  y");
        assert!(shown(&[row(["x", "y", "z"])], 40).iter().all(|line| !line.contains('\x1b')));
    }
}
