//! The agents of a project and whether they are there, page by page, in the order they were registered.

use mail::ids::AgentId;

use crate::prelude::*;

declare! {
    /// Asks for a page of agents, or for one of them.
    ListAgents("list_agents", READS, "The agents of a project, and who is there.") {
        project_key: String = PROJECT;
        /// Only this one.
        agent_name: Option<String> = Param::optional("agent_name", Text, "Only this one");
        /// The cursor: where the page before ended.
        after: Option<i64> = AFTER;
        /// 100 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    /// A page of agents.
    AgentsAnswer {
        project: ProjectAnswer,
        agents: Vec<PresentAnswer>,
        /// The cursor of the next page; null if this is the last.
        next: Option<i64>,
    }
}

impl Verb for ListAgents {
    type Answer = AgentsAnswer;

    async fn run(self, office: &Office) -> Result<AgentsAnswer, Error> {
        let (after, limit) = match &self.agent_name {
            // The page of one that begins behind the number before its own.
            Some(name) => (Some(office.whois(&self.project_key, name).await?.id.0 - 1), 1),
            None => (self.after, limit(self.limit, LONG_LIMIT)),
        };
        let (project, present) = office.present(&self.project_key, after.map(AgentId), limit).await?;
        let next = next(&present, limit, |one| one.agent.id.0).filter(|_| self.agent_name.is_none());
        let now = office.now();
        let ids: Vec<AgentId> = present.iter().map(|one| one.agent.id).collect();
        let mut sessions = office.sessions(project.id, &ids).await?;
        let mut sessions_of = |agent| -> Vec<OpenSessionAnswer> {
            let own = sessions.extract_if(.., |session| session.agent == agent);
            own.map(OpenSessionAnswer::new).collect()
        };
        let agents = present.into_iter().map(|one| {
            let sessions = sessions_of(one.agent.id);
            PresentAnswer::new(one.shown(now), one, sessions)
        });
        let agents = agents.collect();
        Ok(AgentsAnswer { project: ProjectAnswer::new(project.into()), agents, next })
    }
}
