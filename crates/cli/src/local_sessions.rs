//! What the office is told of the sessions on this machine: that they are there, and that they ended, also of those whose process died
//! without a word.
//!
//! Hooks tell of their own session. Whoever passes by, a hook or a server, tells of those that are over. The records are kept by
//! `relay::sessions`; what follows from an end is for the office.

use std::path::PathBuf;
use std::time::Duration;

use api::{Ask, EndSession, NoteSession};
use relay::sessions::{SessionRecord, Sessions, host};
use tokio::time::timeout;

use crate::commands::nudge::sessions;
use crate::config::{Config, set};
use crate::wiring::LocalOffice;

/// How many sessions that are over are told of at once. More are for the next who passes by.
pub const MOST_AT_ONCE: usize = 8;
/// How many digits of a hash a key has.
const DIGITS: usize = 16;
/// How often a server looks for sessions that are over, and at every how many of these times for names that nobody uses.
const LOOKS_EVERY: Duration = Duration::from_secs(30);
const LOOKS_FOR_NAMES: u32 = 20;
/// How many projects are looked at in one step.
const PROJECTS: usize = 100;

/// What the person is called whose machine this is.
pub fn person() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(set);
    named.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "human".to_owned())
}

/// What the office knows a session by: the key that it began with, however this machine is called by now.
pub fn key_of(record: &SessionRecord) -> String {
    if record.key.is_empty() { new_key(&record.client, &record.session_id) } else { record.key.clone() }
}

/// The key of a session that begins here: the client, and a hash of this machine and of the client's own id.
pub fn new_key(client: &str, session_id: &str) -> String {
    let hash = blake3::hash(format!("{}\0{session_id}", host()).as_bytes()).to_hex();
    format!("{client}-{}", &hash[..DIGITS])
}

/// Tells that a session is there.
pub fn note(record: &SessionRecord, is_idle: bool) -> NoteSession {
    let place = record.place.to_string_lossy().into_owned();
    NoteSession {
        project_key: record.project.clone(),
        agent_name: record.agent.clone(),
        session_key: key_of(record),
        client: record.client.clone(),
        host: if record.host.is_empty() { host() } else { record.host.clone() },
        place: if place.is_empty() { "/".to_owned() } else { place },
        is_idle,
        registration_token: record.token.clone(),
    }
}

/// Tells that a session ended.
pub fn end(record: &SessionRecord) -> EndSession {
    EndSession {
        project_key: record.project.clone(),
        agent_name: record.agent.clone(),
        session_key: Some(key_of(record)),
        registration_token: record.token.clone(),
    }
}

/// Tells what ended with a session: before its own end that of the session that it goes on with, if the office was not told of that.
pub fn ends(record: &SessionRecord) -> Vec<EndSession> {
    let own = end(record);
    let before = record.instead_of.clone().map(|key| EndSession { session_key: Some(key), ..own.clone() });
    before.into_iter().chain([own]).collect()
}

/// Looks after the sessions of this machine, and the names of every project, until the office closes.
pub async fn look_after(home: PathBuf, local: LocalOffice) {
    let sessions = Sessions::new(sessions(&home));
    let person = person();
    for look in 0_u32.. {
        settle(&sessions, &local).await;
        if look % LOOKS_FOR_NAMES == 1 {
            settle_names(&local, &person).await;
        }
        if timeout(LOOKS_EVERY, local.wake_ups.closed()).await.is_ok() {
            return;
        }
    }
}

async fn settle(sessions: &Sessions, local: &LocalOffice) {
    for record in sessions.unsettled(None).into_iter().take(MOST_AT_ONCE) {
        if is_ended(&record, local).await {
            let _ = sessions.settle(&record);
        }
    }
}

/// Whether the office knows of the end of a session, or never will.
async fn is_ended(record: &SessionRecord, local: &LocalOffice) -> bool {
    for request in ends(record) {
        match request.ask(&local.office).await {
            Ok(_) => {}
            // The store is asked again at the next look.
            Err(error) if error.retryable() => {
                tracing::debug!(%error, "the end of a session is told later");
                return false;
            }
            // There is nobody whose session it could be.
            Err(error) => tracing::debug!(%error, "the end of a session is nobody's"),
        }
    }
    true
}

async fn settle_names(local: &LocalOffice, person: &str) {
    let mut after = None;
    loop {
        let Ok(projects) = local.office.projects(after, PROJECTS).await else { return };
        for project in &projects {
            match local.office.settle_sessions(&project.slug, person).await {
                Ok(settled) if settled == Default::default() => {}
                Ok(settled) => tracing::info!(project = project.slug, ?settled, "names of ended sessions"),
                Err(error) => {
                    tracing::warn!(project = project.slug, %error, "cannot look after names of ended sessions")
                }
            }
        }
        match projects.last() {
            Some(last) if projects.len() == PROJECTS => after = Some(last.id),
            _ => return,
        }
    }
}

/// Where the sessions of this machine are remembered.
pub fn of(config: &Config) -> Sessions {
    Sessions::new(sessions(&config.home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_under_the_key_that_it_began_with_however_its_machine_is_called_by_now() {
        let told = |record: &SessionRecord| (note(record, true), end(record));
        let (client, session_id) = ("claude".to_owned(), "one".to_owned());
        let (host, key) = ("before".to_owned(), "claude-0123".to_owned());
        let kept = SessionRecord { client, session_id, host, key, ..SessionRecord::default() };
        let (noted, ended) = told(&kept);
        assert_eq!((noted.session_key.as_str(), noted.host.as_str()), ("claude-0123", "before"));
        assert_eq!(ended.session_key.as_deref(), Some("claude-0123"));
        let of_an_earlier_version = SessionRecord { host: String::new(), key: String::new(), ..kept };
        let (noted, ended) = told(&of_an_earlier_version);
        assert_eq!((&noted.session_key, noted.host), (&new_key("claude", "one"), relay::sessions::host()));
        assert_eq!(ended.session_key, Some(noted.session_key));
    }

    #[test]
    fn what_ends_with_a_session_is_first_the_one_that_it_goes_on_with() {
        let record = SessionRecord { key: "own".to_owned(), ..SessionRecord::default() };
        let keys =
            |record: &SessionRecord| ends(record).into_iter().filter_map(|end| end.session_key).collect::<Vec<_>>();
        assert_eq!(keys(&record), ["own"]);
        assert_eq!(keys(&SessionRecord { instead_of: Some("before".to_owned()), ..record }), ["before", "own"]);
    }
}
