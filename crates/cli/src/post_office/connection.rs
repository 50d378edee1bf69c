//! The connection of one client: it knows which post office its messages go to, and finds another when that one
//! is gone.
//!
//! The office is a server elsewhere if one is set, else the server that owns the database, else the database itself. A
//! message goes to another office only if it surely never reached the first one.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::Verb;
use serde_json::json;
use store::Engine;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::answer::{self, Refused};
use super::backend::{Backend, Finder, Own};
use super::join::{Joined, NoStream, one_line};
use super::message::ClientMessage;
use super::no_answer::NoAnswer;

/// How many offices a message tries. Each one that is gone was there a moment before.
const MOST_TRIES: usize = 3;
/// How many subscriptions are remembered for the next office, and how long their names may be: as many as an office
/// takes itself.
const MOST_URIS: usize = 100;
const LONGEST_URI: usize = 1_024;
/// An opening that is longer is not kept for the next office.
const LONGEST_OPENING: usize = 64 << 10;
/// How soon a stream of notices that broke is opened again, and how late at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A move to another office. Boxed, because a move begins to follow notices, and losing them can begin a move.
type Moving = Pin<Box<dyn Future<Output = anyhow::Result<()>> + Send>>;

/// The connection of one client.
pub struct Connection {
    finder: Finder,
    outgoing: mpsc::Sender<String>,
    office: Mutex<Arc<Backend>>,
    /// Held by whoever looks for another office, so that one is found and not many.
    looking: tokio::sync::Mutex<()>,
    session: Mutex<Session>,
    followers: Mutex<JoinSet<()>>,
    leaving: watch::Sender<bool>,
    /// Whether it was told that nobody answers.
    is_known_gone: AtomicBool,
}

/// What another office has to be told of a client that it has not met.
#[derive(Default)]
struct Session {
    opening: Option<String>,
    uris: BTreeSet<String>,
}

impl Connection {
    /// Opens the connection at the office that is there now. Lines for the client go to `outgoing`.
    pub async fn open(finder: Finder, outgoing: mpsc::Sender<String>) -> anyhow::Result<Arc<Self>> {
        let office = finder.find(&outgoing).await?;
        Ok(Arc::new(Self {
            finder,
            outgoing,
            office: Mutex::new(Arc::new(office)),
            looking: tokio::sync::Mutex::default(),
            session: Mutex::default(),
            followers: Mutex::default(),
            leaving: watch::Sender::new(false),
            is_known_gone: AtomicBool::new(false),
        }))
    }

    /// Says something to the client.
    pub async fn say(&self, line: String) {
        // Nobody takes lines any more when the client is gone, and the process is about to end.
        let _ = self.outgoing.send(line).await;
    }

    /// Carries a message to the office and returns the line that answers it.
    pub async fn answer(self: &Arc<Self>, message: &ClientMessage) -> Option<String> {
        self.remember(message);
        if !message.is_listening() {
            return self.carry(message).await;
        }
        let mut leaving = self.leaving.subscribe();
        tokio::select! {
            // An office of our own has its last word; a server is not waited for.
            biased;
            answer = self.carry(message) => answer,
            _ = leaving.wait_for(|leaving| *leaving) => None,
        }
    }

    /// Has the office of now send notices to `notices`. Returns when it sends no more.
    pub async fn listen(&self, request: &ClientMessage, notices: &mpsc::Sender<String>) {
        let is_over = match &*self.office() {
            Backend::Own(own) => own.answer_to(request, notices.clone()).await.is_some(),
            Backend::Joined(joined) => joined.ask(request, notices).await.is_ok(),
        };
        tracing::debug!(is_over, "the stream of notices ended");
    }

    /// Whether the office is served by another process.
    pub fn is_joined(&self) -> bool {
        matches!(&*self.office(), Backend::Joined(_))
    }

    /// Takes in what is in the folders of channels, and writes what is not. A server does that by itself.
    pub async fn settle_channels(&self) {
        if let Backend::Own(own) = &*self.office() {
            own.relays().settle().await;
        }
    }

