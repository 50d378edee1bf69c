//! All mail at a glance, for whoever looks after the agents of one project or of all.
//!
//! No name is asked for, because it is the page that asks, for a person who may see all of it.

use std::cmp::Reverse;

use formats::Kind;

use super::Office;
use crate::error::Error;
use crate::ids::{AgentId, MessageId};
use crate::overview::{Listed, Listing};
use crate::projects::Project;

/// How many projects are looked at, where none is named.
const MOST_PROJECTS: usize = 1_000;

/// Which mail is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListingRequest<'a> {
    /// The project; without one, all of them.
    pub project_key: Option<&'a str>,
    /// Only mail of the agent of this name, in every project that has one.
    pub agent: Option<&'a str>,
    /// Only what is not read yet.
    pub unread_only: bool,
    /// Only what lacks an acknowledgement.
    pub ack_due_only: bool,
    /// Only what is of high importance, or urgent.
    pub urgent_only: bool,
    /// Only what is archived.
    pub archived_only: bool,
    /// Only what is of this kind.
    pub kind: Option<Kind>,
    /// Only messages with a lower number. Numbers rise over all projects.
    pub before: Option<MessageId>,
    /// At most so many, the newest.
    pub limit: usize,
}

impl Office {
    /// Mail at a glance, newest first, of one project or of all. Changes nothing.
    pub async fn listing(&self, request: ListingRequest<'_>) -> Result<Vec<(Project, Listed)>, Error> {
        let projects = match request.project_key {
            Some(key) => vec![self.project(key).await?],
            None => self.store.projects(None, MOST_PROJECTS).await?,
        };
        let mut found: Vec<(Project, Listed)> = Vec::new();
        for project in projects {
            let agent = match request.agent {
                Some(name) => match self.listed_agent(&project, name, request.project_key.is_some()).await? {
                    Some(agent) => Some(agent),
                    None => continue,
                },
                None => None,
            };
            let listing = Listing {
                project: project.id,
                agent,
                unread_only: request.unread_only,
                ack_due_only: request.ack_due_only,
                urgent_only: request.urgent_only,
                archived_only: request.archived_only,
                kind: request.kind,
                before: request.before,
                limit: request.limit,
            };
            let listed = self.store.listing(&listing).await?;
            found.extend(listed.into_iter().map(|listed| (project.clone(), listed)));
            found.sort_by_key(|(_, listed)| Reverse(listed.message.id));
            found.truncate(request.limit);
        }
        Ok(found)
    }

    /// The agent of that name; that there is none is an error where one project was asked for.
    async fn listed_agent(&self, project: &Project, name: &str, is_wanted: bool) -> Result<Option<AgentId>, Error> {
        match self.store.agents_named(project.id, &[name]).await?.pop() {
            Some(agent) => Ok(Some(agent.id)),
            None if is_wanted => Err(self.unknown_agent(project, name).await?.of_another()),
            None => Ok(None),
        }
    }
}
