//! What a transaction keeps of the projects it writes in, in either engine: the numbers and times it gives out, and the
//! events it gathers. A job that has to be taken back is taken back here too. Nothing here runs a statement.
//!
//! Between transactions it keeps the lease books open, so that a request compiles no pattern but its own. A book is only as
//! good as the `lease_version` it was read at: every change of a lease raises it, in this process or another. What a
//! transaction did to a book is undone by forgetting the book; the next request reads it again. Which rows make a book is
//! told in `reservations`, not here.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use mail::clock::from_micros;
use mail::events::Event;
use mail::ids::ProjectId;
use mail::reservations::LeaseBook;

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

/// The numbers and events of one transaction, and the lease books, which stay open between transactions.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) books: LeaseBooks,
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
        *self = Self { books: std::mem::take(&mut self.books), ..Self::default() };
    }

    /// A job begins.
    pub(crate) fn begin_job(&mut self) {
        self.books.begin_job();
        self.before_job = (self.numbers.clone(), self.events.len());
    }

    /// Takes back what the running job did here. What it wrote is taken back by its savepoint.
    pub(crate) fn undo_job(&mut self) {
        self.books.undo_job();
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

/// How many books stay open; a machine seldom works on so many projects at once.
const MOST_BOOKS: usize = 256;
/// Below this many leases it is not worth the while to look for ended ones.
const FEW_LEASES: usize = 64;

/// The books that are open, by project.
#[derive(Default)]
pub(crate) struct LeaseBooks {
    open: HashMap<ProjectId, OpenBook>,
    /// The books that the running transaction has had in hand, and from where on the running job had.
    touched: Vec<ProjectId>,
    job_from: usize,
}

/// A book with what it is known to be true of.
pub(crate) struct OpenBook {
    pub(crate) book: LeaseBook,
    version: i64,
    forget_at: usize,
}

impl OpenBook {
    /// Notes that the book now tells what the rows tell at `version`.
    pub(crate) fn is_at(&mut self, version: i64) {
        self.version = version;
    }

    /// Forgets ended leases, but only when the book has doubled since the last time.
    pub(crate) fn forget_ended_sometimes(&mut self, now: Timestamp) {
        if self.book.len() >= self.forget_at {
            self.book.forget_ended(now);
            self.forget_at = (2 * self.book.len()).max(FEW_LEASES);
        }
    }
}

impl LeaseBooks {
    /// The book of the project, if it is open and tells what the rows tell at `version`.
    pub(crate) fn at(&mut self, project: ProjectId, version: i64) -> Option<&mut OpenBook> {
        let open = self.open.get_mut(&project).filter(|open| open.version == version)?;
        self.touched.push(project);
        Some(open)
    }

    /// Keeps a book that was read at `version`.
    pub(crate) fn keep(&mut self, project: ProjectId, version: i64, book: LeaseBook) -> &mut OpenBook {
        if self.open.len() >= MOST_BOOKS {
            self.open.clear();
        }
        self.touched.push(project);
        let forget_at = (2 * book.len()).max(FEW_LEASES);
        let open = OpenBook { book, version, forget_at };
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
        let mut books = LeaseBooks::default();
        books.keep(PROJECT, 7, LeaseBook::default());
        assert!(books.at(PROJECT, 7).is_some());
        assert!(books.at(PROJECT, 8).is_none());
    }

    #[test]
    fn only_the_books_of_the_job_that_failed_are_forgotten() {
        let mut books = LeaseBooks::default();
        books.begin_job();
        books.keep(PROJECT, 1, LeaseBook::default());
        books.begin_job();
        books.keep(ProjectId(2), 1, LeaseBook::default());
        books.undo_job();
        assert!(books.at(PROJECT, 1).is_some());
        assert!(books.at(ProjectId(2), 1).is_none());
    }

    #[test]
    fn after_a_commit_that_failed_no_book_of_it_is_left() {
        let mut books = LeaseBooks::default();
        books.keep(ProjectId(2), 1, LeaseBook::default());
        books.settle();
        books.begin_job();
        books.keep(PROJECT, 1, LeaseBook::default());
        books.undo_all();
        assert!(books.at(PROJECT, 1).is_none());
        assert!(books.at(ProjectId(2), 1).is_some());
    }
}
