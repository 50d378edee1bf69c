//! What this machine remembers of what an agent was told, whichever of its sessions was told it: mail that another program keeps,
//! messages that it was asked to handle before it stops, and mail that is still to be given back to the office.
//!
//! A small file for each agent of a project. All of it may be lost: then something is told again. Deliberately absent: which mail of our
//! own office was told, which the office knows.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};

use anyhow::Context;
use relay::sessions::Sessions;

use super::session::Kept;
use crate::commands::nudge::key;

/// How many messages are remembered as told that are not listed any more.
pub const MOST_REMEMBERED: usize = 1_000;
/// How many takings are remembered that are to be given back.
const MOST_OWED: usize = 100;

/// What is remembered of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matter {
    /// A message that another program keeps was told.
    Told,
    /// The agent was asked to handle a message before it stops.
    Asked,
}

/// Mail that was taken from the office and has to be given back unless it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenIds {
    /// The messages.
    pub ids: Vec<i64>,
    /// When they were taken, as the office says.
    pub shown_ts: String,
}

/// What is remembered of an agent.
pub struct Memory<'a> {
    sessions: &'a Sessions,
    stem: String,
}

impl<'a> Memory<'a> {
    /// Of an agent in its project, beside the records of its sessions.
    pub fn of(sessions: &'a Sessions, me: &Kept) -> Self {
        let hash = blake3::hash(key(&me.project, &me.agent).as_bytes()).to_hex();
        Self { sessions, stem: format!("agent-{}", &hash[..32]) }
    }

    /// Moves what is remembered to the name that the agent has now. What is noted under that already stays.
    pub fn rename(self, me: &Kept) -> io::Result<()> {
        let (folder, new) = (self.sessions.folder(), Self::of(self.sessions, me).stem);
        for end in [Matter::Told.end(), Matter::Asked.end(), OWED] {
            let (from, to) = (folder.join(format!("{}{end}", self.stem)), folder.join(format!("{new}{end}")));
            if from.exists() && !to.exists() {
                fs::rename(from, to)?;
            }
        }
        Ok(())
    }

    /// Of `listed`, the first `most` that are not noted yet, and how many more there are. Those that are returned are noted from now on,
    /// for other processes too.
    pub fn note(&self, matter: Matter, listed: &[String], most: usize) -> anyhow::Result<(Vec<String>, usize)> {
        let mut file = self.open(matter.end())?;
        let mut known = lines_of(&mut file).with_context(|| self.doing())?;
        let is_known: HashSet<&str> = known.iter().map(String::as_str).collect();
        let mut fresh: Vec<String> = listed.iter().filter(|id| !is_known.contains(id.as_str())).cloned().collect();
        let more = fresh.len().saturating_sub(most);
        fresh.truncate(most);
        if !fresh.is_empty() {
            known.extend(fresh.iter().cloned());
            forget_unlisted(&mut known, listed);
            replace(&mut file, &known).with_context(|| self.doing())?;
        }
        Ok((fresh, more))
    }

    /// Takes a note back: these were not told after all.
    pub fn forget(&self, matter: Matter, ids: &[String]) -> anyhow::Result<()> {
        let mut file = self.open(matter.end())?;
        let mut known = lines_of(&mut file).with_context(|| self.doing())?;
        known.retain(|id| !ids.contains(id));
        replace(&mut file, &known).with_context(|| self.doing())
    }

    /// What is to be given back to the office.
    pub fn owed(&self) -> Vec<TakenIds> {
        // Usually there is no such file, and none is made.
        let path = self.sessions.folder().join(format!("{}{OWED}", self.stem));
        let lines = File::open(path).and_then(|mut file| lines_of(&mut file)).unwrap_or_default();
        lines.iter().filter_map(|line| TakenIds::read(line)).collect()
    }

    /// Notes that mail is to be given back.
    pub fn owe(&self, taken: &TakenIds) -> anyhow::Result<()> {
        self.change_owed(|owed| {
            owed.push(taken.to_line());
            owed.drain(..owed.len().saturating_sub(MOST_OWED));
        })
    }

    /// Notes that it was given back.
    pub fn settle(&self, taken: &TakenIds) -> anyhow::Result<()> {
        self.change_owed(|owed| owed.retain(|line| *line != taken.to_line()))
    }

    fn change_owed(&self, change: impl FnOnce(&mut Vec<String>)) -> anyhow::Result<()> {
        let mut file = self.open(OWED)?;
        let mut owed = lines_of(&mut file).with_context(|| self.doing())?;
        change(&mut owed);
        replace(&mut file, &owed).with_context(|| self.doing())
    }

    /// A file of notes that nobody else has now.
    fn open(&self, end: &str) -> anyhow::Result<File> {
        self.sessions.locked(&format!("{}{end}", self.stem)).with_context(|| self.doing())
    }

    fn doing(&self) -> String {
        format!("cannot note what was told in '{}'", self.sessions.folder().display())
    }
}

/// The end of the name of the file that says what is to be given back.
const OWED: &str = ".owed";

impl Matter {
    fn end(self) -> &'static str {
        match self {
            Self::Told => ".told",
            Self::Asked => ".asked",
        }
    }
}

impl TakenIds {
    fn to_line(&self) -> String {
        let ids: Vec<String> = self.ids.iter().map(i64::to_string).collect();
        format!("{} {}", self.shown_ts, ids.join(","))
    }

