//! The load generator: many clients that keep their connections, on one thread.
//!
//! It shares the cores with what it measures, so it does as little as it can: requests are made beforehand, an answer
//! is only framed and its end compared, and one thread polls all connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::samples::Samples;
use crate::wire::{self, Request};

/// Room for an answer; one that is longer makes its client's buffer grow once.
const ANSWER: usize = 128 * 1024;

/// How long a load runs before it counts, and while it counts.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Before it counts.
    pub warm_up: Duration,
    /// While it counts.
    pub measured: Duration,
}

/// The time in which what is done counts.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    begin: Instant,
    end: Instant,
}

impl Window {
    /// Opens after the warm-up from now.
    pub fn opening(pace: Pace) -> Self {
        let begin = Instant::now() + pace.warm_up;
        Self { begin, end: begin + pace.measured }
    }

    /// Whether something new may still be started.
    pub fn is_open(&self) -> bool {
        Instant::now() < self.end
    }

    /// Whether something that ended at this moment counts.
    pub fn counts(&self, ended: Instant) -> bool {
        self.begin <= ended && ended < self.end
    }
}

/// What a load came to.
pub struct Outcome {
    /// Answers in a second.
    pub per_second: f64,
    /// How long each answer took.
    pub latencies: Samples,
    /// All answers, those before and after the measured time included.
    pub answered: usize,
}

impl Outcome {
    /// From what each client measured, and how many answers it got in all.
    pub fn of(clients: Vec<(Vec<Duration>, usize)>, pace: Pace) -> Self {
        let answered = clients.iter().map(|(_, answered)| answered).sum();
        let latencies: Samples = clients.into_iter().flat_map(|(latencies, _)| latencies).collect();
        Self { per_second: latencies.count() as f64 / pace.measured.as_secs_f64(), latencies, answered }
    }
}

/// Has `clients` send `requests` in turn, each its next as soon as it is answered.
///
/// Each stays with one of the servers, in turn. Clients begin at different requests, so that they do not walk in step. The
/// first wrong answer ends the load.
pub fn run(servers: &[SocketAddr], requests: &Arc<[Request]>, clients: usize, pace: Pace) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut streams = Vec::with_capacity(clients);
        for address in servers.iter().cycle().take(clients) {
            let stream = TcpStream::connect(address).await.context("cannot connect")?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        let window = Window::opening(pace);
        let mut running = JoinSet::new();
        for (client, stream) in streams.into_iter().enumerate() {
            let first = client * requests.len() / clients;
            running.spawn(converse(stream, requests.clone(), first, window));
        }
        let mut measured = Vec::with_capacity(clients);
        while let Some(client) = running.join_next().await {
            measured.push(client??);
        }
        Ok(Outcome::of(measured, pace))
    })
}

async fn converse(
    mut stream: TcpStream,
    requests: Arc<[Request]>,
    first: usize,
    window: Window,
) -> anyhow::Result<(Vec<Duration>, usize)> {
    let mut buffer = vec![0; ANSWER];
    let mut latencies = Vec::with_capacity(1 << 14);
    let mut answered = 0;
    while window.is_open() {
        let request = &requests[(first + answered) % requests.len()];
        let begun = Instant::now();
        stream.write_all(&request.bytes).await.context("cannot send")?;
        receive(&mut stream, &mut buffer, request).await?;
        let ended = Instant::now();
        answered += 1;
        if window.counts(ended) {
            latencies.push(ended - begun);
        }
    }
    Ok((latencies, answered))
}

async fn receive(stream: &mut TcpStream, buffer: &mut Vec<u8>, request: &Request) -> anyhow::Result<()> {
    let mut filled = 0;
    let mut frame = None;
    loop {
        match stream.read(&mut buffer[filled..]).await.context("cannot receive")? {
            0 => bail!("the server hung up in the middle of an answer"),
            more => filled += more,
        }
        if frame.is_none() {
            frame = wire::frame(&buffer[..filled])?;
        }
        let Some(frame) = &frame else { continue };
        if frame.body.end > buffer.len() {
            buffer.resize(frame.body.end, 0);
        }
        if filled >= frame.body.end {
            return request.check(frame.status, &buffer[frame.body.start..filled]);
        }
    }
}
