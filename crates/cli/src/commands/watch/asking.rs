//! What a watcher asks of its post office: in the agent's name, and with patience, for a server that is being started again
//! comes back. The posts of a channel and the messages of a mailbox are both read as what somebody said.

use std::cell::Cell;

use api::answers::{MessageAnswer, PostAnswer, Word};
use api::{
    Ask, FetchInbox, FinishRun, HoldWatch, Leave, ListRuns, ReadChannel, ReadMessage, ReadOutbox, ReadThread,
    RunAnswer, SetPresence, TakeMessage, TakenAnswer, WaitForMail,
};
use mail::agents::EVERYONE;
use mail::channels::WATCHER;
use mail::messages::Vouched;
use mail::presence::AWAKE;
use mail::roles::is_role_address;
use mail::watches::{RunOutcome, RunState};
use relay::watch::Heard;
use serde_json::{Value, json};

use super::super::in_name::InName;
use super::answering::channel_of;
use super::watching::Watching;
use crate::post_office::{Refused, resource};

/// The code of the refusal that ends a watcher in whose place another watches.
const REPLACED: &str = "WATCHER_REPLACED";
/// How many messages are read at a time.
const PAGE: u32 = 100;
/// How many of a channel's newest posts, or of the agent's own messages, are looked at for answers that still count.
const LOOKED_BACK: u32 = 200;

/// Where a watcher looks.
#[derive(Clone, Debug)]
pub struct WatchSource {
    /// The channel; empty for the mailbox.
    pub channel: String,
    /// The last message that was looked at before this watcher began: what came later is met here.
    pub first: i64,
    /// The last message that was looked at.
    pub position: i64,
}

impl WatchSource {
    /// Whether it is the agent's mailbox.
    pub fn is_mailbox(&self) -> bool {
        self.channel.is_empty()
    }

    /// What people call it.
    pub fn name(&self) -> String {
        if self.is_mailbox() { "the mailbox".to_owned() } else { format!("#{}", self.channel) }
    }

    /// What programs are told that happened here.
    pub fn facts(&self, mut facts: Value) -> Value {
        if !self.is_mailbox() {
            facts["channel"] = self.channel.as_str().into();
        }
        facts
    }

    /// The same of a message.
    pub fn facts_of(&self, said: &Heard, mut facts: Value) -> Value {
        facts["message_id"] = said.id.into();
        facts["from"] = said.from.as_str().into();
        self.facts(facts)
    }
}

