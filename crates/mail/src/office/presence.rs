//! Presence: what watchers, files and acts say of an agent, and who is there.
//!
//! Which state may follow which is the watcher's business: what it says is taken as said.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use formats::presence::{Heartbeat, STALE_AFTER_SECONDS};
use jiff::{SignedDuration, Timestamp};

use super::{Claim, Office};
use crate::error::Error;
use crate::ids::{AgentId, ProjectId};
use crate::presence::{NewPresence, OFFLINE, Present, Source};
use crate::projects::Project;

/// How often it is noted that an agent does something.
const NOTED_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// How many agents are remembered as noted. More than that are forgotten together, and the store is asked again.
const MOST_REMEMBERED: usize = 10_000;
/// How far the clocks of two machines may be apart.
const FURTHEST_AHEAD: SignedDuration = SignedDuration::from_secs(STALE_AFTER_SECONDS);
/// The longest state, and the longest name of a channel, in characters.
const LONGEST_STATE: usize = 32;
const LONGEST_CHANNEL: usize = 128;
/// The state of a foreign agent that does not say one.
const UNKNOWN: &str = "UNKNOWN";

/// What a watcher says of its agent.
#[derive(Clone, Copy, Debug)]
pub struct Sign<'a> {
    /// The state, such as `AWAKE`.
    pub state: &'a str,
    /// What it is at, such as `IDLE`.
    pub substate: Option<&'a str>,
    /// The process of the watcher.
    pub watcher_pid: Option<i64>,
    /// The channel that it watches.
    pub channel: Option<&'a str>,
}

/// When a sign of life of each agent was last passed on to the store by this process.
#[derive(Default)]
pub(super) struct Noted(Mutex<HashMap<AgentId, Timestamp>>);

impl Noted {
    /// Whether it is time to note it again, and remembers that it was.
    fn is_due(&self, agent: AgentId, now: Timestamp) -> bool {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.get(&agent).is_some_and(|last| now.duration_since(*last).abs() < NOTED_EVERY) {
            return false;
        }
        if noted.len() >= MOST_REMEMBERED {
            noted.clear();
        }
        noted.insert(agent, now);
        true
    }

    /// Its next act is noted at once.
    fn forget(&self, agent: AgentId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&agent);
    }
}

impl Office {
    /// Takes a watcher's word about its agent; whether that changed more than the time of its last sign of life.
    pub async fn beat(&self, project_key: &str, claim: Claim<'_>, sign: Sign<'_>) -> Result<bool, Error> {
        check_state("state", sign.state)?;
        sign.substate.map_or(Ok(()), |substate| check_state("substate", substate))?;
        sign.channel.map_or(Ok(()), check_channel)?;
        let (project, agent, _) = self.claimed(project_key, claim).await?;
        self.note(project.id, agent.id, sign, self.clock.now(), Source::Watcher).await
    }

    /// Notes that an agent went away, as its watcher says; whether it was there. It stays while another watcher is there
    /// for it. Whatever it does next says that it is back.
    pub async fn leave(&self, project_key: &str, claim: Claim<'_>) -> Result<bool, Error> {
        let sign = Sign { state: OFFLINE, substate: None, watcher_pid: None, channel: None };
        self.beat(project_key, claim, sign).await
    }

    /// Takes what the file of a foreign agent says, which has a mailbox from then on; whether that changed more than the
    /// time of its last sign of life.
    ///
    /// What is known here and newer stays. A file without a time cannot be newer than anything that is known, and neither
    /// can one that is dated so far ahead that no clock explains it: it would count as new at every look.
    pub async fn heard(&self, source: Source, project_key: &str, heartbeat: &Heartbeat) -> Result<bool, Error> {
        let state = heartbeat.state.as_deref().unwrap_or(UNKNOWN);
        check_state("state", state)?;
        self.ensure_mailbox(project_key, &heartbeat.agent_id).await?;
        let project = self.project(project_key).await?;
        let agent = self.agents_called(&project, &[&heartbeat.agent_id]).await?.remove(0);
        let now = self.clock.now();
        let time = heartbeat.timestamp.filter(|time| time.duration_since(now) <= FURTHEST_AHEAD);
        if time.is_none() && self.store.presence(agent.id).await?.is_some() {
            return Ok(false);
        }
        let substate = heartbeat.substate.as_deref().filter(|substate| check_state("substate", substate).is_ok());
        let channel = heartbeat.channel.as_deref().filter(|channel| check_channel(channel).is_ok());
        let sign = Sign { state, substate, watcher_pid: heartbeat.watcher_pid, channel };
        // Clocks differ, and nobody was seen in the future.
        let seen_at = time.map_or(now, |time| time.min(now));
        self.note(project.id, agent.id, sign, seen_at, source).await
    }

