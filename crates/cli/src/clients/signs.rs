//! Which client calls a hook that does not say it: so that one folder of hooks serves several.
//!
//! What the client says of the event comes before what stands in the environment: a client that was started in a shell of another
//! has inherited that one's variables. Only where nothing is said does the environment decide.

use std::path::Path;

use super::{ALL, Client};

/// What tells that it is this client which calls a hook.
#[derive(Debug)]
pub(crate) struct Signs {
    /// The environment variable of its hooks that holds the id of the session.
    pub session: Option<&'static str>,
    /// An environment variable that its hooks have.
    pub variable: Option<&'static str>,
    /// Members of the input that no other client has.
    pub members: &'static [&'static str],
    /// The folder that its transcripts are below.
    pub transcripts: Option<&'static str>,
}

/// Where an input names its transcript.
pub(crate) const TRANSCRIPT: [&str; 2] = ["transcript_path", "transcriptPath"];

/// What is known of a call of a hook.
pub(crate) struct HookCall<'a> {
    /// The event, as it was given.
    pub event: &'a str,
    /// Whether the input has a member of this name.
    pub has_member: &'a dyn Fn(&str) -> bool,
    /// The ids of the session, as each client would say it.
    pub session_id: &'a dyn Fn(&Client) -> String,
    /// The path of the transcript; empty if none is said.
    pub transcript: &'a str,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl HookCall<'_> {
    /// The client that calls.
    pub(crate) fn client(&self) -> Option<&'static Client> {
        // Whoever came later to the table sets the variables of those before it, too.
        let able = || ALL.into_iter().rev().filter(|client| client.event(self.event).is_some());
        let ways: [&dyn Fn(&&Client) -> bool; 2] =
            [&|client| self.names_session(client), &|client| self.is_said(client)];
        let said = ways.into_iter().find_map(|way| able().find(way));
        // One folder may be inside another.
        let moved =
            || able().max_by_key(|client| self.moved_above(client)).filter(|client| self.moved_above(client) > 0);
        let around = || able().find(|client| self.is_around(client));
        said.or_else(moved).or_else(around).or_else(|| able().next().filter(|_| able().count() == 1))
    }

    /// Whether the client's own variable names the session that the input names.
    fn names_session(&self, client: &Client) -> bool {
        let id = client.signs.session.and_then(self.variable);
        id.is_some_and(|id| !id.is_empty() && id == (self.session_id)(client))
    }

    /// Whether the input is one of this client alone.
    fn is_said(&self, client: &Client) -> bool {
        let is_below = |folder: &str| self.transcript.split(['/', '\\']).any(|part| part == folder);
        client.signs.members.iter().any(|name| (self.has_member)(name))
            || client.signs.transcripts.is_some_and(is_below)
    }

    /// How long the path of the folder is that the client's user moved its own to, if the transcript is below that; else 0.
    fn moved_above(&self, client: &Client) -> usize {
        let moved = client.signs.transcripts.and_then(|_| (self.variable)(client.moved_by)).unwrap_or_default();
        let real = |path: &str| Path::new(path).canonicalize().unwrap_or_else(|_| path.into());
        let is_below = |folder: &Path| Path::new(self.transcript).starts_with(folder);
        let is_above = !moved.is_empty() && (is_below(Path::new(&moved)) || is_below(&real(&moved)));
        if is_above { moved.len() } else { 0 }
    }

    /// Whether the environment is that of a hook of this client, or of a shell that it started.
    fn is_around(&self, client: &Client) -> bool {
        client.signs.variable.and_then(self.variable).is_some_and(|value| !value.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(transcript: &str, environment: &[(&str, &str)]) -> Option<&'static str> {
        let set =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let (has_member, session_id) = (|_: &str| false, |_: &Client| "one".to_owned());
        let (event, variable) = ("SessionStart", &set);
        let call = HookCall { event, has_member: &has_member, session_id: &session_id, transcript, variable };
        call.client().map(|client| client.name)
    }

    #[test]
    fn a_client_whose_folder_was_moved_is_not_taken_for_the_one_in_whose_shell_it_was_started() {
        let outer = ("CLAUDECODE", "1");
        let codex = "/data/codex/sessions/2026/11/20/rollout.jsonl";
        assert_eq!(caller(codex, &[outer]), Some("claude"));
        assert_eq!(caller(codex, &[outer, ("CODEX_HOME", "/data/codex")]), Some("codex"));
        assert_eq!(caller(codex, &[outer, ("CODEX_HOME", "/data/cod")]), Some("claude"), "another folder");
        let around = [outer, ("CODEX_HOME", "/data/codex"), ("CLAUDE_CONFIG_DIR", "/data")];
        assert_eq!(caller(codex, &around), Some("codex"), "the nearest folder");
        assert_eq!(caller("/data/claude/p.jsonl", &around), Some("claude"));
    }
}
