//! The folder that a project shares with agents that know nothing of Postrider: what is posted here is written there,
//! and what is written there is taken in.
//!
//! `channels/<name>/` holds one file for each message, `signals/presence/<agent>.json` says who is awake, and `logs/` is for
//! watchers. The folder may be on another machine, may be missing for a while, and belongs to everybody: nothing in it is
//! trusted, and nothing in it is ever replaced but heartbeats. All that is done here can be done again, by this process or
//! by another, and then changes nothing.

mod folder;
mod glance;
mod presence;
mod scanner;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::channels::{ChannelName, FOLDER};
use mail::events::EventKind;
use mail::ids::MessageId;
use mail::projects::Project;
use mail::wake::{Signal, Wake};
use mail::{Error, Office, Store, StoreError};

use crate::feed::{Backoff, Feed, LONGEST_WAIT};
use crate::wake::Bells;
use folder::Folder;
use glance::Glance;
use presence::Presence;
use scanner::Scanner;

/// What the store calls whoever follows the log for a folder.
pub const SINK: &str = "files";
const CHANNELS: &str = "channels";
const LOGS: &str = "logs";
/// How the names of files with a message or a heartbeat end.
const ENDING: &str = ".json";
/// How often the list of channels is read whatever its stamp says.
const CHANNELS_EVERY: Duration = Duration::from_secs(30);
/// How many channels a folder may have. More are somebody's mistake.
const MOST_CHANNELS: usize = 1_000;
/// How many events are looked at in one go.
const EVENTS_AT_ONCE: usize = 256;

