//! Claude Code's *channel*: a notice that carries mail and wakes an agent that does nothing.
//!
//! Nobody but Claude Code is offered it, and nothing is watched before its agent is known. The door overhears who that
//! is; the agent that registered last is the one that is told. Its mailbox is watched through the same calls as any client
//! has: a stream of notices says when to look; a look by itself now and then makes good what the stream lost. What was told
//! is remembered by its number and never told again. Deliberately absent: marking mail as shown or read, and any way into the
//! mail that other clients do not have.

pub mod acquaintance;
mod telling;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::answers::MessageAnswer;
use api::{Actor, FetchInbox};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::commands::in_name::InName;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::{Refused, Watch, resource};

/// How many messages are told at once. Of older ones only the number is told.
const MOST_AT_ONCE: usize = 20;
/// How many more are counted: as many as one call lists.
const MOST_COUNTED: u32 = 1_000;
/// How long the stream of notices is relied on before a look without being called.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How soon a look that failed is repeated.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);

/// The channel of one client.
pub struct ClaudeChannel {
    connection: Arc<Connection>,
    /// The agent that the settings name.
    preset: Option<Actor>,
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
    watcher: JoinSet<()>,
}

impl ClaudeChannel {
    /// A channel that nobody was offered yet. It speaks through `connection`, for `preset` until another agent registers.
    pub fn new(connection: Arc<Connection>, preset: Option<Actor>) -> Self {
        Self { connection, preset, state: Mutex::default() }
    }

    /// Takes note of a message and its answer. Returns the answer that the client is to have.
    ///
    /// An agent that is met here is told of all mail that comes after this returned.
    pub async fn overhear(&self, message: &ClientMessage, answer: String) -> String {
        if message.is_introduction() {
            return self.offer(message, answer).await;
        }
        if held(&self.state).is_offered
            && let Some(agent) = acquaintance::registered(message, &answer)
        {
            self.meet(agent).await;
        }
        answer
    }

    /// Begins to watch for mail, if somebody was met. To be called when the answer was said, so that no notice comes
    /// before it.
    pub fn watch(&self) {
        let mut state = held(&self.state);
        if let Some(mailbox) = state.unwatched.take() {
            // Whoever watched another mailbox ends with its set.
            state.watcher = JoinSet::new();
            state.watcher.spawn(mailbox.watch(self.connection.clone()));
        }
    }

    /// Tells nothing more.
    pub fn close(&self) {
        held(&self.state).watcher.abort_all();
    }

    async fn offer(&self, message: &ClientMessage, answer: String) -> String {
        let offered = acquaintance::is_claude(message).then(|| acquaintance::with_channel(&answer)).flatten();
        let Some(offered) = offered else { return answer };
        held(&self.state).is_offered = true;
        let nobody_is_known = held(&self.state).mailbox.is_none();
        if let Some(agent) = self.preset.as_ref().filter(|_| nobody_is_known) {
            self.meet(agent.clone()).await;
        }
        offered
    }

    async fn meet(&self, agent: Actor) {
        if let Some(known) = &held(&self.state).mailbox
            && known.is_of(&agent)
        {
            known.renew(agent.registration_token);
            return;
        }
        let mailbox = Arc::new(Mailbox::of(agent));
        mailbox.pass_over_what_is_there(&self.connection).await;
        let mut state = held(&self.state);
        state.mailbox = Some(mailbox.clone());
        state.unwatched = Some(mailbox);
    }
}

/// The mailbox of an agent, and how far it was told.
#[derive(Default)]
struct Mailbox {
    agent: Mutex<Actor>,
    /// Rung when the agent registered again: what was refused before may be granted now.
    registered: Notify,
    /// The highest number that was told or was there before. None while nobody could say what was there.
    told: Mutex<Option<i64>>,
}

impl Mailbox {
    /// The mailbox of `agent`.
    fn of(agent: Actor) -> Self {
        Self { agent: Mutex::new(agent), ..Self::default() }
    }

    /// Whether it is the mailbox of `agent`.
    fn is_of(&self, agent: &Actor) -> bool {
        let own = held(&self.agent);
        own.project_key == agent.project_key && own.agent_name == agent.agent_name
    }

    /// Takes note that the agent registered again, and uses the new token from now on.
    fn renew(&self, token: Option<String>) {
        if token.is_some() {
            held(&self.agent).registration_token = token;
        }
        self.registered.notify_one();
    }

    /// Counts what is there now as told. Returns whether the office could say what that is.
    async fn pass_over_what_is_there(&self, connection: &Arc<Connection>) -> bool {
        let newest = match self.list(connection, self.newest(1)).await {
            Ok(newest) => newest.first().map_or(0, |mail| mail.id),
            Err(refused) if refused.is_about_nobody() => 0,
            Err(_) => return false,
        };
        *held(&self.told) = Some(newest);
        true
    }

