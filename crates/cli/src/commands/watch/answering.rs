//! One message: taking it on, running the command, posting what it printed, and noting what became of it.
//!
//! An answer is posted under a key of its own, so that it stands there once even if the watcher ends between posting it
//! and noting that it did.

use std::time::Instant;

use api::{Actor, MarkMessageRead, PostToChannel, ReplyMessage, TakenAnswer};
use jiff::Timestamp;
use mail::channels::WATCHER;
use mail::clock::{Clock, SystemClock, rfc3339};
use mail::ids::MessageId;
use mail::watches::{Outcome, answer_key};
use relay::watch::{Decision, Heard, Judgement, Prompt, RunError, context, decide};
use serde_json::{Value, json};

use super::put_off::MOST_WAITING;
use super::source::WatchSource;
use super::watching::Watching;
use crate::post_office::Refused;

/// What the office says of a key that was used for another text: the message was answered before.
const ANSWERED_BEFORE: &str = "IDEMPOTENCY_CONFLICT";

impl Watching<'_> {
    /// Deals with a message that was met for the first time.
    pub(super) async fn meet(&mut self, place: &WatchSource, said: &Heard) -> Result<(), Refused> {
        match decide(said, self.asking.agent()) {
            Decision::Answer if place.is_mailbox() && self.is_met_in_a_channel(said) => Ok(()),
            Decision::Answer => self.answer(place, said, false).await,
            Decision::NotForUs => {
                let words = format!("skipped {} from {}: not for {}", said.id, said.from, self.asking.agent());
                self.plan.log.tell("skipped", facts(place, said, json!({})), &words, "");
                Ok(())
            }
            Decision::Own => Ok(()),
        }
    }

    /// Takes a message on and answers it. What a person wants tried again is not held up by the breaker.
    pub(super) async fn answer(&mut self, place: &WatchSource, said: &Heard, by_hand: bool) -> Result<(), Refused> {
        let said = &self.counted(place, said).await?;
        let verdict = if by_hand { Judgement::Answer } else { self.judge(said) };
        if let Judgement::Wait(until) = verdict {
            self.let_wait(place, said, until);
            return Ok(());
        }
        let taken = self.asking.take(&place.channel, said.id).await?;
        self.put_off.remove(said.id);
        if taken == TakenAnswer::Already {
            return Ok(());
        }
        if let Judgement::Refuse(reason) = verdict {
            return self.failed(place, said, &RunError { reason, complaint: String::new() }).await;
        }
        let words = format!("answering {} from {} in {}", said.id, said.from, place.name());
        self.plan.log.tell("answering", facts(place, said, json!({})), &words, "");
        self.asking.beat("WORKING", self.channel()).await;
        let begun = Instant::now();
        let ran = self.run_command(place, said).await?;
        let ended = match ran {
            Ok(answer) if answer.is_empty() => self.silent(place, said, begun).await,
            Ok(answer) => self.post(place, said, &answer, begun).await,
            Err(error) => self.failed(place, said, &error).await,
        };
        self.asking.beat("IDLE", self.channel()).await;
        ended
    }

    /// The message with the count of its chain, which a letter does not tell.
    async fn counted(&self, place: &WatchSource, said: &Heard) -> Result<Heard, Refused> {
        let hops = if place.is_mailbox() { self.asking.hops(said.id).await? } else { said.hops };
        Ok(Heard { hops, ..said.clone() })
    }

    /// Whether a message is to be answered now. What came behind one that waits would otherwise take its turn.
    fn judge(&mut self, said: &Heard) -> Judgement {
        let verdict = match self.put_off.behind_another(said) {
            Some(due) => Judgement::Wait(due),
            None => self.breaker.judge(said, SystemClock.now()),
        };
        match verdict {
            Judgement::Wait(_) if !self.put_off.has_room_for(said.id) => {
                Judgement::Refuse(format!("{MOST_WAITING} messages wait for an answer already"))
            }
            verdict => verdict,
        }
    }

    /// Leaves a message for when its sender, who asked very much, may be answered again.
    fn let_wait(&mut self, place: &WatchSource, said: &Heard, until: Timestamp) {
        if self.put_off.add(&place.channel, said, until) {
            let words = format!("waiting until {} with {}: {} asks very much", rfc3339(until), said.id, said.from);
            self.plan.log.tell("waiting", facts(place, said, json!({ "until": rfc3339(until) })), &words, "");
        }
    }

    /// Runs the command, and goes on saying that the watcher is there.
    async fn run_command(&self, place: &WatchSource, said: &Heard) -> Result<Result<String, RunError>, Refused> {
        let around = place.around(&self.asking, said, self.plan.context).await?;
        let prompt = Prompt {
            agent: self.asking.agent(),
            channel: &place.channel,
            role: self.plan.role.as_deref(),
            message: said,
            context: &context(&around, said, self.asking.agent(), self.plan.context as usize),
        };
        let id = said.id.to_string();
        let environment = [
            ("POSTRIDER_AGENT", self.asking.agent()),
            ("POSTRIDER_PROJECT", self.asking.project()),
            ("POSTRIDER_CHANNEL", place.channel.as_str()),
            ("POSTRIDER_MESSAGE_ID", id.as_str()),
        ];
        let prompt = self.plan.template.fill(&prompt);
        tokio::select! {
            ended = self.plan.invocation.run(&prompt, &environment) => Ok(ended),
            refused = self.keep_holding("WORKING") => Err(refused),
        }
    }

    async fn post(&mut self, place: &WatchSource, said: &Heard, answer: &str, begun: Instant) -> Result<(), Refused> {
        let agent = self.asking.agent();
        let key = answer_key(agent, MessageId(said.id));
        // What was said in the open is answered there, wherever it was met.
        let channel = if place.is_mailbox() { channel_of(said) } else { Some(place.channel.as_str()) };
        let posted = match channel {
            None => self.reply(said, answer, key).await,
            Some(channel) => self.say(channel, said, answer, key).await,
        };
        let answer_id = match posted {
            Ok(id) => Some(id),
            Err(refused) if refused.code == ANSWERED_BEFORE => None,
            Err(refused) if refused.is_passing() => return Err(refused),
            Err(refused) => {
                let reason = format!("the answer was refused: {refused}");
                return self.failed(place, said, &RunError { reason, complaint: String::new() }).await;
            }
        };
        self.breaker.note(&said.thread, &said.from, SystemClock.now());
        self.asking.finish(said.id, &Outcome::Answered).await?;
        self.mark_read(said).await;
        let seconds = begun.elapsed().as_secs_f64();
        let more = json!({ "answer_id": answer_id, "seconds": seconds });
        let words = format!("answered {} from {} after {seconds:.1} s", said.id, said.from);
        self.plan.log.tell("answered", facts(place, said, more), &words, "");
        Ok(())
    }

    /// Answers a letter; returns the number of the answer.
    async fn reply(&self, said: &Heard, answer: &str, key: String) -> Result<i64, Refused> {
        let Actor { project_key, agent_name, registration_token } = self.plan.actor.clone();
        let reply = ReplyMessage {
            project_key,
            sender_name: agent_name,
            registration_token,
            message_id: said.id,
            body_md: answer.to_owned(),
            idempotency_key: Some(key),
            ..ReplyMessage::default()
        };
        Ok(self.asking.ask(reply).await?.message.id)
    }

    /// The same in a channel.
    async fn say(&self, channel: &str, said: &Heard, answer: &str, key: String) -> Result<i64, Refused> {
        let Actor { project_key, agent_name, registration_token } = self.plan.actor.clone();
        let post = PostToChannel {
            project_key,
            sender_name: agent_name,
            registration_token,
            channel: channel.to_owned(),
            to: vec![said.from.clone()],
            text: answer.to_owned(),
            mode: Some(WATCHER.to_owned()),
            in_reply_to: Some(said.id.to_string()),
            idempotency_key: Some(key),
            ..PostToChannel::default()
        };
        Ok(self.asking.ask(post).await?.sent.message.id)
    }

    async fn silent(&mut self, place: &WatchSource, said: &Heard, begun: Instant) -> Result<(), Refused> {
        // It may have answered by itself.
        self.breaker.note(&said.thread, &said.from, SystemClock.now());
        self.asking.finish(said.id, &Outcome::Silent).await?;
        self.mark_read(said).await;
        let seconds = begun.elapsed().as_secs_f64();
        let words = format!("nothing to say to {} from {} after {seconds:.1} s", said.id, said.from);
        self.plan.log.tell("silent", facts(place, said, json!({ "seconds": seconds })), &words, "");
        Ok(())
    }

    async fn failed(&mut self, place: &WatchSource, said: &Heard, error: &RunError) -> Result<(), Refused> {
        self.has_failed = true;
        self.asking.finish(said.id, &Outcome::Failed(error.reason.clone())).await?;
        let words = format!("failed to answer {} from {}: {}", said.id, said.from, error.reason);
        let facts = facts(place, said, json!({ "reason": error.reason }));
        self.plan.log.tell("failed", facts, &words, &error.complaint);
        Ok(())
    }

    /// The agent has dealt with its copy, if it has one.
    async fn mark_read(&self, said: &Heard) {
        let Actor { project_key, agent_name, registration_token } = self.plan.actor.clone();
        let mark = MarkMessageRead { project_key, agent_name, registration_token, message_id: said.id };
        if let Err(refused) = self.asking.ask(mark).await {
            tracing::debug!(%refused, "a message is not marked read");
        }
    }

    /// Whether a letter is a post of a channel that is watched, too, and is met there.
    fn is_met_in_a_channel(&self, said: &Heard) -> bool {
        let channel = channel_of(said);
        self.places().iter().any(|place| channel == Some(place.channel.as_str()) && said.id > place.first)
    }
}

/// The channel that a letter was posted in.
fn channel_of(said: &Heard) -> Option<&str> {
    said.to.iter().find_map(|name| name.strip_prefix('#'))
}

/// What programs are told of a message.
fn facts(place: &WatchSource, said: &Heard, more: Value) -> Value {
    let mut facts = json!({ "message_id": said.id, "from": said.from });
    if !place.is_mailbox() {
        facts["channel"] = json!(place.channel);
    }
    if let (Some(facts), Value::Object(more)) = (facts.as_object_mut(), more) {
        facts.extend(more);
    }
    facts
}
