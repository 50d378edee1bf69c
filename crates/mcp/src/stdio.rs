//! The protocol over a pair of byte streams: one message a line, in and out.
//!
//! Reading knows bounds: a line too long is skipped as it arrives and never held. Deliberately absent: the loop that reads
//! one line after the other. Whoever has it decides how many run at once, and drops what the client takes back.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task;

use crate::endpoint::{Endpoint, not_taken};
use crate::eras::{self, Era, Meta};
use crate::exchange::{Answer, required};
use crate::sessions::{MAX_URIS, NotTaken, check_uri};
use crate::streams::{Notice, closed, updated};
use crate::wire::{self, Fault, Incoming, Request};

/// The client at the other end, and what it watches.
#[derive(Debug)]
pub struct StdioPeer {
    outgoing: mpsc::Sender<String>,
    watched: Mutex<HashMap<String, task::AbortHandle>>,
    /// Whether it began with `initialize`.
    is_introduced: AtomicBool,
}

impl StdioPeer {
    /// A client that takes notices from `outgoing`, one message each, without a line break.
    pub fn new(outgoing: mpsc::Sender<String>) -> StdioPeer {
        StdioPeer { outgoing, watched: Mutex::default(), is_introduced: AtomicBool::new(false) }
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<String, task::AbortHandle>> {
        // No panic can leave it half changed.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StdioPeer {
    fn drop(&mut self) {
        for watcher in self.watched().values() {
            watcher.abort();
        }
    }
}

impl Endpoint {
    /// Takes one message and returns the answer, if it wants one. Whoever drops this takes the message back.
    ///
    /// Notices that it brings about go to the peer. A `subscriptions/listen` is answered when the endpoint closes.
    pub async fn line(&self, line: &str, peer: &StdioPeer) -> Option<String> {
        match wire::read(line.as_bytes()) {
            Ok(Incoming::Request(request)) => Some(self.respond(&request, peer).await),
            Ok(Incoming::Notification { .. } | Incoming::ClientAnswer) => None,
            Err(unreadable) => Some(wire::error(unreadable.id, &unreadable.fault)),
        }
    }

    async fn respond(&self, request: &Request<'_>, peer: &StdioPeer) -> String {
        let meta = Meta::of(&request.params);
        let answered = async {
            let era = eras::era_of(&request.method, &meta, None)?;
            if era == Era::Modern {
                eras::check_version(&meta)?;
                eras::check_capabilities(&meta)?;
            }
            let answer = match (&*request.method, era) {
                ("subscriptions/listen", Era::Modern) => return self.listen_on(request, peer).await,
                ("resources/subscribe", Era::Legacy) => self.watch_for(request, peer).await?,
                ("resources/unsubscribe", Era::Legacy) => unwatch_for(request, peer)?,
                (method, _) => {
                    if method == "initialize" {
                        peer.is_introduced.store(true, Ordering::Relaxed);
                    }
                    let caller = self.caller(&meta, peer.is_introduced.load(Ordering::Relaxed));
                    self.inner.exchange.answer(era, caller, request).await?
                }
            };
            Ok(self.inner.exchange.write(request.id, era, &answer))
        };
        let answered: Result<String, Fault> = answered.await;
        answered.unwrap_or_else(|fault| wire::error(Some(request.id), &fault))
    }

    /// Sends notices until the server closes; what is said last is the answer.
    async fn listen_on(&self, request: &Request<'_>, peer: &StdioPeer) -> Result<String, Fault> {
        let mut listening = self.listen(request, self.closing()).await?;
        let farewell = self.inner.exchange.write_listening_ended(request.id);
        while let Some(notice) = listening.next().await {
            // A pipe needs no signs of life.
            let Notice::Incoming(message) = notice else { continue };
            if message == farewell || peer.outgoing.send(message).await.is_err() {
                break;
            }
        }
        Ok(farewell)
    }

    async fn watch_for(&self, request: &Request<'_>, peer: &StdioPeer) -> Result<Answer<'_>, Fault> {
        let uri = required("uri", request.params.uri)?;
        check_uri(&uri).map_err(not_taken)?;
        if peer.watched().contains_key(&*uri) {
            return Ok(Answer::empty());
        }
        if peer.watched().len() >= MAX_URIS {
            return Err(not_taken(NotTaken::TooMany));
        }
        // As over HTTP, an address that names nothing is accepted and never heard of again.
        let Ok(mut changes) = self.registry().resources.watch(&uri).await else {
            return Ok(Answer::empty());
        };
        let (notice, outgoing) = (updated(&uri, None), peer.outgoing.clone());
        let mut closing = self.closing();
        let watcher = tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = closed(&mut closing) => return,
                    change = changes.next() => {
                        if change.is_none() || outgoing.send(notice.clone()).await.is_err() {
                            return;
                        }
                    }
                }
            }
        });
        let earlier = peer.watched().insert(uri.into_owned(), watcher.abort_handle());
        if let Some(earlier) = earlier {
            earlier.abort();
        }
        Ok(Answer::empty())
    }
}

fn unwatch_for<'a>(request: &Request<'_>, peer: &StdioPeer) -> Result<Answer<'a>, Fault> {
    let uri = required("uri", request.params.uri)?;
    if let Some(watcher) = peer.watched().remove(&*uri) {
        watcher.abort();
    }
    Ok(Answer::empty())
}

/// Writes one message a line until nobody is left to send one.
pub async fn write_lines<W>(mut output: W, mut messages: mpsc::Receiver<String>) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    while let Some(mut message) = messages.recv().await {
        message.push('\n');
        output.write_all(message.as_bytes()).await?;
        if messages.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

/// What was read from a client.
#[derive(Debug)]
pub enum Line {
    /// A line that is not blank, without its end.
    Whole(Vec<u8>),
    /// A line that was longer than allowed, and was skipped.
    TooLong,
    /// Nothing more will come.
    End,
}

/// Reads the next line that is not blank. Whoever drops this before it is done loses what it had read.
pub async fn next_line<R: AsyncBufRead + Unpin>(input: &mut R, max: usize) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let chunk = input.fill_buf().await?;
        let (taken, is_whole) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end, true),
            None => (chunk.len(), chunk.is_empty()),
        };
        if line.len() + taken > max {
            is_too_long = true;
            line = Vec::new();
        }
        if !is_too_long {
            line.extend_from_slice(&chunk[..taken]);
        }
        let is_end = chunk.is_empty();
        // The line break itself is consumed too, except at the end, where there is none.
        input.consume(taken + usize::from(is_whole && !is_end));
        if !is_whole {
            continue;
        }
        if is_too_long {
            return Ok(Line::TooLong);
        }
        if !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Line::Whole(line));
        }
        if is_end {
            return Ok(Line::End);
        }
        line.clear();
    }
}
