//! How often somebody may be nudged, counted across processes.
//!
//! It tells no time: `now` is a parameter. A turn that was taken counts, unless whoever took it gives it back.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;

use super::notes::Notes;

/// The least time between two nudges of the same recipient.
#[derive(Clone, Debug)]
pub struct Pace {
    notes: Notes,
    least: Duration,
}

/// Whether it is time for a nudge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Yes, and that is noted: nobody else gets a turn for a while.
    Now,
    /// No, not before that much time has passed.
    Later(Duration),
}

impl Pace {
    /// A pace that is noted in `folder`, which is made when it is not there.
    pub fn new(folder: PathBuf, least: Duration) -> Self {
        Self { notes: Notes::new(folder, "pace"), least }
    }

    /// Takes a turn to nudge `who`, if it is time. Of many who try at once, one gets it.
    ///
    /// `who` has to tell recipients of several projects apart.
    pub fn take_turn(&self, who: &str, now: Timestamp) -> io::Result<Turn> {
        let now = now.as_microsecond();
        self.notes.change(who, |noted| match self.left(noted, now) {
            Some(left) => (None, Turn::Later(left)),
            None => (Some(format!("{now}\n")), Turn::Now),
        })
    }

    /// Gives back the turn that was taken at `taken`, because nothing came of it. A later turn of somebody else stays.
    pub fn give_back(&self, who: &str, taken: Timestamp) -> io::Result<()> {
        let taken = taken.as_microsecond().to_string();
        self.notes.change(who, |noted| ((noted.trim_end() == taken).then(String::new), ()))
    }

    /// How long it is until the next turn. A last turn far in the future is the work of a clock that was wrong.
    fn left(&self, noted: &str, now: i64) -> Option<Duration> {
        let last: i64 = noted.trim_end().parse().ok()?;
        let apart = Duration::from_micros(now.abs_diff(last));
        self.least.checked_sub(apart).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn pace() -> (tempfile::TempDir, Pace) {
        let folder = tempfile::tempdir().unwrap();
        let pace = Pace::new(folder.path().to_owned(), MINUTE);
        (folder, pace)
    }

    fn at(time: &str) -> Timestamp {
        format!("2026-01-11T{time}Z").parse().unwrap()
    }

    #[test]
    fn the_next_turn_comes_when_the_least_time_has_passed() {
        let (_folder, pace) = pace();
        assert_eq!(pace.take_turn("alice", at("10:00:00")).unwrap(), Turn::Now);
        let early = pace.take_turn("alice", at("10:00:59.999999")).unwrap();
        assert_eq!(early, Turn::Later(Duration::from_micros(1)));
        assert_eq!(pace.take_turn("alice", at("10:01:00")).unwrap(), Turn::Now);
        assert_eq!(pace.take_turn("alice", at("10:01:01")).unwrap(), Turn::Later(Duration::from_secs(59)));
    }

    #[test]
    fn a_turn_that_is_given_back_was_not_taken_and_that_of_another_stays() {
        let (_folder, pace) = pace();
        assert_eq!(pace.take_turn("alice", at("10:00:00")).unwrap(), Turn::Now);
        pace.give_back("alice", at("10:00:00")).unwrap();
        assert_eq!(pace.take_turn("alice", at("10:00:01")).unwrap(), Turn::Now);
        pace.give_back("alice", at("10:00:00")).unwrap();
        assert_eq!(pace.take_turn("alice", at("10:00:02")).unwrap(), Turn::Later(Duration::from_secs(59)));
    }

    #[test]
    fn a_turn_with_one_says_nothing_about_another() {
        let (_folder, pace) = pace();
        assert_eq!(pace.take_turn("alice", at("10:00:00")).unwrap(), Turn::Now);
        assert_eq!(pace.take_turn("bob", at("10:00:00")).unwrap(), Turn::Now);
    }

    #[test]
    fn a_clock_that_was_set_back_stops_nobody_for_long() {
        let (_folder, pace) = pace();
        assert_eq!(pace.take_turn("alice", at("10:00:00")).unwrap(), Turn::Now);
        assert!(matches!(pace.take_turn("alice", at("09:59:59")).unwrap(), Turn::Later(_)));
        assert_eq!(pace.take_turn("alice", at("09:00:00")).unwrap(), Turn::Now);
    }

    #[test]
    fn without_a_least_time_every_turn_is_now() {
        let (folder, _) = pace();
        let pace = Pace::new(folder.path().to_owned(), Duration::ZERO);
        for _ in 0..2 {
            assert_eq!(pace.take_turn("alice", at("10:00:00")).unwrap(), Turn::Now);
        }
    }
}
