//! Who calls, where a call does not say it: the agent of the session that this process belongs to.
//!
//! A session is known by the id that the client puts into each call, else by the processes above ours and by what the client put into
//! our environment. A name is filled in only where it is missing, and never a proof of one. An agent below the main one is never taken
//! for it. Where no hook has said who the agent of a session is, its first registration does.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use api::Actor;
use mail::clock::{Clock, SystemClock};
use mail::projects::slug_of;
use relay::sessions::{SessionRecord, Sessions, ancestors, host};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::acquaintance;
use super::patience;
use crate::clients::{self, CODEX, Client};
use crate::config::{Config, set};
use crate::local_sessions;
use crate::named_calls::{NAMED, NAMES};
use crate::own_session;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::repository_of;
use crate::waker::{Asked, By, Reach, Search, Waker, inside};

const PROJECT: &str = "project_key";

/// An object of which one member is changed and the others are kept byte for byte.
type RawMembers = BTreeMap<String, Box<RawValue>>;

/// The one who calls through this process.
pub struct CallerSession {
    home: PathBuf,
    /// The server elsewhere that is asked; none if it is the office of this home.
    office: Option<String>,
    /// The client, as it introduced itself: what our environment says of it is its own.
    client: Mutex<Option<&'static Client>>,
    /// The record that this process made, where no hook did.
    made: Mutex<Option<SessionRecord>>,
    /// The session that Codex named in the last call.
    thread: Arc<Mutex<Option<String>>>,
}

/// A session, as a call tells of it.
struct Told {
    client: &'static Client,
    id: String,
    /// The agent below the main one that calls, as the client calls it.
    below: Option<String>,
}

impl CallerSession {
    /// The session that this process belongs to, among those that are known in this home.
    pub fn new(config: &Config) -> Self {
        Self {
            home: config.home.clone(),
            office: config.url(),
            client: Mutex::default(),
            made: Mutex::default(),
            thread: Arc::default(),
        }
    }

    /// What wakes the session when mail comes: a process inside it is trusted more than a stranger.
    pub fn waker(
        &self,
        connection: Arc<Connection>,
        reach: Reach,
    ) -> Waker<impl Fn() -> Option<SessionRecord> + use<>> {
        let (home, office, thread) = (self.home.clone(), self.office.clone(), self.thread.clone());
        let sessions = reach.sessions().clone();
        let known = Mutex::new(None::<SessionRecord>);
        let search = Mutex::new(Search::default());
        let find = move || {
            let told = held(&thread).clone().map(|thread| (CODEX.name.to_owned(), thread));
            let before = held(&known).take().map(|record| (record.client, record.session_id));
            let again = told.or(before).and_then(|(client, id)| sessions.stored(&client, &id)).filter(is_open);
            let searched = || held(&search).is_due(&sessions, Instant::now()).then(|| own_session::of_client(&home));
            let record = again.or_else(|| searched().flatten()).filter(is_open)?;
            let record = if record.office == office { inside(&sessions, record) } else { return None };
            *held(&known) = Some(record.clone());
            Some(record)
        };
        Waker { asked: Asked::Through(connection), reach, by: By::Way, find }
    }

    /// The call with the name of the session's agent in it, if it lacks one, and with a wait that the client waits for. Any other
    /// message stays as it is.
    pub fn named(&self, message: ClientMessage) -> ClientMessage {
        let message = match self.client().and_then(|client| patience::within(&message, client)) {
            Some(text) => ClientMessage::read(text),
            None => message,
        };
        let Some((_, argument)) = message.tool().and_then(|tool| NAMED.iter().find(|(name, _)| *name == tool)) else {
            return message;
        };
        match self.with_name(&message, argument) {
            Some(text) => ClientMessage::read(text),
            None => message,
        }
    }

    fn with_name(&self, message: &ClientMessage, argument: &str) -> Option<String> {
        let mut envelope: RawMembers = serde_json::from_str(&message.text).ok()?;
        let mut params: RawMembers = serde_json::from_str(envelope.get("params")?.get()).ok()?;
        let mut arguments: RawMembers = match params.get("arguments") {
            Some(arguments) => serde_json::from_str(arguments.get()).ok()?,
            None => RawMembers::new(),
        };
        arguments.retain(|name, value| value.get() != "null" || !(NAMES.contains(&name.as_str()) || name == PROJECT));
        if NAMES.iter().any(|name| arguments.contains_key(*name)) {
            return None;
        }
        let session = self.session(params.get("_meta").map(|meta| meta.get()))?;
        match arguments.get(PROJECT).or_else(|| arguments.get("human_key")) {
            Some(given) if !is_project(given, &session.project) => return None,
            Some(_) => {}
            None => drop(arguments.insert(PROJECT.to_owned(), to_raw_value(&session.project).ok()?)),
        }
        arguments.insert(argument.to_owned(), to_raw_value(&session.agent).ok()?);
        params.insert("arguments".to_owned(), to_raw_value(&arguments).ok()?);
        envelope.insert("params".to_owned(), to_raw_value(&params).ok()?);
        serde_json::to_string(&envelope).ok()
    }

