//! A real watcher: from a post that calls its agent until its answer stands in the channel.
//!
//! The command is `wc -c`, which reads the prompt and prints a number. Each post is of another sender, because one sender
//! gets only so many answers in a while.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::home::Home;
use super::subscriber::Subscriber;
use super::wakes::post;
use crate::mailboxes::{PROJECT, agents};
use crate::report::{Line, Report, Unit};
use crate::samples::{Samples, millis};
use crate::setting::{Setting, progress};

/// How many posts are answered.
const POSTS: usize = 30;
/// What the command reads when nobody watches; a prompt is about as long.
const PROMPT: [u8; 2048] = [b'x'; 2048];

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("channels: post to the watcher's answer");
    let home = Home::make(setting, "")?;
    let server = home.serve(setting)?;
    let names = agents();
    let mut sender = server.caller()?;
    sender.move_in(PROJECT, &names)?;
    post(&mut sender, 0, "The first one makes the channel.")?;
    let watcher = home.watch(setting, &names[1], &["wc", "-c"])?;
    let subscriber = Subscriber::begin(&server)?;
    let (mut answers, mut bare) = (Vec::new(), Vec::new());
    // Once before: only then the watcher surely listens.
    for round in 0..=setting.scaled(POSTS, 3) {
        let alone = run_alone()?;
        let answered = answer(&mut || post(&mut sender, round + 2, &format!("@{} how much?", names[1])), &subscriber)?;
        if round > 0 {
            bare.push(alone);
            answers.push(answered);
        }
    }
    drop(watcher);
    server.stop()?;
    subscriber.end()?;
    let pairs: Vec<_> = answers.iter().zip(&bare).map(|(answer, bare)| (millis(*answer), millis(*bare))).collect();
    let answers: Samples = answers.into_iter().collect();
    let line =
        Line::new("post → answer of postrider watch -- wc -c, median", millis(answers.percentile(0.5)), Unit::Millis)
            .more(format!("longest {:.1} ms", millis(answers.longest())));
    report.add(line.against("wc -c alone", &pairs));
    Ok(())
}

/// Posts, and waits until whoever listens has the answer.
fn answer(
    post: &mut dyn FnMut() -> anyhow::Result<serde_json::Value>,
    subscriber: &Subscriber,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let posted = post()?["id"].as_i64();
    let (_, question) = subscriber.next()?;
    ensure!(question["id"].as_i64() == posted, "another post came: {question}");
    let (came, answer) = subscriber.next()?;
    ensure!(answer["mode"] == "watcher" && answer["in_reply_to"] == question["external_id"], "no answer: {answer}");
    Ok(came.saturating_duration_since(begun))
}

fn run_alone() -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut child = Command::new("wc").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().context("wc without input")?.write_all(&PROMPT)?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "wc ended with {}", output.status);
    Ok(begun.elapsed())
}