    fn read(line: &str) -> Option<Self> {
        let (shown_ts, ids) = line.split_once(' ')?;
        let ids = ids.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { ids, shown_ts: shown_ts.to_owned() })
    }
}

/// Forgets the oldest of too many. What is still listed would be told again, so it stays.
fn forget_unlisted(known: &mut Vec<String>, listed: &[String]) {
    let mut too_many = known.len().saturating_sub(MOST_REMEMBERED);
    if too_many == 0 {
        return;
    }
    let is_listed: HashSet<&str> = listed.iter().map(String::as_str).collect();
    known.retain(|id| {
        let stays = too_many == 0 || is_listed.contains(id.as_str());
        too_many -= usize::from(!stays);
        stays
    });
}

fn lines_of(file: &mut File) -> io::Result<Vec<String>> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    // What was damaged is no id of anything.
    Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}

fn replace(file: &mut File, lines: &[String]) -> io::Result<()> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    file.rewind()?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions(folder: &tempfile::TempDir) -> Sessions {
        Sessions::new(folder.path().join("sessions"))
    }

    fn me(agent: &str) -> Kept {
        Kept { agent: agent.to_owned(), project: "/p".to_owned(), token: None }
    }

    fn ids(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|id| id.to_string()).collect()
    }

    #[test]
    fn what_an_agent_was_told_goes_with_it_to_its_new_name() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder);
        Memory::of(&sessions, &me("old")).note(Matter::Asked, &ids(0..2), 9).unwrap();
        let owed = TakenIds { ids: vec![7], shown_ts: "now".to_owned() };
        Memory::of(&sessions, &me("old")).owe(&owed).unwrap();
        Memory::of(&sessions, &me("old")).rename(&me("new")).unwrap();
        let renamed = Memory::of(&sessions, &me("new"));
        assert_eq!(renamed.note(Matter::Asked, &ids(0..3), 9).unwrap(), (ids(2..3), 0));
        assert_eq!(renamed.owed(), [owed]);
    }

    #[test]
    fn a_message_is_told_once_by_however_many_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder);
        let start = std::sync::Barrier::new(8);
        let ask = || {
            // Each starts every round at the same moment, so that without a lock they would meet.
            let rounds = (0..100).map(|round| {
                start.wait();
                Memory::of(&sessions, &me("a")).note(Matter::Told, &ids(round..round + 1), 9).unwrap().0
            });
            rounds.collect::<Vec<_>>().concat()
        };
        let mut told: Vec<String> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().flat_map(|one| one.join().unwrap()).collect()
        });
        told.sort_by_key(|id| id.parse::<usize>().unwrap());
        assert_eq!(told, ids(0..100));
    }

    #[test]
    fn only_what_is_returned_is_noted_and_each_agent_and_matter_has_notes_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder);
        let memory = Memory::of(&sessions, &me("a"));
        assert_eq!(memory.note(Matter::Told, &ids(0..7), 5).unwrap(), (ids(0..5), 2));
        assert_eq!(memory.note(Matter::Told, &ids(0..7), 5).unwrap(), (ids(5..7), 0));
        assert_eq!(memory.note(Matter::Told, &ids(0..7), 5).unwrap(), (Vec::new(), 0));
        memory.forget(Matter::Told, &ids(3..4)).unwrap();
        assert_eq!(memory.note(Matter::Told, &ids(0..7), 5).unwrap(), (ids(3..4), 0));
        assert_eq!(memory.note(Matter::Asked, &ids(0..1), 5).unwrap().0, ids(0..1));
        assert_eq!(Memory::of(&sessions, &me("b")).note(Matter::Told, &ids(0..1), 5).unwrap().0, ids(0..1));
    }

    #[test]
    fn of_many_only_what_is_not_listed_any_more_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder);
        let memory = Memory::of(&sessions, &me("a"));
        let many = MOST_REMEMBERED + 10;
        memory.note(Matter::Told, &ids(0..many), many).unwrap();
        assert!(memory.note(Matter::Told, &ids(0..many), 5).unwrap().0.is_empty(), "what is listed is not told again");
        memory.note(Matter::Told, &ids(10..many + 1), 5).unwrap();
        assert_eq!(memory.note(Matter::Told, &ids(9..12), 5).unwrap().0, ids(9..10), "that was gone for long");
    }

    #[test]
    fn what_is_owed_is_remembered_until_it_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = sessions(&folder);
        let memory = Memory::of(&sessions, &me("a"));
        let taken = |id| TakenIds { ids: vec![id, id + 1], shown_ts: "2026-01-11T16:33:15.000000Z".to_owned() };
        assert!(memory.owed().is_empty() && !sessions.folder().exists(), "to look makes nothing");
        memory.owe(&taken(1)).unwrap();
        memory.owe(&taken(3)).unwrap();
        assert_eq!(memory.owed(), [taken(1), taken(3)]);
        memory.settle(&taken(1)).unwrap();
        assert_eq!(memory.owed(), [taken(3)]);
        std::fs::write(sessions.folder().join(format!("{}{OWED}", memory.stem)), b"\xff\nx\n2026 1,x\n").unwrap();
        assert!(memory.owed().is_empty(), "what was damaged is passed over");
    }
}
