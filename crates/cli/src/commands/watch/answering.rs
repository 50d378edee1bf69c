//! One message: taking it on, running the command, posting what it printed, and noting what became of it.
//!
//! An answer is posted under a key of its own, so that it stands there once even if the watcher ends between posting it
//! and noting that it did.

use std::time::Instant;

use api::{CountHops, MarkMessageRead, PostToChannel, ReplyMessage, TakenAnswer};
use jiff::Timestamp;
use mail::channels::WATCHER;
use mail::clock::{Clock, SystemClock, rfc3339};
use mail::ids::MessageId;
use mail::watches::{RunOutcome, answer_key};
use relay::watch::{Decision, Heard, Judgement, Prompt, RunError, context, decide};
use serde_json::{Value, json};

use super::super::in_name::InName;
use super::asking::WatchSource;
use super::put_off::MOST_WAITING;
use super::watching::Watching;
use crate::post_office::Refused;

/// What the office says of a key that was used for another text: the message was answered before.
const ANSWERED_BEFORE: &str = "IDEMPOTENCY_CONFLICT";

/// What came of asking the office, and of running the command.
type OfficeResult<T> = Result<T, Refused>;
type Ran<T> = Result<T, RunError>;

impl Watching<'_> {
    /// Deals with a message that was met for the first time.
    pub(super) async fn meet(&mut self, source: &WatchSource, said: &Heard) -> OfficeResult<()> {
        match decide(said, self.agent()) {
            Decision::Answer if source.is_mailbox() && self.is_met_in_a_channel(said) => {}
            Decision::Answer => return self.answer(source, said, false).await,
            Decision::NotForUs => {
                let words = format!("skipped {} from {}: not for {}", said.id, said.from, self.agent());
                self.tell("skipped", source, said, json!({}), &words);
            }
            Decision::Own => {}
        }
        Ok(())
    }

    /// Takes a message on and answers it. What a person wants tried again is not held up by the breaker.
    pub(super) async fn answer(&mut self, source: &WatchSource, said: &Heard, by_hand: bool) -> OfficeResult<()> {
        let said = &self.counted(source, said).await?;
        let verdict = if by_hand { Judgement::Answer } else { self.judge(said) };
        if let Judgement::Wait(until) = verdict {
            self.let_wait(source, said, until);
            return Ok(());
        }
        let taken = self.take(&source.channel, said.id).await?;
        self.put_off.remove(said.id);
        if taken == TakenAnswer::Already {
            return Ok(());
        }
        if let Judgement::Refuse(reason) = verdict {
            return self.failed(source, said, &RunError { reason, complaint: String::new() }).await;
        }
        let words = format!("answering {} from {} in {}", said.id, said.from, source.name());
        self.tell("answering", source, said, json!({}), &words);
        self.beat("WORKING").await;
        let begun = Instant::now();
        let ran = self.run_command(source, said).await?;
        let ended = self.settle(source, said, ran, begun).await;
        self.beat("IDLE").await;
        ended
    }

    /// The message with the count of its chain, which one in a mailbox does not tell.
    async fn counted(&self, source: &WatchSource, said: &Heard) -> OfficeResult<Heard> {
        let mut said = said.clone();
        if source.is_mailbox() {
            said.hops = self.ask(CountHops { actor: self.plan.actor.clone(), message_id: said.id }).await?;
        }
        Ok(said)
    }

    /// Whether a message is to be answered now. What came behind one that waits would otherwise take its turn.
    fn judge(&mut self, said: &Heard) -> Judgement {
        let verdict = match self.put_off.behind_another(said) {
            Some(due) => Judgement::Wait(due),
            None => self.breaker.judge(said, SystemClock.now()),
        };
        match verdict {
            Judgement::Wait(_) if !self.put_off.may_hold(said.id) => {
                Judgement::Refuse(format!("{MOST_WAITING} messages wait for an answer already"))
            }
            verdict => verdict,
        }
    }

    /// Leaves a message for when its sender, who asked very much, may be answered again.
    fn let_wait(&mut self, source: &WatchSource, said: &Heard, until: Timestamp) {
        if self.put_off.add(&source.channel, said, until) {
            let words = format!("waiting until {} with {}: {} asks very much", rfc3339(until), said.id, said.from);
            self.tell("waiting", source, said, json!({ "until": rfc3339(until) }), &words);
        }
    }

    /// Runs the command, and goes on saying that the watcher is there.
    async fn run_command(&self, source: &WatchSource, said: &Heard) -> OfficeResult<Ran<String>> {
        let around = self.around(source, said).await?;
        let prompt = Prompt {
            agent: self.agent(),
            channel: &source.channel,
            role: self.plan.options.role.as_deref(),
            message: said,
            context: &context(&around, said, self.agent(), self.plan.options.context as usize),
        };
        let id = said.id.to_string();
        let environment = [
            ("POSTRIDER_AGENT", self.agent()),
            ("POSTRIDER_PROJECT", self.project()),
            ("POSTRIDER_CHANNEL", source.channel.as_str()),
            ("POSTRIDER_MESSAGE_ID", id.as_str()),
        ];
        let prompt = self.plan.template.fill(&prompt);
        tokio::select! {
            ended = self.plan.invocation.run(&prompt, &environment) => Ok(ended),
            refused = self.keep_holding("WORKING") => Err(refused),
        }
    }

    /// Posts what the command printed, and notes what became of the message.
    async fn settle(
        &mut self,
        source: &WatchSource,
        said: &Heard,
        ran: Ran<String>,
        begun: Instant,
    ) -> OfficeResult<()> {
        let posted = match ran {
            Ok(answer) if !answer.is_empty() => self.post(source, said, &answer).await?.map(Some),
            ran => ran.map(|_| None),
        };
        let seconds = begun.elapsed().as_secs_f64();
        let (outcome, words, more) = match posted {
            // It may have answered by itself.
            Ok(None) => (RunOutcome::Silent, "nothing to say to", json!({ "seconds": seconds })),
            Ok(Some(id)) => (RunOutcome::Answered, "answered", json!({ "answer_id": id, "seconds": seconds })),
            Err(error) => return self.failed(source, said, &error).await,
        };
        self.breaker.note(&said.thread, &said.from, SystemClock.now());
        self.finish(said.id, &outcome).await?;
        self.mark_read(said).await;
        let words = format!("{words} {} from {} after {seconds:.1} s", said.id, said.from);
        self.tell(outcome.state().as_str(), source, said, more, &words);
        Ok(())
    }

    /// Posts an answer. Returns its number, none if the message was answered before, or why the office will not have it.
    async fn post(&self, source: &WatchSource, said: &Heard, answer: &str) -> OfficeResult<Ran<Option<i64>>> {
        let key = answer_key(self.agent(), MessageId(said.id));
        // What was said in the open is answered there, wherever it was met.
        let channel = if source.is_mailbox() { channel_of(said) } else { Some(source.channel.as_str()) };
        let posted = match channel {
            None => self.reply(said, answer, key).await,
            Some(channel) => self.say(channel, said, answer, key).await,
        };
        match posted {
            Ok(id) => Ok(Ok(Some(id))),
            Err(refused) if refused.code == ANSWERED_BEFORE => Ok(Ok(None)),
            Err(refused) if refused.is_passing() => Err(refused),
            Err(refused) => {
                let reason = format!("the answer was refused: {refused}");
                Ok(Err(RunError { reason, complaint: String::new() }))
            }
        }
    }

    /// Answers a message in the mailbox; returns the number of the answer.
    async fn reply(&self, said: &Heard, answer: &str, key: String) -> OfficeResult<i64> {
        let (body_md, idempotency_key) = (answer.to_owned(), Some(key));
        let reply = ReplyMessage { message_id: said.id, body_md, idempotency_key, ..ReplyMessage::default() };
        Ok(self.ask(reply.by(self.plan.actor.clone())).await?.message.id)
    }

    /// The same in a channel.
    async fn say(&self, channel: &str, said: &Heard, answer: &str, key: String) -> OfficeResult<i64> {
        let post = PostToChannel {
            channel: channel.to_owned(),
            to: vec![said.from.clone()],
            text: answer.to_owned(),
            mode: Some(WATCHER.to_owned()),
            in_reply_to: Some(said.id.to_string()),
            idempotency_key: Some(key),
            ..PostToChannel::default()
        };
        Ok(self.ask(post.by(self.plan.actor.clone())).await?.sent.message.id)
    }

    async fn failed(&mut self, source: &WatchSource, said: &Heard, error: &RunError) -> OfficeResult<()> {
        self.has_failed = true;
        self.finish(said.id, &RunOutcome::Failed(error.reason.clone())).await?;
        let words = format!("failed to answer {} from {}: {}", said.id, said.from, error.reason);
        let facts = source.facts_of(said, json!({ "reason": error.reason }));
        self.plan.log.tell("failed", facts, &words, &error.complaint);
        Ok(())
    }

    fn tell(&self, event: &str, source: &WatchSource, said: &Heard, more: Value, words: &str) {
        self.plan.log.tell(event, source.facts_of(said, more), words, "");
    }

    /// The agent has dealt with its delivery, if it has one.
    async fn mark_read(&self, said: &Heard) {
        let mark = MarkMessageRead { message_id: said.id, ..MarkMessageRead::default() };
        if let Err(refused) = self.ask(mark.by(self.plan.actor.clone())).await {
            tracing::debug!(%refused, "a message is not marked read");
        }
    }

    /// Whether a message is a post of a channel that is watched, too, and is met there.
    fn is_met_in_a_channel(&self, said: &Heard) -> bool {
        let channel = channel_of(said);
        self.sources.iter().any(|source| channel == Some(source.channel.as_str()) && said.id > source.first)
    }
}

/// The channel that a message was posted in.
pub(super) fn channel_of(said: &Heard) -> Option<&str> {
    said.to.iter().find_map(|name| name.strip_prefix('#'))
}
