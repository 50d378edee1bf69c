//! Who is known: the numbers behind the names that callers use, remembered.
//!
//! A project and an agent keep their number and their name for ever, so what was found once need not be looked up
//! again. Nothing that can change is remembered here, and nobody is remembered as missing.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use crate::ids::{AgentId, ProjectId};
use crate::projects::Project;

/// How many names are remembered. More than that are forgotten together, and looked up again.
const MOST: usize = 10_000;

/// The names that were found so far.
#[derive(Default)]
pub(super) struct Directory {
    projects: RwLock<HashMap<String, Project>>,
    agents: RwLock<HashMap<ProjectId, HashMap<String, AgentId>>>,
}

impl Directory {
    /// The project that goes by `key`, if it was found before.
    pub(super) fn project(&self, key: &str) -> Option<Project> {
        self.projects.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Remembers a project under the key that found it.
    pub(super) fn learn_project(&self, key: &str, project: &Project) {
        let mut projects = self.projects.write().unwrap_or_else(PoisonError::into_inner);
        if projects.len() >= MOST {
            projects.clear();
        }
        projects.insert(key.to_owned(), project.clone());
    }

    /// The agent of that name, if it was found before.
    pub(super) fn agent(&self, project: ProjectId, name: &str) -> Option<AgentId> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).get(&project)?.get(name).copied()
    }

    /// Remembers an agent.
    pub(super) fn learn_agent(&self, project: ProjectId, name: &str, id: AgentId) {
        let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
        if agents.values().map(HashMap::len).sum::<usize>() >= MOST {
            agents.clear();
        }
        agents.entry(project).or_default().insert(name.to_owned(), id);
    }
}
