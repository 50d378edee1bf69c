//! Wakes idle sessions of this machine when mail comes for them: by a process of ours inside the session, else by the server.
//!
//! Whoever could wake a session claims the wake-up at the office, so that one of them does, and says there what became of it. A session
//! that is at work, or inside a tool call, is left alone: its hooks tell it of its mail. Deliberately absent: which mail wakes and when
//! (`mail::wake_ups`), and how a client is reached (`relay::waking`).

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use api::{Actor, Ask, ClaimWakeUp, SettleWakeUp, WakeUpAnswer};
use mail::clock::{Clock, SystemClock};
use mail::ids::AgentId;
use mail::wake::{Signal, Wake as _};
use mail::wake_ups::WakeOutcome;
use relay::feed::Backoff;
use relay::nudge::{self, Busy};
use relay::sessions::{Process, SessionRecord, Sessions};
use relay::waking::{Programs, Told, Way, line, wake};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::clients::project_of;
use crate::commands::install::sandbox_access;
use crate::commands::nudge::{key, sessions};
use crate::config::set;
use crate::local_sessions::key_of;
use crate::own_session::client_of;
use crate::post_office::connection::Connection;
use crate::post_office::{Refused, Watch, resource};
use crate::wiring::LocalOffice;

/// How long a claim is not repeated where nothing happens.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// How soon a session that is at work is looked at again, and one that is not known yet.
const AT_WORK: Duration = Duration::from_secs(1);
const UNKNOWN: Duration = Duration::from_secs(2);
/// How often all sessions are searched for one that is not known, at least, and how long a change of them counts as new.
const SEARCHED_EVERY: Duration = Duration::from_secs(30);
const STILL_NEW: Duration = Duration::from_secs(1);
/// How soon a server notices sessions that began, and how late at most.
const LOOK_FOR_SESSIONS: Duration = Duration::from_secs(3);
const LATEST_LOOK: Duration = Duration::from_secs(60);

/// The office that is asked.
#[derive(Clone)]
pub enum Asked {
    /// As any client reaches it.
    Through(Arc<Connection>),
    /// In this process.
    Here(LocalOffice),
}

impl Asked {
    async fn ask<V: Ask>(&self, verb: V) -> Result<V::Answer, Refused> {
        match self {
            Self::Through(connection) => connection.ask(verb).await,
            Self::Here(local) => Ok(verb.ask(&local.office).await?),
        }
    }

    /// What rings when mail of an agent comes.
    fn bell(&self, actor: &Actor, agent: AgentId) -> Bell {
        match self {
            Self::Here(local) => Bell::Mailbox(local.wake_ups.mailbox(agent)),
            Self::Through(connection) => {
                let Actor { project_key, agent_name, registration_token } = actor;
                let token = registration_token.as_deref();
                let keys = [("project", Some(project_key.as_str())), ("registration_token", token)];
                let inbox = resource("inbox", agent_name, &keys);
                Bell::Stream(Watch::begin(connection.clone(), [inbox].into()))
            }
        }
    }
}

/// What rings when there may be mail. It may ring for nothing.
enum Bell {
    Stream(Watch),
    Mailbox(Box<dyn Signal>),
}

impl Bell {
    async fn wait(&mut self, at_most: Duration) {
        match self {
            Self::Stream(watch) => drop(timeout(at_most, watch.changed()).await),
            Self::Mailbox(signal) => signal.wait(at_most).await,
        }
    }
}

/// The sessions of this machine, and the ways into them.
#[derive(Clone)]
pub struct Reach {
    sessions: Sessions,
    /// The folder of the mail.
    home: PathBuf,
    /// The ways that somebody set up, by the names of agents.
    nudges: Arc<HashMap<String, nudge::Way>>,
}

impl Reach {
    /// The sessions of a home.
    pub fn new(home: &Path, nudges: HashMap<String, nudge::Way>) -> Self {
        Self { sessions: Sessions::new(sessions(home)), home: home.to_owned(), nudges: Arc::new(nudges) }
    }

    /// The sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The way into a session, if there is one.
    fn way(&self, record: &SessionRecord) -> Option<Way> {
        let protocol = client_of(record).and_then(|client| client.wake);
        let native = protocol.and_then(|protocol| {
            let answers_in = self.sessions.folder().to_owned();
            Way::of(&self.believed(record), protocol, answers_in, &self.programs(record))
        });
        native.or_else(|| self.nudges.get(&record.agent).cloned().map(Way::Nudge))
    }

    /// The record without what would give a program other settings, where a command in a sandbox may have written it.
    fn believed(&self, record: &SessionRecord) -> SessionRecord {
        let moved = record.moved.clone().filter(|_| sandbox_access::writer_of_settings(&self.home).is_none());
        SessionRecord { moved, ..record.clone() }
    }