    /// Writes what was posted into the folders of channels. A server does that by itself.
    pub async fn write_out(&self) {
        if let Backend::Own(own) = &*self.office() {
            own.relays().write_out().await;
        }
    }

    /// Ends what would go on for as long as the client is there. An office of our own keeps nobody waiting any more.
    pub fn leave(&self) {
        if let Backend::Own(own) = &*self.office() {
            own.close();
        }
        self.leaving.send_replace(true);
    }

    /// Closes the connection. Returns the store that is still open, if the connection was an office of its own.
    pub fn close(&self) -> Option<Engine> {
        held(&self.followers).abort_all();
        match &*self.office() {
            Backend::Own(own) => Some(own.engine()),
            Backend::Joined(_) => None,
        }
    }

    fn office(&self) -> Arc<Backend> {
        held(&self.office).clone()
    }

    fn remember(&self, message: &ClientMessage) {
        let mut session = held(&self.session);
        if message.is_initialize() && message.text.len() <= LONGEST_OPENING {
            session.opening = Some(message.text.clone());
        }
        if let Some(uri) = message.subscribes()
            && uri.len() <= LONGEST_URI
            && session.uris.len() < MOST_URIS
        {
            session.uris.insert(uri.to_owned());
        }
        if let Some(uri) = message.unsubscribes() {
            session.uris.remove(uri);
        }
    }

    fn opening(&self) -> ClientMessage {
        held(&self.session).opening.clone().map_or_else(ClientMessage::initialize, ClientMessage::read)
    }

    /// Asks a verb: of an office of our own by calling it, of a server by `tools/call`.
    pub async fn ask<V: Verb>(self: &Arc<Self>, verb: V) -> Result<V::Answer, Refused> {
        if let Backend::Own(own) = &*self.office() {
            return verb.run(own.office()).await.map_err(Refused::from);
        }
        let call = ClientMessage::inquiry("tools/call", json!({ "name": V::NAME, "arguments": &verb }));
        match self.carry_to_server(&call).await {
            Ok(line) => answer::of_verb::<V>(line.as_deref()),
            Err(Instead::Own(own)) => verb.run(own.office()).await.map_err(Refused::from),
            Err(Instead::Nobody(why)) => Err(NoAnswer::unreachable(&why).told()),
        }
    }

    async fn carry(self: &Arc<Self>, message: &ClientMessage) -> Option<String> {
        match self.carry_to_server(message).await {
            Ok(line) => line,
            Err(Instead::Own(own)) => own.answer(message).await,
            Err(Instead::Nobody(why)) => NoAnswer::unreachable(&why).line(message),
        }
    }

    /// Carries a message to the server that is there, or says who is there instead.
    async fn carry_to_server(self: &Arc<Self>, message: &ClientMessage) -> Result<Option<String>, Instead> {
        let mut why = anyhow::anyhow!("each one that was found was gone again");
        for _ in 0..MOST_TRIES {
            let office = self.office();
            let joined = match &*office {
                Backend::Own(own) => return Err(Instead::Own(own.clone())),
                Backend::Joined(joined) => joined,
            };
            if message.subscribes().is_some() {
                self.follow(&office).await;
            }
            match joined.ask(message, &self.outgoing).await {
                Ok(answer) => {
                    self.is_known_gone.store(false, Ordering::Relaxed);
                    return Ok(answer);
                }
                // Whoever waits for it asks again and again.
                Err(error) if self.is_known_gone.swap(true, Ordering::Relaxed) => {
                    tracing::debug!(url = joined.url(), error = %error.0, "the server is still gone");
                }
                Err(error) => tracing::warn!(url = joined.url(), error = %error.0, "the server is gone"),
            }
            if let Err(error) = self.look_again(&office).await {
                why = error;
                break;
            }
        }
        Err(Instead::Nobody(why))
    }