    /// The session that a call with this `_meta` is of, as the agent sees it that calls.
    fn session(&self, meta: Option<&str>) -> Option<SessionRecord> {
        let sessions = Sessions::new(crate::commands::nudge::sessions(&self.home));
        let meta: Value = meta.and_then(|meta| serde_json::from_str(meta).ok()).unwrap_or_default();
        let session = match told_by(&meta) {
            Some(told) => {
                let session = sessions.get(told.client.name, &told.id).filter(|known| !known.agent.is_empty())?;
                match told.below {
                    Some(below) => own_session::as_below(session, &below),
                    None => session,
                }
            }
            None => own_session::of_client(&self.home).filter(|session| !own_session::hides_callers(session))?,
        };
        let agent = meta[TOOL_USE].as_str().and_then(|call| sessions.caller_of(call));
        Some(match agent {
            Some(agent) => SessionRecord { agent, token: None, ..session },
            None => session,
        })
    }

    /// The session that the client names in our environment. After a conversation was cleared that is the one before.
    fn told_by_environment(&self) -> Option<Told> {
        let client = self.client().filter(|client| !client.shares_process)?;
        let id = client.session_variables.iter().find_map(|variable| set(variable))?;
        Some(Told { client, id, below: None })
    }

    fn client(&self) -> Option<&'static Client> {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of which session calls, of who the client is, and of an agent that registered, if nobody has said yet who the agent of the session is.
    pub async fn meet(&self, connection: &Arc<Connection>, message: &ClientMessage, answer: &str) {
        if message.is_introduction() {
            *self.client.lock().unwrap_or_else(PoisonError::into_inner) = acquaintance::client(message);
        }
        if message.tool().is_none() {
            return;
        }
        let meta: Value = serde_json::from_str(&message.text).unwrap_or_default();
        let meta = &meta["params"]["_meta"];
        if let Some(told) = told_by(meta) {
            *held(&self.thread) = Some(told.id);
        }
        let Some(agent) = acquaintance::registered(message, answer) else { return };
        let Some(told) = told_by(meta).or_else(|| self.told_by_environment()).filter(|told| told.below.is_none())
        else {
            return;
        };
        let sessions = Sessions::new(crate::commands::nudge::sessions(&self.home));
        let known = sessions.get(told.client.name, &told.id);
        // One that ended with the process before this one goes on.
        let is_known = known.is_some_and(|known| !known.agent.is_empty() && !known.has_ended)
            || own_session::of_client(&self.home).is_some();
        let is_below = meta[TOOL_USE].as_str().is_some_and(|call| sessions.caller_of(call).is_some());
        // A slug is no place that a hook would find.
        if is_known || is_below || !agent.project_key.starts_with('/') {
            return;
        }
        let mut record = SessionRecord { office: self.office.clone(), ..record(&told, agent) };
        let is_told = connection.ask(local_sessions::note(&record, false)).await.is_ok();
        record.told_at = if is_told { SystemClock.now().as_microsecond() } else { 0 };
        if let Err(error) = sessions.keep(&record) {
            tracing::debug!(%error, "cannot remember the session");
            return;
        }
        *held(&self.made) = Some(record);
    }

    /// Says that the session ended whose record this process made: the client is gone.
    pub async fn leave(&self, connection: &Arc<Connection>) {
        let made = held(&self.made).take();
        let Some(record) = made else { return };
        let sessions = Sessions::new(crate::commands::nudge::sessions(&self.home));
        if connection.ask(local_sessions::end(&record)).await.is_ok() {
            // Otherwise whoever passes by tells of it.
            let _ = sessions.settle(&record);
        }
    }
}

/// Where Claude Code says which use of a tool a call is.
const TOOL_USE: &str = "claudecode/toolUseId";

/// The session that Codex names in each call.
fn told_by(meta: &Value) -> Option<Told> {
    let (session, thread) = (meta["sessionId"].as_str(), meta["threadId"].as_str());
    meta.get("x-codex-turn-metadata")?;
    let id = session.or(thread)?;
    let below = thread.filter(|thread| *thread != id).map(str::to_owned);
    Some(Told { client: &CODEX, id: id.to_owned(), below })
}

fn record(told: &Told, agent: Actor) -> SessionRecord {
    let socket = told.client.socket_variables;
    SessionRecord {
        agent: agent.agent_name,
        token: agent.registration_token,
        project: agent.project_key,
        client: told.client.name.to_owned(),
        session_id: told.id.clone(),
        host: host(),
        key: local_sessions::new_key(told.client.name, &told.id),
        process: ancestors().into_iter().find(|above| !above.is_shell()).map(|above| above.process),
        place: std::env::current_dir().map(|here| clients::project_of(&here)).unwrap_or_default(),
        named_at: SystemClock.now().as_microsecond(),
        // No hook tells when a turn begins and ends, and the client puts a line that comes within one where it belongs.
        is_idle: true,
        socket: socket.and_then(|[socket, _]| set(socket)),
        socket_token: socket.and_then(|[_, token]| set(token)),
        ..SessionRecord::default()
    }
}

