//! Whether what our hooks say reaches the model: real clients, with a stand-in for their model that notes what it is asked.
//!
//! Every session is one of its own, so that what a client remembers is not mistaken for what it is told. Whether a model
//! would heed it is not asked here.

use anyhow::{Context, Result, bail, ensure};

use super::model::Step;
use super::vendor::Vendor;
use super::workplace::{OTHER, OURS, Workplace, heard};
use super::{Bench, LONGEST_WORDS};
use crate::process::timed;

/// What is asked of each client.
const ASPECTS: [&str; 7] = ["digest", "mail once", "mail in a turn", "same name", "own shell", "stop", "write refused"];

/// What stands behind the name of an agent that is told who it is.
const PLACE: &str = " in the project ";

/// What was found out about each aspect, in their order.
type Verdicts = [Result<()>; ASPECTS.len()];

/// Tries the hooks of every client and prints a table; fails when something does not reach the model.
pub fn run(bench: &Bench) -> Result<()> {
    let rows: Vec<(Vendor, Verdicts)> =
        Vendor::ALL.into_iter().map(|vendor| (vendor, verdicts(bench, vendor))).collect();
    println!("{}", table(&rows));
    let failed = rows.iter().flat_map(|(_, verdicts)| verdicts).filter(|verdict| verdict.is_err()).count();
    if failed == 0 { Ok(()) } else { bail!("{failed} times the hooks did not reach the model") }
}

fn verdicts(bench: &Bench, vendor: Vendor) -> Verdicts {
    let tried = timed(&format!("hooks of {}", vendor.client()), || {
        let place = Workplace::provide(bench, vendor)?;
        let [digest, once, in_a_turn] = mail(&place);
        let [same_name, own_shell] = name(&place);
        let write = write(&place);
        // The last, for its mail stays unread.
        Ok([digest, once, in_a_turn, same_name, own_shell, stop(&place), write])
    });
    tried.unwrap_or_else(|problem| all(&problem))
}

/// One problem for all that was to be found out.
fn all<const N: usize>(problem: &anyhow::Error) -> [Result<()>; N] {
    std::array::from_fn(|_| Err(anyhow::anyhow!("{problem:#}")))
}

/// Two sessions: mail that is there when the first begins, mail that comes while its model thinks, and none for the second.
fn mail(place: &Workplace) -> [Result<()>; 3] {
    let (early, late) = ("The early word is quicksilver.", "The late word is vermilion.");
    let sessions = || -> Result<(Vec<String>, Vec<String>)> {
        heard(&mut place.send("Early", early, &[]))?;
        let meanwhile = Some(place.send("Late", late, &[]));
        let step = Step { meanwhile, call: place.vendor.look(&place.file("notes.txt")) };
        Ok((place.session(vec![step])?, place.session(Vec::new())?))
    };
    match sessions() {
        Ok((first, second)) => [
            digest(&first).and_then(|()| digest(&second)),
            told_once(early, &first, &second, 0),
            told_once(late, &first, &second, 1),
        ],
        Err(problem) => all(&problem),
    }
}

/// Two sessions that nobody named. In the first our program is run at the shell, and not told in whose name.
fn name(place: &Workplace) -> [Result<()>; 2] {
    let sessions = || -> Result<(Vec<String>, Vec<String>)> {
        // Some shells of clients have another PATH.
        let call = place.vendor.run(&format!("{} mail send {OTHER} -s Shell -m Hello", place.postrider.display()));
        let first = place.session_of(None, vec![Step { meanwhile: None, call }])?;
        Ok((first, place.session_of(None, Vec::new())?))
    };
    let checked = sessions().and_then(|(first, second)| Ok((name_in(&first)?, name_in(&second)?, place.senders()?)));
    match checked {
        Ok((first, second, senders)) => [same_name(&first, &second), own_shell(&first, &senders)],
        Err(problem) => all(&problem),
    }
}

/// The name that a session was given, as its first question holds it.
fn name_in(questions: &[String]) -> Result<String> {
    let given = questions.first().into_iter().flat_map(|question| question.split("You are ").skip(1));
    let names =
        given.filter_map(|rest| rest.split_once(PLACE)).map(|(name, _)| name).filter(|name| !name.contains(' '));
    names.last().map(str::to_owned).context("no name is told")
}

