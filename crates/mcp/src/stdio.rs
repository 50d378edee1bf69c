//! The protocol over a pair of byte streams: one message a line, answers as they come.
//!
//! Requests run side by side, so a call that waits for mail holds up no other. Reading knows bounds:
//! a line too long is skipped as it arrives and never held. No process, pipe or signal is touched here.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{self, JoinSet};

use crate::endpoint::{Endpoint, not_taken};
use crate::eras::{self, Era, Meta, client_name};
use crate::exchange::{Answer, Caller, required};
use crate::sessions::{MAX_URIS, NotTaken, check_uri};
use crate::streams::{Notice, closed, updated};
use crate::wire::{self, Fault, Message, Request};

/// How long a line may be unless the caller says otherwise.
pub const DEFAULT_MAX_LINE: usize = 16 << 20;

/// How many requests run at once. More wait their turn, but are read, so that one can be cancelled.
const MAX_RUNNING: usize = 64;
/// How many requests may run or wait before reading pauses.
const MAX_ACCEPTED: usize = 1_024;
/// How many messages may wait to be written before whoever sends one waits too.
const MAX_UNWRITTEN: usize = 256;

/// The client at the other end, and what is under way for it.
#[derive(Debug)]
pub struct StdioPeer {
    outgoing: mpsc::Sender<String>,
    client: Mutex<Option<String>>,
    under_way: Mutex<HashMap<String, (u64, AbortHandle)>>,
    watched: Mutex<HashMap<String, task::AbortHandle>>,
    tickets: AtomicU64,
    leaving: watch::Sender<bool>,
}

impl StdioPeer {
    /// A client that takes notices from `outgoing`, one message each, without a line break.
    pub fn new(outgoing: mpsc::Sender<String>) -> StdioPeer {
        StdioPeer {
            outgoing,
            client: Mutex::default(),
            under_way: Mutex::default(),
            watched: Mutex::default(),
            tickets: AtomicU64::new(0),
            leaving: watch::Sender::new(false),
        }
    }

    /// Notes a request before it runs, so that a cancellation that follows it cannot come too early.
    fn begin(&self, id: &str) -> (u64, AbortRegistration) {
        let (handle, registration) = AbortHandle::new_pair();
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        held(&self.under_way).insert(id.to_owned(), (ticket, handle));
        (ticket, registration)
    }

    fn end(&self, id: &str, ticket: u64) {
        let mut under_way = held(&self.under_way);
        // A client that used the id again meanwhile has a newer request under it.
        if under_way.get(id).is_some_and(|(newest, _)| *newest == ticket) {
            under_way.remove(id);
        }
    }

    fn cancel(&self, id: &str) {
        if let Some((_, handle)) = held(&self.under_way).remove(id) {
            handle.abort();
        }
    }
}

impl Drop for StdioPeer {
    fn drop(&mut self) {
        for watcher in held(&self.watched).values() {
            watcher.abort();
        }
    }
}

