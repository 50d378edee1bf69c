//! The watcher itself: takes its places, looks whenever something may have come, and goes when it is asked to.
//!
//! A ring of the office brings a look at once; a look every few seconds finds what no ring told of. The place is held by
//! a word every half minute, also while a command runs.

use std::collections::HashSet;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::process::ExitCode;
use std::task::Poll;
use std::time::Duration;

use anyhow::bail;
use api::{Actor, BeginWatch, BegunAnswer, EndWatch, TakenAnswer};
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::watches::{Outcome, RunState};
use relay::watch::{Breaker, Invocation, Template};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, timeout};

use super::amounts::Since;
use super::asking::Asking;
use super::holder;
use super::log::Log;
use super::put_off::PutOff;
use super::source::WatchSource;
use crate::post_office::{PostOffice, Refused, Watch};

/// How often a watcher says that it is still there.
const BEAT: Duration = Duration::from_secs(30);
/// How long a watcher that ends tries to say so.
const LONGEST_GOODBYE: Duration = Duration::from_secs(5);

/// What a watcher is to do.
pub struct Plan {
    /// For whom, and in which project.
    pub actor: Actor,
    /// The channels to watch; an empty one is the mailbox.
    pub places: Vec<String>,
    /// Who the agent is, in the prompt.
    pub role: Option<String>,
    /// How a prompt is made.
    pub template: Template,
    /// How many messages it tells of that came before.
    pub context: u32,
    /// What answers.
    pub invocation: Invocation,
    /// How late a look is at most.
    pub poll: Duration,
    /// Where to begin if nobody ever watched here.
    pub since: Since,
    /// How many watchers may answer each other.
    pub max_hops: u32,
    /// Whether to end when all that is there is dealt with.
    pub once: bool,
    /// Where doings are told.
    pub log: Log,
}

/// A watcher at work.
pub struct Watching<'a> {
    pub(super) plan: &'a Plan,
    pub(super) asking: Asking<'a>,
    pub(super) breaker: Breaker,
    /// What is answered later.
    pub(super) put_off: PutOff,
    /// Whether a run has failed.
    pub(super) has_failed: bool,
    holder: String,
    places: Vec<WatchSource>,
    next_beat: Instant,
}

impl<'a> Watching<'a> {
    /// A watcher that has not begun.
    pub fn new(post_office: &'a PostOffice, plan: &'a Plan) -> Self {
        let patience = (!plan.once).then_some(plan.poll);
        Self {
            plan,
            asking: Asking::new(post_office, &plan.actor, patience, &plan.log),
            breaker: Breaker::new(plan.max_hops),
            put_off: PutOff::default(),
            has_failed: false,
            holder: holder::name(),
            places: Vec::new(),
            next_beat: Instant::now() + BEAT,
        }
    }