    /// Where the programs of clients are. Commands in a sandbox may write to the mail's folder, the session's, and the repository that
    /// this process runs in. The folder that somebody starts a server in is else no workspace, and programs may well lie below it.
    fn programs(&self, record: &SessionRecord) -> Programs {
        let here = std::env::current_dir().ok().map(|here| project_of(&here)).filter(|here| here.join(".git").exists());
        // A session at the root says nothing of where its client may write.
        let place = Some(record.place.clone()).filter(|place| place.parent().is_some());
        let path = std::env::var_os("PATH").unwrap_or_default();
        Programs {
            folders: std::env::split_paths(&path).collect(),
            writable: [Some(self.home.clone()), place, here].into_iter().flatten().collect(),
        }
    }

    /// Whether a session is inside a call, or its user types.
    fn is_busy(&self, record: &SessionRecord, way: Option<&Way>) -> bool {
        let (busy, who) = (Busy::new(self.sessions.folder().to_owned()), key(&record.project, &record.agent));
        let now = SystemClock.now();
        match way {
            Some(Way::Nudge(way)) => busy.is_busy(&who, way, now),
            _ => busy.is_in_call(&who, now),
        }
    }
}

/// How a line gets before a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// By the client's own way.
    Way,
    /// On standard output, which the client reads.
    Printing,
}

/// Wakes one session for as long as it is polled. `find` tells which it is now.
pub struct Waker<F> {
    /// Whom to ask.
    pub asked: Asked,
    /// The sessions.
    pub reach: Reach,
    /// How the session is told.
    pub by: By,
    /// The session; none while it is not known, or is over.
    pub find: F,
}

impl<F: Fn() -> Option<SessionRecord>> Waker<F> {
    /// Wakes the session whenever mail is a reason, without end.
    pub async fn run(self) {
        let mut bell: Option<(Actor, Bell)> = None;
        let mut backoff = Backoff::default();
        loop {
            let Some(record) = (self.find)() else {
                bell = None;
                sleep(UNKNOWN).await;
                continue;
            };
            // Looking for the way takes longer: a session that is at work is looked at each second.
            if !record.is_ready() {
                sleep(AT_WORK).await;
                continue;
            }
            let way = if self.by == By::Way { self.reach.way(&record) } else { None };
            if self.by == By::Way && way.is_none() {
                sleep(LOOK_AGAIN).await;
                continue;
            }
            if self.reach.is_busy(&record, way.as_ref()) {
                sleep(AT_WORK).await;
                continue;
            }
            let actor = actor(&record);
            let claim = ClaimWakeUp { actor: actor.clone(), session_key: key_of(&record), outcome: None };
            match self.asked.ask(claim).await {
                Ok(answer) => {
                    backoff.worked();
                    if let Some(wake_up) = answer.wake_up {
                        self.tell(&record, way.as_ref(), &wake_up).await;
                        continue;
                    }
                    if bell.as_ref().is_none_or(|(known, _)| *known != actor) {
                        bell = Some((actor.clone(), self.asked.bell(&actor, AgentId(answer.agent_id))));
                        // What came before it was there has not rung.
                        continue;
                    }
                    let Some(due) = answer.due_in_ms.map(Duration::from_millis) else {
                        wait(&mut bell, LOOK_AGAIN).await;
                        continue;
                    };
                    // However much mail comes, nothing is due until then, unless the agent does something.
                    sleep(due.min(AT_WORK)).await;
                    wait(&mut bell, due.saturating_sub(AT_WORK).min(LOOK_AGAIN)).await;
                }
                Err(refused) => {
                    tracing::debug!(%refused, "a wake-up cannot be claimed");
                    sleep(backoff.failed().max(AT_WORK)).await;
                }
            }
        }
    }

    /// Puts a wake-up before the session, and says what became of it.
    async fn tell(&self, record: &SessionRecord, way: Option<&Way>, wake_up: &WakeUpAnswer) {
        let told = line(Told {
            agent: &record.agent,
            count: wake_up.count,
            from: &wake_up.from,
            and_others: wake_up.and_others,
            newest: wake_up.newest_id,
        });
        // It may have ended since it was looked at.
        let outcome = match way {
            _ if !record.is_open() => WakeOutcome::Gone,
            Some(way) => wake(way, &told).await,
            None => printed(&told),
        };
        tracing::debug!(client = record.client, %outcome, "a session was woken");
        let (number, outcome) = (wake_up.number, outcome.as_str().into());
        let settle = SettleWakeUp { actor: actor(record), number, outcome };
        if let Err(refused) = self.asked.ask(settle).await {
            tracing::debug!(%refused, "what became of a wake-up is not noted");
        }
    }
}

/// Waits until the bell rings, or until then.
async fn wait(bell: &mut Option<(Actor, Bell)>, at_most: Duration) {
    match bell {
        Some((_, bell)) => bell.wait(at_most).await,
        None => sleep(at_most).await,
    }
}

/// What becomes of a line that is printed: whoever reads it has it.
fn printed(line: &str) -> WakeOutcome {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Ok(()) => WakeOutcome::Delivered,
        Err(_) => WakeOutcome::Gone,
    }
}

