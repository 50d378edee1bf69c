//! Takes in what waits in the outboxes of workspaces: a server all the time, hooks and `stdio` as they pass by.
//!
//! An operation leaves its folder after it is done, so that a crash repeats it, under the key that makes this harmless. Of two who
//! take in the same one, both are answered alike. What cannot be done now waits, and only the office's own word is a refusal: then the
//! operation is kept beside the reason. What another home sealed, or nobody, is left alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use api::{AcknowledgeMessage, Ask, ReplyMessage, SendMail};
use mail::projects::ProjectKey;
use mcp::{Endpoint, StdioPeer};
use relay::outbox::{Found, Outbox, Outcome};
use relay::sessions::{SessionRecord, Sessions};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::{Carried, Operation, Sealed, SealingKey, project_of, workspace_of};
use crate::commands::nudge::sessions;
use crate::config::Config;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::taken_back::TakenBack;
use crate::post_office::{Refused, answer};
use crate::wiring::LocalOffice;

/// How many operations of a workspace are taken in at once. The rest is for the next pass, which comes soon.
const MOST_AT_ONCE: usize = 16;
/// How often outboxes are looked at in whose workspace an agent is at work, and others that are there.
const OF_AGENTS: Duration = Duration::from_millis(250);
const OF_OTHERS: Duration = Duration::from_secs(3);
/// How often it is looked whether there is an outbox, and which workspaces there are. What could not be done is tried again as often.
const LOOKS_EVERY: Duration = Duration::from_secs(5);
const LISTS_EVERY: Duration = Duration::from_secs(30);
/// How long a change counts as new, because clocks of file systems are coarse.
const STILL_NEW: Duration = Duration::from_secs(1);
/// How many projects are asked for at once, and how many workspaces are looked at.
const PROJECTS: usize = 100;
const MOST_WORKSPACES: usize = 1_000;

/// Who does what an operation asks: the door that checks what any caller says.
pub enum Doer<'a> {
    Connection(&'a Arc<Connection>),
    Endpoint(&'a Endpoint),
}

impl Doer<'_> {
    async fn call<V: Ask>(&self, arguments: Map<String, Value>) -> Result<V::Answer, Refused> {
        let message = ClientMessage::inquiry("tools/call", json!({ "name": V::NAME, "arguments": arguments }));
        let line = match self {
            Self::Connection(connection) => connection.answer(&message, &TakenBack::never()).await,
            Self::Endpoint(endpoint) => endpoint.line(&message.text, &StdioPeer::new(mpsc::channel(1).0)).await,
        };
        answer::of_verb::<V>(line.as_deref())
    }

    async fn perform(&self, Operation { verb, arguments }: Operation) -> Result<Value, Refused> {
        Ok(match verb {
            Carried::SendMail => json!({ "message_id": self.call::<SendMail>(arguments).await?.sent.message.id }),
            Carried::ReplyMessage => json!({ "message_id": self.call::<ReplyMessage>(arguments).await?.message.id }),
            Carried::AcknowledgeMessage => {
                serde_json::to_value(self.call::<AcknowledgeMessage>(arguments).await?).unwrap_or_default()
            }
        })
    }
}

/// Who takes in operations for the mail of a home folder.
#[derive(Clone, Debug)]
pub struct Collector {
    home: PathBuf,
    /// The largest file that is read.
    largest: usize,
}

impl Collector {
    /// One by these settings.
    pub fn new(config: &Config) -> Self {
        Self { home: config.home.clone(), largest: config.largest_request() }
    }

    /// Takes in what waits in the outbox of a workspace. Whatever goes wrong is logged.
    pub async fn collect(&self, workspace: &Path, doer: &Doer<'_>) -> Left {
        self.take_in(workspace, doer).await.unwrap_or_else(|error| {
            tracing::warn!(workspace = %workspace.display(), %error, "an outbox cannot be read");
            Left::Nothing
        })
    }

