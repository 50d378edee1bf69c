//! Watching for an agent: taking the place, keeping it, and noting what became of each message.

use jiff::Timestamp;

use super::{Claim, Office};
use crate::clock::after_seconds;
use crate::error::{Error, check_text};
use crate::ids::MessageId;
use crate::watches::{Begun, NewWatch, Run, RunOutcome, RunQuery, Taken};

/// How long a watcher is believed to be there after it last said so, in seconds. It says so every half minute.
const HELD_FOR: i64 = 120;
/// The longest channel or name of a watcher, in bytes.
const LONGEST_NAME: usize = 512;
/// The longest word about why a run failed, in bytes.
const LONGEST_NOTE: usize = 16 * 1024;

/// A watcher at its place.
#[derive(Clone, Copy, Debug)]
pub struct Watcher<'a> {
    /// The project.
    pub project_key: &'a str,
    /// For whom it watches.
    pub agent: Claim<'a>,
    /// The channel, or [`MAILBOX`](crate::watches::MAILBOX).
    pub channel: &'a str,
    /// What it is called: no two that run have one name.
    pub holder: &'a str,
}

impl Office {
    /// Begins to watch, unless another does, for an agent that may be new, unless names have to be proved: nobody would
    /// have its token. `instead_of` is a watcher that is known to be gone. If nobody ever watched here, what came before
    /// `since` is left alone.
    pub async fn begin_watch(
        &self,
        watcher: Watcher<'_>,
        instead_of: Option<&str>,
        since: Timestamp,
    ) -> Result<Begun, Error> {
        check_text("channel", watcher.channel, LONGEST_NAME)?;
        check_text("holder", watcher.holder, LONGEST_NAME)?;
        if !self.is_strict() {
            self.ensure_mailbox(watcher.project_key, watcher.agent.name).await?;
        }
        let (_, agent, _) = self.acting(watcher.project_key, watcher.agent).await?;
        let now = self.clock.now();
        let watch = NewWatch {
            agent: agent.id,
            channel: watcher.channel.to_owned(),
            holder: watcher.holder.to_owned(),
            instead_of: instead_of.map(str::to_owned),
            since,
            until: after_seconds(now, HELD_FOR),
        };
        Ok(self.store.begin_watch(&watch, now).await?)
    }

    /// Says that the watcher is still there, and how far it has looked; `false` if another watches in its place.
    pub async fn hold_watch(&self, watcher: Watcher<'_>, position: MessageId) -> Result<bool, Error> {
        let (_, agent, _) = self.acting(watcher.project_key, watcher.agent).await?;
        let until = after_seconds(self.clock.now(), HELD_FOR);
        Ok(self.store.hold_watch(agent.id, watcher.channel, watcher.holder, position, until).await?)
    }

    /// Gives the place back; `false` if another watches in its place. Whoever goes gives no sign of life.
    pub async fn end_watch(&self, watcher: Watcher<'_>) -> Result<bool, Error> {
        let (_, agent, _) = self.claimed(watcher.project_key, watcher.agent).await?;
        Ok(self.store.end_watch(agent.id, watcher.channel, watcher.holder).await?)
    }

    /// How many watchers answered each other on the way to a message.
    pub async fn hops(&self, project_key: &str, agent: Claim<'_>, message: MessageId) -> Result<u32, Error> {
        let (project, ..) = self.claimed(project_key, agent).await?;
        self.known_message(&project, message).await?;
        Ok(self.store.hops(message).await?)
    }

    /// Takes a message on that was met in a channel, or in the mailbox.
    pub async fn take_on(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        channel: &str,
        message: MessageId,
    ) -> Result<Taken, Error> {
        check_text("channel", channel, LONGEST_NAME)?;
        let (project, agent, _) = self.acting(project_key, agent).await?;
        self.known_message(&project, message).await?;
        Ok(self.store.take_on(agent.id, channel, message, self.clock.now()).await?)
    }

    /// Notes how a run ended; `false` if it is not running.
    pub async fn finish_run(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        message: MessageId,
        outcome: &RunOutcome,
    ) -> Result<bool, Error> {
        check_text("note", outcome.note(), LONGEST_NOTE)?;
        let (_, agent, _) = self.acting(project_key, agent).await?;
        Ok(self.store.finish_run(agent.id, message, outcome, self.clock.now()).await?)
    }

    /// What was taken on for an agent, and how it stands, the oldest message first. Whoever looks is no sign of life.
    pub async fn runs(&self, project_key: &str, agent: Claim<'_>, query: RunQuery<'_>) -> Result<Vec<Run>, Error> {
        let (_, agent, _) = self.claimed(project_key, agent).await?;
        Ok(self.store.runs(agent.id, query).await?)
    }

    /// Has failed runs taken on again: those of `messages`, or all. Returns which they are.
    pub async fn retry_runs(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        messages: &[MessageId],
    ) -> Result<Vec<MessageId>, Error> {
        let (_, agent, _) = self.claimed(project_key, agent).await?;
        Ok(self.store.retry_runs(agent.id, messages, self.clock.now()).await?)
    }
}
