//! The life of a session, as the office is told of it: that it is there, whether it waits for its user, that it ended.
//!
//! What is told is told after the client has its answer, and only when it is news. A session whose process died cannot say that it
//! ended: the next one that begins on this machine says it. Also here: what a shell of an agent below the main one may not do.

use std::path::PathBuf;

use mail::clock::{Clock, SystemClock};
use relay::fence;
use relay::sessions::{Ancestor, SessionRecord, host};

use super::events::Happening;
use super::input::Input;
use super::naming;
use super::session::{Kept, Session};
use crate::clients::{Event, HookReply};
use crate::commands::takes_a_name;
use crate::config::set;
use crate::local_sessions::{self, MOST_AT_ONCE};
use crate::named_calls::{NAMED, NAMES};
use crate::output::text;
use crate::post_office::{PostOffice, Refused};
use crate::waker::actor;
use api::{ClaimWakeUp, EndSession, SettleSessions};
use mail::wake_ups::WakeOutcome;

/// How a session begins that was put together in the middle of its work.
const COMPACTED: &str = "compact";
/// How many agents below the main one are remembered.
const MOST_BELOW: usize = 64;
impl Happening<'_> {
    /// What can be said without asking anybody: an agent below the main one acts under its own name, also at a shell and in a call of
    /// our tools that cannot tell it from the main one.
    pub fn reply_at_once(&self) -> Option<HookReply> {
        if self.event != Event::BeforeTool || !self.input.is_of_subagent() || self.me.agent.is_empty() {
            return None;
        }
        let name = naming::name_below(&self.me.agent, self.input);
        let reason = self.unnamed_at_a_shell(&name).or_else(|| self.unnamed_call(&name));
        reason.map(HookReply::Refuse)
    }

    /// Why a command for a shell does not say enough, if it runs ours in a name that it does not say.
    fn unnamed_at_a_shell(&self, name: &str) -> Option<String> {
        let is_shared_shell = self.client.shared_shell == Some(self.input.tool_name.as_str());
        let command = self.input.tool_input.get("command").filter(|_| is_shared_shell)?;
        let word = text::shell_word(name);
        acts_unnamed(command).then(|| {
            format!(
                "You are a sub-agent, and at this shell postrider would take you for the agent above you. Act under your own name: \
                 add --as {word} (once before: postrider join {word})."
            )
        })
    }

    /// Why a call of one of our tools does not say enough, if it does not say whose it is.
    fn unnamed_call(&self, name: &str) -> Option<String> {
        let tool = self.client.server_tools.iter().find_map(|start| self.input.tool_name.strip_prefix(start))?;
        let (_, argument) = NAMED.iter().find(|(named, _)| *named == tool)?;
        let says = |member: &&str| self.input.tool_input.get(*member).is_some_and(|said| !said.is_empty());
        (!NAMES.iter().any(says)).then(|| {
            let name = fence::line(name);
            format!(
                "You are a sub-agent, and this call would be made in the name of the agent above you. Say {argument} = '{name}' \
                 (once before: register_agent with that name)."
            )
        })
    }

    /// Tells the office of the sessions that are over of the agent that the one which begins is, before it goes on: what a run held
    /// alone ends with it, and a session that is resumed in another process is another run. Of other sessions it is told after
    /// the answer.
    pub async fn settle_earlier(&self, post_office: &PostOffice, me: &Kept) {
        let mut over = self.session.all().unsettled(self.office.as_deref());
        let is_mine = |record: &SessionRecord| record.agent == me.agent && record.project == me.project;
        over.retain(|record| self.session.is(record) || is_mine(record));
        self.tell_ends(post_office, over).await;
    }

    /// Tells the office of runs on this machine that are over.
    async fn settle_ended(&self, post_office: &PostOffice) {
        self.tell_ends(post_office, self.session.all().unsettled(self.office.as_deref())).await;
    }

    async fn tell_ends(&self, post_office: &PostOffice, over: Vec<SessionRecord>) {
        'sessions: for record in over.into_iter().take(MOST_AT_ONCE) {
            for request in local_sessions::ends(&record) {
                if !is_told(post_office.ask(request).await) {
                    // It is told once more.
                    continue 'sessions;
                }
            }
            let _ = self.session.all().settle(&record);
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
            // Leaving is itself a call of a tool, and not the last event of its turn.
            Event::AfterTool | Event::Stop if record.has_left => return,
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
        if let Some(session_key) = before.clone() {
            // After the new one was told of, so that the agent is never without a session.
            let request = EndSession { session_key: Some(session_key), ..local_sessions::end(&record) };
            if !is_told(post_office.ask(request).await) {
                return;
            }
        }
        let _ = self.session.change(|stored| {
            (stored.is_idle, stored.told_at, stored.has_left) = (is_idle, now, false);
            stored.office.clone_from(&self.office);
            if stored.instead_of == before {
                stored.instead_of = None;
            }
        });
        if begins {
            self.settle_ended(post_office).await;
            let request = SettleSessions { project_key: record.project, person: local_sessions::person() };
            // A later session does it.
            let _ = post_office.ask(request).await;
        }
    }

    /// Tells that the session ended. The office then settles what it leaves behind.
    pub async fn end_session(&self, post_office: &PostOffice) -> Result<(), Refused> {
        let Some(record) = self.session.record().filter(|record| record.agent == self.me.agent) else {
            // Nobody remembers it: then the agent only says that it goes.
            let request = EndSession { session_key: None, ..local_sessions::end(&self.unremembered()) };
            return match post_office.ask(request).await {
                Err(refused) if !refused.is_about_nobody() => Err(refused),
                _ => Ok(()),
            };
        };
        for request in local_sessions::ends(&record) {
            match post_office.ask(request).await {
                Err(refused) if !refused.is_about_nobody() => return Err(refused),
                _ => {}
            }
        }
        // If that fails, its end is told once more.
        let _ = self.session.all().settle(&record);
        Ok(())
    }

    /// Remembers an agent below the main one, so that its shells find its name.
    pub fn remember_below(&self, name: &str) -> anyhow::Result<()> {
        self.session.change(|record| {
            if record.below.len() >= MOST_BELOW {
                record.below.clear();
            }
            record.below.insert(self.input.agent_id.clone(), name.to_owned());
        })
    }

    /// What is noted of how the session is reached.
    pub fn with_socket(&self, record: SessionRecord) -> SessionRecord {
        let moved = set(self.client.moved_by).map(PathBuf::from);
        match self.client.socket_variables {
            Some([socket, token]) => SessionRecord { moved, socket: set(socket), socket_token: set(token), ..record },
            None => SessionRecord { moved, ..record },
        }
    }

    /// Tells the office that the session was asked to go on because of its mail: nobody wakes it for that once more.
    pub async fn tell_of_asking(&self, post_office: &PostOffice, reply: Option<&HookReply>) {
        if !matches!(reply, Some(HookReply::GoOn(_))) {
            return;
        }
        let Some(record) = self.session.record() else { return };
        let (session_key, outcome) = (local_sessions::key_of(&record), Some(WakeOutcome::Delivered.as_str().into()));
        // If it cannot be told, the session is woken once for nothing.
        let _ = post_office.ask(ClaimWakeUp { actor: actor(&record), session_key, outcome }).await;
    }

    fn unremembered(&self) -> SessionRecord {
        let me = self.me.clone();
        SessionRecord { agent: me.agent, token: me.token, project: me.project, ..SessionRecord::default() }
    }
}