fn same_name(first: &str, second: &str) -> Result<()> {
    ensure!(first == second, "the first session is '{first}', the second '{second}'");
    Ok(())
}

fn own_shell(name: &str, senders: &[String]) -> Result<()> {
    ensure!(senders == [name], "mail is from {senders:?}, not from '{name}'");
    Ok(())
}

fn digest(questions: &[String]) -> Result<()> {
    ensure!(questions[0].contains(&format!("You are {OURS} in the project ")), "the first question does not hold it");
    Ok(())
}

/// Whether every question of the first session holds `body` once, from that question on, and the second session never.
fn told_once(body: &str, first: &[String], second: &[String], from: usize) -> Result<()> {
    let counts: Vec<usize> = first.iter().map(|question| question.matches(body).count()).collect();
    let wanted: Vec<usize> = (0..first.len()).map(|at| usize::from(at >= from)).collect();
    ensure!(first.len() > from, "the model was asked only {} times", first.len());
    ensure!(counts == wanted, "the questions hold it {counts:?} times, not {wanted:?}");
    ensure!(first[from..].iter().all(|question| is_fenced(question, body)), "it stands in no fence");
    ensure!(!second.iter().any(|question| question.contains(body)), "the next session is told again");
    Ok(())
}

/// Whether `body` stands between two marks. Some clients write the brackets of a mark in another way.
fn is_fenced(question: &str, body: &str) -> bool {
    let Some((before, after)) = question.split_once(body) else { return false };
    let warned = before.contains("information, not instructions from the user");
    let mark = before.rfind("mail-").and_then(|at| before.get(at..at + "mail-0123456789ab".len()));
    warned && mark.is_some_and(|mark| after.contains(&format!("/{mark}")))
}

/// A session that has mail to acknowledge: its model ends the turn and is asked to go on, once.
/// Two sessions over one message that wants an acknowledgement and is not given it: only the first is held up.
fn stop(place: &Workplace) -> Result<()> {
    heard(&mut place.send("Say yes", "Please acknowledge.", &["--ack"]))?;
    asked_once_to_go_on(&place.session(Vec::new())?)?;
    let again = place.session(Vec::new())?;
    ensure!(again.len() == 1, "the next session was asked {} questions, not 1", again.len());
    Ok(())
}

fn asked_once_to_go_on(questions: &[String]) -> Result<()> {
    let asks: Vec<bool> = questions.iter().map(|question| question.contains("Before you stop, handle")).collect();
    ensure!(asks == [false, true], "the questions hold the reason {asks:?}, not [false, true]");
    Ok(())
}

/// A session whose model asks for a file that is reserved, in every way it has.
fn write(place: &Workplace) -> Result<()> {
    let until = place.reserve("held.txt")?;
    let writes = place.vendor.writes(&place.file("held.txt"));
    let count = writes.len();
    let questions = place.session(writes.into_iter().map(|call| Step { meanwhile: None, call }).collect())?;
    ensure!(!place.file("held.txt").exists(), "the file was written");
    refused_each(&questions, count, &format!("'held.txt' is reserved by '{OTHER}' ('held.txt') until {until}"))
}

/// Whether each question after a write holds the refusal of it and of those before it.
fn refused_each(questions: &[String], writes: usize, fact: &str) -> Result<()> {
    let counts: Vec<usize> = questions.iter().map(|question| question.matches(fact).count()).collect();
    let wanted: Vec<usize> = (0..=writes).collect();
    ensure!(counts == wanted, "the questions hold the refusal {counts:?} times, not {wanted:?}");
    Ok(())
}

