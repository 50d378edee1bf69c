//! The connection of one client: it knows which post office its messages go to, and finds another when that one
//! is gone.
//!
//! The office is a server elsewhere if one is set, else the server that owns the database, else the database itself. A
//! message goes to another office only if it surely never reached the first one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use api::Ask;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use store::Engine;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::answer::{self, Refused};
use super::backend::{Backend, Finder};
use super::message::ClientMessage;
use super::taken_back::TakenBack;
use super::watch::Watch;
use crate::sandbox;

/// How many offices a message tries. Each one that is gone was there a moment before.
const MOST_TRIES: usize = 3;
/// How soon after each other whoever subscribes to many resources does that.
const SETTLING: Duration = Duration::from_millis(250);

/// The connection of one client.
pub struct Connection {
    finder: Finder,
    outgoing: mpsc::Sender<String>,
    office: Mutex<Arc<Backend>>,
    /// Held by whoever looks for another office, so that one is found and not many.
    looking: tokio::sync::Mutex<()>,
    /// What the client subscribed to while a server was there, and whether it is told of changes already.
    followed: watch::Sender<BTreeMap<String, bool>>,
    /// What tells it.
    following: OnceLock<AbortHandle>,
    leaving: watch::Sender<bool>,
    /// Whether it was told that nobody answers.
    is_known_gone: AtomicBool,
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
            followed: watch::Sender::default(),
            following: OnceLock::new(),
            leaving: watch::Sender::new(false),
            is_known_gone: AtomicBool::new(false),
        }))
    }

    /// Says something to the client.
    pub async fn say(&self, line: String) {
        // Nobody takes lines any more when the client is gone, and the process is about to end.
        let _ = self.outgoing.send(line).await;
    }

    /// Carries a message to the office and returns the line that answers it. What was taken back has an answer only if it was
    /// there before.
    pub async fn answer(self: &Arc<Self>, message: &ClientMessage, taken_back: &TakenBack) -> Option<String> {
        if let Some(uri) = message.unsubscribes() {
            self.unfollow(uri);
        }
        if !message.is_listening() {
            return self.carry(message, taken_back).await;
        }
        let mut leaving = self.leaving.subscribe();
        tokio::select! {
            // An office of our own has its last word; a server is not waited for.
            biased;
            answer = self.carry(message, taken_back) => answer,
            _ = leaving.wait_for(|leaving| *leaving) => None,
        }
    }

    /// Has the office of now send notices to `notices`. Returns when it sends no more, and whether nobody answered. Who only
    /// listens finds the next office, too.
    pub async fn listen(self: &Arc<Self>, request: &ClientMessage, notices: &mpsc::Sender<String>) -> bool {
        let office = self.office();
        let is_gone = match &*office {
            Backend::Own(own) => {
                own.answer_to(request, notices.clone()).await;
                false
            }
            Backend::Joined(joined) => joined.ask(request, notices, &TakenBack::never()).await.is_err(),
        };
        tracing::debug!(is_gone, "the stream of notices ended");
        if is_gone && let Err(error) = self.look_again(&office).await {
            tracing::debug!(%error, "there is no other office");
        }
        is_gone
    }

    /// Whether the office is served by another process.
    pub fn is_joined(&self) -> bool {
        matches!(&*self.office(), Backend::Joined(_))
    }

    /// Takes in what is in the folders of channels, and writes what is not. A server does that by itself.
    pub async fn settle_channels(&self) {
        if let Backend::Own(own) = &*self.office() {
            own.relays.settle().await;
        }
    }

    /// Writes what was posted into the folders of channels. A server does that by itself.
    pub async fn write_out(&self) {
        if let Backend::Own(own) = &*self.office() {
            own.relays.write_out().await;
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
        self.following.get().inspect(|following| following.abort());
        match &*self.office() {
            Backend::Own(own) => Some(own.local.engine.clone()),
            Backend::Joined(_) => None,
        }
    }

    fn office(&self) -> Arc<Backend> {
        held(&self.office).clone()
    }

    /// Asks a verb: of an office of our own by calling it, of a server by `tools/call`.
    pub async fn ask<V: Ask>(self: &Arc<Self>, verb: V) -> Result<V::Answer, Refused> {
        if let Backend::Own(own) = &*self.office() {
            return Ok(verb.ask(&own.local.office.for_terminal()).await?);
        }
        answer::of_verb::<V>(self.call(json!({ "name": V::NAME, "arguments": &verb })).await.as_deref())
    }

    /// Calls a tool of a server. Boxed: what awaits it is compiled once for each verb.
    fn call<'a>(self: &'a Arc<Self>, params: Value) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.carry(&ClientMessage::inquiry("tools/call", params), &TakenBack::never()).await })
    }

    /// Carries a message to the office that is there, and returns the line that answers it.
    async fn carry(self: &Arc<Self>, message: &ClientMessage, taken_back: &TakenBack) -> Option<String> {
        let mut why = anyhow::anyhow!("each one that was found was gone again");
        for _ in 0..MOST_TRIES {
            if taken_back.is_so() {
                return None;
            }
            let office = self.office();
            let joined = match &*office {
                Backend::Own(own) => {
                    let answer = tokio::select! {
                        biased;
                        answer = own.answer(message) => answer,
                        // Dropping it undoes what was done for whoever asked.
                        () = taken_back.clone().wait() => None,
                    };
                    // From now on the office tells of it by itself.
                    message.subscribes().inspect(|uri| self.unfollow(uri));
                    return answer;
                }
                Backend::Joined(joined) => joined,
            };
            match joined.ask(message, &self.outgoing, taken_back).await {
                Ok(answer) => {
                    self.is_known_gone.store(false, Ordering::Relaxed);
                    let is_granted = |_: &&str| answer.as_deref().is_some_and(|answer| answer.contains(r#""result":"#));
                    if let Some(uri) = message.subscribes().filter(is_granted) {
                        self.follow(uri).await;
                    }
                    return answer;
                }
                Err(error) if self.finder.url.is_some() && sandbox::is_forbidden(&error) => {
                    let refused = sandbox::of_server(&self.finder.config, joined.url(), &error);
                    return refused.unwrap_or_else(|| Refused::unreachable(&error.into())).line(message);
                }
                // Whoever waits for it asks again and again.
                Err(error) if self.is_known_gone.swap(true, Ordering::Relaxed) => {
                    tracing::debug!(url = joined.url(), %error, "the server is still gone");
                }
                Err(error) => tracing::warn!(url = joined.url(), %error, "the server is gone"),
            }
            if let Err(error) = self.look_again(&office).await {
                why = error;
                break;
            }
        }
        Refused::unreachable(&why).line(message)
    }

    /// Finds another office than `gone`, unless somebody has found one already.
    async fn look_again(self: &Arc<Self>, gone: &Arc<Backend>) -> anyhow::Result<()> {
        let (connection, gone) = (self.clone(), gone.clone());
        // On its own, because a client that takes back its request must not leave a move half done.
        tokio::spawn(async move { connection.move_from(&gone).await }).await?
    }

    async fn move_from(&self, gone: &Arc<Backend>) -> anyhow::Result<()> {
        let _turn = self.looking.lock().await;
        if !Arc::ptr_eq(&self.office(), gone) {
            return Ok(());
        }
        if let (Some(url), Backend::Joined(_)) = (&self.finder.url, &**gone) {
            anyhow::bail!("nobody answers at '{url}'");
        }
        let office = Arc::new(self.finder.find(&self.outgoing).await?);
        tracing::warn!(to = office.name(), "moved to another post office");
        *held(&self.office) = office.clone();
        if let Backend::Own(own) = &*office
            && *self.leaving.borrow()
        {
            own.close();
        }
        Ok(())
    }

    /// Tells the client from now on when `uri` changes. Returns when the stream that says so is open.
    async fn follow(self: &Arc<Self>, uri: &str) {
        self.followed.send_if_modified(|followed| !*followed.entry(uri.to_owned()).or_default());
        self.following.get_or_init(|| tokio::spawn(self.clone().pass_on()).abort_handle());
        let _ = self.followed.subscribe().wait_for(|followed| followed.get(uri) != Some(&false)).await;
    }

    fn unfollow(&self, uri: &str) {
        self.followed.send_if_modified(|followed| followed.remove(uri).is_some());
    }

    /// Passes on what one stream says of all that the client follows. Another is opened when there is more to follow.
    async fn pass_on(self: Arc<Self>) {
        let mut followed = self.followed.subscribe();
        let is_outdated = |followed: &BTreeMap<_, _>| followed.is_empty() || followed.values().any(|is_told| !is_told);
        loop {
            let uris = followed.wait_for(|followed| !followed.is_empty()).await;
            let Ok(uris) = uris.map(|followed| followed.keys().cloned().collect()) else { return };
            let watch = Watch::begin(self.clone(), uris);
            let (mut changed, mut pause) = (watch.changed().await, SETTLING);
            loop {
                // Whoever is answered only now reads what is there now. Of the rest nobody knows what changed before the stream
                // was open, so it is told.
                self.followed.send_modify(|followed| {
                    changed.retain(|uri| followed.get_mut(uri).is_some_and(|is_told| std::mem::replace(is_told, true)));
                });
                if timeout(std::mem::take(&mut pause), followed.wait_for(is_outdated)).await.is_ok() {
                    break;
                }
                for uri in changed {
                    let (method, params) = ("notifications/resources/updated", json!({ "uri": uri }));
                    self.say(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
                }
                changed = tokio::select! {
                    _ = followed.wait_for(is_outdated) => break,
                    changed = watch.changed() => changed,
                };
            }
        }
    }
}

/// Locks what no panic can leave half changed.
pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
