//! The watcher itself: takes its places, looks whenever something may have come, and goes when it is asked to.
//!
//! A wake-up of the office brings a look at once; a look every few seconds finds what no wake-up told of. The place is
//! held by a word every half minute, also while a command runs.

use std::cell::Cell;
use std::collections::HashSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use api::{Actor, BeginWatch, BegunAnswer, EndWatch, TakenAnswer};
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::watches::{RunOutcome, RunState};
use relay::watch::{Breaker, Invocation, Template};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::asking::WatchSource;
use super::holder;
use super::log::Log;
use super::put_off::PutOff;
use crate::post_office::{PostOffice, Refused};

/// How often a watcher says that it is still there.
const BEAT: Duration = Duration::from_secs(30);
/// How long a watcher that ends tries to say so.
const LONGEST_GOODBYE: Duration = Duration::from_secs(5);

/// What a watcher is to do.
pub(super) struct Plan {
    pub(super) options: super::Watch,
    /// For whom, and in which project.
    pub(super) actor: Actor,
    /// The channels to watch; an empty one is the mailbox.
    pub(super) channels: Vec<String>,
    /// How a prompt is made.
    pub(super) template: Template,
    /// What answers.
    pub(super) invocation: Invocation,
    /// Where doings are told.
    pub(super) log: Log,
}

/// A watcher at work.
pub(super) struct Watching<'a> {
    pub(super) plan: &'a Plan,
    pub(super) post_office: &'a PostOffice,
    /// Whether it was told that the office does not answer.
    pub(super) is_away: Cell<bool>,
    pub(super) breaker: Breaker,
    /// What is answered later.
    pub(super) put_off: PutOff,
    /// Whether a run has failed.
    pub(super) has_failed: bool,
    pub(super) holder: String,
    /// Where it looks.
    pub(super) sources: Vec<WatchSource>,
    /// What was met in the mailbox, so that what is handed over behind the position is told from it.
    met: HashSet<i64>,
    next_beat: Instant,
}

impl<'a> Watching<'a> {
    /// A watcher that has not begun.
    pub(super) fn new(post_office: &'a PostOffice, plan: &'a Plan) -> Self {
        Self {
            plan,
            post_office,
            is_away: Cell::new(false),
            breaker: Breaker::new(plan.options.max_hops),
            put_off: PutOff::default(),
            has_failed: false,
            holder: holder::name(),
            sources: Vec::new(),
            met: HashSet::new(),
            next_beat: Instant::now() + BEAT,
        }
    }

