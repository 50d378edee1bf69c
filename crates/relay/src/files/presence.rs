//! Heartbeats: one file for each agent that says whether it is awake.
//!
//! Those of agents that are here are written, those of others are heard. Who is stale is not decided here: a file says
//! how it stood when it was written, and nobody has to take it away.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use formats::presence::{Heartbeat, STALE_AFTER_SECONDS};
use jiff::Timestamp;
use mail::presence::Present;

use super::folder::{Folder, Found, Stamp};
use super::glance::Glance;
use super::{Desk, ENDING, FilesError, off_thread};

const SIGNALS: &str = "signals";
const PRESENCE: &str = "presence";
/// How often heartbeats are looked at that were changed in their place, which the folder's stamp does not tell.
const AT_LEAST_EVERY: Duration = Duration::from_secs(10);
/// How often the agents that are here are written, if nothing changed before.
const WRITTEN_EVERY: Duration = Duration::from_secs(30);
/// How many heartbeats are heard, and the longest one in bytes.
const MOST: usize = 10_000;
const LONGEST: usize = 64 << 10;
/// How many agents are asked for at once.
const AGENTS_AT_ONCE: usize = 500;

/// The heartbeats of a folder.
pub(super) struct Presence {
    glance: Glance,
    /// What was looked at, by the names of the files.
    heard: HashMap<String, Stamp>,
    /// What was written, by the names of the files.
    written: HashMap<String, String>,
    written_at: Option<Instant>,
}

impl Presence {
    /// A folder that was never looked at.
    pub(super) fn new() -> Self {
        Self { glance: Glance::new(AT_LEAST_EVERY), heard: HashMap::new(), written: HashMap::new(), written_at: None }
    }

    /// Says that somebody who is here came, went or took up something else.
    pub(super) fn changed(&mut self) {
        self.written_at = None;
    }

    /// Whether that was said, and not written since.
    pub(super) fn is_changed(&self) -> bool {
        self.written_at.is_none()
    }

    /// Hears what is new, then writes what is.
    pub(super) async fn pass(&mut self, root: &Path, desk: &Desk, now: Instant) -> Result<(), FilesError> {
        // First: who was heard elsewhere last is not written here.
        self.hear(root, desk, now).await?;
        if self.written_at.is_some_and(|at| now < at + WRITTEN_EVERY) {
            return Ok(());
        }
        self.write(root, desk).await?;
        self.written_at = Some(now);
        Ok(())
    }

    async fn hear(&mut self, root: &Path, desk: &Desk, now: Instant) -> Result<(), FilesError> {
        let (root, mut glance, heard) = (root.to_owned(), self.glance, self.heard.clone());
        let (glance, files) = off_thread(move || {
            let Some(folder) = folder(&root)? else { return Ok((glance, Vec::new())) };
            let Some(names) = glance.names(&folder, now)? else { return Ok((glance, Vec::new())) };
            Ok((glance, changed_files(&folder, names, &heard)?))
        })
        .await?;
        for (name, stamp, bytes) in files {
            let is_ours = self.written.get(&name).is_some_and(|text| text.as_bytes() == bytes);
            let heartbeat =
                Heartbeat::read(&bytes).filter(|heartbeat| format!("{}{ENDING}", heartbeat.agent_id) == name);
            match heartbeat {
                _ if is_ours => {}
                None => tracing::debug!(file = name, "not a heartbeat of the agent that it is named after"),
                Some(heartbeat) => match desk.office.heard(&desk.project.human_key, &heartbeat).await {
                    Ok(_) => {}
                    Err(error) if error.retryable() => return Err(error.into()),
                    Err(error) => tracing::warn!(file = name, %error, "a heartbeat was passed over"),
                },
            }
            self.heard.insert(name, stamp);
        }
        // Only now: if the office could not be told, the folder is read again.
        self.glance = glance;
        Ok(())
    }

    async fn write(&mut self, root: &Path, desk: &Desk) -> Result<(), FilesError> {
        let mut after = None;
        let mut files = Vec::new();
        loop {
            let (_, agents) = desk.office.present(&desk.project.human_key, after, AGENTS_AT_ONCE).await?;
            let Some(last) = agents.last() else { break };
            after = Some(last.agent.id);
            files.extend(agents.iter().filter_map(|agent| file_of(agent, desk.office.now())));
        }
        files.retain(|(name, text)| self.written.get(name) != Some(text));
        if files.is_empty() {
            return Ok(());
        }
        let root = root.to_owned();
        let files = off_thread(move || {
            let folder = Folder::open(&root)?.make(SIGNALS)?.make(PRESENCE)?;
            files.iter().try_for_each(|(name, text)| folder.replace(name, text.as_bytes()))?;
            Ok(files)
        })
        .await?;
        self.written.extend(files);
        Ok(())
    }
}

/// The folder of heartbeats, if there is one.
fn folder(root: &Path) -> io::Result<Option<Folder>> {
    let signals = Folder::open(root)?.inner(SIGNALS)?;
    signals.map_or(Ok(None), |signals| signals.inner(PRESENCE))
}

/// The files that are not what they were when they were last looked at.
fn changed_files(
    folder: &Folder,
    names: Vec<String>,
    heard: &HashMap<String, Stamp>,
) -> io::Result<Vec<(String, Stamp, Vec<u8>)>> {
    let mut files = Vec::new();
    for name in names.into_iter().filter(|name| !name.starts_with('.') && name.ends_with(ENDING)).take(MOST) {
        if folder.stamp_of(&name)?.is_some_and(|stamp| heard.get(&name) != Some(&stamp))
            && let Found::Whole(bytes, stamp) = folder.read(&name, LONGEST)?
        {
            files.push((name, stamp, bytes));
        }
    }
    Ok(files)
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
    let heartbeat = Heartbeat {
        agent_id: name.clone(),
        timestamp: Some(presence.seen_at),
        state: Some(presence.state.clone()),
        substate: presence.substate.clone(),
        watcher_pid: presence.watcher_pid,
        channel: presence.channel.clone(),
    };
    Some((format!("{name}{ENDING}"), heartbeat.to_json()))
}
