//! Who is known: the numbers behind the names that callers use, remembered.
//!
//! A project keeps its number and its key for ever, so what was found once need not be looked up again. That an agent is not
//! retired, what it is called, and the project that a path means can change, by the hand of another server too: so these are
//! remembered for some seconds. Nothing else that can change is remembered here, and nobody is remembered as missing or as retired.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use crate::ids::{AgentId, ProjectId};
use crate::projects::Named;

/// How many names are remembered. More than that are forgotten together, and looked up again.
const MOST: usize = 10_000;
/// How long an agent is remembered, and so how long mail may still be taken for one that another server has retired. As long
/// goes a path for the project that it meant before another server was told otherwise.
const REMEMBERED_FOR: Duration = Duration::from_secs(5);

/// The names that were found so far.
#[derive(Default)]
pub(super) struct Directory {
    projects: RwLock<HashMap<String, KnownProject>>,
    agents: RwLock<Agents>,
}

/// The agents that were found, and how many.
#[derive(Default)]
struct Agents {
    known: HashMap<ProjectId, HashMap<String, KnownAgent>>,
    count: usize,
}

/// What a key means, and when that was found; for ever, if no time stands with it.
struct KnownProject {
    named: Named,
    at: Option<Instant>,
}

/// An agent, and when it was found.
struct KnownAgent {
    id: AgentId,
    at: Instant,
}

impl Directory {
    /// What `key` means, if it was found before.
    pub(super) fn project(&self, key: &str, now: Instant) -> Option<Named> {
        let projects = self.projects.read().unwrap_or_else(PoisonError::into_inner);
        let found = projects.get(key)?;
        let is_new = |at| now.saturating_duration_since(at) < REMEMBERED_FOR;
        found.at.is_none_or(is_new).then(|| found.named.clone())
    }

    /// Remembers what a key means. A slug always means the same.
    pub(super) fn learn_project(&self, key: &str, named: &Named, now: Instant) {
        let mut projects = self.projects.write().unwrap_or_else(PoisonError::into_inner);
        if projects.len() >= MOST {
            projects.clear();
        }
        let at = (key != named.project.slug).then_some(now);
        projects.insert(key.to_owned(), KnownProject { named: named.clone(), at });
    }

    /// Forgets what paths mean, so that they are looked up again.
    pub(super) fn forget_paths(&self) {
        self.projects.write().unwrap_or_else(PoisonError::into_inner).retain(|_, known| known.at.is_none());
    }

    /// The agent of that name, if it was found of late.
    pub(super) fn agent(&self, project: ProjectId, name: &str, now: Instant) -> Option<AgentId> {
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        let found = agents.known.get(&project)?.get(name)?;
        (now.saturating_duration_since(found.at) < REMEMBERED_FOR).then_some(found.id)
    }

    /// Remembers an agent that was found, and is not retired.
    pub(super) fn learn_agent(&self, project: ProjectId, name: &str, id: AgentId, now: Instant) {
        let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
        let is_known = agents.known.get(&project).is_some_and(|names| names.contains_key(name));
        if agents.count >= MOST && !is_known {
            *agents = Agents::default();
        }
        let before = agents.known.entry(project).or_default().insert(name.to_owned(), KnownAgent { id, at: now });
        agents.count += usize::from(before.is_none());
    }

    /// Forgets an agent, so that it is looked up again.
    pub(super) fn forget_agent(&self, project: ProjectId, name: &str) {
        let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
        let forgotten = agents.known.get_mut(&project).and_then(|names| names.remove(name));
        agents.count -= usize::from(forgotten.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projects::Project;

    #[test]
    fn only_so_many_agents_are_remembered() {
        let (directory, now) = (Directory::default(), Instant::now());
        for number in 0..=MOST as i64 {
            directory.learn_agent(ProjectId(number % 7), &number.to_string(), AgentId(number), now);
            directory.learn_agent(ProjectId(number % 7), &number.to_string(), AgentId(number), now);
        }
        let agents = directory.agents.read().unwrap();
        let left: usize = agents.known.values().map(HashMap::len).sum();
        assert_eq!((left, agents.count), (1, 1));
    }

    #[test]
    fn an_agent_is_remembered_for_some_seconds_or_until_it_is_forgotten() {
        let (directory, project, now) = (Directory::default(), ProjectId(1), Instant::now());
        let found = |millis| directory.agent(project, "alice", now + Duration::from_millis(millis));
        assert_eq!(found(0), None);
        directory.learn_agent(project, "alice", AgentId(7), now);
        assert_eq!([found(0), found(4_999), found(5_000)], [Some(AgentId(7)), Some(AgentId(7)), None]);
        directory.learn_agent(project, "alice", AgentId(7), now + Duration::from_secs(5));
        assert_eq!(found(9_999), Some(AgentId(7)), "who is found again is remembered again");
        directory.forget_agent(project, "alice");
        assert_eq!(found(5_000), None);
        assert_eq!(directory.agent(ProjectId(2), "alice", now), None);
    }

    #[test]
    fn a_slug_is_remembered_for_ever_and_a_path_for_some_seconds() {
        let (directory, now) = (Directory::default(), Instant::now());
        let (id, created_at) = (ProjectId(1), jiff::Timestamp::UNIX_EPOCH);
        let project = Project { id, slug: "app".to_owned(), human_key: "/app".to_owned(), created_at };
        for key in ["app", "/app"] {
            directory.learn_project(key, &Named::from(project.clone()), now);
        }
        let found = |key, millis| directory.project(key, now + Duration::from_millis(millis)).is_some();
        assert_eq!([found("/app", 4_999), found("/app", 5_000), found("app", 5_000)], [true, false, true]);
        directory.forget_paths();
        assert_eq!([found("/app", 0), found("app", 0), found("/other", 0)], [false, true, false]);
    }
}
