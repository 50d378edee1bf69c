//! The life of a session, as the office is told of it: that it is there, whether it waits for its user, that it ended.
//!
//! What is told is told after the client has its answer, and only when it is news. A session whose process died cannot say that it
//! ended: the next one that begins on this machine says it. Also here: what a shell of an agent below the main one may not do.

use std::collections::BTreeMap;

use mail::clock::{Clock, SystemClock};
use relay::sessions::SessionRecord;

use super::events::Happening;
use super::input::Input;
use super::naming;
use super::session::Session;
use crate::clients::{Event, HookReply};
use crate::config::set;
use crate::local_sessions::{self, MOST_AT_ONCE};
use crate::post_office::{PostOffice, Refused};
use api::{EndSession, SettleSessions};

/// How a session begins that was put together in the middle of its work.
const COMPACTED: &str = "compact";
/// How many agents below the main one are remembered.
const MOST_BELOW: usize = 64;
/// The commands that act in nobody's name.
const NAMELESS: [&str; 16] = [
    "completions",
    "doctor",
    "guard",
    "help",
    "hook",
    "install",
    "man",
    "parse",
    "projects",
    "schema",
    "serve",
    "uninstall",
    "validate",
    "version",
    "who",
    "work",
];

impl Happening<'_> {
    /// What can be said without asking anybody: an agent below the main one acts under its own name, also at a shell that cannot tell
    /// it from the main one.
    pub fn reply_at_once(&self) -> Option<HookReply> {
        let is_shared_shell = self.client.shared_shell == Some(self.input.tool_name.as_str());
        if self.event != Event::BeforeTool
            || !is_shared_shell
            || !self.input.is_of_subagent()
            || self.me.agent.is_empty()
        {
            return None;
        }
        let command = self.input.tool_input.get("command")?;
        acts_unnamed(command).then(|| {
            let name = naming::name_below(&self.me.agent, self.input);
            let word = shlex::try_quote(&name).map_or_else(|_| name.clone(), |word| word.into_owned());
            HookReply::Refuse(format!(
                "You are a sub-agent, and at this shell postrider would take you for the agent above you. Act under your own name: \
                 add --as {word} (once before: postrider join {word})."
            ))
        })
    }

    /// Whether the office thinks otherwise of the session than it is now, when it is over and nothing else is asked.
    pub fn is_unknown_to_be_idle(&self) -> bool {
        self.session.record().is_some_and(|record| record.is_news(true, SystemClock.now().as_microsecond()))
    }

    /// Tells the office of sessions on this machine that are over, before one that begins takes a name of theirs.
    pub async fn settle_others(&self, post_office: &PostOffice) {
        let sessions = self.session.all();
        let others = sessions.unsettled().into_iter().filter(|record| !self.session.is(record));
        for record in others.take(MOST_AT_ONCE) {
            if is_told(post_office.ask(local_sessions::end(&record)).await) {
                // Otherwise it is told once more.
                let _ = sessions.settle(&record);
            }
        }
    }

    /// Tells the office how the session stands after an event that was answered, if that is news to it.
    pub async fn tell_of_life(&self, post_office: &PostOffice, reply: Option<&HookReply>) {
        let Some(record) = self.session.record().filter(|record| !record.agent.is_empty()) else { return };
        if self.input.is_of_subagent() {
            return;
        }
        let is_idle = match self.event {
            Event::SessionStart => self.input.source != COMPACTED || record.is_idle,
            Event::Prompt | Event::AfterTool => false,
            Event::Stop => reply.is_none(),
            _ => return,
        };
        let now = SystemClock.now().as_microsecond();
        let begins = self.event == Event::SessionStart;
        if !begins && !record.is_news(is_idle, now) {
            return;
        }
        if post_office.ask(local_sessions::note(&record, is_idle)).await.is_err() {
            return;
        }
        let before = record.instead_of.clone();
        let told = SessionRecord {
            is_idle,
            told_at: now,
            instead_of: None,
            has_ended: false,
            is_settled: false,
            ..record.clone()
        };
        if let Some(session_key) = before {
            // After the new one was told of, so that the agent is never without a session.
            let request = EndSession { session_key: Some(session_key), ..local_sessions::end(&record) };
            if !is_told(post_office.ask(request).await) {
                return;
            }
        }
        let _ = self.session.keep(told);
        if begins {
            let request = SettleSessions { project_key: record.project, person: local_sessions::person() };
            // A later session does it.
            let _ = post_office.ask(request).await;
        }
    }

    /// Tells that the session ended, and what it was known to leave behind is seen to.
    pub async fn end_session(&self, post_office: &PostOffice) -> Result<(), Refused> {
        let Some(record) = self.session.record().filter(|record| record.agent == self.me.agent) else {
            // Nobody remembers it: then the agent only says that it goes.
            let request = EndSession { session_key: None, ..local_sessions::end(&self.unremembered()) };
            return match post_office.ask(request).await {
                Err(refused) if !refused.is_about_nobody() => Err(refused),
                _ => Ok(()),
            };
        };
        match post_office.ask(local_sessions::end(&record)).await {
            Err(refused) if !refused.is_about_nobody() => Err(refused),
            _ => {
                // If that fails, its end is told once more.
                let _ = self.session.all().settle(&record);
                Ok(())
            }
        }
    }

    /// Remembers an agent below the main one, so that its shells find its name.
    pub fn remember_below(&self, name: &str) -> anyhow::Result<()> {
        let Some(mut record) = self.session.record() else { return Ok(()) };
        if record.below.len() >= MOST_BELOW {
            record.below = BTreeMap::new();
        }
        record.below.insert(self.input.agent_id.clone(), name.to_owned());
        self.session.keep(record)
    }

    /// What is noted of how the session is reached.
    pub fn with_socket(&self, record: SessionRecord) -> SessionRecord {
        match self.client.socket_variables {
            Some([socket, token]) => SessionRecord { socket: set(socket), socket_token: set(token), ..record },
            None => record,
        }
    }

    fn unremembered(&self) -> SessionRecord {
        let me = self.me.clone();
        SessionRecord { agent: me.agent, token: me.token, project: me.project, ..SessionRecord::default() }
    }
}

