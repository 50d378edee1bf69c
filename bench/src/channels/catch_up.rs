//! Catching up: what was posted while nobody handed it on, and what foreign agents wrote while nobody read.
//!
//! Counted from the birth of the server until all of it is there, so each figure holds a start and the first look.

use std::time::Instant;

use super::CHANNEL;
use super::folder::{Folder, bare_files};
use super::home::{Home, until};
use super::nats::Nats;
use super::wakes::post;
use crate::mailboxes::{PROJECT, agents, messages};
use crate::report::{Line, Report, Unit};
use crate::samples::median;
use crate::setting::{Setting, progress};

/// How many files are written, and taken in.
const FILES: usize = 2_000;
/// How many posts wait for NATS.
const POSTS: usize = 10_000;
/// How many post at the same time when the home is filled.
const SENDERS: usize = 32;

/// Both ways between a database and a folder.
pub fn files(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    let count = setting.scaled(FILES, 100);
    progress(format!("channels: {count} files that wait"));
    let posted = with_posts(setting, count)?;
    let (mut written, mut taken_in) = (Vec::new(), Vec::new());
    for _ in 0..setting.rounds {
        let bare = bare_files(setting, count)?;
        written.push((write_out(setting, &posted, count)?, bare));
        taken_in.push((take_in(setting, count)?, bare));
    }
    for (what, pairs) in [("posts written to the folder", written), ("foreign files taken in", taken_in)] {
        let figure = median(pairs.iter().map(|pair| pair.0));
        let line = Line::new(format!("{what}, {count} wait"), figure, Unit::PerSecond);
        report.add(line.against("bare create, fsync, link, unlink, fsync", &pairs));
    }
    Ok(())
}

/// From a database to a stream of NATS.
pub fn nats(setting: &Setting, nats: &Nats, report: &mut Report) -> anyhow::Result<()> {
    let count = setting.scaled(POSTS, 200);
    progress(format!("channels: {count} posts that wait for NATS"));
    let posted = with_posts(setting, count)?;
    let mut pairs = Vec::new();
    for round in 0..setting.rounds {
        let bare = nats.bare_stream(&format!("BARE{round}"), count)?;
        let prefix = format!("feed{round}");
        let (stream, subject) = (prefix.to_uppercase(), format!("{prefix}.{}.channel.{CHANNEL}", slug()));
        let home = posted.copy(setting, &nats.settings(&prefix))?;
        let mut client = nats.client()?;
        let born = Instant::now();
        let server = home.serve(setting)?;
        until("all posts are in the stream", || Ok(client.held(&stream, &subject)? >= count))?;
        pairs.push((count as f64 / born.elapsed().as_secs_f64(), bare));
        server.stop()?;
        anyhow::ensure!(client.held(&stream, &subject)? == count, "the stream holds more than was posted");
    }
    let line =
        Line::new(format!("posts published, {count} wait"), median(pairs.iter().map(|pair| pair.0)), Unit::PerSecond);
    report.add(line.against("bare JetStream publishing, one by one", &pairs));
    Ok(())
}

/// The project's name in subjects.
fn slug() -> String {
    PROJECT.trim_start_matches('/').replace('/', "-")
}

/// A home with so many posts that nobody was told of.
fn with_posts(setting: &Setting, count: usize) -> anyhow::Result<Home> {
    let home = Home::make(setting, "")?;
    let server = home.serve(setting)?;
    server.caller()?.move_in(PROJECT, &agents())?;
    let texts: Vec<String> = messages(count, count).map(|message| message.body).collect();
    std::thread::scope(|scope| {
        let senders: Vec<_> = texts
            .chunks(count.div_ceil(SENDERS))
            .enumerate()
            .map(|(sender, texts)| {
                let server = &server;
                scope.spawn(move || {
                    let mut caller = server.caller()?;
                    texts.iter().try_for_each(|text| post(&mut caller, sender, text).map(drop))
                })
            })
            .collect();
        senders.into_iter().try_for_each(|sender| sender.join().map_err(|_| anyhow::anyhow!("a sender panicked"))?)
    })?;
    server.stop()?;
    Ok(home)
}

fn write_out(setting: &Setting, posted: &Home, count: usize) -> anyhow::Result<f64> {
    let folder = Folder::make(setting)?;
    let home = posted.copy(setting, &folder.settings(PROJECT))?;
    let born = Instant::now();
    let server = home.serve(setting)?;
    until("all posts are in the folder", || Ok(folder.count()? >= count))?;
    let per_second = count as f64 / born.elapsed().as_secs_f64();
    server.stop()?;
    anyhow::ensure!(folder.count()? == count, "the folder holds more than was posted");
    Ok(per_second)
}

fn take_in(setting: &Setting, count: usize) -> anyhow::Result<f64> {
    let folder = Folder::filled(setting, count)?;
    let home = Home::make(setting, &folder.settings(PROJECT))?;
    let born = Instant::now();
    let server = home.serve(setting)?;
    until("all files are taken in", || Ok(home.taken_in() >= count))?;
    let per_second = count as f64 / born.elapsed().as_secs_f64();
    server.stop()?;
    anyhow::ensure!(home.ask("SELECT count(*) FROM message") == i64::try_from(count)?, "not one message for each file");
    Ok(per_second)
}