/// Who asks for the wake-ups of a session.
pub fn actor(record: &SessionRecord) -> Actor {
    Actor {
        project_key: record.project.clone(),
        agent_name: record.agent.clone(),
        registration_token: record.token.clone(),
    }
}

/// A session in whose record this process stands as the one inside it, and how its client lets that speak to it.
pub fn inside(sessions: &Sessions, record: SessionRecord) -> SessionRecord {
    let variables = client_of(&record).and_then(|client| client.socket_variables);
    let socket = variables.and_then(|[socket, token]| Some((set(socket)?, set(token))));
    let is_known = record.is_woken_inside() && (record.socket.is_some() || socket.is_none());
    if is_known {
        return record;
    }
    let note = |stored: &mut SessionRecord| {
        stored.inside = Process::own();
        if let (None, Some((socket, token))) = (&stored.socket, socket) {
            (stored.socket, stored.socket_token) = (Some(socket), token);
        }
    };
    // What cannot be noted is noted the next time.
    sessions.change(&record.client, &record.session_id, note).ok().flatten().unwrap_or(record)
}

/// Wakes the sessions of this home that no process of ours is inside of, until the office closes.
pub async fn look_after(reach: Reach, local: LocalOffice) {
    let (mut seen, mut looked_at) = (None, SystemTime::UNIX_EPOCH);
    let mut wakers: HashMap<String, JoinSet<()>> = HashMap::new();
    loop {
        let changed = changed_at(reach.sessions());
        if changed != seen || looked_at.elapsed().map_or(true, |age| age >= LATEST_LOOK) {
            (seen, looked_at) = (changed, SystemTime::now());
            let mut open = reach.sessions().all();
            open.retain(|record| {
                record.office.is_none() && !record.agent.is_empty() && record.is_here() && record.is_open()
            });
            let keys: Vec<String> = open.iter().map(key_of).collect();
            wakers.retain(|key, _| keys.contains(key));
            for (key, record) in keys.into_iter().zip(open) {
                wakers.entry(key).or_insert_with(|| waker(&reach, &local, &record));
            }
        }
        if timeout(LOOK_FOR_SESSIONS, local.wake_ups.closed()).await.is_ok() {
            return;
        }
    }
}

/// When a search among all sessions is worth its while: once something changed there, and now and then, because a process may be met by
/// its session only later.
#[derive(Debug, Default)]
pub struct Search {
    seen: Option<SystemTime>,
    made_at: Option<Instant>,
}

impl Search {
    /// Whether a search at `now` may find what the one before did not. Then it counts as made.
    pub fn is_due(&mut self, sessions: &Sessions, now: Instant) -> bool {
        let changed = changed_at(sessions);
        // Clocks of file systems are coarse: of what changed just now there may be more.
        let is_new = changed.and_then(|at| at.elapsed().ok()).is_some_and(|age| age < STILL_NEW);
        let is_due = changed != self.seen
            || is_new
            || self.made_at.is_none_or(|made_at| now.duration_since(made_at) >= SEARCHED_EVERY);
        if is_due {
            (self.seen, self.made_at) = (changed, Some(now));
        }
        is_due
    }
}

/// When a session was last noted, ended or forgotten.
fn changed_at(sessions: &Sessions) -> Option<SystemTime> {
    sessions.folder().metadata().and_then(|about| about.modified()).ok()
}

/// What wakes a session, if no process inside it does.
fn waker(reach: &Reach, local: &LocalOffice, record: &SessionRecord) -> JoinSet<()> {
    let (client, id) = (record.client.clone(), record.session_id.clone());
    let sessions = reach.sessions().clone();
    let find = move || {
        let record = sessions.stored(&client, &id)?;
        (!record.agent.is_empty() && record.is_open() && !record.is_woken_inside()).then_some(record)
    };
    let waker = Waker { asked: Asked::Here(local.clone()), reach: reach.clone(), by: By::Way, find };
    let mut running = JoinSet::new();
    running.spawn(waker.run());
    running
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_searched_again_once_something_changed_there_and_now_and_then() {
        let home = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(home.path().join("sessions"));
        let (mut search, now) = (Search::default(), Instant::now());
        assert!(search.is_due(&sessions, now) && !search.is_due(&sessions, now));
        let record = SessionRecord { client: "claude".to_owned(), session_id: "s".to_owned(), ..Default::default() };
        sessions.keep(&record).unwrap();
        assert!(search.is_due(&sessions, now));
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        std::fs::File::open(sessions.folder()).unwrap().set_modified(long_ago).unwrap();
        assert!(search.is_due(&sessions, now) && !search.is_due(&sessions, now));
        assert!(!search.is_due(&sessions, now + SEARCHED_EVERY - Duration::from_millis(1)));
        assert!(search.is_due(&sessions, now + SEARCHED_EVERY));
    }
}
