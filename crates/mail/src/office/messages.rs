//! Mailboxes: reading them, waiting for mail, and noting what was done with it.

mod addressing;
mod examining;
mod keeping;
mod reading;
mod resolving;
mod send;

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Claim, Office};
use crate::error::{Error, StoreError, check_label, check_text};
use crate::ids::MessageId;
use crate::messages::{Delivery, DeliveryState, InboxEntry, InboxQuery, Mark, Message};
use crate::projects::Project;
use crate::threads::LONGEST_THREAD;
pub(super) use addressing::name_across;
pub use reading::{Notes, Secret};
pub use resolving::Resolved;
pub use send::{Draft, ReplyDraft, Sent};

/// How long somebody who waits relies on being woken before looking again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// The longest note of an acknowledgement, in bytes.
const LONGEST_NOTE: usize = 16 * 1024;

/// How much mail is counted that waits beside what was taken.
const MOST_COUNTED: usize = 1_000;

/// What was taken for a caller who shows it itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenMail {
    /// The messages, oldest first.
    pub entries: Vec<InboxEntry>,
    /// When they count as shown; none if there are none.
    pub shown_at: Option<Timestamp>,
    /// How many more waited, counted up to a thousand.
    pub more: usize,
}

/// What somebody waits for.
#[derive(Clone, Copy, Debug)]
pub struct WaitRequest<'a> {
    /// The project.
    pub project_key: &'a str,
    /// Whose mail.
    pub agent: Claim<'a>,
    /// Only unread mail with a higher number, shown before or not.
    pub after: Option<MessageId>,
    /// At most so many, the oldest.
    pub limit: usize,
    /// How long to wait when there is none.
    pub at_most: Duration,
    /// When the caller will have gone: nothing is taken for it later.
    pub not_after: Option<Timestamp>,
}

impl Office {
    /// One agent's mail, newest first. Changes nothing.
    pub async fn inbox(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        query: &InboxQuery,
    ) -> Result<Vec<InboxEntry>, Error> {
        let (_, agent, _) = self.acting(project_key, agent).await?;
        Ok(self.store.inbox(agent.id, query).await?)
    }

    /// Mail that the agent has not seen, oldest first: at once if there is some, else as soon as some comes.
    ///
    /// What is returned counts as shown and is not returned again, unless `after` asks for it; it stays unread. Empty
    /// when the time is over, or the office closes. A store that goes away in between is waited for, too.
    pub async fn wait_for_mail(&self, request: WaitRequest<'_>) -> Result<Vec<InboxEntry>, Error> {
        let (project, agent, _) = self.acting(request.project_key, request.agent).await?;
        let deadline = self.clock.now().as_microsecond() + request.at_most.as_micros() as i64;
        let gone = match request.not_after.map(|time| Duration::try_from(time.duration_since(self.clock.now()))) {
            Some(Ok(left)) => Some(Instant::now() + left),
            Some(Err(_)) => return Ok(Vec::new()),
            None => None,
        };
        // Taken before the first look, so that what is committed in between is not missed.
        let mut signal = self.wake.mailbox(agent.id);
        let mut has_waited = false;
        loop {
            let unseen = self.store.take_unseen(agent.id, request.after, request.limit, self.clock.now(), gone).await;
            let left = deadline - self.clock.now().as_microsecond();
            let is_over = left <= 0 || self.wake.closing();
            match unseen {
                Ok(unseen) if is_over || !unseen.is_empty() => return Ok(unseen),
                // Whoever waits is there, for however long.
                Ok(_) if !self.is_person => self.sign_of_life(project.id, agent.id),
                Ok(_) => {}
                // A store that goes away meanwhile may come back meanwhile; nothing was taken.
                Err(StoreError::Away { .. } | StoreError::Busy) if has_waited && !is_over => {}
                Err(error) => return Err(error.into()),
            }
            has_waited = true;
            signal.wait(Duration::from_micros(left as u64).min(LOOK_AGAIN)).await;
        }
    }

