//! Whether an agent is inside a tool call, as its hooks tell.
//!
//! An agent that works looks for mail by itself when the call ends, and a nudge would only wait in its line of input.
//! A mark is for a session, not for a call: where calls run side by side, the first that ends takes it away.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::Way;
use super::notes::{Notes, key};

/// How long a mark counts for most ways: its session died, or its call takes longer than anybody should wait.
const LONGEST_CALL: Duration = Duration::from_secs(10 * 60);
/// How long a mark counts where keys are pressed. A call may wait for somebody to allow it, and Enter would allow it.
const LONGEST_DIALOG: Duration = Duration::from_secs(24 * 3600);
/// How many sessions of one agent are marked at most; the oldest mark makes room.
const MOST_SESSIONS: usize = 64;

/// The marks of those who are inside a tool call.
#[derive(Clone, Debug)]
pub struct Busy {
    notes: Notes,
}

impl Busy {
    /// Marks in `folder`, which is made when it is not there.
    pub fn new(folder: PathBuf) -> Self {
        Self { notes: Notes::new(folder, "busy") }
    }

    /// The same marks, for somebody who waits only so long for another process that changes them.
    pub fn within(self, patience: Duration) -> Self {
        Self { notes: self.notes.within(patience) }
    }

    /// Notes that a session of `who` is inside a tool call. A second time begins again.
    ///
    /// `who` has to tell agents of several projects apart.
    pub fn begin(&self, who: &str, session: &str, now: Timestamp) -> io::Result<()> {
        let now = now.as_microsecond();
        self.notes.change(who, |noted| {
            let mut marks = marks_without(noted, session);
            marks.retain(|mark| mark.counts(now, LONGEST_DIALOG));
            marks.push(BusyMark { session: key(session), began: now });
            let oldest = marks.len().saturating_sub(MOST_SESSIONS);
            (Some(written(&marks[oldest..])), ())
        })
    }

    /// Notes that it is not any more. That it never was is fine.
    pub fn end(&self, who: &str, session: &str) -> io::Result<()> {
        self.notes.change(who, |noted| (Some(written(&marks_without(noted, session))), ()))
    }

    /// Whether any session of `who` is inside a tool call, where whoever asks presses no keys. Marks that cannot be read say no.
    pub fn is_in_call(&self, who: &str, now: Timestamp) -> bool {
        self.is_marked(who, LONGEST_CALL, now)
    }

    /// Whether any session of `who` is inside a tool call that a nudge by `way` must not meet. Marks that cannot be read
    /// say no.
    pub fn is_busy(&self, who: &str, way: &Way, now: Timestamp) -> bool {
        self.is_marked(who, if matches!(way, Way::Tmux { .. }) { LONGEST_DIALOG } else { LONGEST_CALL }, now)
    }

    fn is_marked(&self, who: &str, longest: Duration, now: Timestamp) -> bool {
        let noted = self.notes.read(who).unwrap_or_default();
        marks(&noted).any(|mark| mark.counts(now.as_microsecond(), longest))
    }
}

/// A line of a note: a session and when its call began.
struct BusyMark {
    session: String,
    began: i64,
}

impl BusyMark {
    /// A clock that was wrong may have left a mark in the future.
    fn counts(&self, now: i64, longest: Duration) -> bool {
        Duration::from_micros(now.abs_diff(self.began)) < longest
    }
}

fn marks(noted: &str) -> impl Iterator<Item = BusyMark> {
    noted.lines().filter_map(|line| {
        let (session, began) = line.split_once(' ')?;
        Some(BusyMark { session: session.to_owned(), began: began.parse().ok()? })
    })
}

fn marks_without(noted: &str, session: &str) -> Vec<BusyMark> {
    let ended = key(session);
    marks(noted).filter(|mark| mark.session != ended).collect()
}

fn written(marks: &[BusyMark]) -> String {
    marks.iter().map(|mark| format!("{} {}\n", mark.session, mark.began)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> (tempfile::TempDir, Busy) {
        let folder = tempfile::tempdir().unwrap();
        let busy = Busy::new(folder.path().join("busy"));
        (folder, busy)
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-01-11T{time}Z").parse().unwrap()
    }

    fn file() -> Way {
        Way::File { path: PathBuf::new() }
    }

    #[test]
    fn an_agent_is_busy_from_the_beginning_of_a_call_to_its_end() {
        let (_folder, busy) = busy();
        let now = at("10:00:00");
        assert!(!busy.is_busy("alice", &file(), now));
        busy.end("alice", "s1").unwrap();
        busy.begin("alice", "s1", now).unwrap();
        assert!(busy.is_busy("alice", &file(), now) && !busy.is_busy("bob", &file(), now));
        busy.end("alice", "s1").unwrap();
        assert!(!busy.is_busy("alice", &file(), now));
    }

    #[test]
    fn an_agent_is_busy_while_any_of_its_sessions_is() {
        let (_folder, busy) = busy();
        let now = at("10:00:00");
        busy.begin("alice", "s1", now).unwrap();
        busy.begin("alice", "s\n2 x", now).unwrap();
        busy.end("alice", "s1").unwrap();
        assert!(busy.is_busy("alice", &file(), now));
        busy.end("alice", "s\n2 x").unwrap();
        assert!(!busy.is_busy("alice", &file(), now));
    }

    #[test]
    fn a_mark_that_nobody_took_away_stops_counting() {
        let (_folder, busy) = busy();
        busy.begin("alice", "s1", at("10:00:00")).unwrap();
        assert!(busy.is_busy("alice", &file(), at("10:09:59.999999")));
        assert!(!busy.is_busy("alice", &file(), at("10:10:00")));
        assert!(!busy.is_busy("alice", &file(), at("09:00:00")));
        busy.begin("alice", "s1", at("10:20:00")).unwrap();
        assert!(busy.is_busy("alice", &file(), at("10:20:00")));
    }

    #[test]
    fn no_key_is_pressed_in_a_call_that_has_not_ended_for_a_day() {
        let (_folder, busy) = busy();
        let tmux = Way::Tmux { pane: "%0".to_owned(), socket: None };
        busy.begin("alice", "s1", at("10:00:00")).unwrap();
        busy.begin("alice", "s2", at("10:30:00")).unwrap();
        busy.end("alice", "s2").unwrap();
        assert!(busy.is_busy("alice", &tmux, at("23:59:59")));
        assert!(!busy.is_busy("alice", &tmux, "2026-01-12T10:00:00Z".parse().unwrap()));
        busy.end("alice", "s1").unwrap();
        assert!(!busy.is_busy("alice", &tmux, at("23:59:59")));
    }

    #[test]
    fn marks_of_dead_sessions_do_not_pile_up() {
        let (_folder, busy) = busy();
        for session in 0..200 {
            busy.begin("alice", &session.to_string(), at("10:00:00")).unwrap();
        }
        assert_eq!(marks(&busy.notes.read("alice").unwrap()).count(), MOST_SESSIONS);
        busy.begin("alice", "new", "2026-01-12T10:00:00Z".parse().unwrap()).unwrap();
        assert_eq!(marks(&busy.notes.read("alice").unwrap()).count(), 1);
    }

    #[test]
    fn a_note_that_makes_no_sense_marks_nobody() {
        let (_folder, busy) = busy();
        busy.notes.change("alice", |_| (Some("x\n y\n9 z\n".to_owned()), ())).unwrap();
        assert!(!busy.is_busy("alice", &file(), at("10:00:00")));
    }
}