    /// Finds another office than `gone`, unless somebody has found one already.
    fn look_again(self: &Arc<Self>, gone: &Arc<Backend>) -> Moving {
        let (connection, gone) = (self.clone(), gone.clone());
        // On its own, because a client that takes back its request must not leave a move half done.
        Box::pin(async { tokio::spawn(async move { connection.move_from(&gone).await }).await? })
    }

    async fn move_from(self: &Arc<Self>, gone: &Arc<Backend>) -> anyhow::Result<()> {
        let _turn = self.looking.lock().await;
        if !Arc::ptr_eq(&self.office(), gone) {
            return Ok(());
        }
        if let (Some(url), Backend::Joined(_)) = (self.finder.url(), &**gone) {
            anyhow::bail!("nobody answers at '{url}'");
        }
        let office = Arc::new(self.finder.find(&self.outgoing).await?);
        tracing::warn!(to = office.name(), "moved to another post office");
        *held(&self.office) = office.clone();
        match &*office {
            Backend::Own(own) => {
                own.answer(&self.opening()).await;
                if *self.leaving.borrow() {
                    own.close();
                }
            }
            Backend::Joined(joined) => joined.ensure_session(&self.opening(), &self.outgoing).await,
        }
        if !held(&self.session).uris.is_empty() {
            self.follow(&office).await;
            self.subscribe_again(&office).await;
        }
        Ok(())
    }

    /// Makes the client's subscriptions at an office that does not know them.
    async fn subscribe_again(&self, office: &Backend) {
        let uris = held(&self.session).uris.clone();
        for uri in &uris {
            let message = ClientMessage::subscribe(uri);
            let made = match office {
                Backend::Own(own) => own.answer(&message).await.is_some(),
                Backend::Joined(joined) => joined.ask(&message, &self.outgoing).await.is_ok(),
            };
            if made {
                // Nobody knows what changed while nobody watched, and a notice too many costs one look.
                let notice =
                    json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": uri } });
                self.say(notice.to_string()).await;
            }
        }
    }

    /// Sees to it that the notices of a server reach the client. Returns when its stream is open, or will not open.
    async fn follow(self: &Arc<Self>, office: &Arc<Backend>) {
        let Backend::Joined(joined) = &**office else { return };
        if !joined.begin_to_follow() {
            return;
        }
        let (opened, is_open) = oneshot::channel();
        let (connection, office) = (self.clone(), office.clone());
        held(&self.followers).spawn(async move {
            if let Backend::Joined(joined) = &*office {
                connection.pass_on_notices(&office, joined, opened).await;
                joined.is_followed.store(false, Ordering::SeqCst);
            }
        });
        let _ = is_open.await;
    }

    async fn pass_on_notices(self: &Arc<Self>, office: &Arc<Backend>, joined: &Joined, opened: oneshot::Sender<()>) {
        let (mut opened, mut pause) = (Some(opened), FIRST_PAUSE);
        while Arc::ptr_eq(&self.office(), office) {
            joined.ensure_session(&self.opening(), &self.outgoing).await;
            match joined.stream().await {
                Ok(mut events) => {
                    match opened.take() {
                        Some(opened) => drop(opened.send(())),
                        None => self.subscribe_again(office).await,
                    }
                    while let Ok(Some(event)) = events.next().await {
                        pause = FIRST_PAUSE;
                        if let Ok(line) = one_line(event) {
                            self.say(line).await;
                        }
                    }
                }
                // A server that has no streams will not have one later.
                Err(NoStream::Refused) if opened.is_some() => return,
                // It had one before, so it is the session that it does not know any more.
                Err(NoStream::Refused) => joined.forget_session(),
                Err(NoStream::NotSent) => {
                    // Whoever waits for the stream may be the one who has to find another office.
                    drop(opened.take());
                    let _ = self.look_again(office).await;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Who is there when no server is.
enum Instead {
    Own(Arc<Own>),
    Nobody(anyhow::Error),
}

/// Locks what no panic can leave half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
