//! What is kept of one session, and how it stands as far as that tells.
//!
//! The folder may be shared by several machines, or by containers that come and go: a process is looked for only on the machine that
//! it runs on, and the session of another is open until nothing was heard of it for long.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::Process;

/// When a session whose end cannot be seen counts as ended, if nothing is heard of it.
pub(super) const SILENT: Duration = Duration::from_secs(3600);
/// When such a session is over, so that what it leaves behind is seen to.
pub(super) const SILENT_FOR_GOOD: Duration = Duration::from_secs(24 * 3600);
/// How long a session that is at work may say nothing. A turn that its user broke off has no end.
const LONGEST_TURN: Duration = Duration::from_secs(120);
/// How often the office is told that a session goes on, in microseconds.
const TOLD_EVERY: i64 = 60_000_000;

/// A session, and who its agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRecord {
    /// The name of the agent.
    pub agent: String,
    /// What proves it.
    pub token: Option<String>,
    /// The project that it has this name in.
    pub project: String,
    /// The client, such as `claude`.
    pub client: String,
    /// What the client calls the session.
    pub session_id: String,
    /// The machine that its process runs on. An earlier version did not keep it: then it is this one.
    pub host: String,
    /// What the office knows it by, for as long as it is kept. An earlier version did not keep it.
    pub key: String,
    /// The process of the client, where that can be known.
    pub process: Option<Process>,
    /// The top of the working tree that the session began in, else its folder.
    pub place: PathBuf,
    /// Whether the name was generated, and not given by a person.
    pub is_generated: bool,
    /// When the agent got its name in this place, in microseconds since 1970.
    pub named_at: i64,
    /// Whether the session said that it ended.
    pub has_ended: bool,
    /// Whether what an ended session leaves behind was seen to.
    pub is_settled: bool,
    /// The client's socket that takes messages for the session, and what the session's own processes show it.
    pub socket: Option<String>,
    /// The proof for that socket.
    pub socket_token: Option<String>,
    /// The process of ours that runs inside the session and wakes it, if there is one.
    pub inside: Option<Process>,
    /// Where the client keeps what is its own, if its user moved that.
    pub moved: Option<PathBuf>,
    /// The agents below the main one: their names, by what the client calls them.
    pub below: BTreeMap<String, String>,
    /// Whether its agent has still to be told who it is, because nothing that is said at a start reaches the model.
    pub is_untold: bool,
    /// Whether it waits for its user, as the office was told last.
    pub is_idle: bool,
    /// When the office was told of it last, in microseconds since 1970; 0 if it never was.
    pub told_at: i64,
    /// Whether its agent said that it leaves, and its user has not come back to it since.
    pub has_left: bool,
    /// The server elsewhere that was told of it; none if that is the office of this home.
    pub office: Option<String>,
    /// Whether nobody tells of its end: its client has no event for that, and the process outlives it.
    pub ends_unseen: bool,
    /// The session that it goes on with, until the office was told that this one ended.
    pub instead_of: Option<String>,
    /// When it last did something.
    #[serde(skip)]
    pub seen_at: Option<SystemTime>,
}

impl SessionRecord {
    /// Whether it runs on this machine, so that its process can be seen.
    pub fn is_here(&self) -> bool {
        self.host.is_empty() || self.host == host()
    }

    /// Whether the session goes on, as far as can be seen from here.
    pub fn is_open(&self) -> bool {
        let is_there = match self.process {
            _ if !self.is_here() => !self.is_silent_for(SILENT_FOR_GOOD),
            Some(process) => process.is_running(),
            None => self.seen_at.is_some(),
        };
        !self.has_ended && is_there && !(self.is_here() && self.is_past(SILENT))
    }

    /// Whether nobody told of its end, and it was silent for long.
    pub(super) fn has_ended_unseen(&self) -> bool {
        self.ends_unseen && self.is_past(SILENT)
    }

    /// Whether only silence tells that it ended, and it was silent for that long.
    fn is_past(&self, silence: Duration) -> bool {
        (self.process.is_none() || self.ends_unseen) && self.is_silent_for(silence)
    }

    /// Whether a line may be put before it now: its agent has not left, its user has not stopped it, and it waits for somebody, or was
    /// silent for so long that nobody heard the end of its turn.
    pub fn is_ready(&self) -> bool {
        !self.has_left
            && !self.process.is_some_and(Process::is_stopped)
            && (self.is_idle || self.is_silent_for(LONGEST_TURN))
    }

    /// Whether a process of ours inside it wakes it.
    pub fn is_woken_inside(&self) -> bool {
        self.inside.is_some_and(Process::is_running)
    }

    /// Whether it is over for good, so that what it leaves behind is to be seen to. Where its end cannot be seen, that takes a long
    /// silence: its user may only be away.
    pub fn is_over(&self) -> bool {
        let is_gone = || match self.process {
            Some(process) if self.is_here() => !process.is_running() || self.is_past(SILENT_FOR_GOOD),
            _ => self.is_silent_for(SILENT_FOR_GOOD),
        };
        self.has_ended || is_gone()
    }

    fn is_silent_for(&self, time: Duration) -> bool {
        self.seen_at.and_then(|seen| seen.elapsed().ok()).is_some_and(|age| age >= time)
    }

    /// Whether the office is to be told at `now` that the session is idle, or at work.
    pub fn is_news(&self, is_idle: bool, now: i64) -> bool {
        self.is_idle != is_idle || (now - self.told_at).abs() >= TOLD_EVERY
    }

    /// Whether an office counts a session of it as open until it is told of its end.
    pub fn is_told(&self) -> bool {
        self.told_at > 0 || self.instead_of.is_some()
    }

    /// Whether both are sessions of one agent.
    pub fn is_of_same_agent(&self, other: &Self) -> bool {
        self.agent == other.agent && self.project == other.project
    }

    /// Whether nothing has happened to the session since `seen`: it neither began again, nor was the office told of it.
    pub(super) fn is_unchanged_since(&self, seen: &Self) -> bool {
        let life = |record: &Self| (record.process, record.told_at, record.has_ended);
        life(self) == life(seen) && (self.is_over() || !seen.is_over())
    }

    /// Whether both are the same session.
    pub fn is(&self, other: &Self) -> bool {
        self.client == other.client && self.session_id == other.session_id
    }

    pub(super) fn file_name(&self) -> String {
        super::file_name(&self.client, &self.session_id)
    }
}

/// What this machine is called.
pub fn host() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().trim().to_owned();
    if name.is_empty() { "localhost".to_owned() } else { name }
}