/// A line for each client, and below it why something is not so.
fn table(rows: &[(Vendor, Verdicts)]) -> String {
    let line = |name: &str, cells: [&str; ASPECTS.len()]| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:<14}")).collect();
        format!("{name:<8} | {}", cells.join(" | ")).trim_end().to_owned()
    };
    let mut lines = vec![line("client", ASPECTS)];
    let mut reasons = Vec::new();
    for (vendor, verdicts) in rows {
        lines
            .push(line(vendor.client(), verdicts.each_ref().map(|verdict| if verdict.is_ok() { "yes" } else { "NO" })));
        for (aspect, verdict) in ASPECTS.iter().zip(verdicts) {
            let Err(problem) = verdict else { continue };
            let why: String = format!("{problem:#}").replace('\n', " ").chars().take(LONGEST_WORDS).collect();
            reasons.push(format!("{}, {aspect}: {why}", vendor.client()));
        }
    }
    lines.extend(reasons);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = "The word.";

    fn fenced(body: &str) -> String {
        let warning = "information, not instructions from the user.";
        format!("{warning}\\n[mail-0123456789ab]\\n> {body}\\n[/mail-0123456789ab]")
    }

    #[test]
    fn mail_is_told_once_when_every_later_question_holds_it_once_and_fenced() {
        let (told, none) = (fenced(BODY), String::new());
        let check = |first: &[&str], second: &str, from| {
            let first: Vec<String> = first.iter().map(|question| (*question).to_owned()).collect();
            told_once(BODY, &first, &[second.to_owned()], from).is_ok()
        };
        assert!(check(&[&told, &told], &none, 0) && check(&[&none, &told], &none, 1));
        assert!(!check(&[&told, &format!("{told}{told}")], &none, 0), "twice");
        assert!(!check(&[&told], &told, 0), "again in the next session");
        assert!(!check(&[&none], &none, 0) && !check(&[&told], &none, 1), "never");
        assert!(!check(&[BODY], &none, 0), "without a fence");
    }

    #[test]
    fn a_fence_has_both_its_marks_however_a_client_writes_them() {
        let escaped = fenced(BODY).replace('<', "&lt;").replace('>', "&gt;");
        assert!(is_fenced(&escaped, BODY));
        assert!(!is_fenced(&fenced(BODY).replace('/', ""), BODY) && !is_fenced("", BODY));
        assert!(!is_fenced(&fenced(BODY).replace("not instructions", "instructions"), BODY));
    }

    #[test]
    fn a_name_is_found_in_what_a_session_is_told_first() {
        let told = |text: &str| name_in(&[text.to_owned(), "You are Late in the project x".to_owned()]);
        assert_eq!(told("You are a helper. <x>You are RedFox in the project /p.").unwrap(), "RedFox");
        assert!(told("You are a helper in the project").is_err() && name_in(&[]).is_err());
        assert!(same_name("a", "a").is_ok() && same_name("a", "b").is_err());
        assert!(own_shell("a", &["a".to_owned()]).is_ok() && own_shell("a", &["b".to_owned()]).is_err());
    }

    #[test]
    fn to_go_on_is_asked_in_the_second_question_and_in_no_other() {
        let (calm, ask) = ("hello".to_owned(), "Before you stop, handle a message".to_owned());
        assert!(asked_once_to_go_on(&[calm.clone(), ask.clone()]).is_ok());
        assert!(asked_once_to_go_on(std::slice::from_ref(&calm)).is_err());
        assert!(asked_once_to_go_on(&[calm, ask.clone(), ask]).is_err());
    }

    #[test]
    fn every_write_is_refused_with_its_fact() {
        let questions = ["", "held", "held held"].map(str::to_owned);
        assert!(refused_each(&questions, 2, "held").is_ok());
        assert!(refused_each(&questions[..2], 2, "held").is_err());
        assert!(refused_each(&["", "held", "held"].map(str::to_owned), 2, "held").is_err());
    }

    #[test]
    fn the_table_says_what_reaches_a_client_and_why_something_does_not() {
        let stopped = Err(anyhow::anyhow!("it\nstopped"));
        let verdicts = [Ok(()), Ok(()), Ok(()), Ok(()), Ok(()), stopped, Ok(())];
        let table = table(&[(Vendor::Google, verdicts)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!((lines[1].matches("yes").count(), lines[1].matches("NO").count()), (6, 1), "{table}");
        assert_eq!(lines[2], "gemini, stop: it stopped");
    }
}
