//! The session of a client that this process runs in: by the processes above it, and where one of them runs several
//! sessions, or none can be seen from a sandbox, by the id that the client puts into the environment of its shells.
//!
//! A shell of an agent below the main one is told by its own id, where the client says one, and acts under that agent's name.

use std::path::Path;

use relay::sessions::{SessionRecord, Sessions, ancestors, variable_of};

use crate::clients::{self, Client};
use crate::commands::nudge::sessions;
use crate::config::set;
use crate::family::name_below;
use crate::identity::VARIABLE;

/// The session, if it is known here; its agent is the one whose shell this is.
pub fn find(home: &Path) -> Option<SessionRecord> {
    let above = ancestors().into_iter().map(|ancestor| ancestor.process);
    let session = Sessions::new(sessions(home)).of_process(above, |record| is_named(record, set));
    session.filter(|session| !is_of_another(session, set)).map(|session| of_agent_below(session, set))
}

/// The session of the client that started this process itself, if it is known here. A client further up is another's.
pub fn of_client(home: &Path) -> Option<SessionRecord> {
    let client = ancestors().into_iter().find(|above| !above.is_shell())?.process;
    let is_named = |record: &SessionRecord| record.process == Some(client) && is_named(record, set);
    Sessions::new(sessions(home)).of_process([client], is_named)
}

/// Whether the name in our variable is only what the client itself was started with, and not what the session is called.
pub fn has_inherited(session: &SessionRecord, name: &str) -> bool {
    let told = || session.process.and_then(|process| variable_of(process, VARIABLE));
    session.agent != name && told().as_deref() == Some(name)
}

/// The client that a session is of.
pub fn client_of(record: &SessionRecord) -> Option<&'static Client> {
    clients::of_name(&record.client)
}

/// Whether the agent of a session is not told from those below it.
pub fn hides_callers(session: &SessionRecord) -> bool {
    client_of(session).is_some_and(|client| client.hides_callers)
}

/// The ids of a session that the environment says.
fn ids(record: &SessionRecord, variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let variables = client_of(record).map_or(&[][..], |client| client.session_variables);
    variables.iter().filter_map(|name| variable(name)).collect()
}

/// Whether the environment names this session.
fn is_named(record: &SessionRecord, variable: impl Fn(&str) -> Option<String>) -> bool {
    ids(record, variable).contains(&record.session_id)
}

/// Whether the environment names another session of the process, which is not known here.
fn is_of_another(record: &SessionRecord, variable: impl Fn(&str) -> Option<String>) -> bool {
    let ids = ids(record, variable);
    client_of(record).is_some_and(|client| client.shares_process)
        && !ids.is_empty()
        && !ids.contains(&record.session_id)
}

/// The session as the agent below sees it, if the environment says that this is its shell.
fn of_agent_below(session: SessionRecord, variable: impl Fn(&str) -> Option<String>) -> SessionRecord {
    let Some(client) = client_of(&session) else { return session };
    let own = client.subagent_variable.and_then(&variable).filter(|id| *id != session.session_id);
    // Where that is the only id, a shell of the session itself would have the session's.
    let is_only_id = client.subagent_variable.is_some_and(|name| client.session_variables == [name]);
    match own {
        Some(id) if is_only_id || is_named(&session, variable) => as_below(session, &id),
        _ => session,
    }
}

/// The session as the agent sees it that the client calls `id`, which is below the main one. It has no proof of its own.
pub fn as_below(session: SessionRecord, id: &str) -> SessionRecord {
    let agent = session.below.get(id).cloned().unwrap_or_else(|| name_below(&session.agent, "", id));
    SessionRecord { agent, token: None, ..session }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codex(id: &str) -> SessionRecord {
        let (agent, client, session_id) = ("GreenDog".to_owned(), "codex".to_owned(), id.to_owned());
        SessionRecord { agent, client, session_id, token: Some("t".to_owned()), ..SessionRecord::default() }
    }

    /// An environment as Codex makes it for a shell.
    fn shell<'a>(thread: &'a str, root: &'a str) -> impl Fn(&str) -> Option<String> + Copy + 'a {
        move |name| match name {
            "CODEX_THREAD_ID" => Some(thread.to_owned()),
            "CODEX_SESSION_ID" => Some(root.to_owned()),
            _ => None,
        }
    }

    #[test]
    fn a_shell_of_a_sub_agent_of_codex_acts_under_its_own_name() {
        let mut session = codex("root");
        assert_eq!(of_agent_below(session.clone(), shell("root", "root")), session);
        let below = of_agent_below(session.clone(), shell("thread", "root"));
        assert!(below.agent.starts_with("GreenDog/agent-") && below.token.is_none(), "{below:?}");
        session.below.insert("thread".to_owned(), "GreenDog/reviewer-3fa9".to_owned());
        assert_eq!(of_agent_below(session, shell("thread", "root")).agent, "GreenDog/reviewer-3fa9");
    }

    #[test]
    fn a_shell_of_a_sub_agent_of_qwen_opencode_or_copilot_acts_under_its_own_name() {
        for (client, root, below) in [
            ("qwen", "QWEN_CODE_SESSION_ID", "QWEN_CODE_AGENT_ID"),
            ("opencode", "POSTRIDER_SESSION", "POSTRIDER_SUBAGENT"),
            ("copilot", "", "COPILOT_AGENT_SESSION_ID"),
        ] {
            let session = SessionRecord { client: client.to_owned(), ..codex("root") };
            let shell = |own: &str| {
                let own = own.to_owned();
                move |name: &str| match name {
                    name if name == below => Some(own.clone()).filter(|own| !own.is_empty()),
                    name if name == root => Some("root".to_owned()),
                    _ => None,
                }
            };
            let of_main = if root.is_empty() { "root" } else { "" };
            assert_eq!(of_agent_below(session.clone(), shell(of_main)), session, "{client}");
            let sub = of_agent_below(session.clone(), shell("general-purpose-call_26"));
            assert!(sub.agent.starts_with("GreenDog/agent-") && sub.token.is_none(), "{client}: {sub:?}");
        }
    }

    #[test]
    fn a_process_that_runs_several_sessions_is_not_taken_for_the_one_that_is_known() {
        assert!(is_of_another(&codex("first"), shell("second", "second")));
        assert!(!is_of_another(&codex("first"), shell("first", "first")));
        assert!(!is_of_another(&codex("first"), shell("thread", "first")));
        assert!(!is_of_another(&codex("first"), |_| None), "nothing is said");
        let claude = SessionRecord { client: "claude".to_owned(), ..codex("after") };
        let before = |name: &str| (name == "CLAUDE_CODE_SESSION_ID").then(|| "before".to_owned());
        assert!(!is_of_another(&claude, before), "after /clear the environment keeps the old id");
    }
}
