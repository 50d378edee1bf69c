//! What the sessions of the old era have subscribed to.
//!
//! A session id is only a name that a client goes by. Nothing is kept for one until it subscribes or
//! opens its stream, any id is accepted, and losing this memory costs notices and nothing else. It is
//! bounded in every direction; who comes too much pushes out the oldest.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How many sessions are remembered, and separately how many that ended.
const MAX_SESSIONS: usize = 1_000;
/// How many resources one client may watch.
pub(crate) const MAX_URIS: usize = 100;
/// Longer ids and addresses are not ours, and would make the memory large.
const MAX_ID_BYTES: usize = 128;
const MAX_URI_BYTES: usize = 1_024;

/// What a session's stream should be doing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub uris: BTreeSet<Arc<str>>,
    /// The number of the stream that delivers. A client that opens another has lost the first.
    pub stream: u64,
}

/// Why a subscription was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    TooMany,
    TooLong,
}

#[derive(Default)]
pub(crate) struct Sessions {
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    open: HashMap<String, McpSession>,
    by_age: BTreeMap<u64, String>,
    ended: HashSet<String>,
    ended_in_order: VecDeque<String>,
    last_number: u64,
}

struct McpSession {
    age: u64,
    wanted: watch::Sender<Wanted>,
}

impl Sessions {
    /// Notes that the session wants to hear of `uri`.
    pub fn subscribe(&self, id: &str, uri: &str) -> Result<(), NotTaken> {
        check_uri(uri)?;
        let mut memory = self.memory();
        let Some(session) = memory.session(id) else {
            return Ok(());
        };
        let is_full = {
            let wanted = session.wanted.borrow();
            wanted.uris.len() >= MAX_URIS && !wanted.uris.contains(uri)
        };
        if is_full {
            return Err(NotTaken::TooMany);
        }
        session.wanted.send_modify(|wanted| _ = wanted.uris.insert(uri.into()));
        Ok(())
    }

    /// Notes that the session no longer wants to hear of `uri`.
    pub fn unsubscribe(&self, id: &str, uri: &str) {
        if let Some(session) = self.memory().open.get(id) {
            session.wanted.send_modify(|wanted| _ = wanted.uris.remove(uri));
        }
    }

    /// Opens the stream of the session, and thereby ends an earlier one. Returns its number too.
    pub fn open_stream(&self, id: &str) -> Option<(watch::Receiver<Wanted>, u64)> {
        let mut memory = self.memory();
        memory.last_number += 1;
        let number = memory.last_number;
        let session = memory.session(id)?;
        session.wanted.send_modify(|wanted| wanted.stream = number);
        Some((session.wanted.subscribe(), number))
    }

    /// Forgets the session and ends its stream. From now on the id is known to be over.
    pub fn end(&self, id: &str) {
        let mut memory = self.memory();
        if let Some(session) = memory.open.remove(id) {
            memory.by_age.remove(&session.age);
        }
        if id.len() > MAX_ID_BYTES || !memory.ended.insert(id.to_owned()) {
            return;
        }
        memory.ended_in_order.push_back(id.to_owned());
        if memory.ended_in_order.len() > MAX_SESSIONS
            && let Some(oldest) = memory.ended_in_order.pop_front()
        {
            memory.ended.remove(&oldest);
        }
    }

