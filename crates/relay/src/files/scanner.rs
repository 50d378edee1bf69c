//! What is new in the folder of one channel, taken in file by file in the order in which it was said.
//!
//! No file is read twice, but for those that were not whole: a name is remembered once it is dealt with, and what the
//! store knows is not even opened. What may be taken in is decided by [`formats::channel`] and the office.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use formats::channel::{FileName, Place, Reading, Verdict, order, read};
use jiff::Timestamp;
use mail::channels::{ChannelName, FOLDER};
use mail::office::Arrival;

use super::folder::{Folder, FolderEntry, Stamp};
use super::glance::Glance;
use super::{ENDING, FilesError, FolderContext, off_thread};

/// How often a folder is read whatever its stamp says.
const AT_LEAST_EVERY: Duration = Duration::from_secs(30);
/// How many names the store is asked about at once.
pub(super) const NAMES_AT_ONCE: usize = 500;
/// How often a file that is not whole is looked at, without it changing, before it is passed over.
const MOST_LOOKS: u32 = 6;
/// How many of the files that were passed over are remembered, so that one that changes is read again.
const MOST_PASSED_OVER: usize = 1_000;
/// How many files of one second are put in order at once, and of how many bytes.
const MOST_AT_ONCE: usize = 500;
const MOST_BYTES_AT_ONCE: usize = 32 << 20;
/// How many names that nobody can use are told one by one.
const MOST_ODD_NAMES: usize = 20;

/// The folder of a channel, and what was dealt with of it.
pub(super) struct Scanner {
    channel: ChannelName,
    glance: Glance,
    /// The names that need no look any more.
    dealt_with: HashSet<String>,
    /// The names that do, in the order of their times.
    open: BTreeMap<(Timestamp, String), Looks>,
    /// What those were that could not be used when they were dealt with.
    passed_over: HashMap<String, Stamp>,
    #[cfg(test)]
    pub(super) files_read: usize,
    #[cfg(test)]
    pub(super) folders_read: usize,
}

/// How often a file was looked at since it last changed.
#[derive(Clone, Copy, Default)]
struct Looks {
    count: u32,
    stamp: Option<Stamp>,
}

/// A file that was read.
struct Read {
    key: (Timestamp, String),
    name: FileName,
    found: io::Result<FolderEntry>,
    reading: Option<Reading>,
}

impl Read {
    /// What its place among others follows from. What cannot be used has no time of its own.
    fn place(&self) -> (&FileName, Timestamp) {
        let said = self.reading.as_ref().and_then(|reading| reading.message.as_ref());
        (&self.name, said.map_or(self.key.0, |said| said.timestamp))
    }
}

impl Scanner {
    /// A channel whose folder was never looked at.
    pub(super) fn new(channel: ChannelName) -> Self {
        Self {
            channel,
            glance: Glance::default(),
            dealt_with: HashSet::new(),
            open: BTreeMap::new(),
            passed_over: HashMap::new(),
            #[cfg(test)]
            files_read: 0,
            #[cfg(test)]
            folders_read: 0,
        }
    }

    /// Takes in what is new. A file that cannot be read is tried again at the next look, and holds up no other; when the
    /// office cannot take one in, it is tried again with all that comes behind it.
    pub(super) async fn look(
        &mut self,
        folder: &Arc<Folder>,
        context: &FolderContext,
        now: Instant,
    ) -> Result<(), FilesError> {
        let (mut glance, folder_too) = (self.glance, folder.clone());
        let passed_over: Vec<String> = self.passed_over.keys().cloned().collect();
        let (glance, listed) = off_thread(move || {
            let Some(names) = glance.names(&folder_too, AT_LEAST_EVERY, now)? else { return Ok((glance, None)) };
            folder_too.sweep(&names, SystemTime::now());
            // What cannot be looked at now is looked at the next time.
            let stamp_of = |name: String| folder_too.stamp_of(&name).ok().map(|stamp| (name, stamp));
            let stamps: Vec<_> = passed_over.into_iter().filter_map(stamp_of).collect();
            Ok((glance, Some((names, stamps))))
        })
        .await?;
        if let Some((names, stamps)) = listed {
            self.note_changed(stamps);
            self.note_names(names, context).await?;
            #[cfg(test)]
            (self.folders_read += 1);
        }
        // Only now: if the store could not be asked, the folder is read again.
        self.glance = glance;
        self.take_in_open(folder, context).await
    }

