//! Heartbeats: one file for each agent that says whether it is awake.
//!
//! Those of agents that are here are written, those of others are heard. Who is stale is not decided here: a file says
//! how it stood when it was written, and nobody has to take it away.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use formats::presence::{Heartbeat, STALE_AFTER_SECONDS};
use jiff::Timestamp;
use mail::ids::AgentId;
use mail::presence::{Present, Source};

use super::folder::{Folder, FolderEntry, Stamp};
use super::glance::Glance;
use super::{CHANNELS, ENDING, FilesError, FolderContext, NotMounted, off_thread};

const SIGNALS: &str = "signals";
const PRESENCE: &str = "presence";
/// How often heartbeats are looked at that were changed in their place, which the folder's stamp does not tell.
const AT_LEAST_EVERY: Duration = Duration::from_secs(10);
/// How often the agents that are here are written, if nothing changed before.
const WRITTEN_EVERY: Duration = Duration::from_secs(30);
/// How many heartbeats are heard, and the longest one in bytes.
const MOST: usize = 10_000;
const LONGEST: usize = 64 << 10;
/// How many are read at once.
const READ_AT_ONCE: usize = 64;
/// How many agents that changed are written one by one. More are written with all the others.
const MOST_CHANGED: usize = 100;
/// How many agents are asked for at once.
const AGENTS_AT_ONCE: usize = 500;

/// The heartbeats of a folder.
#[derive(Default)]
pub(super) struct Presence {
    glance: Glance,
    /// What was looked at, by the names of the files.
    heard: HashMap<String, Stamp>,
    /// What was written, by the names of the files.
    written: HashMap<String, String>,
    /// When all were last written.
    written_at: Option<Instant>,
    /// Who changed since it was last written.
    changed: BTreeSet<AgentId>,
    /// The files that were complained of.
    odd: HashSet<String>,
}

impl Presence {
    /// Says that somebody who is here came, went or took up something else.
    pub(super) fn changed(&mut self, agent: AgentId) {
        self.changed.insert(agent);
        if self.changed.len() > MOST_CHANGED {
            self.changed.clear();
            self.written_at = None;
        }
    }

    /// Whether somebody changed and is not written.
    pub(super) fn is_changed(&self) -> bool {
        self.written_at.is_none() || !self.changed.is_empty()
    }

    /// Hears what is new, then writes what is.
    pub(super) async fn pass(&mut self, root: &Path, context: &FolderContext, now: Instant) -> Result<(), FilesError> {
        // First: who was heard elsewhere last is not written here.
        self.hear(root, context, now).await?;
        if self.written_at.is_none_or(|at| now >= at + WRITTEN_EVERY) {
            self.write_all(root, context).await?;
            self.written_at = Some(now);
            self.changed.clear();
        }
        while let Some(agent) = self.changed.first().copied() {
            let key = &context.project.slug;
            let (_, present) = context.office.present(key, Some(AgentId(agent.0 - 1)), 1).await?;
            let present = present.iter().find(|present| present.agent.id == agent);
            let file = present.and_then(|present| file_of(present, context.office.now()));
            self.write(root, file.into_iter().collect()).await?;
            self.changed.remove(&agent);
        }
        Ok(())
    }

    async fn hear(&mut self, root: &Path, context: &FolderContext, now: Instant) -> Result<(), FilesError> {
        let (root, mut glance) = (root.to_owned(), self.glance);
        let (glance, found) = off_thread(move || {
            let Some(folder) = folder(&root)? else { return Ok((glance, None)) };
            let names = glance.names(&folder, AT_LEAST_EVERY, now)?;
            Ok((glance, names.map(|names| (Arc::new(folder), names))))
        })
        .await?;
        let Some((folder, mut names)) = found else { return Ok(()) };
        names.retain(|name| !name.starts_with('.') && name.ends_with(ENDING));
        names.truncate(MOST);
        if self.heard.len() > names.len() {
            let there: HashSet<&String> = names.iter().collect();
            self.heard.retain(|name, _| there.contains(name));
            self.odd.retain(|name| there.contains(name));
        }
        for names in names.chunks(READ_AT_ONCE) {
            let known: Vec<_> = names.iter().map(|name| (name.clone(), self.heard.get(name).copied())).collect();
            let folder = folder.clone();
            for (name, found) in off_thread(move || Ok(changed_files(&folder, known))).await? {
                self.hear_file(name, found, context).await?;
            }
        }
        // Only now: if the office could not be told, the folder is read again.
        self.glance = glance;
        Ok(())
    }

