//! One of the ways between a post office and a folder: when it is due, how long to leave it alone after it failed, and
//! that trouble is told once.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::feed::{Backoff, LONGEST_WAIT};

/// One way. Each fails and rests by itself.
#[derive(Default)]
pub(super) struct Way {
    due_at: Option<Instant>,
    backoff: Backoff,
    trouble: Trouble,
}

/// What is wrong: told when it begins, when it becomes something else, and when it is over.
#[derive(Default)]
pub(super) struct Trouble(Option<String>);

impl Way {
    /// Whether it is time.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due_at.is_none_or(|at| at <= now)
    }

    /// Whether it is time for one that has something to do. Until that works, there is no hurry.
    pub(super) fn is_wanted(&self, now: Instant) -> bool {
        !self.backoff.has_failed() || self.is_due(now)
    }

    /// How long there is nothing to do.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        self.due_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now))
    }

    /// Says how it went between the post office and `place`.
    pub(super) fn went(&mut self, ended: Result<(), impl ToString>, place: &Path) {
        let pause = match &ended {
            Ok(()) => {
                self.backoff.worked();
                LONGEST_WAIT
            }
            Err(_) => self.backoff.failed(),
        };
        self.due_at = Some(Instant::now() + pause);
        self.trouble.is_now(place, ended.err().map(|error| error.to_string()));
    }
}

impl Trouble {
    /// Says what is wrong with `place` now, or that nothing is.
    pub(super) fn is_now(&mut self, place: &Path, what: Option<String>) {
        match &what {
            Some(error) if what != self.0 => {
                tracing::warn!(error, "channels and their folder are not in step; trying again");
            }
            None if self.0.is_some() => {
                tracing::info!(folder = %place.display(), "channels and their folder are in step again");
            }
            _ => {}
        }
        self.0 = what;
    }

    /// Whether something is wrong.
    pub(super) fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_failed_is_left_alone_also_if_it_is_wanted_until_it_works() {
        let (mut way, begin) = (Way::default(), Instant::now());
        assert!(way.is_due(begin) && way.is_wanted(begin));
        way.went(Ok::<(), String>(()), Path::new("/mnt"));
        assert!(!way.is_due(Instant::now()) && way.is_wanted(Instant::now()));
        way.went(Err("full"), Path::new("/mnt"));
        assert!(way.trouble.is_there() && !way.is_wanted(begin));
        assert!(way.is_wanted(begin + Duration::from_secs(3600)) && way.rest(begin) > Duration::ZERO);
        way.went(Ok::<(), String>(()), Path::new("/mnt"));
        assert!(!way.trouble.is_there() && way.is_wanted(begin));
    }
}