    /// Lets files that were passed over be read again if they are not what they were.
    fn note_changed(&mut self, stamps: Vec<(String, Option<Stamp>)>) {
        for (name, stamp) in stamps {
            if self.passed_over.get(&name).copied() != stamp {
                self.passed_over.remove(&name);
                self.dealt_with.remove(&name);
            }
        }
    }

    /// Opens what nobody has dealt with among the names in the folder.
    async fn note_names(&mut self, names: Vec<String>, context: &FolderContext) -> Result<(), FilesError> {
        if self.dealt_with.len() > names.len() {
            let there: HashSet<&String> = names.iter().collect();
            self.dealt_with.retain(|name| there.contains(name));
        }
        let (mut new, mut odd) = (Vec::new(), Vec::new());
        for name in names {
            if name.starts_with('.') || self.dealt_with.contains(&name) {
                continue;
            }
            match FileName::parse(&name) {
                Some(parsed) => new.push((parsed.time, name)),
                None => {
                    self.dealt_with.insert(name.clone());
                    odd.push(name);
                }
            }
        }
        self.tell_odd_names(&odd);
        new.retain(|key| !self.open.contains_key(key));
        let store = context.office.store();
        for chunk in new.chunks(NAMES_AT_ONCE) {
            let stems: Vec<&str> = chunk.iter().map(|(_, name)| stem(name)).collect();
            let known = store.known_keys(context.project.id, self.channel.as_str(), &stems).await?;
            let known: HashSet<&str> = known.iter().map(String::as_str).collect();
            for key in chunk {
                if known.contains(stem(&key.1)) {
                    self.dealt_with.insert(key.1.clone());
                } else {
                    self.open.insert(key.clone(), Looks::default());
                }
            }
        }
        Ok(())
    }

    /// Whoever named a file almost like a message wonders why nobody reads it.
    fn tell_odd_names(&self, names: &[String]) {
        let (channel, why) = (self.channel.as_str(), format!("it is not named {}", FileName::FORM));
        let mut meant = names.iter().filter(|name| name.ends_with(ENDING));
        for file in meant.by_ref().take(MOST_ODD_NAMES) {
            tracing::warn!(channel, file, why, "a file was passed over");
        }
        let more = meant.count();
        if more > 0 {
            tracing::warn!(channel, more, why, "more files were passed over");
        }
    }

    async fn take_in_open(&mut self, folder: &Arc<Folder>, context: &FolderContext) -> Result<(), FilesError> {
        let open: Vec<_> = self.open.keys().cloned().collect();
        for second in open.chunk_by(|one, other| one.0 == other.0) {
            let mut rest = second;
            while !rest.is_empty() {
                let (folder, channel, longest) = (folder.clone(), self.channel.clone(), context.longest);
                let keys: Vec<_> = rest.iter().take(MOST_AT_ONCE).cloned().collect();
                let mut files = off_thread(move || Ok(read_files(&folder, &channel, keys, longest))).await?;
                rest = &rest[files.len()..];
                files.sort_by(|one, other| order(one.place(), other.place()));
                for file in files {
                    #[cfg(test)]
                    (self.files_read += 1);
                    self.deal_with(file, context).await?;
                }
            }
        }
        Ok(())
    }