/// Locks what no panic can leave half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Endpoint {
    /// Takes one message and returns the answer, if it wants one and was not cancelled meanwhile.
    ///
    /// Notices that it brings about go to the peer. A `subscriptions/listen` is answered when it ends.
    pub async fn line(&self, line: &str, peer: &StdioPeer) -> Option<String> {
        match wire::read(line.as_bytes()) {
            Ok(Message::Request(request)) => {
                let begun = peer.begin(request.id);
                self.run(&request, peer, begun).await
            }
            other => self.take(other, peer),
        }
    }

    /// Takes whatever is no request.
    fn take(&self, message: Result<Message<'_>, wire::Unreadable<'_>>, peer: &StdioPeer) -> Option<String> {
        match message {
            Err(unreadable) => return Some(wire::error(unreadable.id, &unreadable.fault)),
            Ok(Message::Notification(notification)) if notification.method == "notifications/cancelled" => {
                notification.request_id.into_iter().for_each(|id| peer.cancel(id));
            }
            Ok(_) => {}
        }
        None
    }

    async fn run(&self, request: &Request<'_>, peer: &StdioPeer, begun: (u64, AbortRegistration)) -> Option<String> {
        let (ticket, registration) = begun;
        let answer = Abortable::new(self.respond(request, peer), registration).await.ok()?;
        peer.end(request.id, ticket);
        Some(answer)
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
                _ => {
                    if request.method == "initialize" {
                        *held(&peer.client) = request.params.client_info.and_then(client_name);
                    }
                    let client = meta.client().or_else(|| held(&peer.client).clone());
                    let caller = Caller { client, ..Caller::default() };
                    self.inner.exchange.answer(era, request, &caller).await?
                }
            };
            Ok(self.inner.exchange.write(request.id, era, &answer))
        };
        let answered: Result<String, Fault> = answered.await;
        answered.unwrap_or_else(|fault| wire::error(Some(request.id), &fault))
    }

    /// Sends notices until the server closes or the client leaves; what is said last is the answer.
    async fn listen_on(&self, request: &Request<'_>, peer: &StdioPeer) -> Result<String, Fault> {
        let mut leaving = peer.leaving.subscribe();
        let mut listening = self.listen(request, self.closing()).await?;
        let farewell = self.inner.exchange.write_listening_ended(request.id);
        loop {
            let notice = tokio::select! {
                notice = listening.next() => notice,
                () = closed(&mut leaving) => None,
            };
            match notice {
                Some(Notice::Message(message)) if message == farewell => return Ok(farewell),
                Some(Notice::Message(message)) => {
                    if peer.outgoing.send(message).await.is_err() {
                        return Ok(farewell);
                    }
                }
                Some(Notice::KeepAlive) => {}
                None => return Ok(farewell),
            }
        }
    }

    async fn watch_for(&self, request: &Request<'_>, peer: &StdioPeer) -> Result<Answer<'_>, Fault> {
        let uri = required("uri", request.params.uri)?;
        check_uri(&uri).map_err(not_taken)?;
        if held(&peer.watched).contains_key(&*uri) {
            return Ok(Answer::empty());
        }
        if held(&peer.watched).len() >= MAX_URIS {
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
        let earlier = held(&peer.watched).insert(uri.into_owned(), watcher.abort_handle());
        if let Some(earlier) = earlier {
            earlier.abort();
        }
        Ok(Answer::empty())
    }
}

fn unwatch_for<'a>(request: &Request<'_>, peer: &StdioPeer) -> Result<Answer<'a>, Fault> {
    let uri = required("uri", request.params.uri)?;
    if let Some(watcher) = held(&peer.watched).remove(&*uri) {
        watcher.abort();
    }
    Ok(Answer::empty())
}

/// Serves one client until its input ends or the endpoint closes. Requests under way are answered
/// first; streams of notices are not waited for.
pub async fn serve<R, W>(endpoint: Endpoint, input: R, output: W, max_line: usize) -> io::Result<()>
where
    R: AsyncBufRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (outgoing, messages) = mpsc::channel(MAX_UNWRITTEN);
    let peer = Arc::new(StdioPeer::new(outgoing));
    // If writing fails the client is gone, and dropping the reader drops the requests under way.
    tokio::try_join!(read_all(endpoint, input, peer, max_line), write_lines(output, messages))?;
    Ok(())
}

async fn read_all<R>(endpoint: Endpoint, mut input: R, peer: Arc<StdioPeer>, max_line: usize) -> io::Result<()>
where
    R: AsyncBufRead + Unpin,
{
    let mut running = JoinSet::new();
    let places = Arc::new(Semaphore::new(MAX_RUNNING));
    let mut closing = endpoint.closing();
    loop {
        let line = tokio::select! {
            line = next_line(&mut input, max_line) => line?,
            () = closed(&mut closing) => Line::End,
        };
        match line {
            Line::End => break,
            Line::TooLong => {
                let fault = Fault::invalid_request(format!("A line can have at most {max_line} bytes."));
                let _ = peer.outgoing.send(wire::error(None, &fault)).await;
            }
            Line::Whole(line) => accept(&endpoint, line, &peer, &places, &mut running).await,
        }
        while running.try_join_next().is_some() {}
        if running.len() >= MAX_ACCEPTED {
            running.join_next().await;
        }
    }
    peer.leaving.send_replace(true);
    while running.join_next().await.is_some() {}
    Ok(())
}

async fn accept(
    endpoint: &Endpoint,
    line: Vec<u8>,
    peer: &Arc<StdioPeer>,
    places: &Arc<Semaphore>,
    running: &mut JoinSet<()>,
) {
    let (begun, is_listening) = match wire::read(&line) {
        Ok(Message::Request(request)) => (peer.begin(request.id), request.method == "subscriptions/listen"),
        other => {
            if let Some(answer) = endpoint.take(other, peer) {
                let _ = peer.outgoing.send(answer).await;
            }
            return;
        }
    };
    let (endpoint, peer, places) = (endpoint.clone(), Arc::clone(peer), Arc::clone(places));
    running.spawn(async move {
        // A listener lives long and works little, so it takes no place from those who work.
        let _place = if is_listening { None } else { places.acquire().await.ok() };
        // Read a second time, because what was read borrows from the line.
        let Ok(Message::Request(request)) = wire::read(&line) else {
            return;
        };
        if let Some(answer) = endpoint.run(&request, &peer, begun).await {
            let _ = peer.outgoing.send(answer).await;
        }
    });
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
