//! What a transaction keeps of the projects it writes in, in either engine: the numbers and times it gives out, and the
//! events it gathers. A job that has to be taken back is taken back here too. Nothing here runs a statement.
//!
//! Between transactions it keeps the reservations open, so that a request compiles no pattern but its own. A cached set is only as
//! good as the `lease_version` it was read at: every change of a reservation raises it, in this process or another. What a
//! transaction did to a set is undone by forgetting the set; the next request reads it again. Which rows make a set is
//! told in `reservations`, not here.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use mail::clock::from_micros;
use mail::events::Event;
use mail::ids::ProjectId;
use mail::reservations::ReservationSet;

use crate::error::{Outcome, SqlError};
use crate::row::from_row;

/// What a project's row says, and what it is to say after the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) next_seq: i64,
    pub(crate) last_message_at: i64,
    pub(crate) lease_version: i64,
    pub(crate) acks: i64,
}

from_row! { Numbers { next_seq, last_message_at, lease_version, acks } }

impl Numbers {
    /// The number of one more event.
    pub(crate) fn next_seq(&mut self) -> i64 {
        self.next_seq += 1;
        self.next_seq - 1
    }

    /// The time of one more message: `now`, but later than any before.
    pub(crate) fn next_time(&mut self, now: Timestamp) -> Timestamp {
        self.last_message_at = now.as_microsecond().max(self.last_message_at + 1);
        from_micros(self.last_message_at)
    }
}

/// The numbers and events of one transaction, and the reservations, which stay open between transactions.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) reservation_cache: ReservationCache,
    numbers: BTreeMap<ProjectId, Numbers>,
    /// What the rows say.
    kept: BTreeMap<ProjectId, Numbers>,
    events: Vec<(ProjectId, Event)>,
    /// How things stood before the running job.
    before_job: (BTreeMap<ProjectId, Numbers>, usize),
}

impl Ledger {
    /// A transaction begins.
    pub(crate) fn begin(&mut self) {
        *self = Self { reservation_cache: std::mem::take(&mut self.reservation_cache), ..Self::default() };
    }

    /// A job begins.
    pub(crate) fn begin_job(&mut self) {
        self.reservation_cache.begin_job();
        self.before_job = (self.numbers.clone(), self.events.len());
    }

    /// Takes back what the running job did here. What it wrote is taken back by its savepoint.
    pub(crate) fn undo_job(&mut self) {
        self.reservation_cache.undo_job();
        let (numbers, events) = std::mem::take(&mut self.before_job);
        self.numbers = numbers;
        self.events.truncate(events);
    }

    /// Notes what the row of a project says.
    pub(crate) fn know(&mut self, project: ProjectId, numbers: Numbers) {
        self.numbers.insert(project, numbers);
        self.kept.insert(project, numbers);
    }

    /// Whether the row of a project is known.
    pub(crate) fn knows(&self, project: ProjectId) -> bool {
        self.numbers.contains_key(&project)
    }

    /// What the row of a project says.
    pub(crate) fn numbers(&mut self, project: ProjectId) -> Outcome<&mut Numbers> {
        let no_project = || SqlError::Unknown(format!("there is no project {project}"));
        self.numbers.get_mut(&project).ok_or_else(no_project)
    }

    /// Tells of something that happened.
    pub(crate) fn tell(&mut self, project: ProjectId, event: Event) {
        self.events.push((project, event));
    }

    /// The projects whose rows are to be written.
    pub(crate) fn take_changed(&mut self) -> Vec<(ProjectId, Numbers)> {
        let changed = self.numbers.iter().filter(|(id, numbers)| self.kept.get(id) != Some(numbers));
        let changed: Vec<_> = changed.map(|(id, numbers)| (*id, *numbers)).collect();
        self.kept.extend(changed.iter().copied());
        changed
    }

    /// The events that are to be written.
    pub(crate) fn take_events(&mut self) -> Vec<(ProjectId, Event)> {
        std::mem::take(&mut self.events)
    }
}

