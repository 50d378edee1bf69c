//! What is posted here, written into the folder in the order of the log.
//!
//! Of several processes on one database one writes at a time, and another goes on when it dies. A channel whose folder
//! cannot be written to stops no other: its posts are put off, and tried again from time to time. How a post becomes a file
//! is told by the writer.

use std::io;
use std::time::{Duration, Instant};

use mail::channels::FOLDER;
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId};

use super::{Bridge, CHANNELS, FilesError, channels_of, off_thread, writer};

/// How many events are looked at in one go.
const EVENTS_AT_ONCE: usize = 256;
/// How long what could not be written is left to other processes.
const STANDS_BACK: Duration = Duration::from_secs(3);

impl Bridge {
    /// Writes what was posted and is not written, but for the channels that are closed; nothing while another process
    /// does.
    pub(super) async fn follow_events(&mut self) -> Result<(), FilesError> {
        self.begin().await?;
        let asked_at = Instant::now();
        let is_due = self.is_time_to_try_again(asked_at)
            && self.feed.waiting().iter().any(|(_, channel)| !self.closed.contains_key(channel));
        if is_due && !self.feed.hold(self.desk.office.now(), asked_at).await? {
            return Ok(());
        }
        for (event, channel) in self.feed.waiting().into_iter().filter(|_| is_due) {
            if self.feed.is_held() && !self.closed.contains_key(&channel) && self.write(&event).await?.is_none() {
                self.feed.made_good(event.seq);
            }
        }
        loop {
            let events = self.feed.next_alone(EVENTS_AT_ONCE, self.desk.office.now()).await?;
            if events.is_empty() {
                // At once: whoever goes on later must not write what somebody has read and taken away meanwhile.
                self.feed.note().await?;
                return self.leave_to_others().await;
            }
            for event in events {
                // A folder may be slow, and another may have taken over meanwhile.
                if !self.feed.is_held() {
                    break;
                }
                match event.kind {
                    EventKind::MessageSent => {
                        if let Some(closed) = self.write(&event).await?
                            && !self.feed.put_off(&event, &closed)
                        {
                            return self.first_closed();
                        }
                    }
                    EventKind::PresenceChanged => self.presence.changed(AgentId(event.reference)),
                    _ => {}
                }
                self.feed.done(event.seq).await?;
            }
        }
    }

    /// Lets go while something cannot be written, and stands back for a while: another process may be able to.
    async fn leave_to_others(&mut self) -> Result<(), FilesError> {
        if !self.closed.is_empty() && self.feed.is_held() {
            self.feed.let_go(self.desk.office.now()).await?;
            self.put_off_until = Some(Instant::now() + STANDS_BACK);
        }
        Ok(())
    }

    fn is_time_to_try_again(&self, now: Instant) -> bool {
        self.put_off_until.is_none_or(|until| until <= now)
    }

    /// What is wrong with the first of the channels that cannot be written to.
    pub(super) fn first_closed(&self) -> Result<(), FilesError> {
        let Some((channel, cause)) = self.closed.iter().next() else { return Ok(()) };
        let cause = io::Error::new(cause.kind(), cause.to_string());
        Err(FilesError::Failed { path: self.root.join(CHANNELS).join(channel), cause })
    }

    /// Logs which channels cannot be written to, and which can again.
    pub(super) fn tell_closed(&mut self) {
        for channel in self.closed.keys() {
            self.unwritten.entry(channel.clone()).or_default();
        }
        for (channel, trouble) in &mut self.unwritten {
            let path = self.root.join(CHANNELS).join(channel);
            let cause = self.closed.get(channel);
            trouble.is_now(&path, cause.map(|cause| format!("'{}' cannot be written to: {cause}", path.display())));
        }
        self.unwritten.retain(|_, trouble| trouble.is_there());
    }

    /// Writes a message, if it is a post that the folder does not have; the channel if that has to wait.
    async fn write(&mut self, event: &Event) -> Result<Option<String>, FilesError> {
        let message = MessageId(event.reference);
        let post = self.desk.office.store().post(message).await?;
        let Some(post) = post.filter(|post| post.message.door != FOLDER) else { return Ok(None) };
        let (root, office, channel) = (self.root.clone(), self.office_id.clone(), post.channel.clone());
        if self.closed.contains_key(&channel) {
            return Ok(Some(channel));
        }
        let written = off_thread(move || {
            let channels = channels_of(&root)?;
            Ok(writer::write(&channels, &post, &office))
        });
        match written.await.map_err(|error| self.named(error))? {
            Ok(Some(name)) => self.desk.office.store().name_post(message, &name).await?,
            Ok(None) => tracing::error!(channel, %message, "a post could not be written: every name is taken or wrong"),
            Err(cause) => {
                self.closed.insert(channel.clone(), cause);
                return Ok(Some(channel));
            }
        }
        Ok(None)
    }
}
