//! What is noted of an agent's session in the folder of all sessions: that it is open, and whether it is inside a tool call.
//!
//! By the first, an empty file for each session that is touched at every event, the end of one session is not taken for
//! the end of all. By the second, whoever thinks of nudging the agent knows that it is busy. A note that cannot be written
//! or read is passed over: all that comes of it is that an agent counts as gone until its other session does something, or
//! a nudge at a bad moment.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use relay::nudge::Busy;

use super::input::Input;
use super::session::Kept;
use crate::clients::Event;
use crate::commands::nudge::key;

/// When a session that nothing is heard of counts as ended: its client may have died.
const SILENT: Duration = Duration::from_secs(3600);
/// How many files are looked at to find those of the agent, so that a full folder costs no time.
const MOST_LOOKED_AT: usize = 5_000;
/// How long another process that changes the same note is waited for: a hook has no time, and the note may be lost.
const PATIENCE: Duration = Duration::from_millis(20);

/// The marks of an agent's session.
pub struct Marks<'a> {
    folder: &'a Path,
    session: &'a str,
    /// Who the agent is to those who nudge.
    who: String,
    /// How the files of all sessions of the agent begin.
    agent: String,
    file: PathBuf,
}

impl<'a> Marks<'a> {
    /// The marks of a session; none if it has no name or no id. What an agent below the main one does, it does within a
    /// call of the main one.
    pub fn of(folder: &'a Path, me: &Kept, input: &'a Input) -> Option<Self> {
        let session = input.session_id.as_str();
        if me.agent.is_empty() || session.is_empty() || input.is_of_subagent() {
            return None;
        }
        let who = key(&me.project, &me.agent);
        let agent = format!("open-{}-", hash(&who));
        let file = folder.join(format!("{agent}{}", hash(session)));
        Some(Self { folder, session, who, agent, file })
    }

    /// Notes what an event says about the session.
    pub fn note(&self, event: Event, now: Timestamp) {
        match event {
            Event::BeforeTool => drop(self.busy().begin(&self.who, self.session, now)),
            // A session that begins or is spoken to is in no call, whatever became of its last one.
            Event::AfterTool | Event::Stop | Event::SessionEnd | Event::SessionStart | Event::Prompt => self.end_call(),
        }
        if event == Event::SessionEnd {
            let _ = fs::remove_file(&self.file);
            return;
        }
        let open = || File::options().write(true).create(true).truncate(false).open(&self.file);
        let opened = open().or_else(|_| fs::create_dir_all(self.folder).and_then(|()| open()));
        let _ = opened.and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// Notes that the agent is in no tool call any more.
    pub fn end_call(&self) {
        let _ = self.busy().end(&self.who, self.session);
    }

    /// Whether no session of the agent is open but this one.
    pub fn is_last(&self) -> bool {
        let Ok(files) = fs::read_dir(self.folder) else { return true };
        !files.take(MOST_LOOKED_AT).flatten().any(|file| {
            let is_other = file.file_name().to_string_lossy().starts_with(&self.agent) && file.path() != self.file;
            is_other && is_fresh(&file.path())
        })
    }

    fn busy(&self) -> Busy {
        Busy::new(self.folder.to_owned()).within(PATIENCE)
    }
}

/// A clock that was wrong may have left a mark in the future.
fn is_fresh(file: &Path) -> bool {
    let touched = fs::metadata(file).and_then(|about| about.modified()).ok();
    touched.is_some_and(|touched| SystemTime::now().duration_since(touched).is_ok_and(|age| age < SILENT))
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..24].to_owned()
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
        Input::read(serde_json::json!({ "session_id": session }).to_string().as_bytes()).unwrap()
    }

    fn note(marks: &Marks<'_>, event: Event) {
        marks.note(event, SystemClock.now());
    }

    #[test]
    fn the_last_session_of_an_agent_is_known_whatever_others_do() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sessions");
        let inputs = ["a", "../b", "c", "x"].map(input);
        let marks = |input, agent, project| Marks::of(&folder, &kept(agent, project), input).unwrap();
        let [first, second, third] = [0, 1, 2].map(|at| marks(&inputs[at], "GreenDog", "/p"));
        assert!(first.is_last(), "nothing is known");
        for (agent, project) in [("RedFox", "/p"), ("GreenDog", "/q")] {
            note(&marks(&inputs[3], agent, project), Event::Prompt);
        }
        note(&first, Event::SessionStart);
        assert!(first.is_last());
        note(&second, Event::AfterTool);
        assert!(!first.is_last() && !second.is_last());
        note(&first, Event::SessionEnd);
        assert!(second.is_last() && !third.is_last());
        note(&second, Event::SessionEnd);
        note(&second, Event::SessionEnd);
        assert!(third.is_last());
        let left = fs::read_dir(&folder)
            .unwrap()
            .filter(|file| file.as_ref().is_ok_and(|file| file.file_name().to_string_lossy().starts_with("open-")));
        assert_eq!(left.count(), 2, "those of the others are left");
    }

    #[test]
    fn a_session_that_died_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = ["a", "b"].map(input);
        let me = kept("GreenDog", "/p");
        let [here, dead] = [0, 1].map(|at| Marks::of(folder.path(), &me, &inputs[at]).unwrap());
        note(&dead, Event::Prompt);
        assert!(!here.is_last());
        let file = File::options().write(true).open(&dead.file).unwrap();
        file.set_modified(SystemTime::now() - SILENT - Duration::from_secs(60)).unwrap();
        assert!(here.is_last());
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
