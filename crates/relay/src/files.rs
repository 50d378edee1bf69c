//! The folder that a project shares with agents that know nothing of Postrider: what is posted here is written there,
//! and what is written there is taken in.
//!
//! `channels/<name>/` holds one file for each message, `signals/presence/<agent>.json` says who is awake, and `logs/` is for
//! watchers. The folder may be on another machine, may be missing for a while, and belongs to everybody: nothing in it is
//! trusted, and nothing in it is ever replaced but heartbeats. All that is done here can be done again, by this process or
//! by another, and then changes nothing.

mod checkup;
mod folder;
mod glance;
mod outward;
mod presence;
mod scanner;
#[cfg(test)]
mod tests;
mod way;

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mail::channels::ChannelName;
use mail::projects::Project;
use mail::wake::Wake;
use mail::{Error, Office, Store, StoreError};

use crate::feed::Feed;
use crate::wake::WakeUps;
pub use checkup::{FolderFinding, examine};
use folder::Folder;
use glance::Glance;
use presence::Presence;
use scanner::Scanner;
use way::{Trouble, Way};

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
    /// The folder was used before, and is empty now: most likely nothing is mounted there.
    #[error(
        "the folder '{0}' has no '{CHANNELS}' in it any more; mount what belongs there, or make '{CHANNELS}' if it \
         is another folder now"
    )]
    NotMounted(PathBuf),
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

/// The office and the project that a folder belongs to.
struct FolderContext {
    office: Arc<Office>,
    project: Project,
    /// The longest file that is read, in bytes.
    longest: usize,
}