    /// A page of a project's agents, by their numbers, and whether they are there.
    pub async fn present(
        &self,
        project_key: &str,
        after: Option<AgentId>,
        limit: usize,
    ) -> Result<(Project, Vec<Present>), Error> {
        let project = self.project(project_key).await?;
        let present = self.store.present(project.id, after, limit, self.clock.now()).await?;
        Ok((project, present))
    }

    /// Notes that an agent does something. What it does is not held up by that, and does not fail with it.
    pub(super) fn sign_of_life(&self, project: ProjectId, agent: AgentId) {
        let now = self.clock.now();
        if self.noted.is_due(agent, now) {
            self.store.touch_soon(project, agent, now, NOTED_EVERY);
        }
    }

    async fn note(
        &self,
        project: ProjectId,
        agent: AgentId,
        sign: Sign<'_>,
        seen_at: Timestamp,
        source: Source,
    ) -> Result<bool, Error> {
        let told = NewPresence {
            state: sign.state.to_owned(),
            substate: sign.substate.map(str::to_owned),
            seen_at,
            source,
            watcher_pid: sign.watcher_pid,
            channel: sign.channel.map(str::to_owned),
        };
        let is_change = self.store.set_presence(project, agent, &told, self.clock.now()).await?;
        if is_change {
            self.noted.forget(agent);
            self.wake.work_changed(project);
        }
        Ok(is_change)
    }
}

fn check_state(what: &'static str, state: &str) -> Result<(), Error> {
    let is_word = state.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if is_word && (1..=LONGEST_STATE).contains(&state.len()) {
        return Ok(());
    }
    let wanted = format!("1 to {LONGEST_STATE} capital letters or underscores, such as AWAKE");
    Err(Error::invalid(what, state, wanted))
}

fn check_channel(channel: &str) -> Result<(), Error> {
    let length = channel.chars().count();
    if (1..=LONGEST_CHANNEL).contains(&length) && !channel.chars().any(char::is_control) {
        return Ok(());
    }
    let wanted = format!("1 to {LONGEST_CHANNEL} characters, none of them a control character");
    Err(Error::invalid("channel", channel, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_noted_once_in_a_while_and_at_once_after_it_was_forgotten() {
        let noted = Noted::default();
        let at = |second| Timestamp::from_second(second).unwrap();
        let due = |agent, second| noted.is_due(AgentId(agent), at(second));
        assert!(due(1, 100) && !due(1, 159) && !due(1, 99), "a clock that was put back a little is no reason");
        assert!(due(2, 100), "each for itself");
        assert!(due(1, 160) && !due(1, 161));
        noted.forget(AgentId(1));
        assert!(due(1, 161));
        assert!(due(1, 0), "a clock that was put back for long");
    }

    #[test]
    fn only_so_many_agents_are_remembered() {
        let noted = Noted::default();
        for agent in 0..=MOST_REMEMBERED as i64 {
            assert!(noted.is_due(AgentId(agent), Timestamp::UNIX_EPOCH));
        }
        assert_eq!(noted.0.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_state_is_a_short_word_in_capitals() {
        for state in ["AWAKE", "SHUTTING_DOWN", "A", &"X".repeat(32)] {
            assert!(check_state("state", state).is_ok(), "{state}");
        }
        for state in ["", "awake", "AWAKE/IDLE", "A B", "Ä", "A1", "A\n", &"X".repeat(33)] {
            assert_eq!(check_state("state", state).unwrap_err().code(), "INVALID_ARGUMENT", "{state:?}");
        }
    }
}
