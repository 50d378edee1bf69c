//! Which outboxes a server looks at, and when: often where an agent is at work, seldom elsewhere, and hardly at all while there is none.
//!
//! What is in one is taken in by `collecting`. Each look is at a disk that may be slow or far away, so none is on a thread that answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use mail::projects::ProjectKey;
use mcp::Endpoint;
use relay::outbox::Outbox;
use relay::sessions::{SessionRecord, Sessions};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::collecting::{Collector, Doer, Left};
use super::workspace_of;
use crate::commands::nudge::sessions;
use crate::wiring::LocalOffice;

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
    use super::*;
    use crate::outbox::collecting::tests::{collector, leave};

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