    /// Whether the client itself said that this session is over.
    pub fn has_ended(&self, id: &str) -> bool {
        self.memory().ended.contains(id)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // Nothing under this lock can leave the memory half changed in a way that matters.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// The session of this id, made if need be. None if the id is none that we would give out.
    fn session(&mut self, id: &str) -> Option<&McpSession> {
        if id.len() > MAX_ID_BYTES || self.ended.contains(id) {
            return None;
        }
        if !self.open.contains_key(id) {
            if self.open.len() >= MAX_SESSIONS
                && let Some((_, oldest)) = self.by_age.pop_first()
            {
                self.open.remove(&oldest);
            }
            self.last_number += 1;
            let age = self.last_number;
            self.by_age.insert(age, id.to_owned());
            self.open.insert(id.to_owned(), McpSession { age, wanted: watch::Sender::default() });
        }
        self.open.get(id)
    }
}

/// Checks that an address may be kept.
pub(crate) fn check_uri(uri: &str) -> Result<(), NotTaken> {
    if uri.len() > MAX_URI_BYTES { Err(NotTaken::TooLong) } else { Ok(()) }
}

/// A name for a new session, which nobody can guess. None if the system has no randomness to give.
pub(crate) fn new_id() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris(sessions: &Sessions, id: &str) -> Vec<String> {
        let (wanted, _) = sessions.open_stream(id).expect("a session");
        let wanted = wanted.borrow();
        wanted.uris.iter().map(|uri| uri.to_string()).collect()
    }

    #[test]
    fn a_session_keeps_what_it_subscribed_to_until_it_unsubscribes() {
        let sessions = Sessions::default();
        for uri in ["toy://b", "toy://a", "toy://a"] {
            sessions.subscribe("s", uri).expect("room");
        }
        assert_eq!(uris(&sessions, "s"), ["toy://a", "toy://b"]);
        sessions.unsubscribe("s", "toy://a");
        assert_eq!(uris(&sessions, "s"), ["toy://b"]);
        assert!(uris(&sessions, "other").is_empty());
    }

    #[test]
    fn the_oldest_session_makes_room_for_the_newest() {
        let sessions = Sessions::default();
        for number in 0..=MAX_SESSIONS {
            sessions.subscribe(&number.to_string(), "toy://a").expect("room");
        }
        let memory = sessions.memory();
        assert_eq!((memory.open.len(), memory.by_age.len()), (MAX_SESSIONS, MAX_SESSIONS));
        assert!(!memory.open.contains_key("0") && memory.open.contains_key("1"));
    }

    #[test]
    fn one_session_cannot_watch_without_end() {
        let sessions = Sessions::default();
        for number in 0..MAX_URIS {
            sessions.subscribe("s", &format!("toy://{number}")).expect("room");
        }
        assert_eq!(sessions.subscribe("s", "toy://one-more"), Err(NotTaken::TooMany));
        assert_eq!(sessions.subscribe("s", "toy://0"), Ok(()));
        assert_eq!(sessions.subscribe("s", &"x".repeat(MAX_URI_BYTES + 1)), Err(NotTaken::TooLong));
    }

    #[test]
    fn a_session_that_ended_is_remembered_as_ended_and_its_stream_stops() {
        let sessions = Sessions::default();
        let (wanted, _) = sessions.open_stream("s").expect("a session");
        sessions.end("s");
        assert!(wanted.has_changed().is_err(), "the sender is gone");
        assert!(sessions.has_ended("s") && !sessions.has_ended("other"));
        assert!(sessions.open_stream("s").is_none());
    }

    #[test]
    fn the_memory_of_ended_sessions_is_bounded() {
        let sessions = Sessions::default();
        for number in 0..=MAX_SESSIONS {
            sessions.end(&number.to_string());
        }
        assert!(!sessions.has_ended("0") && sessions.has_ended("1"));
        assert_eq!(sessions.memory().ended.len(), MAX_SESSIONS);
    }

    #[test]
    fn a_name_too_long_to_be_ours_is_not_kept() {
        let sessions = Sessions::default();
        let long = "x".repeat(MAX_ID_BYTES + 1);
        assert_eq!(sessions.subscribe(&long, "toy://a"), Ok(()));
        assert!(sessions.open_stream(&long).is_none());
        sessions.end(&long);
        assert!(!sessions.has_ended(&long));
    }

    #[test]
    fn new_ids_are_visible_ascii_and_differ() {
        let (one, other) = (new_id().expect("randomness"), new_id().expect("randomness"));
        assert!(one != other && one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