    /// Whether something waits in the outbox of a workspace that can be taken in. Without an outbox this costs one look at the disk.
    pub fn waits(&self, workspace: &Path) -> bool {
        Outbox::changed_at(workspace).is_some()
            && self.read(workspace).is_ok_and(|batch| batch.is_some_and(|batch| !batch.operations.is_empty()))
    }

    async fn take_in(&self, workspace: &Path, doer: &Doer<'_>) -> anyhow::Result<Left> {
        let (collector, place) = (self.clone(), workspace.to_owned());
        let Some(batch) = spawn_blocking(move || collector.read(&place)).await?? else { return Ok(Left::Nothing) };
        let Batch { outbox, operations, mut left } = batch;
        let outbox = Arc::new(outbox);
        for (id, operation) in operations {
            let kept = operation.kept();
            let (outcome, told) = match doer.perform(operation).await {
                Ok(told) => (Outcome::Done, told),
                Err(refused) if refused.is_of_office() => {
                    tracing::warn!(workspace = %workspace.display(), id, code = refused.code, "an operation was refused");
                    (Outcome::Refused, refused.saying("operation", kept).to_json())
                }
                Err(refused) => {
                    tracing::debug!(%refused, id, "what waits in an outbox is taken in later");
                    left = Left::Later;
                    if refused.is_passing() {
                        break;
                    }
                    continue;
                }
            };
            let (outbox, name) = (outbox.clone(), id.clone());
            let settling = spawn_blocking(move || outbox.settle(&name, outcome, told.to_string().as_bytes()));
            if let Err(error) = settling.await? {
                tracing::debug!(%error, id, "what was taken in cannot be taken away");
                left = Left::Later;
            }
        }
        Ok(left)
    }

    /// Reads what waits, as much as is done at once.
    fn read(&self, workspace: &Path) -> anyhow::Result<Option<Batch>> {
        let Some(outbox) = Outbox::find(workspace)? else { return Ok(None) };
        let waiting = outbox.waiting(SystemTime::now())?;
        if waiting.is_empty() {
            return Ok(None);
        }
        let (key, project) = (SealingKey::find_or_make(&self.home)?, project_of(workspace)?);
        let (mut operations, mut left) = (Vec::new(), Left::Nothing);
        for id in waiting {
            if operations.len() == MOST_AT_ONCE {
                left = Left::More;
                break;
            }
            let content = match outbox.read(&id, self.largest) {
                Ok(Found::File(content)) => content,
                Ok(Found::Gone) => continue,
                Ok(Found::Foreign) => {
                    tracing::debug!(id, "a file in an outbox is left alone: it is too large, or of another user");
                    continue;
                }
                Err(error) => {
                    tracing::debug!(%error, id, "a file in an outbox cannot be read");
                    left = Left::Later;
                    continue;
                }
            };
            match Sealed::open(&content, &key, workspace, &id) {
                Ok(operation) => operations.push((id.clone(), operation.in_project(&project, &id))),
                Err(why) => tracing::debug!(id, why, "a file in an outbox is left alone"),
            }
        }
        Ok(Some(Batch { outbox, operations, left }))
    }
}

/// What is taken in at once.
struct Batch {
    outbox: Outbox,
    operations: Vec<(String, Operation)>,
    left: Left,
}

/// What still waits in an outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// Nothing that can be taken in.
    #[default]
    Nothing,
    /// More than is taken in at once.
    More,
    /// What could not be done now.
    Later,
}

/// Somebody who works in one workspace and takes in what waits there after each thing that it did.
pub struct PassingBy {
    collector: Collector,
    workspace: Option<PathBuf>,
    /// Held while something is taken in: once is enough.
    turn: Mutex<()>,
}

impl PassingBy {
    /// Somebody in the current folder.
    pub fn new(config: &Config) -> Self {
        let workspace = std::env::current_dir().ok().map(|here| workspace_of(&here));
        Self { collector: Collector::new(config), workspace, turn: Mutex::default() }
    }

    /// Takes in what waits. Without an outbox this costs one look at the disk.
    pub async fn collect(&self, connection: &Arc<Connection>) {
        let (Some(workspace), Ok(_turn)) = (&self.workspace, self.turn.try_lock()) else { return };
        if Outbox::changed_at(workspace).is_some() {
            self.collector.collect(workspace, &Doer::Connection(connection)).await;
        }
    }
}