/// How many sets stay open; a machine seldom works on so many projects at once.
const MOST_CACHED: usize = 256;
/// Below this many reservations it is not worth the while to look for ended ones.
const FEW_RESERVATIONS: usize = 64;

/// The sets that are open, by project.
#[derive(Default)]
pub(crate) struct ReservationCache {
    open: HashMap<ProjectId, CachedReservations>,
    /// The sets that the running transaction has had in hand, and from where on the running job had.
    touched: Vec<ProjectId>,
    job_from: usize,
}

/// A cached set with what it is known to be true of.
pub(crate) struct CachedReservations {
    pub(crate) set: ReservationSet,
    version: i64,
    forget_at: usize,
}

impl CachedReservations {
    /// Notes that the set now tells what the rows tell at `version`.
    pub(crate) fn is_at(&mut self, version: i64) {
        self.version = version;
    }

    /// Forgets ended reservations, but only when the set has doubled since the last time.
    pub(crate) fn forget_ended_sometimes(&mut self, now: Timestamp) {
        if self.set.len() >= self.forget_at {
            self.set.forget_ended(now);
            self.forget_at = (2 * self.set.len()).max(FEW_RESERVATIONS);
        }
    }
}

impl ReservationCache {
    /// The set of the project, if it is open and tells what the rows tell at `version`.
    pub(crate) fn at(&mut self, project: ProjectId, version: i64) -> Option<&mut CachedReservations> {
        let open = self.open.get_mut(&project).filter(|open| open.version == version)?;
        self.touched.push(project);
        Some(open)
    }

    /// Keeps a set that was read at `version`.
    pub(crate) fn keep(&mut self, project: ProjectId, version: i64, set: ReservationSet) -> &mut CachedReservations {
        if self.open.len() >= MOST_CACHED {
            self.open.clear();
        }
        self.touched.push(project);
        let forget_at = (2 * set.len()).max(FEW_RESERVATIONS);
        let open = CachedReservations { set, version, forget_at };
        self.open.entry(project).insert_entry(open).into_mut()
    }

    /// A job begins.
    pub(crate) fn begin_job(&mut self) {
        self.job_from = self.touched.len();
    }

    /// The running job was rolled back.
    pub(crate) fn undo_job(&mut self) {
        for project in self.touched.drain(self.job_from..) {
            self.open.remove(&project);
        }
    }

    /// The whole transaction was rolled back.
    pub(crate) fn undo_all(&mut self) {
        self.job_from = 0;
        self.undo_job();
    }

    /// The transaction was committed.
    pub(crate) fn settle(&mut self) {
        self.touched.clear();
        self.job_from = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: ProjectId = ProjectId(1);

    #[test]
    fn a_book_of_another_version_is_not_believed() {
        let mut reservation_cache = ReservationCache::default();
        reservation_cache.keep(PROJECT, 7, ReservationSet::default());
        assert!(reservation_cache.at(PROJECT, 7).is_some());
        assert!(reservation_cache.at(PROJECT, 8).is_none());
    }

    #[test]
    fn only_the_books_of_the_job_that_failed_are_forgotten() {
        let mut reservation_cache = ReservationCache::default();
        reservation_cache.begin_job();
        reservation_cache.keep(PROJECT, 1, ReservationSet::default());
        reservation_cache.begin_job();
        reservation_cache.keep(ProjectId(2), 1, ReservationSet::default());
        reservation_cache.undo_job();
        assert!(reservation_cache.at(PROJECT, 1).is_some());
        assert!(reservation_cache.at(ProjectId(2), 1).is_none());
    }

    #[test]
    fn after_a_commit_that_failed_no_book_of_it_is_left() {
        let mut reservation_cache = ReservationCache::default();
        reservation_cache.keep(ProjectId(2), 1, ReservationSet::default());
        reservation_cache.settle();
        reservation_cache.begin_job();
        reservation_cache.keep(PROJECT, 1, ReservationSet::default());
        reservation_cache.undo_all();
        assert!(reservation_cache.at(PROJECT, 1).is_none());
        assert!(reservation_cache.at(ProjectId(2), 1).is_some());
    }
}