    /// Takes what a file says. One that cannot be used is told of once, and stops no other.
    async fn hear_file(
        &mut self,
        name: String,
        found: io::Result<FolderEntry>,
        context: &FolderContext,
    ) -> Result<(), FilesError> {
        let (bytes, stamp) = match found {
            Ok(FolderEntry::Whole(bytes, stamp)) => (bytes, stamp),
            Ok(FolderEntry::Gone) => return Ok(()),
            Ok(FolderEntry::TooLarge(size, stamp)) => {
                self.pass_over(&name, &format!("it has {size} bytes; the limit is {LONGEST}"));
                self.heard.insert(name, stamp);
                return Ok(());
            }
            Ok(FolderEntry::Unreadable(error, _)) | Err(error) => {
                self.pass_over(&name, &error.to_string());
                return Ok(());
            }
        };
        let is_ours = self.written.get(&name).is_some_and(|text| text.as_bytes() == bytes);
        match Heartbeat::read(&bytes) {
            _ if is_ours => {}
            None => self.pass_over(&name, "it is not a heartbeat: a JSON object with agent_id and state"),
            Some(heartbeat) if format!("{}{ENDING}", heartbeat.agent_id) != name => {
                self.pass_over(&name, "it is not named after its agent_id");
            }
            Some(heartbeat) => match context.office.heard(Source::File, &context.project.slug, &heartbeat).await {
                Ok(_) => _ = self.odd.remove(&name),
                Err(error) if error.retryable() => return Err(error.into()),
                Err(error) => self.pass_over(&name, &error.to_string()),
            },
        }
        self.heard.insert(name, stamp);
        Ok(())
    }

    fn pass_over(&mut self, file: &str, why: &str) {
        if self.odd.len() < MOST && self.odd.insert(file.to_owned()) {
            tracing::warn!(file, why, "a heartbeat was passed over");
        }
    }

    async fn write_all(&mut self, root: &Path, context: &FolderContext) -> Result<(), FilesError> {
        let (mut after, mut current) = (None, HashSet::new());
        loop {
            let (_, agents) = context.office.present(&context.project.slug, after, AGENTS_AT_ONCE).await?;
            let Some(last) = agents.last() else { break };
            after = Some(last.agent.id);
            let files: Vec<_> = agents.iter().filter_map(|agent| file_of(agent, context.office.now())).collect();
            current.extend(files.iter().map(|(name, _)| name.clone()));
            self.write(root, files).await?;
        }
        // Of who went long ago there is nothing to remember.
        self.written.retain(|name, _| current.contains(name));
        Ok(())
    }

    /// Writes those of the files that are new. One that cannot be written stops no other.
    async fn write(&mut self, root: &Path, mut files: Vec<(String, String)>) -> Result<(), FilesError> {
        files.retain(|(name, text)| self.written.get(name) != Some(text));
        if files.is_empty() {
            return Ok(());
        }
        let root = root.to_owned();
        let files = off_thread(move || {
            let root = Folder::open(&root)?;
            root.inner(CHANNELS)?.ok_or_else(|| io::Error::other(NotMounted))?;
            let folder = root.make(SIGNALS)?.make(PRESENCE)?;
            let replaced = |(name, text): (String, String)| (folder.replace(&name, text.as_bytes()), name, text);
            Ok(files.into_iter().map(replaced).collect::<Vec<_>>())
        })
        .await?;
        for (replaced, name, text) in files {
            match replaced {
                Ok(()) => _ = self.written.insert(name, text),
                Err(error) => self.pass_over(&name, &error.to_string()),
            }
        }
        Ok(())
    }
}

/// The folder of heartbeats, if there is one.
fn folder(root: &Path) -> io::Result<Option<Folder>> {
    let signals = Folder::open(root)?.inner(SIGNALS)?;
    signals.map_or(Ok(None), |signals| signals.inner(PRESENCE))
}

/// The files that are not what they were when they were last looked at.
fn changed_files(folder: &Folder, known: Vec<(String, Option<Stamp>)>) -> Vec<(String, io::Result<FolderEntry>)> {
    let read = |(name, heard): (String, Option<Stamp>)| match folder.stamp_of(&name) {
        Ok(stamp) if stamp.is_none() || stamp == heard => None,
        Ok(_) => Some((folder.read(&name, LONGEST), name)),
        Err(error) => Some((Err(error), name)),
    };
    known.into_iter().filter_map(read).map(|(found, name)| (name, found)).collect()
}

/// The file of an agent that is here, or went away just now. Of others there is nothing new to tell.
fn file_of(agent: &Present, now: Timestamp) -> Option<(String, String)> {
    let name = &agent.agent.name;
    let presence = agent.presence.as_ref().filter(|presence| !presence.source.is_elsewhere())?;
    let age = now.duration_since(presence.seen_at).as_secs();
    let can_be_a_file = !name.starts_with('.') && !name.contains('/') && name.len() + ENDING.len() <= 255;
    if age > STALE_AFTER_SECONDS || !can_be_a_file {
        return None;
    }
    Some((format!("{name}{ENDING}"), presence.heartbeat(name).to_json()))
}