/// Looks after the outboxes of this machine until the office closes. While there is none, only that is looked for.
pub async fn look_after(collector: Collector, local: LocalOffice, endpoint: Endpoint) {
    let mut workspaces = Workspaces::default();
    loop {
        if workspaces.is_due() {
            let projects = projects(&local).await;
            workspaces.list(&collector.home, projects).await;
        }
        for workspace in workspaces.changed().await {
            let left = collector.collect(&workspace, &Doer::Endpoint(&endpoint)).await;
            workspaces.note(&workspace, left);
        }
        if timeout(workspaces.pause(), local.wake_ups.closed()).await.is_ok() {
            return;
        }
    }
}

/// The folders of projects.
async fn projects(local: &LocalOffice) -> Vec<PathBuf> {
    let (mut folders, mut after) = (Vec::new(), None);
    while folders.len() < MOST_WORKSPACES {
        // What cannot be listed now is listed later.
        let Ok(projects) = local.office.projects(after, PROJECTS).await else { break };
        let paths = projects.iter().filter(|project| ProjectKey::parse_path(&project.human_key).is_ok());
        folders.extend(paths.map(|project| PathBuf::from(&project.human_key)));
        match projects.last() {
            Some(last) if projects.len() == PROJECTS => after = Some(last.id),
            _ => break,
        }
    }
    folders
}

/// The workspaces that are known, and the outboxes in them.
#[derive(Default)]
struct Workspaces {
    /// Those of projects, and those in which an agent is at work.
    all: BTreeSet<PathBuf>,
    of_agents: BTreeSet<PathBuf>,
    outboxes: BTreeMap<PathBuf, Seen>,
    listed_at: Option<Instant>,
    found_at: Option<Instant>,
}

/// How an outbox was when it was last looked at.
#[derive(Default)]
struct Seen {
    looked_at: Option<Instant>,
    tried_at: Option<Instant>,
    changed_at: Option<SystemTime>,
    left: Left,
}

impl Workspaces {
    /// Whether it is time to list them once more.
    fn is_due(&self) -> bool {
        is_due(self.listed_at, LISTS_EVERY)
    }

    /// Lists them. A project may be called by another spelling of its path, or be a folder within a workspace.
    async fn list(&mut self, home: &Path, projects: Vec<PathBuf>) {
        (self.listed_at, self.found_at) = (Some(Instant::now()), None);
        let sessions = Sessions::new(sessions(home));
        let listing = spawn_blocking(move || {
            let open = sessions.all().into_iter().filter(SessionRecord::is_open);
            let of_agents: BTreeSet<PathBuf> =
                open.map(|session| workspace_of(&session.place)).take(MOST_WORKSPACES).collect();
            let all = projects.iter().map(|project| workspace_of(project)).chain(of_agents.iter().cloned()).collect();
            (of_agents, all)
        });
        // It does not panic.
        (self.of_agents, self.all) = listing.await.unwrap_or_default();
    }

    /// The workspaces in whose outbox something may be that was not there at the last look.
    async fn changed(&mut self) -> Vec<PathBuf> {
        let is_search = is_due(self.found_at, LOOKS_EVERY);
        let now = Instant::now();
        let looked_at: Vec<PathBuf> = if is_search {
            self.found_at = Some(now);
            self.all.iter().cloned().collect()
        } else {
            let is_due = |(workspace, seen): &(&PathBuf, &Seen)| is_due(seen.looked_at, self.pace(workspace));
            self.outboxes.iter().filter(is_due).map(|(workspace, _)| workspace.clone()).collect()
        };
        // Each is a look at a disk, which may be slow or far away.
        let looking = spawn_blocking(move || {
            let looked = looked_at.into_iter().map(|workspace| (Outbox::changed_at(&workspace), workspace));
            looked.collect::<Vec<_>>()
        });
        let found = looking.await.unwrap_or_default();
        if is_search {
            let there: BTreeSet<&PathBuf> = found.iter().filter(|(at, _)| at.is_some()).map(|(_, one)| one).collect();
            self.outboxes.retain(|workspace, _| there.contains(workspace));
        }
        let mut changed = Vec::new();
        for (changed_at, workspace) in found {
            if changed_at.is_some() && self.outboxes.entry(workspace.clone()).or_default().has_changed(changed_at, now)
            {
                changed.push(workspace);
            }
        }
        changed
    }

