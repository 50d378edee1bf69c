//! How a watcher asks its post office: in the agent's name, and with patience, for a server that is being started again
//! comes back.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use api::{
    Actor, CountHops, FinishRun, HoldWatch, Leave, ListRuns, RunAnswer, SetPresence, TakeMessage, TakenAnswer, Verb,
};
use formats::presence::{AWAKE, START, may_follow};
use mail::watches::{Outcome, RunState};
use serde_json::json;

use super::log::Log;
use crate::post_office::{PostOffice, Refused};

/// The code of the refusal that ends a watcher in whose place another watches.
pub const REPLACED: &str = "WATCHER_REPLACED";

/// An agent's way to the office.
pub struct Asking<'a> {
    pub post_office: &'a PostOffice,
    pub actor: &'a Actor,
    /// How long after each other an office that is away is asked; once only without it.
    patience: Option<Duration>,
    log: &'a Log,
    is_away: Cell<bool>,
    /// How the agent was last said to be.
    shown: RefCell<String>,
}

impl<'a> Asking<'a> {
    pub fn new(post_office: &'a PostOffice, actor: &'a Actor, patience: Option<Duration>, log: &'a Log) -> Self {
        let shown = RefCell::new(START.to_owned());
        Self { post_office, actor, patience, log, is_away: Cell::new(false), shown }
    }

    /// The agent's name.
    pub fn agent(&self) -> &'a str {
        &self.actor.agent_name
    }

    /// The project's key.
    pub fn project(&self) -> &'a str {
        &self.actor.project_key
    }

    /// Asks a verb.
    pub async fn ask<V: Verb + Clone>(&self, verb: V) -> Result<V::Answer, Refused> {
        self.patiently(async || self.post_office.ask(verb.clone()).await).await
    }

    /// How many watchers answered each other on the way to a message.
    pub async fn hops(&self, message_id: i64) -> Result<u32, Refused> {
        self.ask(CountHops { actor: self.actor.clone(), message_id }).await
    }

    /// Takes a message on.
    pub async fn take(&self, channel: &str, message_id: i64) -> Result<TakenAnswer, Refused> {
        let take = TakeMessage { actor: self.actor.clone(), channel: channel.to_owned(), message_id };
        let is_unknown = Cell::new(false);
        let taken = self.patiently(async || {
            let answer = self.post_office.ask(take.clone()).await;
            is_unknown.set(is_unknown.get() || answer.as_ref().is_err_and(|refused| refused.code != "UNREACHABLE"));
            answer
        });
        match taken.await? {
            // One watcher is at this place, so what is running here is ours: the answer that said so was lost.
            TakenAnswer::Already if is_unknown.get() && self.is_running(channel, message_id).await? => {
                Ok(TakenAnswer::New)
            }
            taken => Ok(taken),
        }
    }

    async fn is_running(&self, channel: &str, message: i64) -> Result<bool, Refused> {
        let running = self.runs(channel, RunState::Running).await?;
        Ok(running.iter().any(|run| run.message_id == message))
    }

    /// What was taken on at a place and stands so.
    pub async fn runs(&self, channel: &str, state: RunState) -> Result<Vec<RunAnswer>, Refused> {
        let (channel, state) = (Some(channel.to_owned()), Some(state.as_str().into()));
        self.ask(ListRuns { actor: self.actor.clone(), channel, state, limit: None }).await
    }

    /// Notes how a run ended.
    pub async fn finish(&self, message: i64, outcome: &Outcome) -> Result<(), Refused> {
        self.ask(FinishRun::new(self.actor.clone(), message, outcome)).await.map(drop)
    }

    /// Holds a place; a refusal if another has it.
    pub async fn hold(&self, channel: &str, holder: &str, position: i64) -> Result<(), Refused> {
        let (channel, holder) = (channel.to_owned(), holder.to_owned());
        if self.ask(HoldWatch { actor: self.actor.clone(), channel, holder, position }).await? {
            return Ok(());
        }
        let hint = "It was not heard of for too long. Start it again when the other has ended.";
        Err(Refused::new(REPLACED, "Another watcher has taken this one's place", hint))
    }

    /// Says that the agent is awake, and what it is at. An office that knows no presence goes without.
    pub async fn beat(&self, substate: &str, channel: Option<&str>) {
        let shown = format!("{AWAKE}/{substate}");
        let last = self.shown.replace(shown.clone());
        if last != shown && !may_follow(&last, &shown) {
            tracing::warn!(last, shown, "one presence does not follow the other");
        }
        let Actor { project_key, agent_name, registration_token } = self.actor.clone();
        let sign = SetPresence {
            project_key,
            agent_name,
            registration_token,
            state: Some(AWAKE.to_owned()),
            substate: Some(substate.to_owned()),
            watcher_pid: Some(std::process::id().into()),
            channel: channel.map(str::to_owned),
        };
        self.note(sign).await;
    }

    /// Says that the agent is not there any more.
    pub async fn leave(&self) {
        let Actor { project_key, agent_name, registration_token } = self.actor.clone();
        self.note(Leave { project_key, agent_name, registration_token }).await;
    }

    /// Asks once, of what is not worth waiting for.
    async fn note<V: Verb>(&self, verb: V) {
        if let Err(refused) = self.post_office.ask(verb).await {
            tracing::debug!(%refused, "presence is not noted");
        }
    }

    async fn patiently<T>(&self, ask: impl AsyncFn() -> Result<T, Refused>) -> Result<T, Refused> {
        loop {
            match (ask().await, self.patience) {
                (Err(refused), Some(pause)) if refused.is_passing() => {
                    if !self.is_away.replace(true) {
                        let refused = refused.hinted("It is asked again and again.");
                        self.log.tell("away", json!({ "code": refused.code }), &refused.to_string(), "");
                    }
                    tokio::time::sleep(pause).await;
                }
                (answer, _) => {
                    if answer.is_ok() && self.is_away.replace(false) {
                        self.log.tell("back", json!({}), "the post office is back", "");
                    }
                    return answer;
                }
            }
        }
    }
}
