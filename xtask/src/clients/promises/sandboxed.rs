//! Whether our program works at a shell inside the client's sandbox: with what `install` wrote, without it, and by the outbox.
//!
//! What a command says goes to a file of the workspace, so that a hook that tells the same is not mistaken for it.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::super::bench::Bench;
use super::super::table::{Row, Sandbox};
use super::super::workplace::{OTHER, OURS, PROMPT, Place, heard};

const LIMIT: Duration = Duration::from_secs(30);
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
/// The subject of what is sent from inside.
const INSIDE: &str = "Inside";
/// Where what is said inside goes.
const SAID: &str = "said.txt";

/// With what `install` wrote: send, inbox and reserve.
pub fn reaches(bench: &Bench, row: &'static Row) -> Result<String> {
    let (place, sandbox) = (Place::without_us(bench, row)?, sandbox(row)?);
    place.write_all(&(sandbox.files)(&place))?;
    if sandbox.bears_install {
        place.install()?;
    }
    let _server = if sandbox.needs_server { Some(place.serve()?) } else { None };
    heard(&mut place.send("Outside", "The word.", &[]))?;
    let send = format!("mail send {OTHER} -s {INSIDE} -m Hello");
    let said = inside(&place, sandbox, &[&send, "mail inbox", "reserve inside.txt --exclusive"])?;
    ensure!(has_arrived(&place)?, "nothing was sent: {said}");
    ensure!(said.contains("Outside"), "the inbox is not shown: {said}");
    // With the session it ends again.
    ensure!(said.contains("Reserved exclusively"), "nothing was reserved: {said}");
    Ok(format!("send, inbox and reserve, {}", sandbox.opening))
}

/// Without it: the refusal says which setting opens the sandbox.
pub fn refuses(bench: &Bench, row: &'static Row) -> Result<String> {
    let (place, sandbox) = closed(bench, row)?;
    let said = inside(&place, sandbox, &["mail inbox"])?;
    ensure!(said.contains(sandbox.setting), "the refusal does not name `{}`: {said}", sandbox.setting);
    Ok(format!("the refusal names `{}`", sandbox.setting))
}

/// Where nothing is open: a send by the folder in the workspace that a server collects.
pub fn leaves_in_the_outbox(bench: &Bench, row: &'static Row) -> Result<String> {
    let (place, sandbox) = closed(bench, row)?;
    let said = inside(&place, sandbox, &[&format!("mail send {OTHER} -s {INSIDE} -m Hello")])?;
    let _server = place.serve()?;
    let deadline = Instant::now() + LIMIT;
    while !has_arrived(&place)? {
        ensure!(Instant::now() < deadline, "the send did not arrive: {said}");
        thread::sleep(BETWEEN_LOOKS);
    }
    ensure!(said.contains("outbox"), "it did not go by the outbox: {said}");
    Ok("a send from the closed sandbox arrives, in the name of the agent".to_owned())
}

fn has_arrived(place: &Place) -> Result<bool> {
    Ok(place.inbox()?.contains(&(OURS.to_owned(), INSIDE.to_owned())))
}

fn sandbox(row: &'static Row) -> Result<&'static Sandbox> {
    row.sandbox.as_ref().context("no sandbox of this client was tried")
}

/// A place whose client is told of us, in a sandbox that nothing opens.
fn closed(bench: &Bench, row: &'static Row) -> Result<(Place, &'static Sandbox)> {
    let (place, sandbox) = (Place::without_us(bench, row)?, sandbox(row)?);
    if sandbox.bears_install {
        place.install()?;
    }
    // What `install` wrote beside them goes.
    place.write_all(&(row.files)(&place))?;
    place.write_all(&(sandbox.files)(&place))?;
    Ok((place, sandbox))
}

/// Runs our program with these words at a shell inside, and returns what it said.
fn inside(place: &Place, sandbox: &Sandbox, commands: &[&str]) -> Result<String> {
    let outside = place.home().join("outside");
    let postrider = place.postrider.display();
    let script: String = commands.iter().map(|words| format!("{postrider} {words} >> {SAID} 2>&1; ")).collect();
    let call = (place.row.tools.shell)(&format!("{script}touch {}; true", outside.display()));
    place.run(Some(OURS), &(sandbox.once)(place, PROMPT), vec![call.into()])?;
    let Ok(said) = fs::read_to_string(place.file(SAID)) else {
        bail!("the command was not run: {}", place.last_answer()?)
    };
    ensure!(!outside.exists(), "the shell is in no sandbox");
    Ok(said)
}