    /// Notes what is left in an outbox.
    fn note(&mut self, workspace: &Path, left: Left) {
        if let Some(seen) = self.outboxes.get_mut(workspace) {
            seen.left = left;
        }
    }

    /// How often an outbox is looked at.
    fn pace(&self, workspace: &Path) -> Duration {
        if self.of_agents.contains(workspace) { OF_AGENTS } else { OF_OTHERS }
    }

    fn pause(&self) -> Duration {
        self.outboxes.keys().map(|workspace| self.pace(workspace)).min().unwrap_or(LOOKS_EVERY)
    }
}

fn is_due(last: Option<Instant>, every: Duration) -> bool {
    last.is_none_or(|last| last.elapsed() >= every)
}

impl Seen {
    /// Whether something may be in it that was not there at the last look.
    fn has_changed(&mut self, changed_at: Option<SystemTime>, now: Instant) -> bool {
        let is_new = changed_at.is_some_and(|at| at.elapsed().is_ok_and(|age| age < STILL_NEW));
        let is_tried_again = self.left == Left::Later && is_due(self.tried_at, LOOKS_EVERY);
        let has_changed = self.left == Left::More || is_tried_again || is_new || changed_at != self.changed_at;
        (self.looked_at, self.changed_at) = (Some(now), changed_at);
        if has_changed {
            self.tried_at = Some(now);
        }
        has_changed
    }
}

#[cfg(test)]
mod tests {
    use api::SendMail;

    use super::*;
    use crate::outbox::queue;

    fn collector(home: &Path) -> Collector {
        SealingKey::find_or_make(home).unwrap();
        Collector { home: home.to_owned(), largest: 1 << 20 }
    }

    fn leave(collector: &Collector, workspace: &Path) -> String {
        queue(&collector.home, workspace, &Operation::send(&SendMail::default()).unwrap()).unwrap().id
    }

    #[test]
    fn what_another_home_left_and_what_is_gone_stand_in_nobodys_way() {
        let [home, other, workspace] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let (ours, theirs) = (collector(home.path()), collector(other.path()));
        let foreign: Vec<String> = (0..=MOST_AT_ONCE).map(|_| leave(&theirs, workspace.path())).collect();
        assert!(!ours.waits(workspace.path()), "none of it is ours");
        let id = leave(&ours, workspace.path());
        let batch = ours.read(workspace.path()).unwrap().unwrap();
        let ids: Vec<&String> = batch.operations.iter().map(|(id, _)| id).collect();
        assert_eq!((ids, batch.left), (vec![&id], Left::Nothing));
        batch.outbox.settle(&id, Outcome::Done, b"{}").unwrap();
        assert!(!ours.waits(workspace.path()));
        assert!(foreign.iter().all(|id| batch.outbox.path().join(format!("{id}.json")).exists()));
    }

    #[tokio::test]
    async fn a_workspace_is_one_however_its_path_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap().join("place");
        std::fs::create_dir_all(place.join(".git")).unwrap();
        std::fs::create_dir(place.join("part")).unwrap();
        std::os::unix::fs::symlink(&place, folder.path().join("link")).unwrap();
        let mut workspaces = Workspaces::default();
        let spelled = [place.clone(), folder.path().join("link"), place.join("part")];
        workspaces.list(folder.path(), spelled.into()).await;
        assert_eq!(workspaces.all, [place.clone()].into());
        assert!(workspaces.changed().await.is_empty());
        let ours = collector(folder.path());
        leave(&ours, &place);
        workspaces.found_at = None;
        assert_eq!(workspaces.changed().await, [place]);
    }
}