    async fn deal_with(&mut self, file: Read, context: &FolderContext) -> Result<(), FilesError> {
        let Read { key, found, reading, .. } = file;
        let (name, channel) = (key.1.clone(), self.channel.as_str().to_owned());
        let pass_over = |scanner: &mut Self, stamp: Option<Stamp>, why: &str| {
            tracing::warn!(channel, file = name, why, "a file was passed over");
            scanner.close(&key, stamp);
        };
        let (bytes, stamp) = match found {
            Ok(FolderEntry::Gone) => {
                self.open.remove(&key);
                return Ok(());
            }
            Ok(FolderEntry::Unreadable(error, stamp)) => {
                pass_over(self, stamp, &error.to_string());
                return Ok(());
            }
            Ok(FolderEntry::TooLarge(size, stamp)) => {
                pass_over(self, Some(stamp), &format!("it has {size} bytes; the limit is {}", context.longest));
                return Ok(());
            }
            Ok(FolderEntry::Whole(bytes, stamp)) => (bytes, stamp),
            Err(error) => {
                self.try_again(key, &error);
                return Ok(());
            }
        };
        let Some(reading) = reading else { return Ok(()) };
        let problems = || reading.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let Some(said) = &reading.message else {
            let looks = self.open.entry(key.clone()).or_default();
            *looks = Looks { count: if looks.stamp == Some(stamp) { looks.count + 1 } else { 1 }, stamp: Some(stamp) };
            if reading.verdict == Verdict::Skip || looks.count > MOST_LOOKS {
                pass_over(self, Some(stamp), &problems());
            }
            return Ok(());
        };
        if reading.verdict == Verdict::Warn {
            tracing::warn!(channel, file = name, problems = problems(), "a file is odd, and is used all the same");
        }
        let document = String::from_utf8_lossy(&bytes);
        let arrival = Arrival {
            project_key: &context.project.slug,
            channel: &channel,
            name: stem(&name),
            said,
            document: &document,
            door: FOLDER,
        };
        match context.office.take_in(arrival).await {
            Ok(taken) => {
                tracing::debug!(channel, file = name, ?taken, "a file was taken in");
                self.close(&key, None);
            }
            Err(error) if error.retryable() => return Err(error.into()),
            Err(error) => pass_over(self, Some(stamp), &error.to_string()),
        }
        Ok(())
    }

    /// Leaves a file open that could not be read this time, and tells so once.
    fn try_again(&mut self, key: (Timestamp, String), error: &io::Error) {
        let file = key.1.clone();
        let looks = self.open.entry(key).or_default();
        if looks.count == 0 {
            looks.count = 1;
            tracing::warn!(channel = self.channel.as_str(), file, %error, "a file cannot be read now; trying again");
        }
    }

    /// Needs no more look at a file, unless it is passed over and changes.
    fn close(&mut self, key: &(Timestamp, String), passed_over: Option<Stamp>) {
        self.open.remove(key);
        self.dealt_with.insert(key.1.clone());
        if let Some(stamp) = passed_over.filter(|_| self.passed_over.len() < MOST_PASSED_OVER) {
            self.passed_over.insert(key.1.clone(), stamp);
        }
    }
}

/// Reads the first of these files: as many as fit.
fn read_files(folder: &Folder, channel: &ChannelName, keys: Vec<(Timestamp, String)>, longest: usize) -> Vec<Read> {
    let (mut files, mut size) = (Vec::new(), 0);
    for key in keys {
        // One that fails does not hold up the others.
        let found = folder.read(&key.1, longest);
        let name = FileName::parse(&key.1).expect("a name that is not a message's is never opened");
        let reading = if let Ok(FolderEntry::Whole(bytes, _)) = &found {
            size += bytes.len();
            Some(read(bytes, Place { file: Some(&key.1), channel: Some(channel.as_str()) }))
        } else {
            None
        };
        files.push(Read { key, name, found, reading });
        if size > MOST_BYTES_AT_ONCE {
            break;
        }
    }
    files
}

pub(super) fn stem(name: &str) -> &str {
    name.strip_suffix(ENDING).unwrap_or(name)
}