/// A project and its folder, kept in step.
pub struct Bridge {
    context: FolderContext,
    office_id: String,
    root: PathBuf,
    feed: Feed,
    /// The names of the channels in the folder.
    channels: Vec<ChannelName>,
    /// The names beside them that no channel can have, which were told.
    odd_names: HashSet<String>,
    glance: Glance,
    scanners: BTreeMap<String, Scanner>,
    /// What is wrong with the folders of channels that are read, and with those that are written to.
    unread: BTreeMap<String, Trouble>,
    unwritten: BTreeMap<String, Trouble>,
    /// The channels that could not be written to when that was last tried, and why.
    closed: BTreeMap<String, io::Error>,
    /// Until when what was put off is left to other processes.
    put_off_until: Option<Instant>,
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
            odd_names: HashSet::new(),
            glance: Glance::default(),
            scanners: BTreeMap::new(),
            unread: BTreeMap::new(),
            unwritten: BTreeMap::new(),
            closed: BTreeMap::new(),
            put_off_until: None,
            presence: Presence::default(),
            context: FolderContext { office, project, longest },
        })
    }

    /// Keeps both in step until the office closes.
    pub async fn run(mut self, wake_ups: Arc<WakeUps>) {
        let mut signal = wake_ups.events(self.context.project.id);
        let (mut outward, mut inward, mut presence) = (Way::default(), Way::default(), Way::default());
        while !wake_ups.closing() {
            if inward.is_due(Instant::now()) {
                self.closed.clear();
            }
            if outward.is_wanted(Instant::now()) {
                outward.went(self.follow_events().await, &self.root);
                self.tell_closed();
            }
            // A wake-up says that something was posted, not that somebody wrote a file.
            if inward.is_due(Instant::now()) {
                inward.went(self.take_in(Instant::now()).await, &self.root);
            }
            let now = Instant::now();
            if presence.is_due(now) || self.presence.is_changed() && presence.is_wanted(now) {
                presence.went(self.show_presence(now).await, &self.root);
            }
            let now = Instant::now();
            let rest = [&outward, &inward, &presence].map(|way| way.rest(now)).into_iter().min();
            signal.wait(rest.unwrap_or_default()).await;
        }
        outward.went(self.write_out().await, &self.root);
    }

    /// Writes what is not written, takes in what is there, and writes what that led to. For those who end soon.
    pub async fn settle(&mut self) -> Result<(), FilesError> {
        self.pass().await?;
        self.write_out().await
    }

    /// Writes what was posted and is not written.
    pub async fn write_out(&mut self) -> Result<(), FilesError> {
        self.closed.clear();
        self.put_off_until = None;
        let written = self.follow_events().await;
        // What was written need not be written again, also if there was more. A folder that was never used stays so.
        if !self.feed.is_new().await? {
            self.feed.let_go(self.context.office.now()).await?;
        }
        written.and(self.first_closed())
    }

    /// One round both ways. What fails on one way does not stop the other.
    pub async fn pass(&mut self) -> Result<(), FilesError> {
        self.pass_at(Instant::now()).await
    }

    async fn pass_at(&mut self, now: Instant) -> Result<(), FilesError> {
        self.closed.clear();
        self.put_off_until = None;
        let written = self.follow_events().await.and(self.first_closed());
        let taken = self.take_in(now).await;
        let shown = self.show_presence(now).await;
        written.and(taken).and(shown)
    }

    /// Hears and writes who is awake.
    async fn show_presence(&mut self, now: Instant) -> Result<(), FilesError> {
        self.begin().await?;
        let passed = self.presence.pass(&self.root, &self.context, now).await;
        passed.map_err(|error| self.named(error))
    }

    /// Makes the folder ours when it is used for the first time. Later it has to be what it was: the empty folder that
    /// is left where nothing is mounted must not be written into.
    async fn begin(&mut self) -> Result<(), FilesError> {
        if self.feed.is_new().await? {
            let root = self.root.clone();
            let made = off_thread(move || Folder::open(&root)?.make(CHANNELS).map(drop)).await;
            made.map_err(|error| self.named(error))?;
            self.feed.note().await?;
        }
        Ok(())
    }

    async fn take_in(&mut self, now: Instant) -> Result<(), FilesError> {
        self.begin().await?;
        let folders = self.open_channels(now).await.map_err(|error| self.named(error))?;
        self.look_into(folders, now).await
    }

    async fn look_into(
        &mut self,
        folders: Vec<(ChannelName, io::Result<Folder>)>,
        now: Instant,
    ) -> Result<(), FilesError> {
        let mut ended = Ok(());
        for (channel, folder) in folders {
            let name = channel.as_str().to_owned();
            let path = self.root.join(CHANNELS).join(&name);
            let looked = match folder {
                Ok(folder) => {
                    let scanner = self.scanners.entry(name.clone()).or_insert_with(|| Scanner::new(channel));
                    scanner.look(&Arc::new(folder), &self.context, now).await
                }
                Err(cause) => Err(FilesError::Failed { path: path.clone(), cause }),
            };
            // One channel that cannot be read does not silence the others.
            let trouble = match looked {
                Ok(()) => None,
                Err(FilesError::Failed { cause, .. }) => {
                    Some(FilesError::Failed { path: path.clone(), cause }.to_string())
                }
                Err(error) => {
                    ended = Err(error);
                    continue;
                }
            };
            self.unread.entry(name).or_default().is_now(&path, trouble);
        }
        ended
    }

    /// The channels that have a folder, and that folder.
    async fn open_channels(&mut self, now: Instant) -> Result<Vec<(ChannelName, io::Result<Folder>)>, FilesError> {
        let (root, mut glance) = (self.root.clone(), self.glance);
        let (glance, all, names) = off_thread(move || {
            let all = channels_of(&root)?;
            let names = glance.names(&all, CHANNELS_EVERY, now)?;
            Ok((glance, all, names))
        })
        .await?;
        if let Some(names) = names {
            self.note_channels(names);
        }
        self.glance = glance;
        let channels = self.channels.clone();
        off_thread(move || {
            let open = |channel: ChannelName| all.inner(channel.as_str()).transpose().map(|folder| (channel, folder));
            Ok(channels.into_iter().filter_map(open).collect())
        })
        .await
    }

    fn note_channels(&mut self, mut names: Vec<String>) {
        names.sort();
        self.channels = names.iter().filter_map(|name| channel_of(name)).take(MOST_CHANNELS).collect();
        for name in names.into_iter().filter(|name| !name.starts_with('.') && channel_of(name).is_none()) {
            if self.odd_names.len() < MOST_CHANNELS && !self.odd_names.contains(&name) {
                let why = "its name is not 1 to 64 letters, digits, '-', '_' and '.'";
                tracing::warn!(folder = %self.root.display(), channel = name, why, "a channel was passed over");
                self.odd_names.insert(name);
            }
        }
    }

    /// The same error, with the folder that it is about.
    fn named(&self, error: FilesError) -> FilesError {
        named(&self.root, error)
    }
}

fn named(root: &Path, error: FilesError) -> FilesError {
    let path = root.to_owned();
    match error {
        FilesError::Failed { cause, .. } if !root.is_dir() => FilesError::NotThere { path, cause },
        FilesError::Failed { cause, .. } if is_not_mounted(&cause) => FilesError::NotMounted(path),
        FilesError::Failed { cause, .. } => FilesError::Failed { path, cause },
        other => other,
    }
}

/// The folder of channels. It is made when a folder is first used, and never again.
fn channels_of(root: &Path) -> io::Result<Folder> {
    Folder::open(root)?.inner(CHANNELS)?.ok_or_else(|| io::Error::other(NotMounted))
}

/// There is no folder of channels where one was.
#[derive(Debug, thiserror::Error)]
#[error("there is no '{CHANNELS}'")]
struct NotMounted;

fn is_not_mounted(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotMounted>())
}

/// Opens the log of a watcher in `logs/`, for lines to be added at its end. Where nothing is mounted, none is made.
pub fn open_log(root: &Path, watcher: &str) -> io::Result<File> {
    channels_of(root)?;
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
