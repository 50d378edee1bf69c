//! What is posted here, written into the folder in the order of the log.
//!
//! Of several processes on one database one writes at a time, and another goes on when it dies. A channel whose folder
//! cannot be written to stops no other: its posts are put off, and tried again from time to time. What a
//! post is called follows from what it is, so whoever writes it again makes the same name and finds it taken by itself.

use std::io;
use std::time::{Duration, Instant};

use formats::channel::{ChannelMessage, FileName, read_value};
use mail::channels::{FOLDER, OfficeMark, Post, external_id};
use mail::events::{Event, EventKind};
use mail::ids::{AgentId, MessageId};

use super::folder::{Folder, FolderEntry};
use super::{Bridge, CHANNELS, ENDING, FilesError, channels_of, off_thread};

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
        let is_due = self.put_off_until.is_none_or(|until| until <= asked_at)
            && self.feed.waiting().iter().any(|(_, channel)| !self.closed.contains_key(channel));
        if is_due && !self.feed.hold(self.context.office.now(), asked_at).await? {
            return Ok(());
        }
        for (event, channel) in self.feed.waiting().into_iter().filter(|_| is_due) {
            if self.feed.is_held() && !self.closed.contains_key(&channel) && self.write(&event).await?.is_none() {
                self.feed.made_good(event.seq);
            }
        }
        loop {
            let events = self.feed.next_alone(EVENTS_AT_ONCE, self.context.office.now()).await?;
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
            self.feed.let_go(self.context.office.now()).await?;
            self.put_off_until = Some(Instant::now() + STANDS_BACK);
        }
        Ok(())
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
        let post = self.context.office.store().post(message).await?;
        let Some(post) = post.filter(|post| post.message.door != FOLDER) else { return Ok(None) };
        let (root, office, channel) = (self.root.clone(), self.office_id.clone(), post.channel.clone());
        if self.closed.contains_key(&channel) {
            return Ok(Some(channel));
        }
        let written = off_thread(move || {
            let channels = channels_of(&root)?;
            Ok(write_post(&channels, &post, &office))
        });
        match written.await.map_err(|error| self.named(error))? {
            Ok(Some(name)) => self.context.office.store().name_post(message, &name).await?,
            Ok(None) => tracing::error!(channel, %message, "a post could not be written: every name is taken or wrong"),
            Err(cause) => {
                self.closed.insert(channel.clone(), cause);
                return Ok(Some(channel));
            }
        }
        Ok(None)
    }
}

/// How many names are tried for one post. Each that is taken was generated by somebody else in the same second.
const MOST_ATTEMPTS: u32 = 1_000;

/// Writes a post of the office `office` below the folder of channels, unless it is there; what it is called, or `None` if
/// it cannot have a name.
pub(super) fn write_post(channels: &Folder, post: &Post, office: &str) -> io::Result<Option<String>> {
    let said = post.said(office, &post.external_id);
    let Some(mark) = OfficeMark::of(&said) else { return write_foreign(channels, post, &said) };
    let folder = channels.make(&post.channel)?;
    for attempt in 0..MOST_ATTEMPTS {
        let name = external_id(said.timestamp, &said.from, &mark.office, mark.seq, attempt);
        let said = post.said(office, &name);
        let file = format!("{name}{ENDING}");
        if folder.create(&file, said.to_json().as_bytes())? || is_there(&folder, &file, &said)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Writes what no post office said first: it has one name, and where that is taken, it is there already.
fn write_foreign(channels: &Folder, post: &Post, said: &ChannelMessage) -> io::Result<Option<String>> {
    let file = format!("{}{ENDING}", post.external_id);
    if FileName::parse(&file).is_none() {
        return Ok(None);
    }
    let folder = channels.make(&post.channel)?;
    folder.create(&file, said.to_json().as_bytes())?;
    Ok(Some(post.external_id.clone()))
}

/// Whether the file of that name is this very post. Another post office may have written it in other words.
fn is_there(folder: &Folder, file: &str, said: &ChannelMessage) -> io::Result<bool> {
    let bytes = said.to_json().into_bytes();
    // What is longer than twice this post is another one.
    let FolderEntry::Whole(found, _) = folder.read(file, bytes.len().saturating_mul(2))? else { return Ok(false) };
    let is_it = |found: ChannelMessage| {
        OfficeMark::of(&found) == OfficeMark::of(said)
            && (&found.from, &found.text) == (&said.from, &said.text)
            && found.timestamp.as_millisecond() == said.timestamp.as_millisecond()
    };
    Ok(found == bytes || std::str::from_utf8(&found).ok().and_then(read_value).is_some_and(is_it))
}
