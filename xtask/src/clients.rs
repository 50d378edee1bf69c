//! The lab: real coding agents, each with a home of its own and a stand-in for its model, and what Postrider promises of each.
//!
//! It writes what it saw into `docs/clients.json` and the matrix of `docs/clients.md`. No agent logs in or talks to a vendor's model.
//! This needs the network and is not a part of `cargo xtask test`.

#![allow(dead_code)]
mod bench;
mod model;
mod page;
mod promises;
mod remains;
mod results;
pub mod sdk;
mod speech;
mod speed;
mod table;
mod terminal;
mod workplace;

use std::path::Path;

use anyhow::{Context, Result, bail};

use self::bench::Bench;
use self::promises::Promise;
use self::results::{Results, Verdict};
use self::table::Row;
use self::terminal::Terminal;
use self::workplace::{OURS, Place};
use crate::process::timed;

/// More than this of what went wrong makes the page unreadable.
const LONGEST_SENTENCE: usize = 300;

/// Which part of the lab is run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Some clients instead of all, with commas between them.
    pub clients: Option<String>,
    /// One promise instead of all.
    pub promise: Option<String>,
    /// Only open each client at a terminal, and leave it there until the end of our input.
    pub opens: bool,
    /// Only measure how fast clients are woken, that often.
    pub rounds: Option<u64>,
}

impl Part {
    fn rows(&self) -> Result<Vec<&'static Row>> {
        let Some(names) = &self.clients else { return Ok(table::ALL.to_vec()) };
        let known = || table::ALL.map(|row| row.name).join(", ");
        let rows = names
            .split(',')
            .map(|name| table::named(name).with_context(|| format!("there is no client '{name}', but {}", known())));
        rows.collect()
    }

    fn promises(&self) -> Result<Vec<&'static Promise>> {
        let Some(name) = &self.promise else { return Ok(promises::ALL.iter().collect()) };
        let known = promises::ALL.iter().map(|promise| promise.name).collect::<Vec<_>>().join(", ");
        Ok(vec![promises::named(name).with_context(|| format!("there is no promise '{name}', but {known}"))?])
    }
}

/// Tries every promise with every client, and writes down what was seen; fails when a promise is not kept.
pub fn run(root: &Path, part: &Part) -> Result<()> {
    let (rows, promises) = (part.rows()?, part.promises()?);
    let bench = Bench::provide(root, &rows)?;
    if part.opens {
        return rows.into_iter().try_for_each(|row| open(&bench, row));
    }
    let mut results = Results::open(root)?;
    if let Some(rounds) = part.rounds {
        let rows: Vec<_> = rows.into_iter().filter(|row| row.not_offered("idle").is_none()).collect();
        for (row, speed) in speed::measure(&bench, &rows, rounds)? {
            results.note_speed(row.name, &speed);
        }
        results.keep()?;
        return page::write(root, &results);
    }
    let mut failed = Vec::new();
    for row in rows {
        results.set_version(row.name, &timed(row.title, || Place::without_us(&bench, row)?.version())?);
        for promise in &promises {
            let verdict = verdict(&bench, row, promise);
            println!("    {}, {}: {}", verdict.word(), promise.title, verdict.sentence());
            results.note(row.name, promise.name, &verdict);
            if matches!(verdict, Verdict::Fails(_)) {
                failed.push(format!("{}, {}", row.title, promise.title));
            }
            // A run that is interrupted has seen what it has seen.
            results.keep()?;
        }
    }
    page::write(root, &results)?;
    if failed.is_empty() { Ok(()) } else { bail!("not kept: {}", failed.join("; ")) }
}

/// Leaves a client at its terminal for a developer to look at.
fn open(bench: &Bench, row: &'static Row) -> Result<()> {
    let place = Place::without_us(bench, row)?;
    println!("{}", place.install().unwrap_or_else(|problem| format!("{problem:#}")));
    let opened = place.open(Some(OURS), &[]);
    println!(
        "{} at {}\n{}",
        row.title,
        place.model.url(),
        opened.as_ref().map_or_else(|problem| format!("{problem:#}"), Terminal::screen)
    );
    println!("tmux -S {} attach", place.home().join("tmux").display());
    let mut lines = std::io::stdin().lines();
    while let Some(Ok(_)) = lines.next() {
        for question in place.model.questions()? {
            println!("{}", question.text);
        }
    }
    Ok(())
}

fn verdict(bench: &Bench, row: &'static Row, promise: &Promise) -> Verdict {
    if let Some(why) = row.not_offered(promise.name) {
        return Verdict::NotOffered(why.to_owned());
    }
    match timed(&format!("{}: {}", row.title, promise.title), || (promise.prove)(bench, row)) {
        Ok(seen) => Verdict::Seen(seen),
        Err(problem) => {
            println!("{problem:#}");
            Verdict::Fails(sentence(&problem))
        }
    }
}

/// What went wrong, in one line.
fn sentence(problem: &anyhow::Error) -> String {
    let words: Vec<String> = problem.root_cause().to_string().split_whitespace().map(str::to_owned).collect();
    words.join(" ").chars().take(LONGEST_SENTENCE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_does_not_exist_is_named_with_those_that_do() {
        let part = |client: &str, promise: &str| Part {
            clients: Some(client.into()),
            promise: Some(promise.into()),
            opens: false,
            rounds: None,
        };
        assert_eq!(part("codex,qwen", "idle").rows().unwrap().len(), 2);
        assert_eq!(part("codex", "idle").promises().unwrap()[0].name, "idle");
        let problem = part("emacs", "idle").rows().err().unwrap().to_string();
        assert!(problem.contains("'emacs'") && problem.contains("claude"), "{problem}");
        assert!(part("codex", "fly").promises().is_err());
        assert_eq!(Part::default().rows().unwrap().len(), table::ALL.len());
        assert_eq!(Part::default().promises().unwrap().len(), promises::ALL.len());
    }

    #[test]
    fn what_went_wrong_is_one_line_of_bounded_length() {
        let problem = anyhow::anyhow!("first\nsecond {}", "x".repeat(1_000)).context("around it");
        let sentence = sentence(&problem);
        assert!(sentence.starts_with("first second x") && sentence.chars().count() == LONGEST_SENTENCE, "{sentence}");
    }
}
