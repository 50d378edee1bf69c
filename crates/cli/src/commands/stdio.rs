//! `postrider stdio`: the same tools for clients that start their server and speak with it by lines.
//!
//! The process joins the server that runs, or opens the database itself when there is none, so that any number of such
//! clients are one post office. Standard output belongs to the protocol: nothing else is ever written there.

mod acquaintance;
mod caller;
mod patience;

use std::collections::HashMap;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use mcp::Line;
use store::Engine;
use tokio::io::{AsyncBufRead, BufReader};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::nudge;
use crate::config::{Config, Identity, Tools};
use crate::logging;
use crate::on_demand;
use crate::outbox::collecting::PassingBy;
use crate::post_office::answer::unreadable;
use crate::post_office::backend::Finder;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::taken_back::TakenBack;
use crate::waker::Reach;
use caller::CallerSession;

/// How many requests run at once. More wait their turn, but are read, so that one can be cancelled.
const MOST_RUNNING: usize = 64;
/// How many requests may run or wait before reading pauses.
const MOST_ACCEPTED: usize = 1_024;
/// How many lines may wait to be written before whoever has another one waits too.
const MOST_UNWRITTEN: usize = 256;
/// How long a server may answer nothing after the input has ended. What is then still under way waits for something to
/// happen, and nobody is there any more to be told of it.
const LONGEST_SILENCE: Duration = Duration::from_secs(2);

/// Speak MCP on standard input and output.
#[derive(Args, Debug)]
pub struct Stdio {
    /// Which tools are listed, if no server runs that decides it [default: full]
    #[arg(long, env = "POSTRIDER_TOOLS", value_enum)]
    tools: Option<Tools>,
    /// How names are taken, if no server runs that decides it [default: claimed]
    #[arg(long, env = "POSTRIDER_IDENTITY", value_enum)]
    identity: Option<Identity>,
}

impl Stdio {
    /// Serves the client until its input ends.
    pub fn run(self, mut config: Config) -> anyhow::Result<ExitCode> {
        config.file.tools = self.tools.or(config.file.tools);
        config.file.identity = self.identity.or(config.file.identity);
        logging::start(&config)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let caller = CallerSession::new(&config);
        let reach = Reach::new(&config.home, nudge::ways(&config));
        let longest_line = config.largest_request();
        let passing = PassingBy::new(&config);
        on_demand::start_if_wanted(&config);
        let served = runtime.block_on(serve(Finder::new(config)?.staying(), reach, caller, passing, longest_line));
        // A client that closed its output may still hold our input open, and nobody waits for that.
        runtime.shutdown_background();
        served.map(|()| ExitCode::SUCCESS)
    }
}

async fn serve(
    finder: Finder,
    reach: Reach,
    caller: CallerSession,
    passing: PassingBy,
    longest_line: usize,
) -> anyhow::Result<()> {
    let (outgoing, lines) = mpsc::channel(MOST_UNWRITTEN);
    let connection = Connection::open(finder, outgoing).await?;
    // If writing fails the client is gone, and dropping the reader drops the requests under way.
    let reading =
        ClientLines::new(connection, caller, reach, passing).read_all(BufReader::new(tokio::io::stdin()), longest_line);
    match tokio::try_join!(reading, mcp::write_lines(tokio::io::stdout(), lines)) {
        Ok((Some(store), ())) => store.close().await,
        Ok((None, ())) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => return Err(error).context("cannot speak with the client"),
    }
    Ok(())
}

/// The lines of a client, and the requests among them that are under way.
struct ClientLines {
    connection: Arc<Connection>,
    caller: Arc<CallerSession>,
    passing: Arc<PassingBy>,
    places: Arc<Semaphore>,
    running: JoinSet<()>,
    /// What wakes the session when mail comes.
    waking: JoinSet<()>,
    /// What takes back those that can be cancelled.
    by_id: HashMap<String, watch::Sender<bool>>,
}

