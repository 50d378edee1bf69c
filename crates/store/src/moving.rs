//! Moving all mail from one store to another, of either engine, and proving that all of it arrived.
//!
//! Tables go one after the other, rows in the order of their keys, in pages of one transaction each. So whatever is there
//! is a beginning, and a move that was cut short goes on behind the highest key that it finds. From its first write to its
//! end the target carries a mark, with which no office opens it. Nobody writes into the source meanwhile: it is locked.
//! At the end both sides are read again, each by its own engine, and compared. Nothing is deleted in the source, and a
//! target that has mail of its own is left alone.

mod side;
mod tables;

use mail::{StoreError, Stored};

use crate::{Location, TABLES};
pub(crate) use side::Own;
use side::Side;
use tables::Cell;
pub use tables::Table;
pub(crate) use tables::table;

/// The table that a target has as long as not everything was moved into it.
pub(crate) const MARK: &str = "unfinished_migration";

/// Why mail was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// There is nothing to move.
    #[error("'{0}' holds no mail")]
    NoMail(String),
    /// One store was named twice.
    #[error("'{0}' is both the source and the target")]
    Same(String),
    /// Somebody uses one of the stores.
    #[error("'{place}' is in use by {who}")]
    InUse {
        /// Which store.
        place: String,
        /// Who uses it, as far as that is known.
        who: String,
    },
    /// The source is itself the target of a move that did not end.
    #[error("'{0}' holds only a part of its mail: a migration into it was not finished")]
    Incomplete(String),
    /// The target has mail of its own.
    #[error("'{0}' holds mail already")]
    Taken(String),
    /// The target holds a part of some other store's mail.
    #[error("'{place}' holds a part of the mail of another store (office '{office}')")]
    AnotherSource {
        /// Which store.
        place: String,
        /// The office whose mail it has a part of.
        office: String,
    },
    /// One of the stores cannot be opened.
    #[error("cannot use '{place}' ({option}): {cause}")]
    Closed {
        /// Which store.
        place: String,
        /// How it was named.
        option: &'static str,
        /// What is wrong with it.
        cause: StoreError,
    },
    /// An engine failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl MoveError {
    /// The same, where it came of opening a store.
    fn of_opening(self, option: &'static str, at: &Location) -> Self {
        match self {
            Self::Store(cause) => Self::Closed { place: at.to_string(), option, cause },
            other => other,
        }
    }

    /// A code that programs match on.
    pub fn code(&self) -> &'static str {
        self.code_and_hint().0
    }

    /// The next step.
    pub fn hint(&self) -> &'static str {
        self.code_and_hint().1
    }

    #[rustfmt::skip] // a row each
    fn code_and_hint(&self) -> (&'static str, &'static str) {
        match self {
            Self::NoMail(_) => ("MIGRATION_NO_MAIL", "Check the path or the URL of --from."),
            Self::Same(_) => ("MIGRATION_SAME_STORE", "Name two different stores with --from and --to."),
            Self::InUse { .. } => ("MIGRATION_IN_USE", "Stop it, then run the command again."),
            Self::Incomplete(_) => ("MIGRATION_UNFINISHED", "Finish that migration first: run it again."),
            Self::Taken(_) => ("MIGRATION_TARGET_HOLDS_MAIL", "Name an empty database, or a file that is not there yet."),
            Self::AnotherSource { .. } =>
                ("MIGRATION_OF_ANOTHER_SOURCE", "Finish that migration first, or name an empty target."),
            Self::Closed { .. } =>
                ("MIGRATION_STORE_CLOSED", "Mend that, or name another store, then run the command again."),
            Self::Store(_) => ("MIGRATION_FAILED", "Run the command again: it goes on where it stopped."),
        }
    }
}

/// How far a table has come.
#[derive(Clone, Copy, Debug)]
pub struct MoveProgress {
    /// The table.
    pub table: &'static str,
    /// How many of its rows are in the target.
    pub done: u64,
    /// How many rows the source has.
    pub all: u64,
    /// Whether all tables are there, and this one is just being compared.
    pub is_comparing: bool,
}

