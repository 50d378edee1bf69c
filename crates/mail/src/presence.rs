//! Presence: whether an agent is awake, what it is at, and when it was last heard of.
//!
//! A watcher says so itself, a foreign agent writes it into a file, and whoever acts here is awake. That somebody has
//! been silent for too long is seen when one looks, not kept: there is no sweep that makes an agent stale.

use async_trait::async_trait;
pub use formats::presence::{AWAKE, OFFLINE};
use formats::presence::{Heartbeat, STALE_AFTER_SECONDS};
use jiff::{SignedDuration, Timestamp};

use crate::agents::Agent;
use crate::error::Stored;
use crate::ids::{AgentId, ProjectId};

/// How far the unread mail of an agent is counted.
pub const MOST_UNREAD: usize = 1000;

/// What is known of an agent's presence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// `AWAKE`, `OFFLINE`, or what a foreign agent calls it.
    pub state: String,
    /// What it is at, such as `IDLE` or `WORKING`.
    pub substate: Option<String>,
    /// When it came into this state.
    pub since: Timestamp,
    /// When it last gave a sign of life.
    pub seen_at: Timestamp,
    /// How that is known.
    pub source: Source,
    /// The process that watches for it.
    pub watcher_pid: Option<i64>,
    /// The channel that it watches.
    pub channel: Option<String>,
}

formats::named! {
    /// How a presence is known.
    pub enum Source {
        /// The agent did something here.
        Activity = "activity",
        /// Its watcher said so.
        Watcher = "watcher",
        /// A file that a foreign agent wrote says so.
        File = "file",
        /// Somebody said so on NATS.
        Nats = "nats",
    }
}

impl Source {
    /// Whether it is known from elsewhere, and not from the agent itself.
    pub fn is_elsewhere(self) -> bool {
        matches!(self, Self::File | Self::Nats)
    }
}

/// What somebody says of an agent's presence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPresence {
    /// The state.
    pub state: String,
    /// What it is at.
    pub substate: Option<String>,
    /// When this was so.
    pub seen_at: Timestamp,
    /// Who says it.
    pub source: Source,
    /// The process that watches for it.
    pub watcher_pid: Option<i64>,
    /// The channel that it watches.
    pub channel: Option<String>,
}

impl NewPresence {
    /// Whether it says that the agent is there no more.
    pub fn is_goodbye(&self) -> bool {
        self.state == OFFLINE
    }
}

/// An agent, whether it is there, and what it has to do with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// The agent.
    pub agent: Agent,
    /// Its presence; none if it was never heard of.
    pub presence: Option<Presence>,
    /// When the newest message was sent that it wrote or got. Blind copies do not count: others would learn of them.
    pub last_mail_at: Option<Timestamp>,
    /// How many reservations it holds now.
    pub reservations: u64,
    /// How many of its deliveries are neither read nor archived, counted up to [`MOST_UNREAD`]. Blind copies do not count.
    pub unread: u64,
}

/// An agent that gave a sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeardOf {
    /// Its number.
    pub agent: AgentId,
    /// Its name.
    pub name: String,
    /// Its presence.
    pub presence: Presence,
}

/// What keeps presences.
#[async_trait]
pub trait PresenceStore: Send + Sync {
    /// Notes what somebody says of an agent, as [`after_word`] decides; whether that changed anything but the time of its
    /// last sign of life. A change writes an event (`PresenceChanged`), a mere sign of life none.
    ///
    /// A watcher that goes says so for itself alone, here or in a file of another office: [a
    /// goodbye](NewPresence::is_goodbye) changes nothing while somebody holds a place for the agent whose time is not over.
    async fn set_presence(
        &self,
        project: ProjectId,
        agent: AgentId,
        told: &NewPresence,
        now: Timestamp,
    ) -> Stored<bool>;

    /// Notes that an agent did something, as [`after_activity`] decides, before whatever is written later. Nothing is
    /// written when it was heard of within `not_within`. A change writes an event.
    ///
    /// Returns at once: what the agent does is not held up by it. If it fails, the next act is noted instead.
    fn touch_soon(&self, project: ProjectId, agent: AgentId, now: Timestamp, not_within: SignedDuration);

    /// What is known of one agent.
    async fn presence(&self, agent: AgentId) -> Stored<Option<Presence>>;

    /// The agents of a project by their numbers, those above `after`, at most `limit`.
    async fn present(
        &self,
        project: ProjectId,
        after: Option<AgentId>,
        limit: usize,
        now: Timestamp,
    ) -> Stored<Vec<Present>>;

    /// Those of a project who gave a sign of life at `since` or later, elsewhere than on NATS: by their numbers, those above
    /// `after`, at most `limit`. Cheap enough to ask often.
    async fn heard_of(
        &self,
        project: ProjectId,
        since: Timestamp,
        after: Option<AgentId>,
        limit: usize,
    ) -> Stored<Vec<HeardOf>>;

    /// A number that changes with what [`present`](Self::present) tells of anybody in a project, and with nobody's mere
    /// sign of life; also when somebody has become stale. Cheap enough to ask often.
    async fn presence_stamp(&self, project: ProjectId, now: Timestamp) -> Stored<i64>;
}