    /// Mail that the agent has not seen, for a caller that shows it itself, and how much more waits. It counts as shown, unless the
    /// caller gives it back.
    pub async fn take_mail(&self, request: WaitRequest<'_>) -> Result<TakenMail, Error> {
        // Counted before: whatever fails, or whoever goes away, between the taking and the answer would lose what was taken.
        let (_, agent, _) = self.claimed(request.project_key, request.agent).await?;
        let waiting = self.store.count_unseen(agent.id, MOST_COUNTED.saturating_add(request.limit)).await?;
        let entries = self.wait_for_mail(request).await?;
        let Some(first) = entries.first() else { return Ok(TakenMail::default()) };
        let shown_at = first.state.shown_at;
        let more = waiting.saturating_sub(entries.len()).min(MOST_COUNTED);
        Ok(TakenMail { entries, shown_at, more })
    }

    /// Takes back that messages were shown, which were taken at `shown_at` and could not be shown: whoever looks next gets them. Whether there are
    /// any.
    pub async fn give_back(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        messages: &[MessageId],
        shown_at: Timestamp,
    ) -> Result<bool, Error> {
        let (_, agent, _) = self.claimed(project_key, agent).await?;
        let is_unseen = self.store.give_back(agent.id, messages, shown_at).await?;
        if is_unseen {
            self.wake.mail_for(&[agent.id]);
        }
        Ok(is_unseen)
    }

    /// Notes that the agent read a message. Twice is fine.
    pub async fn mark_read(&self, project_key: &str, agent: Claim<'_>, id: MessageId) -> Result<DeliveryState, Error> {
        self.mark(project_key, agent, id, Mark::Read).await
    }

    /// Notes that the agent acknowledged a message, which also reads it. Twice is fine; the first note stays.
    pub async fn acknowledge(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        id: MessageId,
        note: &str,
    ) -> Result<DeliveryState, Error> {
        check_text("ack_body", note, LONGEST_NOTE)?;
        self.mark(project_key, agent, id, Mark::Acknowledged { note: note.to_owned() }).await
    }

    /// Notes what the agent did with its delivery of a message.
    pub(crate) async fn mark(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        id: MessageId,
        mark: Mark,
    ) -> Result<DeliveryState, Error> {
        let (project, agent, _) = self.acting(project_key, agent).await?;
        if let Some(state) = self.store.mark(agent.id, id, &mark, self.clock.now()).await? {
            self.wake.work_changed(project.id);
            return Ok(state);
        }
        Err(self.no_delivery(&project, agent.name, id).await?)
    }

    /// Why an agent has no delivery of a message.
    pub(super) async fn no_delivery(&self, project: &Project, agent: String, id: MessageId) -> Result<Error, Error> {
        let is_there = self.store.message(project.id, id).await?.is_some();
        Ok(if is_there { Error::NotARecipient { id, agent } } else { Error::UnknownMessage(id) })
    }

    /// A message and every recipient's delivery; blind copies are left to the caller to hide.
    pub async fn message(&self, project_key: &str, id: MessageId) -> Result<(Message, Vec<Delivery>), Error> {
        let project = self.project(project_key).await?;
        let message = self.known_message(&project, id).await?;
        let deliveries = self.store.deliveries(id).await?;
        Ok((message, deliveries))
    }

    /// A message of the project, or one that an agent of it sent to another.
    pub(super) async fn known_message(&self, project: &Project, id: MessageId) -> Result<Message, Error> {
        match self.store.message(project.id, id).await? {
            Some(message) => Ok(message),
            None => self.store.message_from(project.id, id).await?.ok_or(Error::UnknownMessage(id)),
        }
    }

    /// What an agent sent, newest first, each with its deliveries.
    pub async fn outbox(
        &self,
        project_key: &str,
        agent: Claim<'_>,
        before: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Result<Vec<(Message, Vec<Delivery>)>, Error> {
        let (_, agent, _) = self.acting(project_key, agent).await?;
        let mut sent = Vec::new();
        for message in self.store.outbox(agent.id, before, limit, with_bodies).await? {
            let deliveries = self.store.deliveries(message.id).await?;
            sent.push((message, deliveries));
        }
        Ok(sent)
    }
}

pub(super) fn check_thread(draft: &Draft<'_>) -> Result<(), Error> {
    draft.thread.map_or(Ok(()), |thread| check_label("thread_id", thread, LONGEST_THREAD))
}
