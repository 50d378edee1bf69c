//! Which client calls a hook that does not say it: so that one folder of hooks serves several.
//!
//! What the client says of the event comes before what stands in the environment: a client that was started in a shell of another
//! has inherited that one's variables. Only where nothing is said does the environment decide.

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
        let ways: [&dyn Fn(&&Client) -> bool; 3] =
            [&|client| self.names_session(client), &|client| self.is_said(client), &|client| self.is_around(client)];
        ways.into_iter().find_map(|way| able().find(way)).or_else(|| able().next().filter(|_| able().count() == 1))
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

    /// Whether the environment is that of a hook of this client, or of a shell that it started.
    fn is_around(&self, client: &Client) -> bool {
        client.signs.variable.and_then(self.variable).is_some_and(|value| !value.is_empty())
    }
}