impl<'a> Watching<'a> {
    /// The agent's name.
    pub(super) fn agent(&self) -> &'a str {
        &self.plan.actor.agent_name
    }

    /// The project's key.
    pub(super) fn project(&self) -> &'a str {
        &self.plan.actor.project_key
    }

    /// Asks a verb.
    pub(super) async fn ask<V: Ask + Clone>(&self, verb: V) -> Result<V::Answer, Refused> {
        self.patiently(async || self.post_office.ask(verb.clone()).await).await
    }

    /// Takes a message on.
    pub(super) async fn take(&self, channel: &str, message_id: i64) -> Result<TakenAnswer, Refused> {
        let take = TakeMessage { actor: self.plan.actor.clone(), channel: channel.to_owned(), message_id };
        let is_unknown = Cell::new(false);
        let taken = self.patiently(async || {
            let answer = self.post_office.ask(take.clone()).await;
            is_unknown.set(is_unknown.get() || answer.as_ref().is_err_and(|refused| refused.code != "UNREACHABLE"));
            answer
        });
        match taken.await? {
            // One watcher is at this place, so what is running here is ours: the answer that said so was lost.
            TakenAnswer::Already if is_unknown.get() => {
                let running = self.runs(channel, RunState::Running).await?;
                let is_ours = running.iter().any(|run| run.message_id == message_id);
                Ok(if is_ours { TakenAnswer::New } else { TakenAnswer::Already })
            }
            taken => Ok(taken),
        }
    }

    /// What was taken on at a place and stands so.
    pub(super) async fn runs(&self, channel: &str, state: RunState) -> Result<Vec<RunAnswer>, Refused> {
        let (channel, state) = (Some(channel.to_owned()), Some(state.as_str().into()));
        self.ask(ListRuns { actor: self.plan.actor.clone(), channel, state, limit: None }).await
    }

    /// Notes how a run ended.
    pub(super) async fn finish(&self, message: i64, outcome: &RunOutcome) -> Result<(), Refused> {
        self.ask(FinishRun::new(self.plan.actor.clone(), message, outcome)).await.map(drop)
    }

    /// Holds a place, and notes how far the next watcher need not look: up to what waits here. A refusal if another has it.
    pub(super) async fn hold(&self, source: &WatchSource) -> Result<(), Refused> {
        let first_waiting = self.put_off.first_in(&source.channel);
        let position = first_waiting.map_or(source.position, |first| source.position.min(first - 1));
        let (channel, holder) = (source.channel.clone(), self.holder.clone());
        if self.ask(HoldWatch { actor: self.plan.actor.clone(), channel, holder, position }).await? {
            return Ok(());
        }
        let hint = "It was not heard of for too long. Start it again when the other has ended.";
        Err(Refused::new(REPLACED, "Another watcher has taken this one's place", hint))
    }

    /// Says that the agent is awake, and what it is at. An office that knows no presence goes without.
    pub(super) async fn beat(&self, substate: &str) {
        let sign = SetPresence {
            state: Some(AWAKE.to_owned()),
            substate: Some(substate.to_owned()),
            watcher_pid: Some(std::process::id().into()),
            channel: self.plan.channels.iter().find(|channel| !channel.is_empty()).cloned(),
            ..SetPresence::default()
        };
        self.note(sign.by(self.plan.actor.clone())).await;
    }

    /// Says that the agent is not there any more.
    pub(super) async fn leave(&self) {
        self.note(Leave::default().by(self.plan.actor.clone())).await;
    }

    /// Asks once, of what is not worth waiting for.
    async fn note<V: Ask>(&self, verb: V) {
        if let Err(refused) = self.post_office.ask(verb).await {
            tracing::debug!(%refused, "presence is not noted");
        }
    }

    /// The resource that changes when something comes here.
    pub(super) fn watched(&self, source: &WatchSource) -> String {
        let token = self.plan.actor.registration_token.as_deref().filter(|_| source.is_mailbox());
        let keys = [("project", Some(self.project())), ("registration_token", token)];
        match source.is_mailbox() {
            true => resource("inbox", self.agent(), &keys),
            false => resource("channel", &source.channel, &keys),
        }
    }

    /// The next messages behind the position, the oldest first; none if there are none.
    pub(super) async fn next(&self, source: &WatchSource) -> Result<Vec<Heard>, Refused> {
        if source.is_mailbox() {
            let after_id = Some(source.position);
            let wait = WaitForMail { timeout_seconds: Some(0), after_id, ..WaitForMail::default() };
            let received = self.ask(wait.by(self.plan.actor.clone())).await?;
            return Ok(received.into_iter().map(|message| self.received(message)).collect());
        }
        let since = Some(source.position.to_string());
        self.posts(source, ReadChannel { since, limit: Some(PAGE), ..ReadChannel::default() }).await
    }

    /// Mail to a role that came into the mailbox behind the position, because the agent took the role after it was sent; oldest first.
    pub(super) async fn handed_over(&self, source: &WatchSource) -> Result<Vec<Heard>, Refused> {
        if !source.is_mailbox() {
            return Ok(Vec::new());
        }
        let unread = FetchInbox { limit: Some(PAGE), unread_only: Some(true), ..FetchInbox::default() };
        let mut unread = self.ask(unread.by(self.plan.actor.clone())).await?;
        unread.retain(|one| one.id <= source.position && one.to.iter().any(|name| is_role_address(name)));
        Ok(unread.into_iter().rev().map(|message| self.received(message)).collect())
    }

    /// A message in the mailbox. It may be addressed to the agent by the name of a role that it holds, or by one that it had: only a copy
    /// is not for it.
    fn received(&self, message: MessageAnswer) -> Heard {
        let is_copy = message.role.is_some();
        let mut said = message_said(message);
        if !is_copy && channel_of(&said).is_none() && !said.to.iter().any(|name| name == self.agent()) {
            said.to.push(self.agent().to_owned());
        }
        said
    }

    /// One message that was met here before.
    pub(super) async fn message(&self, source: &WatchSource, id: i64) -> Result<Option<Heard>, Refused> {
        if source.is_mailbox() {
            let request = ReadMessage { project_key: self.project().to_owned(), message_id: id };
            return Ok(Some(message_said(self.ask(request).await?.message)));
        }
        let since = Some((id - 1).to_string());
        let mut found = self.posts(source, ReadChannel { since, limit: Some(1), ..ReadChannel::default() }).await?;
        Ok(found.pop().filter(|said| said.id == id))
    }

    /// What was said before a message, and what was said last: in its conversation if it answers something, else in the
    /// channel.
    pub(super) async fn around(&self, source: &WatchSource, message: &Heard) -> Result<Vec<Heard>, Refused> {
        if self.plan.options.context == 0 || (source.is_mailbox() && !message.is_answer) {
            return Ok(Vec::new());
        }
        let mut said = self.newest(source, message, message.id).await?;
        said.extend(self.newest(source, message, i64::MAX).await?);
        Ok(said)
    }

    async fn newest(&self, source: &WatchSource, message: &Heard, before: i64) -> Result<Vec<Heard>, Refused> {
        let (limit, before_id) = (Some(self.plan.options.context), Some(before));
        if source.is_mailbox() {
            let request = ReadThread {
                project_key: self.project().to_owned(),
                thread_id: message.thread.clone(),
                limit,
                before_id,
                include_bodies: Some(true),
                ..ReadThread::default()
            };
            return Ok(self.ask(request).await?.messages.into_iter().map(message_said).collect());
        }
        let thread_id = message.is_answer.then(|| message.thread.clone());
        self.posts(source, ReadChannel { before_id, limit, thread_id, ..ReadChannel::default() }).await
    }

    /// The answers that the agent gave here of late, with whom they went to.
    pub(super) async fn answers(&self, source: &WatchSource) -> Result<Vec<Heard>, Refused> {
        if source.is_mailbox() {
            let request = ReadOutbox { limit: Some(LOOKED_BACK), include_bodies: Some(false), ..ReadOutbox::default() };
            let sent = self.ask(request.by(self.plan.actor.clone())).await?.messages.into_iter().rev();
            return Ok(sent.map(|sent| message_said(sent.message)).filter(|said| said.is_answer).collect());
        }
        let newest = self.posts(source, ReadChannel { limit: Some(LOOKED_BACK), ..ReadChannel::default() }).await?;
        Ok(newest.into_iter().filter(|said| said.is_by_watcher && said.from == self.agent()).collect())
    }

    async fn posts(&self, source: &WatchSource, request: ReadChannel) -> Result<Vec<Heard>, Refused> {
        let (project_key, channel) = (self.project().to_owned(), source.channel.clone());
        let page = self.ask(ReadChannel { project_key, channel, ..request }).await?;
        Ok(page.messages.into_iter().map(post_said).collect())
    }

    /// An office that is away is asked again and again; once only by a watcher that runs once.
    async fn patiently<T>(&self, ask: impl AsyncFn() -> Result<T, Refused>) -> Result<T, Refused> {
        loop {
            match ask().await {
                Err(refused) if refused.is_passing() && !self.plan.options.once => {
                    if !self.is_away.replace(true) {
                        let refused = refused.hinted("It is asked again and again.");
                        self.plan.log.tell("away", json!({ "code": refused.code }), &refused.to_string(), "");
                    }
                    tokio::time::sleep(self.plan.options.poll).await;
                }
                answer => {
                    if answer.is_ok() && self.is_away.replace(false) {
                        self.plan.log.tell("back", json!({}), "the post office is back", "");
                    }
                    return answer;
                }
            }
        }
    }
}

