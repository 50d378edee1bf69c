//! Whether an agent that has mail to acknowledge is asked to go on when it ends its turn.

use anyhow::{Result, ensure};

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::workplace::{Place, heard};

/// Two sessions over one message that wants an acknowledgement and is not given it: only the first is held up, once.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::provide(bench, row)?;
    heard(&mut place.send("Say yes", "Please acknowledge.", &["--ack"]))?;
    asked_once_to_go_on(&place.session(Vec::new())?)?;
    let again = asks(&place.session(Vec::new())?);
    ensure!(again == [false], "the questions of the next session hold the reason {again:?}, not [false]");
    Ok("asked once to handle a message that wants an acknowledgement".to_owned())
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
