//! The mailbox that is watched for one agent, through the same calls as any client has.
//!
//! A stream of notices says when to look; a look by itself now and then makes good what the stream lost. What was told
//! is remembered by its number and never told again. Nothing that is done here changes the mail.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::FetchInbox;
use api::answers::MessageAnswer;
use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::acquaintance::Agent;
use super::telling;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::resource;

/// How many messages are told at once. Of older ones only the number is told.
const MOST_AT_ONCE: usize = 20;
/// How many more are counted: as many as one call lists.
const MOST_COUNTED: u32 = 1_000;
/// How long the stream of notices is relied on before a look without being called.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How long after each other streams are opened, and how soon a look that failed is repeated.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);

/// The mailbox of an agent, and how far it was told.
pub struct Mailbox {
    project: String,
    agent: String,
    token: Mutex<Option<String>>,
    /// Rung when the agent registered again: what was refused before may be granted now.
    registered: Notify,
    /// The highest number that was told or was there before. None while nobody could say what was there.
    told: Mutex<Option<i64>>,
}

/// Why there is no list of mail.
enum NoList {
    /// There is no such agent yet, and so no mail for it.
    NobodyThere,
    /// The office could not be reached, or refused.
    Refused,
}

impl Mailbox {
    /// The mailbox of `agent`.
    pub fn of(agent: Agent) -> Self {
        let Agent { project, name, token } = agent;
        Self { project, agent: name, token: Mutex::new(token), registered: Notify::new(), told: Mutex::default() }
    }

    /// Whether it is the mailbox of `agent`.
    pub fn is_of(&self, agent: &Agent) -> bool {
        self.project == agent.project && self.agent == agent.name
    }

    /// Takes note that the agent registered again, and uses the new token from now on.
    pub fn renew(&self, token: Option<String>) {
        if token.is_some() {
            *held(&self.token) = token;
        }
        self.registered.notify_one();
    }

    /// Counts what is there now as told. Returns whether the office could say what that is.
    pub async fn pass_over_what_is_there(&self, connection: &Arc<Connection>) -> bool {
        let newest = match self.list(connection, self.newest(1)).await {
            Ok(newest) => newest.first().map_or(0, |mail| mail.id),
            Err(NoList::NobodyThere) => 0,
            Err(NoList::Refused) => return false,
        };
        *held(&self.told) = Some(newest);
        true
    }

    /// Tells of mail as it comes, until it is dropped.
    pub async fn watch(self: Arc<Self>, connection: Arc<Connection>) {
        let mut pause = SHORTEST_PAUSE;
        loop {
            while !self.look(&connection).await {
                let _ = timeout(pause, self.registered.notified()).await;
                pause = (pause * 2).min(LOOK_AGAIN);
            }
            pause = SHORTEST_PAUSE;
            let next_stream = Instant::now() + SHORTEST_PAUSE;
            self.look_when_called(&connection).await;
            sleep_until(next_stream).await;
        }
    }

    /// Looks whenever the office says that something changed. Returns when it says nothing any more, or nothing good.
    async fn look_when_called(&self, connection: &Arc<Connection>) {
        // The first notice says that the stream is open, so what came before that is looked for too.
        let (bell, mut rung) = mpsc::channel(1);
        let request = self.listening();
        let listening = connection.listen(&request, &bell);
        tokio::pin!(listening);
        loop {
            tokio::select! {
                () = &mut listening => return,
                _ = rung.recv() => {}
                () = sleep(LOOK_AGAIN) => {}
            }
            if !self.look(connection).await {
                return;
            }
        }
    }

    /// Tells what has not been told. Returns whether the office could say what there is.
    async fn look(&self, connection: &Arc<Connection>) -> bool {
        let Some(told) = *held(&self.told) else {
            return self.pass_over_what_is_there(connection).await;
        };
        let Ok(mut news) = self.list(connection, self.newest(MOST_AT_ONCE as u32 + 1)).await else { return false };
        news.retain(|mail| mail.id > told);
        let has_more = news.len() > MOST_AT_ONCE;
        news.truncate(MOST_AT_ONCE);
        let Some(first) = news.last().map(|mail| mail.id) else { return true };
        let more = if has_more { self.count_between(connection, told, first).await } else { String::new() };
        for mail in news.into_iter().rev() {
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

    async fn list(&self, connection: &Arc<Connection>, request: FetchInbox) -> Result<Vec<MessageAnswer>, NoList> {
        connection.ask(request).await.map_err(|refused| {
            tracing::debug!(code = refused.code, "the mailbox cannot be read");
            let is_nobody = matches!(refused.code.as_str(), "AGENT_NOT_FOUND" | "PROJECT_NOT_FOUND");
            if is_nobody { NoList::NobodyThere } else { NoList::Refused }
        })
    }

    /// The question for the newest messages, without their bodies.
    fn newest(&self, limit: u32) -> FetchInbox {
        FetchInbox {
            project_key: self.project.clone(),
            agent_name: self.agent.clone(),
            limit: Some(limit),
            include_bodies: Some(false),
            registration_token: held(&self.token).clone(),
            ..FetchInbox::default()
        }
    }

    /// The request for notices about this mailbox.
    fn listening(&self) -> ClientMessage {
        let token = held(&self.token).clone();
        let keys = [("project", Some(self.project.as_str())), ("registration_token", token.as_deref())];
        let uri = resource("inbox", &self.agent, &keys);
        ClientMessage::inquiry("subscriptions/listen", json!({ "notifications": { "resourceSubscriptions": [uri] } }))
    }
}

/// Locks what no panic can leave half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox(agent: &str, token: Option<&str>) -> Mailbox {
        let (project, name) = ("/data/p".to_owned(), agent.to_owned());
        Mailbox::of(Agent { project, name, token: token.map(str::to_owned) })
    }

    #[test]
    fn any_name_can_be_listened_for() {
        let asked = mailbox("a/b?c&d ü", Some("t")).listening();
        let uri = "resource://inbox/a%2Fb%3Fc%26d%20%C3%BC?project=%2Fdata%2Fp&registration_token=t";
        assert!(asked.text.contains(&format!("[\"{uri}\"]")), "{}", asked.text);
        assert!(asked.is_listening() && asked.is_modern());
    }

    #[test]
    fn registering_again_without_a_token_keeps_the_one_that_is_there() {
        let mailbox = mailbox("Anna", Some("old"));
        mailbox.renew(None);
        assert_eq!(held(&mailbox.token).as_deref(), Some("old"));
        mailbox.renew(Some("new".to_owned()));
        assert_eq!(held(&mailbox.token).as_deref(), Some("new"));
    }
}