/// Notes which agent below the main one calls a tool of an MCP server: `postrider stdio` is told only what the client calls the call.
pub fn note_call(session: &Session, event: Event, input: &Input, main: &str) {
    let is_call = input.is_of_subagent() && !input.tool_use_id.is_empty() && input.tool_name.starts_with("mcp__");
    if !is_call || main.is_empty() {
        return;
    }
    match event {
        // What cannot be noted leaves a call without a name to be taken for the main agent's.
        Event::BeforeTool => drop(session.all().note_call(&input.tool_use_id, &naming::name_below(main, input))),
        Event::AfterTool => session.all().forget_call(&input.tool_use_id),
        _ => {}
    }
}

/// Whether the office knows it now, or never will: nobody can prove the name, or there is none.
fn is_told<T>(answer: Result<T, Refused>) -> bool {
    answer.map_or_else(|refused| refused.is_about_nobody() || refused.code == "IDENTITY_REQUIRED", |_| true)
}

/// Whether a command for a shell runs ours in a name that it does not say.
fn acts_unnamed(command: &str) -> bool {
    let is_break = |letter: char| letter.is_whitespace() || ";|&()`'\"$".contains(letter);
    let words: Vec<&str> = command.split(is_break).filter(|word| !word.is_empty()).collect();
    let names =
        words.iter().any(|word| *word == "--as" || word.starts_with("--as=") || word.starts_with("POSTRIDER_AGENT="));
    let ours = words.windows(2).filter(|pair| pair[0].rsplit('/').next() == Some("postrider"));
    !names && ours.map(|pair| pair[1]).any(|word| !word.starts_with('-') && !NAMELESS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_acts_in_a_name_says_which() {
        for command in [
            "postrider mail inbox",
            "cd src && /usr/bin/postrider mail send BlueLake -s x -m y",
            "sh -c 'postrider mail read 7'",
            "x=$(postrider mail check)",
        ] {
            assert!(acts_unnamed(command), "{command}");
        }
        for command in [
            "postrider mail inbox --as Me/agent-0000",
            "POSTRIDER_AGENT=Me/agent-0000 postrider mail inbox",
            "postrider who",
            "postrider --version",
            "grep -r postrider",
            "ls postrider/src",
            "echo done",
        ] {
            assert!(!acts_unnamed(command), "{command}");
        }
    }
}
