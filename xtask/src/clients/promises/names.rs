//! Whether a session that nobody named keeps the name it was given when it is cleared, compacted and resumed.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::terminal::Terminal;
use super::super::workplace::{OTHER, Place};

const LIMIT: Duration = Duration::from_secs(60);

/// A message from the shell of the session at each step: all of them are from one name.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::provide(bench, row)?;
    let keys = &row.keys;
    let terminal = place.open(None, &[])?;
    let mut steps = vec!["start"];
    write(&place, &terminal, "start")?;
    for (step, word) in [("clear", keys.clear), ("compact", keys.compact)] {
        let Some(word) = word else { continue };
        terminal.line(word)?;
        terminal.ready(keys.ready, keys.dialogs, LIMIT).with_context(|| terminal.screen())?;
        write(&place, &terminal, step)?;
        steps.push(step);
    }
    terminal.press(keys.quit)?;
    terminal.end(LIMIT).with_context(|| terminal.screen())?;
    drop(terminal);
    let terminal = place.open(None, row.resume)?;
    write(&place, &terminal, "resume")?;
    steps.push("resume");
    one_name(&place.inbox()?, &steps)?;
    Ok(format!("one name at its shell after {}", steps.join(", ")))
}

/// Has the model run our program at the shell of the session, which nobody told in whose name.
fn write(place: &Place, terminal: &Terminal, step: &'static str) -> Result<()> {
    let command = format!("{} mail send {OTHER} -s {step} -m Hello", place.postrider.display());
    let keys = &place.row.keys;
    place.model.script(vec![(place.row.tools.shell)(&command).into()]);
    terminal.line(&format!("Please {step} now."))?;
    let told = place.model.wait(0, LIMIT, |question| question.contains("is sent to"));
    told.with_context(|| format!("no message after {step}: {}", terminal.screen()))?;
    terminal.ready(keys.ready, keys.dialogs, LIMIT).with_context(|| terminal.screen())
}

/// Whether the messages are those of these steps, all from one name.
fn one_name(messages: &[(String, String)], steps: &[&str]) -> Result<()> {
    let subjects: Vec<&str> = messages.iter().map(|(_, subject)| subject.as_str()).collect();
    ensure!(subjects == steps, "messages came at {subjects:?}, not at {steps:?}");
    let names: BTreeSet<&str> = messages.iter().map(|(from, _)| from.as_str()).collect();
    ensure!(names.len() == 1, "the messages are from {messages:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_when_every_step_has_a_message_from_it() {
        let message = |from: &str, step: &str| (from.to_owned(), step.to_owned());
        let kept = [message("RedFox", "start"), message("RedFox", "clear")];
        assert!(one_name(&kept, &["start", "clear"]).is_ok());
        assert!(one_name(&kept, &["start", "clear", "resume"]).is_err());
        assert!(one_name(&[kept[0].clone(), message("BlueLake", "clear")], &["start", "clear"]).is_err());
    }
}
