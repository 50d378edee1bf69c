//! All mail at a glance, for whoever looks after the agents of one project or of all.
//!
//! No name is asked for, because it is the page that asks, for a person who may see all of it.

use std::cmp::Reverse;

use super::Office;
use crate::error::Error;
use crate::ids::AgentId;
use crate::overview::{Listed, Listing};
use crate::projects::Project;

/// How many projects are looked at, where none is named.
const MOST_PROJECTS: usize = 1_000;

impl Office {
    /// Mail at a glance, newest first, of one project or of all, and of the agent of that name in each, if one is named;
    /// `wanted` says which else. Changes nothing.
    pub async fn listing(
        &self,
        project_key: Option<&str>,
        agent: Option<&str>,
        wanted: &Listing,
    ) -> Result<Vec<(Project, Listed)>, Error> {
        let projects = match project_key {
            Some(key) => vec![self.project(key).await?],
            None => self.store.projects(None, MOST_PROJECTS).await?,
        };
        let mut found: Vec<(Project, Listed)> = Vec::new();
        for project in projects {
            let agent = match agent {
                Some(name) => match self.listed_agent(&project, name, project_key.is_some()).await? {
                    Some(agent) => Some(agent),
                    None => continue,
                },
                None => None,
            };
            let listing = Listing { project: project.id, agent, ..wanted.clone() };
            let listed = self.store.listing(&listing).await?;
            found.extend(listed.into_iter().map(|listed| (project.clone(), listed)));
            found.sort_by_key(|(_, listed)| Reverse(listed.message.id));
            found.truncate(wanted.limit);
        }
        Ok(found)
    }

    /// The agent of that name; that there is none is an error where one project was asked for.
    async fn listed_agent(&self, project: &Project, name: &str, is_wanted: bool) -> Result<Option<AgentId>, Error> {
        match self.agent_named(project.id, name).await? {
            Some(agent) => Ok(Some(agent.id)),
            None if is_wanted => Err(self.unknown_agent(project, name).await?.of_another()),
            None => Ok(None),
        }
    }
}
