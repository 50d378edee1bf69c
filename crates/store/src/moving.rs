//! Moving all mail from one store to another, of either engine, and proving that all of it arrived.
//!
//! Tables go one after the other, rows in the order of their keys, in pages of one transaction each. So whatever is there
//! is a beginning, and a move that was cut short goes on behind the highest key that it finds. From its first write to its
//! end the target carries a mark, with which no office opens it. Nobody writes into the source meanwhile: it is locked.
//! At the end both sides are read again, each by its own engine, and compared. Nothing is deleted in the source, and a
//! target that has mail of its own is left alone.

mod tables;

use async_trait::async_trait;
use mail::StoreError;

use crate::Location;
use crate::postgres::moving::Database;
use crate::sqlite::moving::File;
pub(crate) use tables::{Findable, Row, Value, size_of};
pub use tables::{Kind, TABLES, Table};

/// The table that a target has as long as not everything was moved into it.
pub(crate) const MARK: &str = "unfinished_migration";
/// How many rows and, but for the last row, how many bytes are moved at a time.
pub(crate) const PAGE_ROWS: usize = 4_000;
/// As [`PAGE_ROWS`].
pub(crate) const PAGE_BYTES: usize = 8 << 20;

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
        match self {
            Self::NoMail(_) => "MIGRATION_NO_MAIL",
            Self::Same(_) => "MIGRATION_SAME_STORE",
            Self::InUse { .. } => "MIGRATION_IN_USE",
            Self::Incomplete(_) => "MIGRATION_UNFINISHED",
            Self::Taken(_) => "MIGRATION_TARGET_HOLDS_MAIL",
            Self::AnotherSource { .. } => "MIGRATION_OF_ANOTHER_SOURCE",
            Self::Closed { .. } => "MIGRATION_STORE_CLOSED",
            Self::Store(_) => "MIGRATION_FAILED",
        }
    }

    /// The next step.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoMail(_) => "Check the path or the URL of --from.",
            Self::Same(_) => "Name two different stores with --from and --to.",
            Self::InUse { .. } => "Stop it, then run the command again.",
            Self::Incomplete(_) => "Finish that migration first: run it again.",
            Self::Taken(_) => "Name an empty database, or a file that is not there yet.",
            Self::AnotherSource { .. } => "Finish that migration first, or name an empty target.",
            Self::Closed { .. } => "Mend that, or name another store, then run the command again.",
            Self::Store(_) => "Run the command again: it goes on where it stopped.",
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

/// One of the two stores, open for a move.
#[async_trait(?Send)]
pub(crate) trait Side {
    /// The rows behind a key, or the first ones: as many as one page holds.
    async fn page(&mut self, table: &Table, after: Option<&[Value]>) -> Result<Vec<Row>, StoreError>;
    /// How many rows there are.
    async fn count(&mut self, table: &Table) -> Result<u64, StoreError>;
    /// The key of the last row.
    async fn last_key(&mut self, table: &Table) -> Result<Option<Vec<Value>>, StoreError>;
    /// The highest ticket that was ever given to one who waits for a lease: none is given twice.
    async fn last_ticket(&mut self) -> Result<i64, StoreError>;
    /// The office whose mail is being moved here, if that did not end.
    async fn mark(&mut self) -> Result<Option<String>, StoreError>;
    /// Sets the mark, and forgets the office that an empty store was made with.
    async fn begin(&mut self, office: &str) -> Result<(), StoreError>;
    /// Adds rows, and makes messages findable, in one transaction.
    async fn append(&mut self, table: &Table, rows: &[Row]) -> Result<(), StoreError>;
    /// Lets new numbers begin behind those that are there.
    async fn settle(&mut self, last_ticket: i64) -> Result<(), StoreError>;
    /// Takes the mark away.
    async fn finish(&mut self) -> Result<(), StoreError>;
    /// Lets others use it again, at once.
    async fn release(&mut self);
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
    let mut source = open_source(from).await.map_err(|error| error.of_opening("--from", from))?;
    let moved = match open_target(to).await.map_err(|error| error.of_opening("--to", to)) {
        Ok(mut target) => {
            let moved = move_all((&mut *source, from), (&mut *target, to), progress).await;
            target.release().await;
            moved
        }
        Err(error) => Err(error),
    };
    source.release().await;
    moved
}

async fn move_all(
    (source, from): (&mut dyn Side, &Location),
    (target, to): (&mut dyn Side, &Location),
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

async fn open_source(at: &Location) -> Result<Box<dyn Side>, MoveError> {
    Ok(match at {
        Location::File(path) => Box::new(File::source(path)?),
        Location::Postgres(url) => Box::new(Database::source(url, &at.to_string()).await?),
    })
}

async fn open_target(at: &Location) -> Result<Box<dyn Side>, MoveError> {
    Ok(match at {
        Location::File(path) => Box::new(File::target(path)?),
        Location::Postgres(url) => Box::new(Database::target(url, &at.to_string()).await?),
    })
}

/// Marks the target as one that is being filled from this source, unless it is that already.
async fn begin(source: &mut dyn Side, target: &mut dyn Side, to: &Location) -> Result<(), MoveError> {
    let [office, project] = [&TABLES[0], &TABLES[1]];
    let office = match source.page(office, None).await?.pop().as_deref() {
        Some([Value::Text(id)]) => id.clone(),
        _ => String::new(),
    };
    match target.mark().await? {
        Some(begun) if begun == office => Ok(()),
        Some(begun) => Err(MoveError::AnotherSource { place: to.to_string(), office: begun }),
        None if target.last_key(project).await?.is_some() => Err(MoveError::Taken(to.to_string())),
        None => Ok(target.begin(&office).await?),
    }
}

async fn copy(
    source: &mut dyn Side,
    target: &mut dyn Side,
    table: &Table,
    progress: &mut impl FnMut(MoveProgress),
) -> Result<(), MoveError> {
    let all = source.count(table).await?;
    let mut done = target.count(table).await?;
    let mut last = target.last_key(table).await?;
    loop {
        progress(MoveProgress { table: table.name, done, all, is_comparing: false });
        let rows = source.page(table, last.as_deref()).await?;
        let Some(row) = rows.last() else { return Ok(()) };
        last = Some(table.key_of(row).to_vec());
        target.append(table, &rows).await?;
        done += rows.len() as u64;
    }
}

async fn sum(side: &mut dyn Side, table: &Table) -> Result<Sum, StoreError> {
    let (mut rows, mut checksum, mut last) = (0, blake3::Hasher::new(), None);
    loop {
        let page = side.page(table, last.as_deref()).await?;
        let Some(row) = page.last() else {
            return Ok(Sum { rows, checksum: checksum.finalize().to_hex().to_string() });
        };
        last = Some(table.key_of(row).to_vec());
        rows += page.len() as u64;
        page.iter().flatten().for_each(|value| value.hash_into(&mut checksum));
    }
}
