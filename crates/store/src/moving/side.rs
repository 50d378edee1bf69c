//! One of the two stores, open for a move: its rows, one page after the other.
//!
//! Whoever has it uses the store alone, as a server would. A source is locked against every other writer until the end,
//! and is read as it was at one moment.

use mail::Stored;
use mail::ids::{AgentId, ProjectId};

use super::{Cell, MARK, MoveError, Table};
use crate::Location;
use crate::error::{Outcome, SqlError, refused};
use crate::migration::Schema;
use crate::postgres::{self, PostgresTx};
use crate::row::{Row, Value, values};
use crate::sqlite::{self, FINDABLE, tx_over};
use crate::tx::{Many, Tx};
use crate::words::kept_words;

const READING: &str = "read what is to be moved";
const WRITING: &str = "write what is moved";
/// How many rows and, but for the last row, how many bytes are moved at a time.
const PAGE_ROWS: usize = 4_000;
const PAGE_BYTES: usize = 8 << 20;

/// An open store.
pub(super) struct Side {
    store: Store,
    own: &'static Own,
    /// How many rows are asked for next: as many as filled a page of late.
    wanted: usize,
}

/// What an engine says in words of its own.
pub(crate) struct Own {
    pub(crate) schema: Schema<'static>,
    /// Keeps everybody else from writing until the end, and lets what is read be of one moment.
    pub(crate) lock: &'static str,
    /// Lets others use the store again.
    pub(crate) release: &'static str,
    /// The highest ticket that was ever given.
    pub(crate) last_ticket: &'static str,
}

enum Store {
    File(sqlite::moving::SqliteFile),
    Database(Box<PostgresTx>),
}

impl Side {
    /// Opens a store that is there and holds mail, and keeps everybody else from writing.
    pub(super) async fn source(at: &Location) -> Result<Self, MoveError> {
        let mut side = Self::open(at, "open the source", false).await?;
        let Own { schema, lock, .. } = side.own;
        let locked = async {
            if schema.applied(&mut side.tx()).await? == 0 {
                return Ok(false);
            }
            schema.migrate(&mut side.tx()).await?;
            side.tx().command(lock).await?;
            Ok(true)
        };
        match locked.await.map_err(refused("open the source"))? {
            true => Ok(side),
            false => Err(MoveError::NoMail(at.to_string())),
        }
    }

    /// Opens the store, makes what is missing, and brings its schema up to date.
    pub(super) async fn target(at: &Location) -> Result<Self, MoveError> {
        let mut side = Self::open(at, "open the target", true).await?;
        side.own.schema.migrate(&mut side.tx()).await.map_err(refused("open the target"))?;
        Ok(side)
    }

    async fn open(at: &Location, doing: &'static str, may_make: bool) -> Result<Self, MoveError> {
        let (store, own) = match at {
            Location::File(path) => {
                (Store::File(sqlite::moving::SqliteFile::open(path, doing, may_make)?), &sqlite::moving::OWN)
            }
            Location::Postgres(url) => {
                (Store::Database(Box::new(postgres::moving::open(url, at).await?)), &postgres::moving::OWN)
            }
        };
        Ok(Self { store, own, wanted: PAGE_ROWS })
    }