/// What is known of an agent after somebody said or did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Next {
    /// The presence.
    pub presence: Presence,
    /// Whether more changed than the time of its last sign of life.
    pub is_change: bool,
}

/// What is known after a word about an agent; none if that is not newer than what is known.
///
/// Only what is said elsewhere can be outdated. Whoever speaks for itself speaks of now, also when its clock was put back.
/// Who says goodbye need not say again which process watched, and where: that stays to be seen.
pub fn after_word(known: Option<&Presence>, told: &NewPresence) -> Option<Next> {
    if told.source.is_elsewhere() && known.is_some_and(|known| told.seen_at <= known.seen_at) {
        return None;
    }
    let seen_at = known.map_or(told.seen_at, |known| known.seen_at.max(told.seen_at));
    let goes_on =
        |known: &&Presence| known.state == told.state && known.substate == told.substate && !known.is_stale(seen_at);
    let going_on = known.filter(goes_on);
    let NewPresence { state, substate, source, mut watcher_pid, mut channel, .. } = told.clone();
    if let Some(last) = known.filter(|_| told.is_goodbye()) {
        watcher_pid = watcher_pid.or(last.watcher_pid);
        channel = channel.or_else(|| last.channel.clone());
    }
    let since = going_on.map_or(seen_at, |known| known.since);
    let presence = Presence { state, substate, since, seen_at, source, watcher_pid, channel };
    Some(Next { presence, is_change: going_on.is_none() })
}

/// What is known after an agent did something; none if it is known to be awake and was heard of within `not_within`.
///
/// Who is awake stays at what it was, and its watcher stays its watcher. Who was not, or was silent for so long that
/// nobody would have believed it, is awake from now on.
pub fn after_activity(known: Option<&Presence>, now: Timestamp, not_within: SignedDuration) -> Option<Next> {
    if let Some(known) = known.filter(|known| known.state == AWAKE && !known.is_stale(now)) {
        if now.duration_since(known.seen_at) < not_within {
            return None;
        }
        let source = if known.source == Source::Watcher { Source::Watcher } else { Source::Activity };
        return Some(Next { presence: Presence { seen_at: now, source, ..known.clone() }, is_change: false });
    }
    let told = NewPresence {
        state: AWAKE.to_owned(),
        substate: None,
        seen_at: now,
        source: Source::Activity,
        watcher_pid: None,
        channel: None,
    };
    after_word(known, &told)
}

impl Present {
    /// How the agent is shown to whoever looks at `now`.
    pub fn shown(&self, now: Timestamp) -> String {
        self.presence.as_ref().map_or_else(|| formats::presence::shown(None, None), |known| known.shown(now))
    }
}

impl Presence {
    /// How it is shown to whoever looks at `now`.
    pub fn shown(&self, now: Timestamp) -> String {
        formats::presence::shown(Some((&self.state, self.substate.as_deref())), Some(self.age(now)))
    }

    /// The heartbeat that tells it to others.
    pub fn heartbeat(&self, agent: &str) -> Heartbeat {
        Heartbeat {
            agent_id: agent.to_owned(),
            timestamp: Some(self.seen_at),
            state: Some(self.state.clone()),
            substate: self.substate.clone(),
            watcher_pid: self.watcher_pid,
            channel: self.channel.clone(),
        }
    }

    /// Whether a watcher is there for the agent.
    pub fn is_watched(&self, now: Timestamp) -> bool {
        self.source == Source::Watcher && self.state == AWAKE && !self.is_stale(now)
    }

    /// Whether it is said to be awake and was silent for too long.
    pub(crate) fn is_stale(&self, now: Timestamp) -> bool {
        self.state == AWAKE && self.age(now) > STALE_AFTER_SECONDS
    }

    /// For how many seconds, begun ones too, nothing was heard. Clocks differ, so never less than none.
    fn age(&self, now: Timestamp) -> i64 {
        let micros = now.as_microsecond().saturating_sub(self.seen_at.as_microsecond()).max(0);
        micros / 1_000_000 + i64::from(micros % 1_000_000 > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: SignedDuration = SignedDuration::from_secs(60);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_768_000_000 + second).unwrap()
    }

    fn told(state: &str, substate: Option<&str>, source: Source, second: i64) -> NewPresence {
        NewPresence {
            state: state.to_owned(),
            substate: substate.map(str::to_owned),
            seen_at: at(second),
            source,
            watcher_pid: Some(7),
            channel: Some("dev".to_owned()),
        }
    }

    fn known(state: &str, substate: Option<&str>, source: Source, second: i64) -> Presence {
        after_word(None, &told(state, substate, source, second)).unwrap().presence
    }

    #[test]
    fn every_source_is_read_back_from_its_name() {
        for (source, name) in Source::ALL.into_iter().zip(Source::NAMES) {
            assert_eq!((source.as_str(), Source::parse(name)), (name, Some(source)));
        }
    }

