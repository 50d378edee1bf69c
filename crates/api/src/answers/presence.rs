//! Who is there, as answers show it.

use mail::colleagues::Stands;
use mail::error::shown;
use mail::presence::{OFFLINE, Presence, Present};
use mail::standing::Standing;

use super::{AgentAnswer, OpenSessionAnswer, Word};
use crate::Time;

declare! {
    /// An agent, whether it is there, and what it has to do with others. `shown` is how its presence looks now.
    PresentAnswer::new(shown: String, present: Present, sessions: Vec<OpenSessionAnswer>) {
        /// The agent.
        #[serde(flatten)]
        agent: AgentAnswer = AgentAnswer::new(present.agent),
        /// Its presence.
        presence: PresenceAnswer = PresenceAnswer::new(shown, present.presence.as_ref()),
        /// When it last wrote or got a message.
        last_mail_ts[if_any]: Option<Time> = present.last_mail_at.map(Time),
        /// How many files or patterns it has reserved now.
        reservations: u64 = present.reservations,
        /// Its open sessions.
        sessions[if_any]: Vec<OpenSessionAnswer> = sessions,
        /// How many messages it has not read; more than 1000 are not counted.
        unread: u64 = present.unread,
    }

    /// Whether an agent is there.
    PresenceAnswer::new(shown: String, known: Option<&Presence>) {
        /// What people are shown: state and substate, or that it is stale, or that it was never heard of.
        shown: String = shown,
        /// `AWAKE`, `OFFLINE`, or what a foreign agent calls it.
        state: String = known.map_or(OFFLINE, |known| &known.state).to_owned(),
        /// What it is at.
        substate[if_any]: Option<String> = known.and_then(|known| known.substate.clone()),
        /// When it came into this state.
        since[if_any]: Option<Time> = known.map(|known| Time(known.since)),
        /// When it last gave a sign of life.
        seen_ts[if_any]: Option<Time> = known.map(|known| Time(known.seen_at)),
        /// How that is known: `activity`, `watcher`, `file` or `nats`.
        source[if_any]: Option<Word> = known.map(|known| known.source.as_str().into()),
        /// The channel that its watcher watches.
        channel[if_any]: Option<String> = known.and_then(|known| known.channel.clone()),
        /// The process that watches for it.
        watcher_pid[if_any]: Option<i64> = known.and_then(|known| known.watcher_pid),
    }

    /// Who else is here, and how it stands.
    #[derive(PartialEq)]
    ColleagueAnswer::new(one: Stands) {
        /// What others call it.
        name: String = one.agent.name,
        /// The program that it runs in.
        program[if_any]: String = one.agent.program,
        /// What it works on.
        task[if_any]: String = shown(&one.agent.task_description),
        /// `awake`, `idle`, `asleep` or `never seen`.
        standing: Word = one.standing.as_str().into(),
        /// When it was last heard of, if it is not awake.
        seen_ts[if_any]: Option<Time> = one.seen_at.filter(|_| one.standing != Standing::Awake).map(Time),
    }

    /// What a report about a presence did.
    NotedAnswer {
        /// Whether it changed more than the time of the last sign of life.
        changed: bool,
    }
}
