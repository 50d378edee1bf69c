//! From a post to whoever waits for it: on the same server over its event stream, and on another one over NATS.
//!
//! Counted from the sender's answer, which comes after the commit, until the subscriber has read the message. A subscriber
//! that is quicker than the sender's answer counts as zero. Both are threads of the bench, so there is one clock.

use std::time::Instant;

use anyhow::ensure;
use serde_json::{Value, json};

use super::CHANNEL;
use super::home::Home;
use super::nats::Nats;
use super::subscriber::Subscriber;
use crate::caller::Caller;
use crate::disk::fdatasync;
use crate::mailboxes::{PROJECT, agents, messages};
use crate::report::{Line, Report, Target, Unit};
use crate::samples::{Samples, median, millis};
use crate::setting::{Setting, progress};

/// How many posts are waited for.
const POSTS: usize = 400;

/// One server.
pub fn over_the_stream(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("channels: post to subscriber");
    let server = Home::make(setting, "")?.serve(setting)?;
    let mut sender = server.caller()?;
    sender.move_in(PROJECT, &agents())?;
    post(&mut sender, 2, "The first one makes the channel.")?;
    let subscriber = Subscriber::begin(&server)?;
    let waits = send_all(&mut sender, &subscriber, setting.scaled(POSTS, 20))?;
    server.stop()?;
    subscriber.end()?;
    let disk = millis(fdatasync(setting, setting.pace.measured)?.percentile(0.99));
    let p99 = millis(waits.from_answer.percentile(0.99));
    let line = Line::new("post → subscriber over the event stream, p99", p99, Unit::Millis).more(waits.told());
    report.add(line.against("fdatasync p99", &[(p99, disk)]).target(Target::FigureAtMost(10.0)));
    Ok(())
}

/// Two servers with databases of their own.
pub fn over_nats(setting: &Setting, nats: &Nats, report: &mut Report) -> anyhow::Result<()> {
    progress("channels: post to subscriber over NATS");
    let settings = nats.settings("wakes");
    let [here, there] = [(); 2].map(|()| Home::make(setting, &settings).and_then(|home| home.serve(setting)));
    let (here, there) = (here?, there?);
    let mut sender = here.caller()?;
    sender.move_in(PROJECT, &agents())?;
    there.caller()?.move_in(PROJECT, &agents())?;
    let subscriber = Subscriber::begin(&there)?;
    // The first one comes when both have found the NATS server.
    post(&mut sender, 2, "The first one makes the channel.")?;
    subscriber.next()?;
    let count = setting.scaled(POSTS, 20);
    let mut pairs = Vec::new();
    let mut worst = Vec::new();
    let mut told = String::new();
    for _ in 0..setting.rounds {
        let bare = millis(nats.round_trips(count)?.percentile(0.5));
        let waits = send_all(&mut sender, &subscriber, count)?;
        pairs.push((millis(waits.from_answer.percentile(0.5)), bare));
        worst.push(millis(waits.from_answer.percentile(0.99)));
        told = format!("last round: {}", waits.told());
    }
    here.stop()?;
    there.stop()?;
    subscriber.end()?;
    let p50 = median(pairs.iter().map(|pair| pair.0));
    let line = Line::new("post → subscriber over NATS, p50", p50, Unit::Millis).more(told);
    report.add(line.against("core NATS publish → subscriber p50", &pairs));
    report.add(Line::new("post → subscriber over NATS, p99", median(worst), Unit::Millis));
    Ok(())
}

/// How long posts took.
struct Waits {
    from_answer: Samples,
    /// From just before the post was sent.
    in_all: Samples,
}

impl Waits {
    fn told(&self) -> String {
        let [p50, p99] = [0.5, 0.99].map(|share| millis(self.from_answer.percentile(share)));
        let [all_p50, all_p99] = [0.5, 0.99].map(|share| millis(self.in_all.percentile(share)));
        format!("p50 {p50:.2}, p99 {p99:.2}; from before the send {all_p50:.2}, {all_p99:.2} ms")
    }
}

fn send_all(sender: &mut Caller, subscriber: &Subscriber, count: usize) -> anyhow::Result<Waits> {
    let (mut from_answer, mut in_all) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for (number, message) in messages(count, count).enumerate() {
        let mark = format!("This is post {number}.");
        let begun = Instant::now();
        post(sender, 2, &format!("{mark} @{} {}", agents()[1], message.body))?;
        let answered = Instant::now();
        let (came, message) = subscriber.next()?;
        let text = message["text"].as_str().unwrap_or_default();
        ensure!(text.contains(&mark), "another post came instead of {number}: {message}");
        from_answer.push(came.saturating_duration_since(answered));
        in_all.push(came.saturating_duration_since(begun));
    }
    Ok(Waits { from_answer: from_answer.into_iter().collect(), in_all: in_all.into_iter().collect() })
}

/// Says something in the channel.
pub fn post(sender: &mut Caller, from: usize, text: &str) -> anyhow::Result<Value> {
    let post = json!({
        "project_key": PROJECT, "sender_name": agents()[from], "to": [format!("#{CHANNEL}")], "subject": "post",
        "body_md": text,
    });
    sender.call("send_message", &post)
}
