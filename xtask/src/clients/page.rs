//! `docs/clients.md`: the matrix between two marks is ours, the words around it are written by hand.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::promises;
use super::results::{Results, Verdict};
use super::table::{self, Row};

/// Where the matrix begins and ends.
const MARKS: (&str, &str) = ("<!-- matrix: cargo xtask clients -->\n", "<!-- end of the matrix -->\n");

/// Puts the matrix into the page.
pub fn write(root: &Path, results: &Results) -> Result<()> {
    let path = root.join("docs/clients.md");
    let page = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let page = replaced(&page, &matrix(results)).context("docs/clients.md has no place for the matrix")?;
    fs::write(&path, page).with_context(|| format!("writing {}", path.display()))
}

/// The page with another text between the marks.
fn replaced(page: &str, matrix: &str) -> Option<String> {
    let (before, rest) = page.split_once(MARKS.0)?;
    let (_, after) = rest.split_once(MARKS.1)?;
    Some([before, MARKS.0, "\n", matrix, "\n", MARKS.1, after].concat())
}

/// A line for each promise, a column for each client, and below it what was seen.
fn matrix(results: &Results) -> String {
    let rows: Vec<&Row> = table::ALL.into_iter().filter(|row| results.version(row.name).is_some()).collect();
    let head = rows.iter().map(|row| format!("{} {}", row.title, results.version(row.name).unwrap_or_default()));
    let mut lines = vec![line("", head), line("---", rows.iter().map(|_| "---".to_owned()))];
    for promise in &promises::ALL {
        let verdicts = rows.iter().map(|row| results.verdict(row.name, promise.name));
        let cells = verdicts.map(|verdict| verdict.as_ref().map_or("not tried", Verdict::word).to_owned());
        lines.push(line(promise.title, cells));
    }
    lines.push(line("send → turn begins, p50 / p99", rows.iter().map(|row| speed(results, row))));
    lines.push(String::new());
    lines.extend(rows.iter().map(|row| seen(results, row)));
    lines.join("\n")
}

fn speed(results: &Results, row: &Row) -> String {
    let speed = results.speed(row.name);
    speed.map_or_else(String::new, |speed| format!("{} / {} ms ({} times)", speed.p50, speed.p99, speed.rounds))
}

fn line(first: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!(" {cell} |")).collect();
    format!("| {first} |{cells}")
}

/// What was seen of a client, promise by promise.
fn seen(results: &Results, row: &Row) -> String {
    let sentences = promises::ALL.iter().filter_map(|promise| {
        let verdict = results.verdict(row.name, promise.name)?;
        let word =
            if matches!(verdict, Verdict::Seen(_)) { String::new() } else { format!("**{}**: ", verdict.word()) };
        Some(format!("- {}: {word}{}\n", promise.title, verdict.sentence()))
    });
    format!(
        "<details><summary>{}: what was seen</summary>\n\n{}\n</details>\n",
        row.title,
        sentences.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_marks_is_replaced() {
        let page = format!("# Page\n{}old\n{}## Screens\n", MARKS.0, MARKS.1);
        let new = replaced(&page, "new").unwrap();
        assert!(new.starts_with("# Page\n") && new.ends_with("## Screens\n") && !new.contains("old"), "{new}");
        assert_eq!(replaced(&new, "new").unwrap(), new);
        assert!(replaced("# Page", "new").is_none());
    }

    #[test]
    fn a_client_is_a_column_once_it_was_tried_and_every_promise_a_line() {
        let root = tempfile::tempdir().unwrap();
        let mut results = Results::open(root.path()).unwrap();
        results.set_version("codex", "0.169.0");
        results.note("codex", "idle", &Verdict::Fails("no turn began".to_owned()));
        let matrix = matrix(&results);
        assert!(matrix.starts_with("|  | Codex 0.169.0 |\n| --- | --- |\n"), "{matrix}");
        for promise in &promises::ALL {
            let verdict = if promise.name == "idle" { "fails" } else { "not tried" };
            assert!(matrix.contains(&format!("| {} | {verdict} |", promise.title)), "{matrix}");
        }
        assert!(matrix.contains("idle session woken: **fails**: no turn began"), "{matrix}");
    }
}