/// A table after it was moved, as both sides have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The table.
    pub table: &'static str,
    /// How many rows the source has, and what they come to.
    pub source: Sum,
    /// The same of the target.
    pub target: Sum,
}

/// What all rows of a table come to, whichever engine keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// How many there are.
    pub rows: u64,
    /// A checksum of every value of every row, in the order of the key, in hexadecimal digits.
    pub checksum: String,
}

impl Compared {
    /// Whether both sides have the same.
    pub fn is_equal(&self) -> bool {
        self.source == self.target
    }
}

/// Copies everything from one store into another that is empty, or into which the same was begun; and compares both.
///
/// The target is ready for use when, and only when, every table is equal.
pub async fn move_mail(
    from: &Location,
    to: &Location,
    progress: impl FnMut(MoveProgress),
) -> Result<Vec<Compared>, MoveError> {
    if from == to {
        return Err(MoveError::Same(from.to_string()));
    }
    let mut source = Side::source(from).await.map_err(|error| error.of_opening("--from", from))?;
    let moved = match Side::target(to).await.map_err(|error| error.of_opening("--to", to)) {
        Ok(mut target) => {
            let moved = move_all((&mut source, from), (&mut target, to), progress).await;
            target.release().await;
            moved
        }
        Err(error) => Err(error),
    };
    source.release().await;
    moved
}

async fn move_all(
    (source, from): (&mut Side, &Location),
    (target, to): (&mut Side, &Location),
    mut progress: impl FnMut(MoveProgress),
) -> Result<Vec<Compared>, MoveError> {
    if source.mark().await?.is_some() {
        return Err(MoveError::Incomplete(from.to_string()));
    }
    begin(source, target, to).await?;
    for table in TABLES {
        copy(source, target, table, &mut progress).await?;
    }
    target.settle(source.last_ticket().await?).await?;
    let mut compared = Vec::new();
    for table in TABLES {
        let source = sum(source, table).await?;
        progress(MoveProgress { table: table.name, done: source.rows, all: source.rows, is_comparing: true });
        compared.push(Compared { table: table.name, source, target: sum(target, table).await? });
    }
    if compared.iter().all(Compared::is_equal) {
        target.finish().await?;
    }
    Ok(compared)
}

/// Marks the target as one that is being filled from this source, unless it is that already.
async fn begin(source: &mut Side, target: &mut Side, to: &Location) -> Result<(), MoveError> {
    let [office, project] = [&TABLES[0], &TABLES[1]];
    let office = match source.page(office, &[]).await?.pop().as_deref() {
        Some([Cell::Text(id)]) => id.clone(),
        _ => String::new(),
    };
    match target.mark().await? {
        Some(begun) if begun == office => Ok(()),
        Some(begun) => Err(MoveError::AnotherSource { place: to.to_string(), office: begun }),
        None if !target.last_key(project).await?.is_empty() => Err(MoveError::Taken(to.to_string())),
        None => Ok(target.begin(&office).await?),
    }
}

async fn copy(
    source: &mut Side,
    target: &mut Side,
    table: &Table,
    progress: &mut impl FnMut(MoveProgress),
) -> Result<(), MoveError> {
    let all = source.count(table).await?;
    let mut done = target.count(table).await?;
    let mut last = target.last_key(table).await?;
    loop {
        progress(MoveProgress { table: table.name, done, all, is_comparing: false });
        let rows = source.page(table, &last).await?;
        let Some(row) = rows.last() else { return Ok(()) };
        last = row[..table.key].to_vec();
        target.append(table, &rows).await?;
        done += rows.len() as u64;
    }
}

async fn sum(side: &mut Side, table: &Table) -> Stored<Sum> {
    let (mut rows, mut checksum, mut last) = (0, blake3::Hasher::new(), Vec::new());
    loop {
        let page = side.page(table, &last).await?;
        let Some(row) = page.last() else {
            return Ok(Sum { rows, checksum: checksum.finalize().to_hex().to_string() });
        };
        last = row[..table.key].to_vec();
        rows += page.len() as u64;
        page.iter().flatten().for_each(|value| value.hash_into(&mut checksum));
    }
}