/// Why a folder could not be kept in step.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The folder itself cannot be opened.
    #[error("the folder '{path}' cannot be opened: {cause}")]
    NotThere {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Something in it could not be read or written.
    #[error("the folder '{path}' cannot be used: {cause}")]
    Failed {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The post office could not take in or tell what it should.
    #[error(transparent)]
    Office(#[from] Error),
}

impl From<StoreError> for FilesError {
    fn from(error: StoreError) -> Self {
        Self::Office(error.into())
    }
}

/// Whose mail a folder is for.
struct Desk {
    office: Arc<Office>,
    project: Project,
    /// The longest file that is read, in bytes.
    longest: usize,
}

/// A project and its folder, kept in step.
pub struct Bridge {
    desk: Desk,
    office_id: String,
    root: PathBuf,
    feed: Feed,
    /// The names of the channels in the folder.
    channels: Vec<ChannelName>,
    glance: Glance,
    scanners: BTreeMap<String, Scanner>,
    presence: Presence,
}

impl Bridge {
    /// A bridge between the project of that path, which may be new, and a folder, which may be missing for now. Files of
    /// more than `longest` bytes are passed over.
    pub async fn open(
        office: Arc<Office>,
        store: Arc<dyn Store>,
        project: &str,
        root: &Path,
        longest: usize,
    ) -> Result<Self, Error> {
        let project = office.ensure_project(project).await?;
        Ok(Self {
            office_id: store.office_id().await?,
            root: root.to_owned(),
            feed: Feed::new(store, SINK, &project),
            channels: Vec::new(),
            glance: Glance::new(CHANNELS_EVERY),
            scanners: BTreeMap::new(),
            presence: Presence::new(),
            desk: Desk { office, project, longest },
        })
    }

    /// Keeps both in step until the office closes.
    pub async fn run(mut self, bells: Arc<Bells>) {
        let mut bell = bells.events(self.desk.project.id);
        let (mut looked_at, mut backoff, mut trouble) = (None::<Instant>, Backoff::default(), None);
        while !bells.closing() {
            let since = looked_at.map_or(LONGEST_WAIT, |at| at.elapsed());
            let passed = if since >= LONGEST_WAIT {
                looked_at = Some(Instant::now());
                self.pass().await
            } else {
                // A bell says that something was posted, not that somebody wrote a file.
                self.hand_on().await
            };
            self.tell(&passed, &mut trouble);
            if passed.is_ok() {
                backoff.worked();
                let since = looked_at.map_or(LONGEST_WAIT, |at| at.elapsed());
                bell.wait(LONGEST_WAIT.saturating_sub(since)).await;
            } else {
                rest(&mut *bell, &bells, backoff.failed()).await;
                looked_at = None;
            }
        }
        let passed = self.write_out().await;
        self.tell(&passed, &mut trouble);
    }

    /// Writes what is not written, takes in what is there, and writes what that led to. For those who end soon.
    pub async fn settle(&mut self) -> Result<(), FilesError> {
        self.pass().await?;
        self.write_out().await
    }

    /// Writes what was posted and is not written.
    pub async fn write_out(&mut self) -> Result<(), FilesError> {
        let written = self.follow_events().await;
        // What was written need not be written again, also if there was more.
        self.feed.note().await?;
        written
    }

    /// One round both ways. What fails on one way does not stop the other.
    pub async fn pass(&mut self) -> Result<(), FilesError> {
        self.pass_at(Instant::now()).await
    }

    async fn pass_at(&mut self, now: Instant) -> Result<(), FilesError> {
        let written = self.follow_events().await;
        let taken = self.take_in(now).await;
        let heard = self.presence.pass(&self.root, &self.desk, now).await;
        written.and(taken).and(heard.map_err(|error| self.named(error)))
    }

    /// Hands on at once what happened here.
    async fn hand_on(&mut self) -> Result<(), FilesError> {
        self.follow_events().await?;
        if self.presence.is_changed() {
            let heard = self.presence.pass(&self.root, &self.desk, Instant::now()).await;
            heard.map_err(|error| self.named(error))?;
        }
        Ok(())
    }

    async fn follow_events(&mut self) -> Result<(), FilesError> {
        loop {
            let events = self.feed.next(EVENTS_AT_ONCE).await?;
            if events.is_empty() {
                break;
            }
            for event in events {
                match event.kind {
                    EventKind::MessageSent => self.write(MessageId(event.reference)).await?,
                    EventKind::PresenceChanged => self.presence.changed(),
                    _ => {}
                }
                self.feed.done(event.seq).await?;
            }
        }
        Ok(())
    }

    /// Writes a message, if it is a post that the folder does not have.
    async fn write(&self, message: MessageId) -> Result<(), FilesError> {
        let store = self.desk.office.store();
        let Some(post) = store.post(message).await?.filter(|post| post.message.door != FOLDER) else { return Ok(()) };
        let (root, office, channel) = (self.root.clone(), self.office_id.clone(), post.channel.clone());
        match off_thread(move || writer::write(&root, &post, &office)).await.map_err(|error| self.named(error))? {
            Some(name) => store.name_post(message, &name).await?,
            None => tracing::error!(channel, %message, "a post could not be written: every name is taken or wrong"),
        }
        Ok(())
    }

    async fn take_in(&mut self, now: Instant) -> Result<(), FilesError> {
        let folders = self.open_channels(now).await.map_err(|error| self.named(error))?;
        let mut ended = Ok(());
        for (channel, folder) in folders {
            let name = channel.as_str().to_owned();
            let scanner = self.scanners.entry(name).or_insert_with(|| Scanner::new(channel));
            let looked = scanner.look(&Arc::new(folder), &self.desk, now).await;
            // One channel that cannot be read does not silence the others.
            ended = ended.and(looked.map_err(|error| self.named(error)));
        }
        ended
    }

    /// The channels that have a folder.
    async fn open_channels(&mut self, now: Instant) -> Result<Vec<(ChannelName, Folder)>, FilesError> {
        let (root, mut glance, mut channels) = (self.root.clone(), self.glance, self.channels.clone());
        let (glance, channels, folders) = off_thread(move || {
            let Some(all) = Folder::open(&root)?.inner(CHANNELS)? else { return Ok((glance, Vec::new(), Vec::new())) };
            if let Some(mut names) = glance.names(&all, now)? {
                names.sort();
                channels = names.iter().filter_map(|name| channel_of(name)).take(MOST_CHANNELS).collect();
            }
            let mut folders = Vec::new();
            for channel in &channels {
                if let Some(folder) = all.inner(channel.as_str())? {
                    folders.push((channel.clone(), folder));
                }
            }
            Ok((glance, channels, folders))
        })
        .await?;
        (self.glance, self.channels) = (glance, channels);
        Ok(folders)
    }

    /// Logs what is wrong when it begins, when it becomes something else, and when it is over.
    fn tell(&self, passed: &Result<(), FilesError>, trouble: &mut Option<String>) {
        let now = passed.as_ref().err().map(ToString::to_string);
        match &now {
            Some(error) if now != *trouble => {
                tracing::warn!(error, "channels and their folder are not in step; trying again");
            }
            None if trouble.is_some() => {
                tracing::info!(folder = %self.root.display(), "channels and their folder are in step again");
            }
            _ => {}
        }
        *trouble = now;
    }

    /// The same error, with the folder that it is about.
    fn named(&self, error: impl Into<FilesError>) -> FilesError {
        match error.into() {
            FilesError::Failed { cause, .. } if !self.root.is_dir() => {
                FilesError::NotThere { path: self.root.clone(), cause }
            }
            FilesError::Failed { cause, .. } => FilesError::Failed { path: self.root.clone(), cause },
            other => other,
        }
    }
}

/// Leaves a folder that failed alone for a while. A bell does not end that, but the office closing does.
async fn rest(bell: &mut dyn Signal, bells: &Bells, pause: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < pause && !bells.closing() {
        bell.wait(pause.saturating_sub(begun.elapsed())).await;
    }
}

/// Opens the log of a watcher in `logs/`, for lines to be added at its end.
pub fn open_log(root: &Path, watcher: &str) -> io::Result<File> {
    Folder::open(root)?.make(LOGS)?.append(&format!("{watcher}.log"))
}

/// The channel whose folder has that name. Hidden ones are nobody's.
fn channel_of(name: &str) -> Option<ChannelName> {
    ChannelName::parse(name).ok().filter(|channel| channel.as_str() == name)
}

/// Does what may wait for a disk or a network where it holds up nobody else.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, FilesError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|ended| Err(io::Error::other(ended)));
    done.map_err(|cause| FilesError::Failed { path: PathBuf::new(), cause })
}