    fn tx(&mut self) -> Tx<'_> {
        match &mut self.store {
            Store::File(file) => tx_over(&mut file.connection),
            Store::Database(tx) => tx.tx(),
        }
    }

    /// The rows behind a key, or the first ones if it is empty: as many as one page holds.
    pub(super) async fn page(&mut self, table: &Table, after: &[Cell]) -> Stored<Vec<Vec<Cell>>> {
        let (Table { name, columns, .. }, key, width) = (table, table.key_names(""), table.width());
        let behind = match after {
            [] => String::new(),
            _ => format!("WHERE ({key}) > ({})", places(after.len())),
        };
        let sql = format!("SELECT {columns} FROM {name} {behind} ORDER BY {key} LIMIT ?{}", after.len() + 1);
        let mut values: Vec<Value<'_>> = after.iter().map(Cell::value).collect();
        values.push(self.wanted.into());
        let (mut page, mut bytes) = (Vec::new(), 0);
        let visit = &mut |row: &Row<'_>| {
            let row = cells(row, width)?;
            bytes += row.iter().map(Cell::size).sum::<usize>();
            page.push(row);
            Ok(bytes < PAGE_BYTES)
        };
        self.tx().each(&sql, &values, visit).await.map_err(refused(READING))?;
        // What is asked for beyond the page is sent for nothing.
        self.wanted = if bytes < PAGE_BYTES { (self.wanted * 2).min(PAGE_ROWS) } else { page.len() };
        Ok(page)
    }

    /// How many rows there are.
    pub(super) async fn count(&mut self, table: &Table) -> Stored<u64> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        self.tx().only(&sql, &[]).await.map_err(refused(READING))
    }

    /// The key of the last row; empty if there is none.
    pub(super) async fn last_key(&mut self, table: &Table) -> Stored<Vec<Cell>> {
        let (key, order) = (table.key_names(""), table.key_names(" DESC"));
        let sql = format!("SELECT {key} FROM {} ORDER BY {order} LIMIT 1", table.name);
        let mut last = Vec::new();
        let visit = &mut |row: &Row<'_>| {
            last = cells(row, table.key)?;
            Ok(false)
        };
        self.tx().each(&sql, &[], visit).await.map_err(refused(READING))?;
        Ok(last)
    }

    /// The highest ticket that was ever given to one who waits for a reservation: none is given twice.
    pub(super) async fn last_ticket(&mut self) -> Stored<i64> {
        let sql = self.own.last_ticket;
        self.tx().only(sql, &[]).await.map_err(refused(READING))
    }

    /// The office whose mail is being moved here, if that did not end.
    pub(super) async fn mark(&mut self) -> Stored<Option<String>> {
        let schema = self.own.schema;
        let tx = &mut self.tx();
        if !schema.is_unfinished(tx).await.map_err(refused(READING))? {
            return Ok(None);
        }
        tx.row(&format!("SELECT source FROM {MARK}"), &[]).await.map_err(refused(READING))
    }

    /// Sets the mark, and forgets the office that an empty store was made with.
    pub(super) async fn begin(&mut self, office: &str) -> Stored<()> {
        let begun = async {
            let tx = &mut self.tx();
            tx.command(&format!("BEGIN; CREATE TABLE {MARK} (source TEXT NOT NULL); DELETE FROM office")).await?;
            tx.execute(&format!("INSERT INTO {MARK} (source) VALUES (?1)"), values![office]).await?;
            if let Tx::Postgres(_) = tx {
                tx.command(postgres::moving::WITHOUT_INDEX).await?;
            }
            tx.command("COMMIT").await
        };
        begun.await.map_err(refused(WRITING))
    }

    /// Adds rows, and makes messages findable, in one transaction.
    pub(super) async fn append(&mut self, table: &Table, rows: &[Vec<Cell>]) -> Stored<()> {
        let tx = &mut self.tx();
        let appended = async {
            let first = if table.name == "message" { rows.first().map(|row| row[0].value()) } else { None };
            let words: Vec<String> = match (&*tx, first) {
                (Tx::Postgres(_), Some(_)) => rows.iter().map(|row| words_of(table, row)).collect::<Outcome<_>>()?,
                _ => Vec::new(),
            };
            let (mut names, mut given) = (table.columns.to_owned(), places(table.width()));
            if !words.is_empty() {
                names.push_str(", words");
                given.push_str(&format!(", CAST(CAST(?{} AS TEXT) AS tsvector)", table.width() + 1));
            }
            let mut values = Vec::new();
            for (at, row) in rows.iter().enumerate() {
                values.extend(row.iter().map(Cell::value).chain(words.get(at).map(Value::from)));
            }
            let sql = format!("INSERT INTO {} ({names}) VALUES ({given})", table.name);
            let width = table.width() + usize::from(!words.is_empty());
            tx.command("BEGIN").await?;
            tx.execute_all(&[Many { sql: &sql, width, values }]).await?;
            if let (Tx::Sqlite(tx), Some(first)) = (&mut *tx, first) {
                tx.execute(FINDABLE, &[first])?;
            }
            tx.command("COMMIT").await
        };
        appended.await.map_err(refused(WRITING))
    }

    /// Lets new numbers begin behind those that are there.
    pub(super) async fn settle(&mut self, last_ticket: i64) -> Stored<()> {
        let tx = &mut self.tx();
        let settled = match tx {
            Tx::Sqlite(_) => tx.command(&sqlite::moving::settled(last_ticket)).await,
            Tx::Postgres(_) => postgres::moving::settle(tx, last_ticket).await,
        };
        settled.map_err(refused(WRITING))
    }

    /// Takes the mark away.
    pub(super) async fn finish(&mut self) -> Stored<()> {
        self.tx().command(&format!("DROP TABLE {MARK}")).await.map_err(refused(WRITING))
    }

    /// Lets others use it again, at once. What is not released here ends with the connection.
    pub(super) async fn release(&mut self) {
        let release = self.own.release;
        let _ = self.tx().command(release).await;
    }
}

fn places(count: usize) -> String {
    (1..=count).map(|place| format!("?{place}")).collect::<Vec<_>>().join(", ")
}

fn cells(row: &Row<'_>, width: usize) -> Outcome<Vec<Cell>> {
    (0..width).map(|at| row.value(at).map(Cell::of).ok_or_else(|| row.unreadable(at, ""))).collect()
}

/// What a message is found by in PostgreSQL.
fn words_of(table: &Table, row: &[Cell]) -> Outcome<String> {
    let cell = |column| table.columns.split(", ").zip(row).find(|(name, _)| *name == column).map(|(_, cell)| cell);
    match ["project_id", "sender_id", "subject", "body"].map(cell) {
        [
            Some(Cell::Number(project)),
            Some(Cell::Number(sender)),
            Some(Cell::Text(subject)),
            Some(Cell::Text(body)),
        ] => Ok(kept_words(ProjectId(*project), AgentId(*sender), subject, body)),
        _ => Err(SqlError::Unknown("a message lacks what it is found by".to_owned())),
    }
}
