//! Whether an agent that has mail to acknowledge is asked to go on when it ends its turn.

use std::time::Duration;

use anyhow::{Result, ensure};

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::workplace::{Place, heard};
use super::idle;

/// How long a session at a terminal is watched.
const LIMIT: Duration = Duration::from_secs(8);

/// Two sessions over one message that wants an acknowledgement and is not given it: only the first is held up, once.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::provide(bench, row)?;
    heard(&mut place.send("Say yes", "Please acknowledge.", &["--ack"]))?;
    asked_once_to_go_on(&turn(&place)?)?;
    let again = asks(&turn(&place)?);
    ensure!(again == [false], "the questions of the next session hold the reason {again:?}, not [false]");
    Ok("asked once to handle a message that wants an acknowledgement".to_owned())
}

/// What the model is asked in a session that has one prompt.
fn turn(place: &Place) -> Result<Vec<String>> {
    if !place.row.ends_with_its_turn {
        return place.session(Vec::new());
    }
    let terminal = idle::idle(place)?;
    // A question that nobody typed comes while the screen still moves.
    place.model.wait(1, LIMIT, |_| true);
    let keys = &place.row.keys;
    terminal.ready(keys.ready, keys.dialogs, LIMIT)?;
    Ok(place.model.questions()?.into_iter().map(|question| question.text).collect())
}

fn asked_once_to_go_on(questions: &[String]) -> Result<()> {
    let asks = asks(questions);
    ensure!(asks == [false, true], "the questions hold the reason {asks:?}, not [false, true]");
    Ok(())
}

/// Which questions hold the reason.
fn asks(questions: &[String]) -> Vec<bool> {
    questions.iter().map(|question| question.contains("Before you stop, handle")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_go_on_is_asked_in_the_second_question_and_in_no_other() {
        let (calm, ask) = ("hello".to_owned(), "Before you stop, handle a message".to_owned());
        assert!(asked_once_to_go_on(&[calm.clone(), ask.clone()]).is_ok());
        assert!(asked_once_to_go_on(std::slice::from_ref(&calm)).is_err());
        assert!(asked_once_to_go_on(&[calm, ask.clone(), ask]).is_err());
    }
}