fn is_open(record: &SessionRecord) -> bool {
    !record.agent.is_empty() && record.is_open()
}

/// Locks what no panic can leave half changed.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a call is about this project.
fn is_project(given: &RawValue, project: &str) -> bool {
    let given: String = serde_json::from_str(given.get()).unwrap_or_default();
    given.trim_end_matches('/') == project || given == slug_of(project) || repository_of(&given) == project
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const META: &str = include_str!("../../../tests/calls/codex.json");

    struct Home(tempfile::TempDir);

    impl Home {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn caller(&self) -> CallerSession {
            let home = self.0.path().to_owned();
            CallerSession {
                home,
                office: None,
                client: Mutex::default(),
                made: Mutex::default(),
                thread: Arc::default(),
            }
        }

        fn sessions(&self) -> Sessions {
            Sessions::new(crate::commands::nudge::sessions(self.0.path()))
        }
    }

    /// A call as Codex makes it, of this tool with these arguments.
    fn call(tool: &str, arguments: Value, thread: Option<&str>) -> ClientMessage {
        let mut call: Value = serde_json::from_str(META).unwrap();
        call["params"]["name"] = tool.into();
        call["params"]["arguments"] = arguments;
        if let Some(thread) = thread {
            call["params"]["_meta"]["threadId"] = thread.into();
        }
        ClientMessage::read(call.to_string())
    }

    fn arguments(message: &ClientMessage) -> Value {
        let call: Value = serde_json::from_str(&message.text).unwrap();
        call["params"]["arguments"].clone()
    }

    fn known(home: &Home) {
        let example: Value = serde_json::from_str(META).unwrap();
        let id = example["params"]["_meta"]["sessionId"].as_str().unwrap().to_owned();
        let (agent, project, client) = ("GreenDog".to_owned(), "/data/projects/app".to_owned(), "codex".to_owned());
        let below = [("sub".to_owned(), "GreenDog/reviewer-3fa9".to_owned())].into();
        let record = SessionRecord { agent, project, client, session_id: id, below, ..SessionRecord::default() };
        home.sessions().keep(&record).unwrap();
    }

    #[test]
    fn a_call_that_says_no_name_is_made_by_the_agent_of_its_session() {
        let home = Home::new();
        known(&home);
        let named = |tool: &str, given: Value| arguments(&home.caller().named(call(tool, given, None)));
        let app = "/data/projects/app";
        assert_eq!(
            named("fetch_inbox", json!({ "agent_name": null })),
            json!({ "agent_name": "GreenDog", "project_key": app })
        );
        let start = named("macro_start_session", json!({ "project_key": app, "limit": 1.50 }));
        assert_eq!(start, json!({ "agent_name": "GreenDog", "project_key": app, "limit": 1.50 }));
        assert_eq!(named("register_agent", json!({ "project_key": "data-projects-app" }))["name"], "GreenDog");
        assert_eq!(named("send_message", json!({ "to": ["x"] }))["sender_name"], "GreenDog");
    }

    #[test]
    fn a_name_that_is_said_another_project_and_another_question_stay_as_they_are() {
        let home = Home::new();
        known(&home);
        for (tool, given) in [
            ("fetch_inbox", json!({ "agent_name": "BlueLake" })),
            ("fetch_inbox", json!({ "agent": "BlueLake" })),
            ("fetch_inbox", json!({ "project_key": "/data/projects/other" })),
            ("whois", json!({})),
        ] {
            let message = call(tool, given.clone(), None);
            assert_eq!(arguments(&home.caller().named(message)), given, "{tool}");
        }
        let elsewhere = Home::new();
        assert_eq!(arguments(&elsewhere.caller().named(call("fetch_inbox", json!({}), None))), json!({}));
    }

    #[test]
    fn a_call_that_may_be_a_sub_agents_is_given_no_name() {
        let process = ancestors().into_iter().find(|above| !above.is_shell()).map(|above| above.process);
        for (client, name) in [("gemini", json!("GreenDog")), ("cline", Value::Null), ("kimi", Value::Null)] {
            let home = Home::new();
            let (agent, project) = ("GreenDog".to_owned(), "/data/projects/app".to_owned());
            let (client, session_id) = (client.to_owned(), "one".to_owned());
            let record = SessionRecord { agent, project, client, session_id, process, ..SessionRecord::default() };
            home.sessions().keep(&record).unwrap();
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "fetch_inbox", "arguments": {} } });
            let named = arguments(&home.caller().named(ClientMessage::read(call.to_string())));
            assert_eq!(named["agent_name"], name, "{}", record.client);
        }
    }

    #[test]
    fn a_sub_agent_is_never_taken_for_the_agent_above_it() {
        let home = Home::new();
        known(&home);
        let name = |thread| {
            arguments(&home.caller().named(call("fetch_inbox", json!({}), Some(thread))))["agent_name"].clone()
        };
        assert_eq!(name("sub"), "GreenDog/reviewer-3fa9");
        assert!(name("unknown").as_str().unwrap().starts_with("GreenDog/agent-"));
    }
}
