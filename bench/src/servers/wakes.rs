//! Waking up across servers: one waits at one server, the mail is sent through another.
//!
//! Counted from the sender's answer until the waiter has its own, as with one server, alone and beside two hundred who wait
//! for mail that does not come. The ceiling is PostgreSQL's own word from one connection to another.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use tokio_postgres::{AsyncMessage, NoTls};

use super::Servers;
use super::town::{PROJECTS, Town, project};
use crate::mailboxes::agents;
use crate::process::Server;
use crate::report::{Line, Report, Unit};
use crate::samples::{Samples, millis};
use crate::setting::{Setting, progress};
use crate::wake_ups;
use crate::wire::Request;

/// How many others wait.
const OTHERS: usize = 200;
const DATABASE: &str = "wakes";

/// Measures, and adds lines to the report.
pub fn measure(setting: &Setting, town: &Town, report: &mut Report) -> anyhow::Result<()> {
    progress("many servers: wake-ups");
    let url = town.fresh(DATABASE)?;
    let told = notifications(&url, setting.scaled(wake_ups::ROUNDS, wake_ups::ROUNDS / 10))?;
    let bare = [0.5, 0.99].map(|share| millis(told.percentile(share)));
    let line = Line::new("ceiling: NOTIFY to LISTEN, p50", bare[0], Unit::Millis);
    report.add(line.more(format!("p99 {:.2} ms", bare[1])));
    let servers = Servers::start(setting, &url, 2)?;
    let [here, there] = &servers.0[..] else { unreachable!("two were started") };
    let alone = wake_ups::woken(setting, there.caller()?, here.caller()?)?;
    let idle = waiting(here)?;
    let among = wake_ups::woken(setting, there.caller()?, here.caller()?)?;
    still_wait(idle)?;
    servers.stop()?;
    for (what, samples) in [("alone", alone), ("beside 200 who wait", among)] {
        let [p50, p99] = [0.5, 0.99].map(|share| millis(samples.percentile(share)));
        let what = format!("wake-up across two servers, {what}, p99");
        let line = Line::new(what, p99, Unit::Millis).more(format!("p50 {p50:.2} ms"));
        report.add(line.against("NOTIFY to LISTEN, p99", &[(p99, bare[1])]));
    }
    Ok(())
}

/// Those who wait at a server for mail that does not come, in all projects.
fn waiting(server: &Server) -> anyhow::Result<Vec<TcpStream>> {
    let names = agents();
    let mut streams = Vec::with_capacity(OTHERS);
    for number in 0..OTHERS {
        // None of those that the measured mail goes to.
        let (home, name) = (project(number % PROJECTS), &names[10 + number / PROJECTS]);
        let arguments = json!({ "project_key": home, "agent_name": name, "timeout_seconds": 50 });
        let mut stream = TcpStream::connect(server.address)?;
        stream.write_all(&Request::call("wait_for_mail", &arguments).bytes)?;
        stream.set_nonblocking(true)?;
        streams.push(stream);
    }
    Ok(streams)
}

/// Makes sure that they waited all the time.
fn still_wait(streams: Vec<TcpStream>) -> anyhow::Result<()> {
    for mut stream in streams {
        let heard = stream.read(&mut [0; 64]);
        let is_silent = heard.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        ensure!(is_silent, "one of those who wait was answered: {heard:?}");
    }
    Ok(())
}

/// How long a bare notification takes from one connection to another.
fn notifications(url: &str, rounds: usize) -> anyhow::Result<Samples> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (teller, telling) = tokio_postgres::connect(url, NoTls).await?;
        let (listener, mut listening) = tokio_postgres::connect(url, NoTls).await?;
        tokio::spawn(telling);
        let (heard, mut told) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|context| listening.poll_message(context)).await {
                if let AsyncMessage::Notification(_) = message {
                    let _ = heard.send(Instant::now());
                }
            }
        });
        listener.batch_execute("LISTEN bench").await?;
        let mut durations = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let begun = Instant::now();
            teller.batch_execute("NOTIFY bench").await?;
            let at = tokio::time::timeout(Duration::from_secs(5), told.recv()).await?.context("nobody listens")?;
            durations.push(at - begun);
        }
        Ok(durations.into_iter().collect())
    })
}
