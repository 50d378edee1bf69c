//! Notes whether an agent is inside a tool call, for whoever thinks of nudging it.
//!
//! A note that cannot be written is passed over: all that comes of it is a nudge at a bad moment.

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

/// Where it is noted, and of whom.
pub struct Mark<'a> {
    busy: Busy,
    who: String,
    session: &'a str,
}

impl<'a> Mark<'a> {
    /// The mark of an agent's session in the folder of all sessions; none if nobody could be nudged there.
    pub fn of(folder: &Path, me: &Kept, input: &'a Input) -> Option<Self> {
        let session = input.session_id.as_str();
        // What an agent below the main one does, it does within a call of the main one.
        let is_known = !me.agent.is_empty() && !session.is_empty() && !input.is_of_subagent();
        let busy = || Busy::new(folder.to_owned()).within(PATIENCE);
        is_known.then(|| Self { busy: busy(), who: key(&me.project, &me.agent), session })
    }

    /// Notes what an event says about it.
    pub fn note(&self, event: Event, now: Timestamp) {
        match event {
            Event::BeforeTool => drop(self.busy.begin(&self.who, self.session, now)),
            // A session that begins or is spoken to is in no call, whatever became of its last one.
            Event::AfterTool | Event::Stop | Event::SessionEnd | Event::SessionStart | Event::Prompt => self.end(),
        }
    }

    /// Notes that the agent is in no tool call any more.
    pub fn end(&self) {
        let _ = self.busy.end(&self.who, self.session);
    }
}

#[cfg(test)]
mod tests {
    use mail::clock::{Clock, SystemClock};
    use relay::nudge::Way;

    use super::*;

    #[test]
    fn an_agent_is_busy_from_before_a_tool_until_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let me = Kept { agent: "GreenDog".to_owned(), token: None, project: "/p".to_owned() };
        let input = Input::read(&br#"{"session_id":"s"}"#[..]).unwrap();
        let mark = Mark::of(folder.path(), &me, &input).expect("it has a name and a session");
        assert!(Mark::of(folder.path(), &Kept::default(), &input).is_none());
        assert!(Mark::of(folder.path(), &me, &Input::default()).is_none());
        let now = SystemClock.now();
        let tmux = Way::Tmux { pane: "%0".to_owned(), socket: None };
        let is_busy = |me: &Kept| Busy::new(folder.path().to_owned()).is_busy(&key(&me.project, &me.agent), &tmux, now);
        for end in [Event::AfterTool, Event::Stop, Event::SessionEnd, Event::SessionStart, Event::Prompt] {
            mark.note(Event::BeforeTool, now);
            assert!(is_busy(&me));
            assert!(!is_busy(&Kept { project: "/q".to_owned(), ..me.clone() }));
            mark.note(end, now);
            assert!(!is_busy(&me), "{end:?}");
        }
    }
}
