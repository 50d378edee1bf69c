//! Standing: how an agent stands, for those who write to it.
//!
//! It follows from what is known when somebody asks, and is not kept: presence says who acts, sessions say who waits at a prompt
//! and can be woken.

use formats::presence::AWAKE;
use jiff::{SignedDuration, Timestamp};

use crate::agents::Agent;
use crate::presence::Presence;
use crate::sessions::Session;

/// How long a session may be silent and still count as one that can be woken.
const LONGEST_IDLE: SignedDuration = SignedDuration::from_hours(24);
/// What a watcher says of an agent that waits to be called.
const IDLE: &str = "IDLE";

formats::named! {
    /// How an agent stands, for those who write to it. The best comes first.
    pub enum Standing {
        /// It is at work, and reads its mail soon.
        Awake = "awake",
        /// It waits, and can be woken.
        Idle = "idle",
        /// It was there, and is not now.
        Asleep = "asleep",
        /// Nobody ever acted in its name.
        NeverSeen = "never seen",
        /// It was retired, by a person, by the office, or by itself.
        Retired = "retired",
    }
}

impl Standing {
    /// Whether mail is likely to be read soon.
    pub fn is_reachable(self) -> bool {
        self <= Self::Idle
    }
}

/// How an agent stands at `now`. `sessions` are those of it that are open.
pub fn standing(agent: &Agent, presence: Option<&Presence>, sessions: &[Session], now: Timestamp) -> Standing {
    if agent.retired_at.is_some() {
        return Standing::Retired;
    }
    if presence.is_none() && sessions.is_empty() {
        return Standing::NeverSeen;
    }
    let is_here = presence.is_some_and(|known| known.state == AWAKE && !known.is_stale(now));
    let says_idle = presence.is_some_and(|known| known.substate.as_deref() == Some(IDLE));
    let all_wait = !sessions.is_empty() && sessions.iter().all(|session| session.is_idle);
    let can_be_woken =
        sessions.iter().any(|session| session.is_idle && now.duration_since(session.seen_at) <= LONGEST_IDLE);
    match is_here {
        true if says_idle || all_wait => Standing::Idle,
        true => Standing::Awake,
        false if can_be_woken => Standing::Idle,
        false => Standing::Asleep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, ProjectId};
    use crate::presence::{OFFLINE, Source};

    const HOUR: i64 = 3600;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_768_000_000 + second).unwrap()
    }

    fn agent() -> Agent {
        Agent {
            id: AgentId(1),
            project: ProjectId(1),
            name: "codex".to_owned(),
            program: "codex-cli".to_owned(),
            model: String::new(),
            task_description: String::new(),
            registered_at: at(0),
            last_active_at: at(0),
            retired_at: None,
        }
    }

    fn presence(state: &str, substate: Option<&str>) -> Presence {
        Presence {
            state: state.to_owned(),
            substate: substate.map(str::to_owned),
            since: at(0),
            seen_at: at(0),
            source: Source::Activity,
            watcher_pid: None,
            channel: None,
        }
    }

    fn session(is_idle: bool) -> Session {
        Session {
            agent: AgentId(1),
            key: "codex-1".to_owned(),
            client: "codex".to_owned(),
            host: "here".to_owned(),
            place: "/data/p".to_owned(),
            is_idle,
            began_at: at(0),
            seen_at: at(0),
        }
    }

    #[test]
    fn who_acted_within_five_minutes_is_awake_and_then_asleep() {
        let acted = presence(AWAKE, None);
        let stands = |second| standing(&agent(), Some(&acted), &[], at(second));
        assert_eq!([stands(0), stands(300), stands(301)], [Standing::Awake, Standing::Awake, Standing::Asleep]);
        assert_eq!(standing(&agent(), Some(&presence(OFFLINE, None)), &[], at(1)), Standing::Asleep);
    }

    #[test]
    fn nobody_knows_who_was_never_heard_of_and_a_retired_agent_is_retired_whatever_it_does() {
        assert_eq!(standing(&agent(), None, &[], at(0)), Standing::NeverSeen);
        let retired = Agent { retired_at: Some(at(0)), ..agent() };
        assert_eq!(standing(&retired, Some(&presence(AWAKE, None)), &[session(false)], at(0)), Standing::Retired);
    }

    #[test]
    fn who_waits_is_idle_whether_its_watcher_or_all_of_its_sessions_say_so() {
        let (awake, waits) = (presence(AWAKE, None), presence(AWAKE, Some(IDLE)));
        assert_eq!(standing(&agent(), Some(&waits), &[], at(1)), Standing::Idle);
        assert_eq!(standing(&agent(), Some(&presence(AWAKE, Some("WORKING"))), &[], at(1)), Standing::Awake);
        assert_eq!(standing(&agent(), Some(&awake), &[session(true), session(true)], at(1)), Standing::Idle);
        assert_eq!(standing(&agent(), Some(&awake), &[session(true), session(false)], at(1)), Standing::Awake);
    }

    #[test]
    fn an_open_session_can_be_woken_for_a_day() {
        let gone = presence(AWAKE, None);
        let stands = |second| standing(&agent(), Some(&gone), &[session(true)], at(second));
        assert_eq!([stands(24 * HOUR), stands(24 * HOUR + 1)], [Standing::Idle, Standing::Asleep]);
        assert_eq!(standing(&agent(), Some(&gone), &[session(false)], at(HOUR)), Standing::Asleep);
        assert_eq!(standing(&agent(), None, &[session(true)], at(1)), Standing::Idle);
    }
}