fn post_said(post: PostAnswer) -> Heard {
    let artifacts = post.artifacts.iter().map(|artifact| match artifact {
        Value::String(text) => format!("\nArtifact: {text}"),
        other => format!("\nArtifact: {other}"),
    });
    let code = post.code.as_deref().map(|code| format!("\n\n{code}")).unwrap_or_default();
    Heard {
        id: post.id,
        from: post.from,
        is_human: post.vouched.as_deref() == Some(Vouched::Human.as_str()),
        to: post.to.into_iter().filter(|name| name != EVERYONE).collect(),
        kind: post.kind,
        text: format!("{}{code}{}", post.text, artifacts.collect::<String>()),
        thread: post.thread_id,
        is_answer: post.in_reply_to.is_some(),
        is_by_watcher: post.mode == WATCHER,
        hops: post.hops,
        at: post.created_ts.0,
    }
}

fn message_said(message: MessageAnswer) -> Heard {
    Heard {
        id: message.id,
        from: message.from,
        is_human: message.vouched.as_deref() == Some(Vouched::Human.as_str()),
        to: message.to,
        kind: message.kind.map_or_else(|| "mail".to_owned(), Word::into_owned),
        text: format!("Subject: {}\n\n{}", message.subject, message.body_md.as_deref().unwrap_or_default()),
        thread: message.thread_id,
        is_answer: message.reply_to.is_some(),
        is_by_watcher: false,
        hops: 0,
        at: message.created_ts.0,
    }
}
