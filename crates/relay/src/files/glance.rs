//! Whether a folder has to be read again: a look at its stamp, which costs the same however many names it has.
//!
//! Polling, because notices of changes do not travel over NFS. A stamp can hide a change: clocks of disks tick coarsely,
//! and what a machine knows of a disk elsewhere may be old. So a folder is read again while its stamp is young, and from
//! time to time whatever its stamp says.

use std::io;
use std::time::{Duration, Instant};

use super::folder::{Folder, Stamp};

/// For how long after a change was first seen another one may have the same stamp. Counted by our own clock alone, for
/// that of the disk may be ahead or behind.
const YOUNG: Duration = Duration::from_secs(3);

/// How a folder was when it was last read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Glance {
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    stamp: Stamp,
    /// When this stamp was first seen.
    since: Instant,
    read_at: Instant,
}

impl Glance {
    /// The names in the folder, if they may be others than at the last look; they are read `every` so often in any case.
    pub(super) fn names(&mut self, folder: &Folder, every: Duration, now: Instant) -> io::Result<Option<Vec<String>>> {
        // The stamp first: what comes between it and the names is found again, and not missed.
        let stamp = folder.stamp()?;
        let last = self.last.filter(|last| last.stamp == stamp);
        let is_known = |last: &Last| last.read_at >= last.since + YOUNG && now < last.read_at + every;
        if last.is_some_and(|last| is_known(&last)) {
            return Ok(None);
        }
        let names = folder.names()?;
        self.last = Some(Last { stamp, since: last.map_or(now, |last| last.since), read_at: now });
        Ok(Some(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_while_it_is_young_when_it_changes_and_from_time_to_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let begin = Instant::now();
        let (mut glance, every) = (Glance::default(), Duration::from_secs(30));
        let mut is_read = |seconds: u64| {
            let now = begin + Duration::from_secs(seconds);
            glance.names(&folder, every, now).unwrap().is_some()
        };
        assert_eq!([0, 2, 4, 6, 8, 33].map(&mut is_read), [true, true, true, false, false, false]);
        assert!(is_read(34), "thirty seconds after the last time");
        assert!(!is_read(36));
        std::fs::write(place.path().join("a"), "").unwrap();
        assert_eq!([38, 40, 42, 44].map(&mut is_read), [true, true, true, false]);
        std::fs::write(place.path().join("a"), "longer").unwrap();
        assert!(!is_read(46), "a file that changes is not a new name");
    }
}
