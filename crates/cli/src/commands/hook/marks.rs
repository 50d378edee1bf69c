//! What is noted of an agent's session for those who think of nudging it: whether it is inside a tool call.
//!
//! A note that cannot be written or read is passed over: all that comes of it is a nudge at a bad moment.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use relay::nudge::Busy;

use super::input::Input;
use super::session::Kept;
use crate::clients::Event;
use crate::commands::nudge::key;

/// How long another process that changes the same note is waited for: a hook has no time, and the note may be lost.
const PATIENCE: Duration = Duration::from_millis(20);

/// The marks of an agent's session.
pub struct Marks<'a> {
    folder: &'a Path,
    session: &'a str,
    /// Who the agent is to those who nudge.
    who: String,
}

impl<'a> Marks<'a> {
    /// The marks of a session; none if it has no name or no id. What an agent below the main one does, it does within a
    /// call of the main one.
    pub fn of(folder: &'a Path, me: &Kept, input: &'a Input) -> Option<Self> {
        let session = input.session_id.as_str();
        if me.agent.is_empty() || session.is_empty() || input.is_of_subagent() {
            return None;
        }
        Some(Self { folder, session, who: key(&me.project, &me.agent) })
    }

    /// Notes what an event says about the session.
    pub fn note(&self, event: Event, now: Timestamp) {
        match event {
            Event::BeforeTool => drop(self.busy().begin(&self.who, self.session, now)),
            // A session that begins or is spoken to is in no call, whatever became of its last one.
            _ => self.end_call(),
        }
    }

    /// Notes that the agent is in no tool call any more.
    pub fn end_call(&self) {
        let _ = self.busy().end(&self.who, self.session);
    }

    fn busy(&self) -> Busy {
        Busy::new(self.folder.to_owned()).within(PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use mail::clock::{Clock, SystemClock};
    use relay::nudge::Way;

    use super::*;

    fn kept(agent: &str, project: &str) -> Kept {
        Kept { agent: agent.to_owned(), token: None, project: project.to_owned() }
    }

    fn input(session: &str) -> Input {
        Input { session_id: session.to_owned(), ..Input::default() }
    }

    #[test]
    fn who_has_no_name_or_no_session_has_no_marks() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Marks::of(folder.path(), &kept("", "/p"), &input("a")).is_none());
        assert!(Marks::of(folder.path(), &kept("GreenDog", "/p"), &input("")).is_none());
    }

    #[test]
    fn an_agent_is_busy_from_before_a_tool_until_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let (me, input) = (kept("GreenDog", "/p"), input("s"));
        let marks = Marks::of(folder.path(), &me, &input).expect("it has a name and a session");
        let tmux = Way::Tmux { pane: "%0".to_owned(), socket: None };
        let now = SystemClock.now();
        let is_busy = |me: &Kept| Busy::new(folder.path().to_owned()).is_busy(&key(&me.project, &me.agent), &tmux, now);
        for end in [Event::AfterTool, Event::Stop, Event::SessionEnd, Event::SessionStart, Event::Prompt] {
            marks.note(Event::BeforeTool, now);
            assert!(is_busy(&me));
            assert!(!is_busy(&kept("GreenDog", "/q")));
            marks.note(end, now);
            assert!(!is_busy(&me), "{end:?}");
        }
    }
}