    /// Watches until `stop`, or until another has its place.
    pub(super) async fn run(mut self, stop: impl Future<Output = ()>) -> anyhow::Result<ExitCode> {
        let at_work = async {
            self.begin().await?;
            self.go_on().await.map_err(anyhow::Error::from)
        };
        let ended = tokio::select! {
            ended = at_work => ended,
            () = stop => Ok(()),
        };
        // Whatever became of it; an office that is gone is not waited for.
        if !self.sources.is_empty() {
            let _ = timeout(LONGEST_GOODBYE, self.end()).await;
        }
        ended?;
        Ok(if self.plan.options.once && self.has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    async fn begin(&mut self) -> anyhow::Result<()> {
        for channel in &self.plan.channels {
            let (source, given_up) = self.begin_at(channel).await?;
            let facts = source.facts(json!({ "position": source.position, "pid": std::process::id() }));
            let words = format!("watching {} for {}", source.name(), self.agent());
            self.plan.log.tell("watching", facts, &words, "");
            // A message that ended its watchers is not tried again.
            for message in given_up {
                self.has_failed = true;
                let reason = "its watchers were interrupted";
                let facts = source.facts(json!({ "message_id": message, "reason": reason }));
                self.plan.log.tell("failed", facts, &format!("failed to answer {message}: {reason}"), "");
            }
            self.sources.push(source);
        }
        self.beat("IDLE").await;
        // What was answered in a channel stands among the agent's own messages, too.
        let mut counted = HashSet::new();
        for source in &self.sources {
            for answer in self.answers(source).await? {
                if counted.insert(answer.id) {
                    let to = answer.to.iter().find(|name| !name.starts_with('#'));
                    self.breaker.note(&answer.thread, to.map_or("", String::as_str), answer.at);
                }
            }
        }
        Ok(())
    }

    /// Begins to watch somewhere, and returns the messages there that are given up.
    async fn begin_at(&self, channel: &str) -> anyhow::Result<(WatchSource, Vec<i64>)> {
        let mut begin = BeginWatch {
            actor: self.plan.actor.clone(),
            channel: channel.to_owned(),
            holder: self.holder.clone(),
            instead_of: None,
            since: Some(api::Time(self.plan.options.since.time(SystemClock.now()))),
        };
        let mut begun = self.ask(begin.clone()).await.map_err(|refused| self.advised(refused))?;
        if let BegunAnswer::Held { holder, .. } = &begun
            && holder::is_gone(holder)
        {
            begin.instead_of = Some(holder.clone());
            begun = self.ask(begin).await?;
        }
        let source = |position| WatchSource { channel: channel.to_owned(), first: position, position };
        match begun {
            BegunAnswer::Started { position, given_up } => Ok((source(position), given_up)),
            BegunAnswer::Held { holder, until } => bail!(
                "another watcher, {}, watches {} for '{}'; stop it first (one that was killed elsewhere is replaced \
                 after {until})",
                holder::shown(&holder),
                source(0).name(),
                self.agent()
            ),
        }
    }

    /// A refusal to begin, with what to do about it in the terminal.
    fn advised(&self, refused: Refused) -> Refused {
        match refused.code.as_str() {
            // Elsewhere a name that is new is made known, and so is a project that has a path.
            "PROJECT_NOT_FOUND" if !self.project().starts_with('/') => refused,
            "AGENT_NOT_FOUND" | "PROJECT_NOT_FOUND" => refused.hinted(&format!(
                "Names have to be proved here: join first with 'postrider join {}', and pass the token that it prints \
                 with --token.",
                self.agent()
            )),
            _ => refused,
        }
    }

    /// Looks, and looks again. Ends only when the office refuses, or when once was enough.
    async fn go_on(&mut self) -> Result<(), Refused> {
        let watch = self.post_office.watch(self.sources.iter().map(|source| self.watched(source)));
        loop {
            self.answer_late().await?;
            for at in 0..self.sources.len() {
                self.look(at).await?;
            }
            if self.plan.options.once {
                return Ok(());
            }
            if Instant::now() >= self.next_beat {
                self.say_so("IDLE").await?;
                self.next_beat = Instant::now() + BEAT;
            }
            tokio::select! {
                _ = timeout(self.pause(), watch.changed()) => {}
                refused = self.keep_holding("IDLE") => return Err(refused),
            }
        }
    }

    /// How long there is nothing to do, unless a wake-up comes.
    fn pause(&self) -> Duration {
        let until = |due: Timestamp| Duration::try_from(due.duration_since(SystemClock.now())).unwrap_or_default();
        self.put_off.next_due().map_or(self.plan.options.poll, |due| until(due).min(self.plan.options.poll))
    }

    /// Answers the first of what had to wait and is due. One at a time, so that what is new is not held up.
    async fn answer_late(&mut self) -> Result<(), Refused> {
        let Some((channel, message)) = self.put_off.due(SystemClock.now()) else { return Ok(()) };
        let met = self.sources.iter().find(|source| source.channel == channel).cloned();
        let source = met.expect("a message waits only where it was met");
        match self.message(&source, message).await? {
            Some(said) => self.answer(&source, &said, false).await,
            None => {
                self.put_off.remove(message);
                Ok(())
            }
        }
    }

    /// Deals with what is at a place: first what is to be tried again, then what is new.
    async fn look(&mut self, at: usize) -> Result<(), Refused> {
        let mut source = self.sources[at].clone();
        for run in self.runs(&source.channel, RunState::Again).await? {
            if self.put_off.holds(run.message_id) {
                continue;
            }
            match self.message(&source, run.message_id).await? {
                // Whoever wants it tried again begins its count again.
                Some(said) => self.answer(&source, &said, run.tries == 0).await?,
                None if self.take(&source.channel, run.message_id).await? == TakenAnswer::Already => {}
                None => {
                    let outcome = RunOutcome::Failed("the message is not there any more".to_owned());
                    self.finish(run.message_id, &outcome).await?;
                }
            }
        }
        for said in self.handed_over(&source).await? {
            if self.met.insert(said.id) {
                self.meet(&source, &said).await?;
            }
        }
        loop {
            let messages = self.next(&source).await?;
            if messages.is_empty() {
                return Ok(());
            }
            for said in &messages {
                if source.is_mailbox() {
                    self.met.insert(said.id);
                }
                self.meet(&source, said).await?;
                source.position = said.id;
            }
            self.sources[at].position = source.position;
            self.hold(&source).await?;
        }
    }

    /// Says again and again that the watcher is there, and returns only when it may not go on.
    pub(super) async fn keep_holding(&self, substate: &str) -> Refused {
        loop {
            tokio::time::sleep(BEAT).await;
            if let Err(refused) = self.say_so(substate).await {
                return refused;
            }
        }
    }

    async fn say_so(&self, substate: &str) -> Result<(), Refused> {
        for source in &self.sources {
            self.hold(source).await?;
        }
        self.beat(substate).await;
        Ok(())
    }

    /// Gives the places back, and says that the agent is not there any more. What was being answered is left as it is:
    /// the next watcher takes it on again.
    async fn end(&self) {
        for source in &self.sources {
            let (actor, channel, holder) = (self.plan.actor.clone(), source.channel.clone(), self.holder.clone());
            if let Err(refused) = self.ask(EndWatch { actor, channel, holder }).await {
                self.plan.log.tell("away", json!({ "code": refused.code }), &refused.to_string(), "");
            }
        }
        // Also where it was told that it held no place: the office may have heard it before, and the answer was lost. If
        // another watches, the office keeps the agent awake.
        self.leave().await;
        self.plan.log.tell("ended", json!({}), "ended", "");
    }
}