    /// Tells of mail as it comes, until it is dropped.
    async fn watch(self: Arc<Self>, connection: Arc<Connection>) {
        let (mut stream, mut pause) = (None, SHORTEST_PAUSE);
        loop {
            if !self.look(&connection).await {
                stream = None;
                let _ = timeout(pause, self.registered.notified()).await;
                pause = (pause * 2).min(LOOK_AGAIN);
                continue;
            }
            pause = SHORTEST_PAUSE;
            let watch = stream.get_or_insert_with(|| Watch::begin(connection.clone(), [self.address()].into()));
            tokio::select! {
                _ = timeout(LOOK_AGAIN, watch.changed()) => {}
                // The token may be another.
                () = self.registered.notified() => stream = None,
            }
        }
    }

    /// Tells what has not been told. Returns whether the office could say what there is.
    async fn look(&self, connection: &Arc<Connection>) -> bool {
        let Some(told) = *held(&self.told) else {
            return self.pass_over_what_is_there(connection).await;
        };
        let Ok(mut unread) = self.list(connection, self.newest(MOST_AT_ONCE as u32 + 1)).await else { return false };
        unread.retain(|mail| mail.id > told);
        let has_more = unread.len() > MOST_AT_ONCE;
        unread.truncate(MOST_AT_ONCE);
        let Some(first) = unread.last().map(|mail| mail.id) else { return true };
        let more = if has_more { self.count_between(connection, told, first).await } else { String::new() };
        for mail in unread.into_iter().rev() {
            let mail = self.with_body(connection, mail).await;
            connection.say(telling::of_mail(&mail)).await;
            *held(&self.told) = Some(mail.id);
        }
        if has_more {
            connection.say(telling::of_more(&more, first)).await;
        }
        true
    }

    async fn count_between(&self, connection: &Arc<Connection>, told: i64, first: i64) -> String {
        let older = FetchInbox { before_id: Some(first), ..self.newest(MOST_COUNTED) };
        let older = self.list(connection, older).await.unwrap_or_default();
        match older.iter().filter(|mail| mail.id > told).count() {
            0 => "some".to_owned(),
            count if count == MOST_COUNTED as usize => format!("at least {MOST_COUNTED}"),
            count => count.to_string(),
        }
    }

    /// The message with its body. One at a time, because twenty large ones would be too much for one answer.
    async fn with_body(&self, connection: &Arc<Connection>, mail: MessageAnswer) -> MessageAnswer {
        let before_id = Some(mail.id.saturating_add(1));
        let this = FetchInbox { before_id, include_bodies: Some(true), ..self.newest(1) };
        let found = self.list(connection, this).await.unwrap_or_default();
        found.into_iter().find(|found| found.id == mail.id).unwrap_or(mail)
    }

    async fn list(&self, connection: &Arc<Connection>, request: FetchInbox) -> Result<Vec<MessageAnswer>, Refused> {
        let listed = connection.ask(request).await;
        listed.inspect_err(|refused| tracing::debug!(code = refused.code, "the mailbox cannot be read"))
    }

    /// The question for the newest messages, without their bodies.
    fn newest(&self, limit: u32) -> FetchInbox {
        let request = FetchInbox { limit: Some(limit), include_bodies: Some(false), ..FetchInbox::default() };
        request.by(held(&self.agent).clone())
    }

    /// What is watched.
    fn address(&self) -> String {
        let Actor { project_key, agent_name, registration_token } = &*held(&self.agent);
        let keys = [("project", Some(project_key.as_str())), ("registration_token", registration_token.as_deref())];
        resource("inbox", agent_name, &keys)
    }
}

/// Locks what no panic can leave half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox(agent: &str, token: &str) -> Mailbox {
        let (project_key, agent_name) = ("/data/p".to_owned(), agent.to_owned());
        Mailbox::of(Actor { project_key, agent_name, registration_token: Some(token.to_owned()) })
    }

    #[test]
    fn any_name_can_be_listened_for() {
        let uri = "resource://inbox/a%2Fb%3Fc%26d%20%C3%BC?project=%2Fdata%2Fp&registration_token=t";
        assert_eq!(mailbox("a/b?c&d ü", "t").address(), uri);
    }

    #[test]
    fn registering_again_without_a_token_keeps_the_one_that_is_there() {
        let mailbox = mailbox("Anna", "old");
        mailbox.renew(None);
        assert_eq!(held(&mailbox.agent).registration_token.as_deref(), Some("old"));
        mailbox.renew(Some("new".to_owned()));
        assert_eq!(held(&mailbox.agent).registration_token.as_deref(), Some("new"));
    }
}