    /// Watches until `stop`, or until another has its place.
    pub async fn run(mut self, stop: impl Future<Output = ()>) -> anyhow::Result<ExitCode> {
        let at_work = async {
            self.begin().await?;
            self.go_on().await.map_err(anyhow::Error::from)
        };
        let ended = tokio::select! {
            ended = at_work => ended,
            () = stop => Ok(()),
        };
        // Whatever became of it; an office that is gone is not waited for.
        if !self.places.is_empty() {
            let _ = timeout(LONGEST_GOODBYE, self.end()).await;
        }
        ended?;
        Ok(if self.plan.once && self.has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The channel that is watched, if one is.
    pub(super) fn channel(&self) -> Option<&'a str> {
        self.plan.places.iter().map(String::as_str).find(|channel| !channel.is_empty())
    }

    /// Where it looks.
    pub(super) fn places(&self) -> &[WatchSource] {
        &self.places
    }

    async fn begin(&mut self) -> anyhow::Result<()> {
        for channel in &self.plan.places {
            let (place, given_up) = self.take_place(channel).await?;
            let mut facts = json!({ "position": place.position, "pid": std::process::id() });
            if !place.is_mailbox() {
                facts["channel"] = json!(channel);
            }
            let words = format!("watching {} for {}", place.name(), self.asking.agent());
            self.places.push(place);
            self.plan.log.tell("watching", facts, &words, "");
            for message in given_up {
                self.tell_given_up(channel, message);
            }
        }
        self.asking.beat("IDLE", self.channel()).await;
        // What was answered in a channel stands among the agent's letters, too.
        let mut counted = HashSet::new();
        for place in &self.places {
            for answer in place.answers(&self.asking).await? {
                if !counted.insert(answer.id) {
                    continue;
                }
                let to = answer.to.iter().find(|name| !name.starts_with('#'));
                self.breaker.note(&answer.thread, to.map_or("", String::as_str), answer.at);
            }
        }
        Ok(())
    }

    /// Tells of a message that ended its watchers, and is not tried again.
    fn tell_given_up(&mut self, channel: &str, message: i64) {
        self.has_failed = true;
        let mut facts = json!({ "message_id": message, "reason": "its watchers were interrupted" });
        if !channel.is_empty() {
            facts["channel"] = json!(channel);
        }
        let words = format!("failed to answer {message}: its watchers were interrupted");
        self.plan.log.tell("failed", facts, &words, "");
    }

    /// Takes a place, and returns it with the messages there that are given up.
    async fn take_place(&self, channel: &str) -> anyhow::Result<(WatchSource, Vec<i64>)> {
        let mut begin = BeginWatch {
            actor: self.plan.actor.clone(),
            channel: channel.to_owned(),
            holder: self.holder.clone(),
            instead_of: None,
            since: Some(self.plan.since.time(SystemClock.now()).into()),
        };
        let mut begun = self.asking.ask(begin.clone()).await.map_err(|refused| self.advised(refused))?;
        if let BegunAnswer::Held { holder, .. } = &begun
            && holder::is_gone(holder)
        {
            begin.instead_of = Some(holder.clone());
            begun = self.asking.ask(begin).await?;
        }
        let place = |position| WatchSource { channel: channel.to_owned(), first: position, position };
        let (holder, until) = match begun {
            BegunAnswer::Started { position, given_up } => return Ok((place(position), given_up)),
            BegunAnswer::Held { holder, until } => (holder, until),
        };
        bail!(
            "another watcher, {}, watches {} for '{}'; stop it first (one that was killed elsewhere is replaced after \
             {until})",
            holder::shown(&holder),
            place(0).name(),
            self.asking.agent()
        )
    }

    /// A refusal to begin, with what to do about it in the terminal.
    fn advised(&self, refused: Refused) -> Refused {
        match refused.code.as_str() {
            // Elsewhere a name that is new is made known, and so is a project that has a path.
            "PROJECT_NOT_FOUND" if !self.asking.project().starts_with('/') => refused,
            "AGENT_NOT_FOUND" | "PROJECT_NOT_FOUND" => refused.hinted(&format!(
                "Names have to be proved here: join first with 'postrider join {}', and pass the token that it prints \
                 with --token.",
                self.asking.agent()
            )),
            _ => refused,
        }
    }

    /// Looks, and looks again. Ends only when the office refuses, or when once was enough.
    async fn go_on(&mut self) -> Result<(), Refused> {
        let rings: Vec<Watch> = self.places.iter().map(|place| place.listen(&self.asking)).collect();
        loop {
            self.answer_late().await?;
            for at in 0..self.places.len() {
                self.look(at).await?;
            }
            if self.plan.once {
                return Ok(());
            }
            if Instant::now() >= self.next_beat {
                self.say_so("IDLE").await?;
                self.next_beat = Instant::now() + BEAT;
            }
            tokio::select! {
                _ = timeout(self.pause(), any(&rings)) => {}
                refused = self.keep_holding("IDLE") => return Err(refused),
            }
        }
    }

    /// How long there is nothing to do, unless a ring comes.
    fn pause(&self) -> Duration {
        let until = |due: Timestamp| Duration::try_from(due.duration_since(SystemClock.now())).unwrap_or_default();
        self.put_off.next_due().map_or(self.plan.poll, |due| until(due).min(self.plan.poll))
    }

    /// Answers the first of what had to wait and is due. One at a time, so that what is new is not held up.
    async fn answer_late(&mut self) -> Result<(), Refused> {
        let Some((channel, message)) = self.put_off.due(SystemClock.now()) else { return Ok(()) };
        let met = self.places.iter().find(|place| place.channel == channel).cloned();
        let place = met.expect("a message waits only where it was met");
        match place.message(&self.asking, message).await? {
            Some(said) => self.answer(&place, &said, false).await,
            None => {
                self.put_off.remove(message);
                Ok(())
            }
        }
    }

    /// Deals with what is at a place: first what is to be tried again, then what is new.
    async fn look(&mut self, at: usize) -> Result<(), Refused> {
        let mut place = self.places[at].clone();
        for run in self.asking.runs(&place.channel, RunState::Again).await? {
            if self.put_off.holds(run.message_id) {
                continue;
            }
            match place.message(&self.asking, run.message_id).await? {
                // Whoever wants it tried again begins its count anew.
                Some(said) => self.answer(&place, &said, run.tries == 0).await?,
                None if self.asking.take(&place.channel, run.message_id).await? == TakenAnswer::Already => {}
                None => {
                    let outcome = Outcome::Failed("the message is not there any more".to_owned());
                    self.asking.finish(run.message_id, &outcome).await?;
                }
            }
        }
        loop {
            let news = place.next(&self.asking).await?;
            if news.is_empty() {
                return Ok(());
            }
            for said in &news {
                self.meet(&place, said).await?;
                place.position = said.id;
            }
            self.places[at].position = place.position;
            self.hold(&place).await?;
        }
    }

    /// Holds a place, and notes how far the next watcher need not look: up to what waits here.
    async fn hold(&self, place: &WatchSource) -> Result<(), Refused> {
        let first_waiting = self.put_off.first_in(&place.channel);
        let position = first_waiting.map_or(place.position, |first| place.position.min(first - 1));
        self.asking.hold(&place.channel, &self.holder, position).await
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
        for place in &self.places {
            self.hold(place).await?;
        }
        self.asking.beat(substate, self.channel()).await;
        Ok(())
    }

    /// Gives the places back, and says that the agent is not there any more. What was being answered is left as it is:
    /// the next watcher takes it on again.
    async fn end(&self) {
        if self.places.is_empty() {
            return;
        }
        for place in &self.places {
            let (actor, channel, holder) = (self.plan.actor.clone(), place.channel.clone(), self.holder.clone());
            if let Err(refused) = self.asking.ask(EndWatch { actor, channel, holder }).await {
                self.plan.log.tell("away", json!({ "code": refused.code }), &refused.to_string(), "");
            }
        }
        // Also where it was told that it held no place: the office may have heard it before, and the answer was lost. If
        // another watches, the office keeps the agent awake.
        self.asking.leave().await;
        self.plan.log.tell("ended", json!({}), "ended", "");
    }
}

/// Waits until one of them rings.
async fn any(rings: &[Watch]) {
    let mut rings: Vec<_> = rings.iter().map(|ring| Box::pin(ring.changed())).collect();
    let ringing = poll_fn(|cx| {
        let has_rung = rings.iter_mut().any(|ring| ring.as_mut().poll(cx).is_ready());
        if has_rung { Poll::Ready(()) } else { Poll::Pending }
    });
    pin!(ringing).await;
}

/// Comes back when the process was asked to stop, at any time since this was called.
pub fn asked_to_stop() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
            // Without signals the watcher runs until it is killed, which loses nothing.
            return pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
