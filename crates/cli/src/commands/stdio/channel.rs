//! Claude Code's *channel*: a notice that carries mail and wakes an agent that does nothing.
//!
//! Nobody but Claude Code is offered it, and nothing is watched before its agent is known. The door overhears who that
//! is; the agent that registered last is the one that is told. Deliberately absent: marking mail as shown or read, and
//! any way into the mail that other clients do not have.

mod acquaintance;
mod mailbox;
mod telling;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinSet;

use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
pub use acquaintance::Agent;
use mailbox::Mailbox;

/// The channel of one client.
pub struct Channel {
    connection: Arc<Connection>,
    /// The agent that the settings name.
    preset: Option<Agent>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether the client was offered the channel.
    is_offered: bool,
    /// The mailbox that is told of.
    mailbox: Option<Arc<Mailbox>>,
    /// That mailbox, until somebody watches it.
    unwatched: Option<Arc<Mailbox>>,
    watchers: JoinSet<()>,
}

impl Channel {
    /// A channel that nobody was offered yet. It speaks through `connection`, for `preset` until another agent registers.
    pub fn new(connection: Arc<Connection>, preset: Option<Agent>) -> Self {
        Self { connection, preset, state: Mutex::default() }
    }

    /// Takes note of a message and its answer. Returns the answer that the client is to have.
    ///
    /// An agent that is met here is told of all mail that comes after this returned.
    pub async fn overhear(&self, message: &ClientMessage, answer: String) -> String {
        if message.is_introduction() {
            return self.offer(message, answer).await;
        }
        if self.state().is_offered
            && let Some(agent) = acquaintance::registered(message, &answer)
        {
            self.meet(agent).await;
        }
        answer
    }

    /// Begins to watch for mail, if somebody was met. To be called when the answer was said, so that no notice comes
    /// before it.
    pub fn watch(&self) {
        let mut state = self.state();
        let Some(mailbox) = state.unwatched.take() else { return };
        state.watchers.abort_all();
        state.watchers.spawn(mailbox.watch(self.connection.clone()));
        while state.watchers.try_join_next().is_some() {}
    }

    /// Tells nothing more.
    pub fn close(&self) {
        self.state().watchers.abort_all();
    }

    async fn offer(&self, message: &ClientMessage, answer: String) -> String {
        let offered = acquaintance::is_claude(message).then(|| acquaintance::with_channel(&answer)).flatten();
        let Some(offered) = offered else { return answer };
        self.state().is_offered = true;
        let nobody_is_known = self.state().mailbox.is_none();
        if let Some(agent) = self.preset.as_ref().filter(|_| nobody_is_known) {
            self.meet(agent.clone()).await;
        }
        offered
    }

    async fn meet(&self, agent: Agent) {
        if let Some(known) = &self.state().mailbox
            && known.is_of(&agent)
        {
            known.renew(agent.token);
            return;
        }
        let mailbox = Arc::new(Mailbox::of(agent));
        mailbox.pass_over_what_is_there(&self.connection).await;
        let mut state = self.state();
        state.mailbox = Some(mailbox.clone());
        state.unwatched = Some(mailbox);
    }

    /// Locks what no panic can leave half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
