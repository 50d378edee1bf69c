//! Which sessions of an agent are open, so that the end of one is not taken for the end of all.
//!
//! An empty file for each, in the folder of all sessions, touched at every event. A file that cannot be written or read is
//! passed over: all that comes of it is that an agent counts as gone until its other session does something.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::input::Input;
use super::session::Kept;
use crate::clients::Event;
use crate::commands::nudge::key;

/// When a session that nothing is heard of counts as ended: its client may have died.
const SILENT: Duration = Duration::from_secs(3600);
/// How many files are looked at to find those of the agent, so that a full folder costs no time.
const MOST_LOOKED_AT: usize = 5_000;

/// The mark of an open session.
pub struct Open {
    folder: PathBuf,
    /// How the marks of all sessions of the agent begin.
    agent: String,
    file: PathBuf,
}

impl Open {
    /// The mark of an agent's session; none if it has no name or no id, or is another's below it.
    pub fn of(folder: &Path, me: &Kept, input: &Input) -> Option<Self> {
        if me.agent.is_empty() || input.session_id.is_empty() || input.is_of_subagent() {
            return None;
        }
        let agent = format!("open-{}-", hash(&key(&me.project, &me.agent)));
        let file = folder.join(format!("{agent}{}", hash(&input.session_id)));
        Some(Self { folder: folder.to_owned(), agent, file })
    }

    /// Notes what an event says about it.
    pub fn note(&self, event: Event) {
        if event == Event::SessionEnd {
            let _ = fs::remove_file(&self.file);
            return;
        }
        let open = || File::options().write(true).create(true).truncate(false).open(&self.file);
        let opened = open().or_else(|_| fs::create_dir_all(&self.folder).and_then(|()| open()));
        let _ = opened.and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// Whether no session of the agent is open but this one.
    pub fn is_last(&self) -> bool {
        let Ok(files) = fs::read_dir(&self.folder) else { return true };
        !files.take(MOST_LOOKED_AT).flatten().any(|file| {
            let is_other = file.file_name().to_string_lossy().starts_with(&self.agent) && file.path() != self.file;
            is_other && is_fresh(&file.path())
        })
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
    use super::*;

    fn open(folder: &Path, agent: &str, project: &str, session: &str) -> Option<Open> {
        let me = Kept { agent: agent.to_owned(), token: None, project: project.to_owned() };
        let input = serde_json::json!({ "session_id": session }).to_string();
        Open::of(folder, &me, &Input::read(input.as_bytes()).unwrap())
    }

    #[test]
    fn the_last_session_of_an_agent_is_known_whatever_others_do() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("sessions");
        let [first, second, third] = ["a", "../b", "c"].map(|id| open(&folder, "GreenDog", "/p", id).unwrap());
        assert!(first.is_last(), "nothing is known");
        for (agent, project) in [("RedFox", "/p"), ("GreenDog", "/q")] {
            open(&folder, agent, project, "x").unwrap().note(Event::Prompt);
        }
        first.note(Event::SessionStart);
        assert!(first.is_last());
        second.note(Event::AfterTool);
        assert!(!first.is_last() && !second.is_last());
        first.note(Event::SessionEnd);
        assert!(second.is_last() && !third.is_last());
        second.note(Event::SessionEnd);
        second.note(Event::SessionEnd);
        assert!(third.is_last());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "those of the others are left");
    }

    #[test]
    fn a_session_that_died_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let [here, dead] = ["a", "b"].map(|id| open(folder.path(), "GreenDog", "/p", id).unwrap());
        dead.note(Event::Prompt);
        assert!(!here.is_last());
        let file = File::options().write(true).open(&dead.file).unwrap();
        file.set_modified(SystemTime::now() - SILENT - Duration::from_secs(60)).unwrap();
        assert!(here.is_last());
    }

    #[test]
    fn who_has_no_name_or_no_session_has_none_that_could_be_open() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path(), "", "/p", "a").is_none());
        assert!(open(folder.path(), "GreenDog", "/p", "").is_none());
    }
}