/// Notes that a session goes on, before anybody takes it for one that is over: in another process than the one that it began in, or
/// after its end was told because nothing was heard of it for long.
pub fn go_on(session: &Session, event: Event, above: &[Ancestor]) {
    // Its start decides for itself whether it is another run.
    if matches!(event, Event::SessionStart | Event::SessionEnd) {
        return;
    }
    let is_gone =
        |record: &SessionRecord| !record.is_here() || record.process.is_some_and(|process| !process.is_running());
    // Other events may come late, after the one that tells of the end.
    let has_come_back = |record: &SessionRecord| record.has_ended && matches!(event, Event::Prompt | Event::AfterTool);
    if !session.record().is_some_and(|record| is_gone(&record) || has_come_back(&record)) {
        return;
    }
    // What cannot be noted is noted by the next event.
    let _ = session.change(|record| {
        if is_gone(record) {
            record.process = naming::client_process(above).or(record.process);
            record.host = host();
        }
        if has_come_back(record) {
            (record.has_ended, record.is_settled, record.told_at) = (false, false, 0);
        }
    });
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
    !names && after_ours(&words).any(takes_a_name)
}

/// The words behind each call of ours.
fn after_ours<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    let is_ours = |word: &str| word.rsplit('/').next() == Some("postrider");
    words.iter().enumerate().filter(move |(_, word)| is_ours(word)).map(|(at, _)| &words[at + 1..])
}

#[cfg(test)]
mod tests {
    use relay::sessions::{Process, ancestors};

    use super::*;
    use crate::clients::CLAUDE;

    #[test]
    fn a_session_that_goes_on_is_in_the_process_that_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let session = Session::of(folder.path(), &CLAUDE, "one");
        let running = ancestors().first().expect("a process above").process;
        let above = [Ancestor { process: running, name: "claude".to_owned() }];
        let gone = Process { pid: 1, started: u64::MAX };
        let ended = SessionRecord { process: Some(gone), has_ended: true, told_at: 1, ..SessionRecord::default() };
        let after = |event: Event| {
            session.keep(ended.clone()).unwrap();
            go_on(&session, event, &above);
            let record = session.record().unwrap();
            (record.process, record.has_ended, record.told_at)
        };
        assert_eq!(after(Event::SessionStart), (Some(gone), true, 1));
        assert_eq!(after(Event::Stop), (Some(running), true, 1), "it may come late");
        assert_eq!(after(Event::Prompt), (Some(running), false, 0));
        session.keep(SessionRecord { process: Some(running), ..SessionRecord::default() }).unwrap();
        go_on(&session, Event::Prompt, &[Ancestor { process: gone, name: "claude".to_owned() }]);
        assert_eq!(session.record().unwrap().process, Some(running), "it still runs");
    }

    #[test]
    fn a_command_that_acts_in_a_name_says_which() {
        for command in [
            "postrider mail inbox",
            "cd src && /usr/bin/postrider mail send BlueLake -s x -m y",
            "sh -c 'postrider mail read 7'",
            "x=$(postrider mail check)",
            "postrider --json mail read 7",
            "postrider --home /x --json mail --project /p read 7",
            "ls postrider && postrider mail read 7",
        ] {
            assert!(acts_unnamed(command), "{command}");
        }
        for command in [
            "postrider mail inbox --as Me/agent-0000",
            "POSTRIDER_AGENT=Me/agent-0000 postrider mail inbox",
            "postrider who",
            "postrider reservations",
            "postrider project aliases",
            "postrider --json export",
            "postrider mail --help",
            "postrider help mail",
            "postrider --version",
            "grep -r postrider",
            "ls postrider/src",
            "echo done",
        ] {
            assert!(!acts_unnamed(command), "{command}");
        }
    }
}
