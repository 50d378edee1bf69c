//! Whether a write to a file that another agent has reserved is refused, in every way that the model has.

use anyhow::{Result, ensure};

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::workplace::{OTHER, Place};

/// A session whose model asks for a file that is reserved, in every way it has.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::provide(bench, row)?;
    let until = place.reserve("held.txt")?;
    let writes = (row.tools.writes)(&place.file("held.txt"));
    let names: Vec<String> = writes.iter().map(|call| format!("`{}`", call.tool)).collect();
    let questions = place.session(writes.into_iter().map(Into::into).collect())?;
    ensure!(!place.file("held.txt").exists(), "the file was written");
    refused_each(&questions, names.len(), &format!("'held.txt' is reserved by '{OTHER}' ('held.txt') until {until}"))?;
    Ok(format!("{} refused, with holder and end", names.join(" and ")))
}

/// Whether each question after a write holds the refusal of it and of those before it.
fn refused_each(questions: &[String], writes: usize, fact: &str) -> Result<()> {
    let counts: Vec<usize> = questions.iter().map(|question| question.matches(fact).count()).collect();
    let wanted: Vec<usize> = (0..=writes).collect();
    ensure!(counts == wanted, "the questions hold the refusal {counts:?} times, not {wanted:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_write_is_refused_with_its_fact() {
        let questions = ["", "held", "held held"].map(str::to_owned);
        assert!(refused_each(&questions, 2, "held").is_ok());
        assert!(refused_each(&questions[..2], 2, "held").is_err());
        assert!(refused_each(&["", "held", "held"].map(str::to_owned), 2, "held").is_err());
    }
}
