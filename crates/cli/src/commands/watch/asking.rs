//! How a watcher asks its post office: in the agent's name, and with patience, for a server that is being started again
//! comes back.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use api::{Leave, SetPresence};
use formats::presence::{AWAKE, START, may_follow};
use mail::watches::Taken;
use serde::Deserialize;
use serde_json::{Value, json};

use super::failures::asked;
use super::log::Log;
use crate::mailbox::Who;
use crate::post_office::{PostOffice, Refused};

/// The code of the refusal that ends a watcher in whose place another watches.
pub const REPLACED: &str = "WATCHER_REPLACED";

/// An agent's way to the office.
pub struct Asking<'a> {
    post_office: &'a PostOffice,
    project: &'a str,
    who: Who,
    /// How long after each other an office that is away is asked; once only without it.
    patience: Option<Duration>,
    log: &'a Log,
    is_away: Cell<bool>,
    /// How the agent was last said to be.
    shown: RefCell<String>,
}

impl<'a> Asking<'a> {
    /// Asks in the name of `who`.
    pub fn new(
        post_office: &'a PostOffice,
        project: &'a str,
        who: Who,
        patience: Option<Duration>,
        log: &'a Log,
    ) -> Self {
        Self {
            post_office,
            project,
            who,
            patience,
            log,
            is_away: Cell::new(false),
            shown: RefCell::new(START.to_owned()),
        }
    }

    /// The agent's name.
    pub fn agent(&self) -> &str {
        &self.who.name
    }

    /// What proves the name.
    pub fn token(&self) -> Option<&str> {
        self.who.token.as_deref()
    }

    /// The project's key.
    pub fn project(&self) -> &'a str {
        self.project
    }

    /// The office.
    pub fn post_office(&self) -> &'a PostOffice {
        self.post_office
    }

    /// Calls a tool in the agent's name.
    pub async fn call(&self, tool: &str, mut arguments: Value) -> Result<Value, Refused> {
        arguments["project_key"] = json!(self.project);
        if let Some(token) = &self.who.token {
            arguments["registration_token"] = json!(token);
        }
        self.patiently(async || self.post_office.call(tool, arguments.clone()).await).await
    }

    /// Reads a resource.
    pub async fn read(&self, uri: &str) -> Result<Value, Refused> {
        self.patiently(async || self.post_office.read(uri).await).await
    }

    /// Asks the tool for watchers.
    pub async fn watch(&self, verb: &str, more: Value) -> Result<Value, Refused> {
        let ask = asked(verb, self.project, &self.who, more);
        self.patiently(async || self.post_office.call("watch", ask.clone()).await).await
    }

    /// How many watchers answered each other on the way to a message.
    pub async fn hops(&self, message: i64) -> Result<u32, Refused> {
        let told = self.watch("hops", json!({ "message_id": message })).await?;
        Ok(told["hops"].as_u64().and_then(|hops| u32::try_from(hops).ok()).unwrap_or(0))
    }

    /// Takes a message on.
    pub async fn take(&self, channel: &str, message: i64) -> Result<Taken, Refused> {
        let ask = asked("take", self.project, &self.who, json!({ "channel": channel, "message_id": message }));
        let is_unknown = Cell::new(false);
        let taken = self
            .patiently(async || {
                let answer = self.post_office.call("watch", ask.clone()).await;
                is_unknown.set(is_unknown.get() || answer.as_ref().is_err_and(|refused| refused.code != "UNREACHABLE"));
                answer
            })
            .await?;
        match taken["taken"].as_str() {
            Some("new") => Ok(Taken::New),
            Some("again") => Ok(Taken::Again),
            // One watcher is at this place, so what is running here is ours: the answer that said so was lost.
            _ if is_unknown.get() && self.is_running(channel, message).await? => Ok(Taken::New),
            _ => Ok(Taken::Already),
        }
    }

    async fn is_running(&self, channel: &str, message: i64) -> Result<bool, Refused> {
        let running = self.runs(channel, "running").await?;
        Ok(running.iter().any(|run| run.message_id == message))
    }

    /// What was taken on at a place and stands so.
    pub async fn runs(&self, channel: &str, state: &str) -> Result<Vec<Run>, Refused> {
        let answer = self.watch("runs", json!({ "channel": channel, "state": state })).await?;
        Ok(Vec::deserialize(&answer["runs"]).unwrap_or_default())
    }

    /// Notes how a run ended.
    pub async fn finish(&self, message: i64, outcome: &str, note: &str) -> Result<(), Refused> {
        self.watch("finish", json!({ "message_id": message, "outcome": outcome, "note": note })).await.map(drop)
    }

    /// Holds a place; a refusal if another has it.
    pub async fn hold(&self, channel: &str, holder: &str, position: i64) -> Result<(), Refused> {
        let held = self.watch("hold", json!({ "channel": channel, "holder": holder, "position": position })).await?;
        if held["held"] == true {
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
        let Who { name, token } = self.who.clone();
        let request = SetPresence {
            project_key: self.project.to_owned(),
            agent_name: name,
            state: Some(AWAKE.to_owned()),
            substate: Some(substate.to_owned()),
            watcher_pid: Some(std::process::id().into()),
            channel: channel.map(str::to_owned),
            registration_token: token,
        };
        if let Err(refused) = self.post_office.ask(request).await {
            tracing::debug!(%refused, "presence is not noted");
        }
    }

    /// Says that the agent is not there any more.
    pub async fn leave(&self) {
        let Who { name, token } = self.who.clone();
        let request = Leave { project_key: self.project.to_owned(), agent_name: name, registration_token: token };
        if let Err(refused) = self.post_office.ask(request).await {
            tracing::debug!(%refused, "presence is not noted");
        }
    }

    async fn patiently(&self, ask: impl AsyncFn() -> Result<Value, Refused>) -> Result<Value, Refused> {
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

/// A message that was taken on.
#[derive(Debug, Deserialize)]
pub struct Run {
    /// The message.
    pub message_id: i64,
    /// How often it was taken on since somebody wanted it tried.
    pub tries: u32,
}