    #[test]
    fn since_moves_with_the_state_and_the_substate_alone() {
        let idle = known(AWAKE, Some("IDLE"), Source::Watcher, 0);
        let again = after_word(Some(&idle), &told(AWAKE, Some("IDLE"), Source::Watcher, 30)).unwrap();
        assert_eq!((again.is_change, again.presence.since, again.presence.seen_at), (false, at(0), at(30)));
        for (state, substate) in [(AWAKE, Some("WORKING")), (AWAKE, None), (OFFLINE, Some("IDLE"))] {
            let next = after_word(Some(&idle), &told(state, substate, Source::Watcher, 30)).unwrap();
            assert_eq!((next.is_change, next.presence.since), (true, at(30)), "{state} {substate:?}");
        }
    }

    #[test]
    fn only_what_is_said_elsewhere_is_outdated_and_nobody_moves_back_in_time() {
        let idle = known(AWAKE, Some("IDLE"), Source::Activity, 10);
        for (second, source) in [(9, Source::File), (10, Source::File), (10, Source::Nats)] {
            assert_eq!(after_word(Some(&idle), &told(OFFLINE, None, source, second)), None);
        }
        let newer = after_word(Some(&idle), &told(OFFLINE, None, Source::File, 11)).unwrap();
        assert_eq!((newer.presence.state.as_str(), newer.presence.source), (OFFLINE, Source::File));
        let own = after_word(Some(&idle), &told(OFFLINE, None, Source::Watcher, 5)).unwrap().presence;
        assert_eq!((own.state.as_str(), own.seen_at), (OFFLINE, at(10)), "its clock was put back");
    }

    #[test]
    fn a_goodbye_keeps_the_watcher_and_its_channel() {
        let last = known(AWAKE, Some("IDLE"), Source::Watcher, 0);
        let bare = |state, source| NewPresence { watcher_pid: None, channel: None, ..told(state, None, source, 30) };
        let place = |told: &NewPresence| {
            let next = after_word(Some(&last), told).unwrap().presence;
            (next.watcher_pid, next.channel)
        };
        for source in [Source::Watcher, Source::File, Source::Nats] {
            assert_eq!(place(&bare(OFFLINE, source)), (Some(7), Some("dev".to_owned())), "{source}");
            assert_eq!(place(&bare(AWAKE, source)), (None, None), "{source}");
        }
        let other = NewPresence { watcher_pid: Some(8), ..bare(OFFLINE, Source::File) };
        assert_eq!(place(&other), (Some(8), Some("dev".to_owned())));
        assert_eq!(after_word(None, &bare(OFFLINE, Source::File)).unwrap().presence.channel, None);
    }

    #[test]
    fn who_acts_is_awake_and_a_second_act_says_nothing_new_for_a_while() {
        let first = after_activity(None, at(0), MINUTE).unwrap();
        assert!(first.is_change && first.presence.state == AWAKE && first.presence.source == Source::Activity);
        assert_eq!(after_activity(Some(&first.presence), at(59), MINUTE), None);
        assert_eq!(after_activity(Some(&first.presence), at(-5), MINUTE), None, "its clock was put back");
        let later = after_activity(Some(&first.presence), at(60), MINUTE).unwrap();
        assert_eq!((later.is_change, later.presence.since, later.presence.seen_at), (false, at(0), at(60)));
        let gone = known(OFFLINE, None, Source::Watcher, 0);
        let back = after_activity(Some(&gone), at(1), MINUTE).expect("who acts is awake at once");
        assert_eq!((back.is_change, back.presence.state.as_str()), (true, AWAKE));
    }

    #[test]
    fn an_act_leaves_a_watcher_its_word_until_that_is_stale() {
        let working = known(AWAKE, Some("WORKING"), Source::Watcher, 0);
        let next = after_activity(Some(&working), at(300), MINUTE).unwrap();
        assert_eq!(next, Next { presence: Presence { seen_at: at(300), ..working.clone() }, is_change: false });
        assert!(working.is_watched(at(300)));
        let next = after_activity(Some(&working), at(301), MINUTE).unwrap();
        assert!(next.is_change && !working.is_watched(at(301)));
        let Presence { substate, source, since, watcher_pid, .. } = next.presence;
        assert_eq!((substate, source, since, watcher_pid), (None, Source::Activity, at(301), None));
    }

    #[test]
    fn who_comes_back_after_it_was_stale_begins_anew() {
        let idle = known(AWAKE, Some("IDLE"), Source::Watcher, 0);
        let word = |second| after_word(Some(&idle), &told(AWAKE, Some("IDLE"), Source::Watcher, second)).unwrap();
        assert_eq!((word(300).is_change, word(300).presence.since), (false, at(0)));
        assert_eq!((word(301).is_change, word(301).presence.since), (true, at(301)));
    }

    #[test]
    fn awake_but_silent_for_over_five_minutes_shows_as_stale() {
        let working = known(AWAKE, Some("WORKING"), Source::Watcher, 0);
        for (second, shown) in [(-20, "AWAKE/WORKING"), (300, "AWAKE/WORKING"), (301, "STALE/WORKING")] {
            assert_eq!(working.shown(at(second)), shown, "{second}");
        }
        assert_eq!(known(OFFLINE, None, Source::File, 0).shown(at(99_999)), OFFLINE);
    }
}
