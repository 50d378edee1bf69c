//! Colleagues: who else is in a project, how each stands, and who could be asked instead of somebody who is away.

use std::cmp::Reverse;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::agents::{Agent, PERSON};
use crate::error::Stored;
use crate::ids::{AgentId, ProjectId};
use crate::presence::{AWAKE, Presence};
use crate::responses::is_office_name;
use crate::roles::ROLE;
use crate::sessions::Session;
use crate::standing::{Standing, standing};

/// An agent, and what is known of its presence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colleague {
    /// The agent.
    pub agent: Agent,
    /// Its presence; none if it was never heard of.
    pub presence: Option<Presence>,
}

/// An agent, and how it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stands {
    /// The agent.
    pub agent: Agent,
    /// How it stands.
    pub standing: Standing,
    /// When it was last heard of.
    pub seen_at: Option<Timestamp>,
    /// Since when it is as it is, as far as that is known.
    pub since: Option<Timestamp>,
    /// Whether a session of it is open.
    pub has_session: bool,
}

impl Colleague {
    /// How the agent stands at `now`; its sessions are among `sessions`.
    pub fn stands(self, sessions: &[Session], now: Timestamp) -> Stands {
        let own: Vec<Session> = sessions.iter().filter(|session| session.agent == self.agent.id).cloned().collect();
        let standing = standing(&self.agent, self.presence.as_ref(), &own, now);
        // Who says that it is awake and is silent went away when it was last heard of.
        let since = self.presence.as_ref().map(|known| match known.state == AWAKE && known.is_stale(now) {
            true => known.seen_at,
            false => known.since,
        });
        let since = self.agent.retired_at.or(since);
        let seen_at = self.presence.map(|known| known.seen_at);
        Stands { agent: self.agent, standing, seen_at, since, has_session: !own.is_empty() }
    }
}

impl Stands {
    /// Whether somebody acts and reads under the name: not the office itself, and no mailbox of a role.
    pub fn is_somebody(&self) -> bool {
        self.agent.program != ROLE && !is_office_name(&self.agent.name)
    }
}

/// Those that are worth knowing, the best first: who is awake, then who is idle, then who was seen last.
pub fn ranked(mut all: Vec<Stands>) -> Vec<Stands> {
    all.sort_by(|one, other| {
        let key = |it: &Stands| (it.standing, Reverse(it.seen_at), it.agent.id);
        key(one).cmp(&key(other))
    });
    all
}

/// The same for those who begin: whom a session reaches comes first, because who acts at a shell may not look again.
pub fn reached_first(mut ranked: Vec<Stands>) -> Vec<Stands> {
    ranked.sort_by_key(|one| !(one.has_session && one.standing.is_reachable()));
    ranked
}

/// Who could be asked instead of `away`: somebody who is awake, of the same program if there is one. `all` are ranked.
pub fn next_best<'a>(away: &Agent, all: &'a [Stands]) -> Option<&'a Stands> {
    let mut awake = all.iter().filter(|one| {
        let is_agent = one.is_somebody() && one.agent.program != PERSON;
        one.standing == Standing::Awake && one.agent.id != away.id && is_agent
    });
    let is_alike = |one: &&Stands| !away.program.is_empty() && one.agent.program == away.program;
    awake.clone().find(is_alike).or_else(|| awake.next())
}

/// Whether an agent that says it runs in `program` is meant by `wanted`: `codex` also means `codex-cli`.
pub fn runs_in(program: &str, wanted: &str) -> bool {
    let (program, wanted) = (program.to_lowercase(), wanted.to_lowercase());
    let rest = program.strip_prefix(&wanted);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric)) && !program.is_empty()
}

/// What tells of colleagues.
#[async_trait]
pub trait ColleagueStore: Send + Sync {
    /// Agents of a project that are not retired: who was heard of last comes first, who never was comes last. At most `limit`.
    async fn colleagues(&self, project: ProjectId, limit: usize) -> Stored<Vec<Colleague>>;

    /// The same of those who were heard of at `since` or later.
    async fn colleagues_since(&self, project: ProjectId, since: Timestamp, limit: usize) -> Stored<Vec<Colleague>>;

    /// Agents of a project that are not retired and run in exactly this program, in the order in which they were registered.
    async fn agents_in(&self, project: ProjectId, program: &str, limit: usize) -> Stored<Vec<Agent>>;

    /// These agents, each once, in no particular order, retired or not.
    async fn colleagues_of(&self, agents: &[AgentId]) -> Stored<Vec<Colleague>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(id: i64, program: &str, standing: Standing, seen: i64) -> Stands {
        let at = Timestamp::from_second(1_768_000_000 + seen).unwrap();
        let agent = Agent {
            id: AgentId(id),
            project: ProjectId(1),
            name: format!("agent-{id}"),
            program: program.to_owned(),
            model: String::new(),
            task_description: String::new(),
            registered_at: at,
            last_active_at: at,
            retired_at: None,
        };
        Stands { agent, standing, seen_at: Some(at), since: Some(at), has_session: false }
    }

    fn ids(all: &[Stands]) -> Vec<i64> {
        all.iter().map(|one| one.agent.id.0).collect()
    }

    #[test]
    fn whom_a_session_reaches_is_named_before_who_acts_at_a_shell() {
        let idle = Stands { has_session: true, ..one(1, "claude-code", Standing::Idle, 1) };
        let gone = Stands { has_session: true, ..one(2, "codex-cli", Standing::Asleep, 9) };
        let ranked = reached_first(ranked(vec![one(3, "terminal", Standing::Awake, 5), gone.clone(), idle.clone()]));
        assert_eq!(ranked, [idle, one(3, "terminal", Standing::Awake, 5), gone]);
    }

    #[test]
    fn who_is_awake_comes_first_and_then_who_was_seen_last() {
        let all = vec![
            one(1, "", Standing::Asleep, 50),
            one(2, "", Standing::Idle, 10),
            one(3, "", Standing::Awake, 20),
            one(4, "", Standing::Asleep, 60),
            one(5, "", Standing::Awake, 30),
        ];
        assert_eq!(ids(&ranked(all)), [5, 3, 2, 4, 1]);
    }

    #[test]
    fn the_next_best_is_awake_and_of_the_same_program_if_there_is_one() {
        let all = ranked(vec![
            one(1, "claude-code", Standing::Awake, 50),
            one(2, "codex-cli", Standing::Awake, 10),
            one(3, "codex-cli", Standing::Idle, 99),
            one(4, PERSON, Standing::Awake, 99),
            one(5, ROLE, Standing::Awake, 99),
        ]);
        let away = |program: &str| one(9, program, Standing::Asleep, 0).agent;
        assert_eq!(next_best(&away("codex-cli"), &all).map(|one| one.agent.id.0), Some(2));
        assert_eq!(next_best(&away("gemini-cli"), &all).map(|one| one.agent.id.0), Some(1));
        let mailboxes: Vec<Stands> = all.iter().filter(|one| one.seen_at == all[0].seen_at).cloned().collect();
        assert_eq!((mailboxes.len(), next_best(&away(""), &mailboxes)), (3, None), "no agent among them is awake");
    }

    #[test]
    fn a_program_is_meant_by_its_name_or_by_how_that_begins() {
        for (program, wanted) in [("codex-cli", "codex"), ("Claude-Code", "claude"), ("codex", "CODEX")] {
            assert!(runs_in(program, wanted), "{program} {wanted}");
        }
        for (program, wanted) in [("codexa", "codex"), ("my-codex", "codex"), ("", ""), ("codex", "codex-cli")] {
            assert!(!runs_in(program, wanted), "{program} {wanted}");
        }
    }
}