impl ClientLines {
    fn new(connection: Arc<Connection>, caller: CallerSession, reach: Reach, passing: PassingBy) -> Self {
        let mut waking = JoinSet::new();
        waking.spawn(caller.waker(connection.clone(), reach).run());
        Self {
            waking,
            connection,
            caller: Arc::new(caller),
            passing: Arc::new(passing),
            places: Arc::new(Semaphore::new(MOST_RUNNING)),
            running: JoinSet::new(),
            by_id: HashMap::new(),
        }
    }

    /// Reads until the input ends and every request is answered that can be. Returns the store that is to be closed.
    async fn read_all(mut self, mut input: impl AsyncBufRead + Unpin, longest: usize) -> io::Result<Option<Engine>> {
        loop {
            match mcp::next_line(&mut input, longest).await? {
                Line::End => break,
                Line::TooLong => {
                    let refused = format!("A line can have at most {longest} bytes.");
                    self.connection.say(unreadable(-32600, &refused)).await;
                }
                Line::Whole(line) => match String::from_utf8(line) {
                    Ok(line) => self.take(ClientMessage::read(line)).await,
                    Err(_) => self.connection.say(unreadable(-32700, "The message is not UTF-8.")).await,
                },
            }
            while self.running.try_join_next().is_some() {}
            if self.running.len() >= MOST_ACCEPTED {
                self.running.join_next().await;
            }
            self.by_id.retain(|_, request| !request.is_closed());
        }
        // Whoever passes by tells of it, if no server listens now.
        let _ = timeout(LONGEST_SILENCE, self.caller.leave(&self.connection)).await;
        self.connection.leave();
        self.finish().await;
        // It holds the connection, and so the output.
        self.waking.shutdown().await;
        self.connection.write_out().await;
        Ok(self.connection.close())
    }

    /// Waits for the requests under way, and drops those that a server does not answer soon.
    async fn finish(&mut self) {
        while !self.running.is_empty() {
            let is_silent = timeout(LONGEST_SILENCE, self.running.join_next()).await.is_err();
            // An office of our own was told to keep nobody waiting, so all that it does still comes to an end.
            if is_silent && self.connection.is_joined() {
                tracing::debug!(dropped = self.running.len(), "the client is gone and these requests wait");
                self.running.shutdown().await;
            }
        }
    }

    async fn take(&mut self, message: ClientMessage) {
        if let Some(id) = message.cancels() {
            if let Some(request) = self.by_id.remove(id) {
                request.send_replace(true);
            }
            return;
        }
        if message.is_initialize() {
            // What comes behind it belongs to the session that it opens.
            attend(&self.connection, &self.caller, &message, &TakenBack::never()).await;
            return;
        }
        let message = self.caller.named(message);
        let (taking_back, taken_back) = TakenBack::new();
        let id = message.id.clone();
        let (connection, caller, places) = (self.connection.clone(), self.caller.clone(), self.places.clone());
        let passing = self.passing.clone();
        self.running.spawn(async move {
            // A listener lives long and works little, so it takes no slot from requests.
            let _place = if message.is_listening() { None } else { places.acquire().await.ok() };
            attend(&connection, &caller, &message, &taken_back).await;
            passing.collect(&connection).await;
        });
        if let Some(id) = id {
            self.by_id.insert(id, taking_back);
        }
    }
}

/// Answers a message.
///
/// An answer that is there is said, also to a request that was taken back meanwhile: what it brings is told to nobody else.
async fn attend(connection: &Arc<Connection>, caller: &CallerSession, message: &ClientMessage, taken_back: &TakenBack) {
    let Some(answer) = connection.answer(message, taken_back).await else { return };
    // A stream that was taken back ended because of that, and its end brings nothing.
    if message.is_listening() && taken_back.is_so() {
        return;
    }
    caller.meet(connection, message, &answer).await;
    connection.say(answer).await;
}
