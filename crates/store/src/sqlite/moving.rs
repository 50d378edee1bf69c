//! A file of mail as one side of a move: its rows, one page after the other.
//!
//! Whoever has it owns the file, as a server would. A source is locked against every other writer until the end.

use std::path::Path;

use async_trait::async_trait;
use mail::StoreError;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, ToSql, params_from_iter};

use super::search::{Words, index, scope_of};
use super::{absolute, connection, failed, migrations};
use crate::error::failure;
use crate::moving::{Findable, MARK, MoveError, PAGE_BYTES, PAGE_ROWS, Row, Side, Table, Value, size_of};
use crate::ownership::{NotOwned, Ownership};

/// What is told to those who ask the owner of the file for its address.
const NO_ADDRESS: &str = "migrate";
const READING: &str = "read what is to be moved";
const WRITING: &str = "write what is moved";

/// An open file.
pub(crate) struct File {
    connection: Connection,
    _ownership: Ownership,
}

impl File {
    /// Opens a file that is there and holds mail, and keeps everybody else from writing.
    pub(crate) fn source(path: &Path) -> Result<Self, MoveError> {
        let doing = "open the source";
        let path = absolute(path)?;
        if !path.is_file() {
            return Err(MoveError::NoMail(path.display().to_string()));
        }
        let ownership = own(&path)?;
        let mut connection = connection::writing(&path).map_err(failed(doing))?;
        let version = migrations::applied(&connection, migrations::ALL).map_err(|cause| failure(doing, cause))?;
        if version == 0 {
            return Err(MoveError::NoMail(path.display().to_string()));
        }
        migrations::migrate(&mut connection, migrations::ALL).map_err(|cause| failure(doing, cause))?;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(failed(doing))?;
        Ok(Self { connection, _ownership: ownership })
    }

    /// Opens the file, and makes it if it is not there.
    pub(crate) fn target(path: &Path) -> Result<Self, MoveError> {
        let doing = "open the target";
        let path = absolute(path)?;
        let ownership = own(&path)?;
        connection::make_file(&path).map_err(|cause| failure(doing, cause))?;
        let mut connection = connection::writing(&path).map_err(failed(doing))?;
        migrations::migrate(&mut connection, migrations::ALL).map_err(|cause| failure(doing, cause))?;
        Ok(Self { connection, _ownership: ownership })
    }

    fn together(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<(), StoreError> {
        let all = || {
            let transaction = self.connection.unchecked_transaction()?;
            work(&transaction)?;
            transaction.commit()
        };
        all().map_err(failed(WRITING))
    }
}

fn own(path: &Path) -> Result<Ownership, MoveError> {
    Ownership::take(path, NO_ADDRESS).map_err(|taken| match taken {
        NotOwned::Owned(owner) => {
            let who = format!("'{}' (process {})", owner.address, owner.pid);
            MoveError::InUse { place: path.display().to_string(), who }
        }
        NotOwned::Failed(error) => MoveError::Store(error),
    })
}

#[async_trait(?Send)]
impl Side for File {
    async fn page(&mut self, table: &Table, after: Option<&[Value]>) -> Result<Vec<Row>, StoreError> {
        page(&self.connection, table, after.unwrap_or_default()).map_err(failed(READING))
    }

    async fn count(&mut self, table: &Table) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {}", table.name);
        let count = self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0));
        count.map(i64::unsigned_abs).map_err(failed(READING))
    }

    async fn last_key(&mut self, table: &Table) -> Result<Option<Vec<Value>>, StoreError> {
        let (key, order) = (table.key_names(""), table.key_names(" DESC"));
        let sql = format!("SELECT {key} FROM {} ORDER BY {order} LIMIT 1", table.name);
        let read = |row: &rusqlite::Row<'_>| values_of(row, table.key);
        self.connection.query_row(&sql, [], read).optional().map_err(failed(READING))
    }

    async fn last_ticket(&mut self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'reservation_wait'";
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(failed(READING))
    }

    async fn mark(&mut self) -> Result<Option<String>, StoreError> {
        if !migrations::is_unfinished(&self.connection).map_err(failed(READING))? {
            return Ok(None);
        }
        let sql = format!("SELECT source FROM {MARK}");
        self.connection.query_row(&sql, [], |row| row.get(0)).map(Some).map_err(failed(READING))
    }

    async fn begin(&mut self, office: &str) -> Result<(), StoreError> {
        self.together(|connection| {
            connection.execute_batch(&format!("CREATE TABLE {MARK} (source TEXT NOT NULL) STRICT"))?;
            connection.execute(&format!("INSERT INTO {MARK} (source) VALUES (?1)"), [office])?;
            connection.execute("DELETE FROM office", []).map(drop)
        })
    }

    async fn append(&mut self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        let places: Vec<String> = (1..=table.columns.len()).map(|place| format!("?{place}")).collect();
        let sql = format!("INSERT INTO {} ({}) VALUES ({})", table.name, table.names(), places.join(", "));
        self.together(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            for row in rows {
                statement.execute(params_from_iter(row))?;
            }
            let words: Vec<Words> = rows.iter().filter_map(|row| table.findable(row)).map(words_of).collect();
            index(connection, &words)
        })
    }

    async fn settle(&mut self, last_ticket: i64) -> Result<(), StoreError> {
        self.together(|connection| {
            connection.execute("DELETE FROM sqlite_sequence WHERE name = 'reservation_wait'", [])?;
            let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ('reservation_wait', ?1)";
            connection.execute(sql, [last_ticket]).map(drop)
        })
    }

    async fn finish(&mut self) -> Result<(), StoreError> {
        self.together(|connection| connection.execute_batch(&format!("DROP TABLE {MARK}")))
    }

    async fn release(&mut self) {
        // What is not released here ends with the connection.
        let _ = self.connection.execute_batch("ROLLBACK");
    }
}

fn page(connection: &Connection, table: &Table, after: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let key = table.key_names("");
    let behind = match after {
        [] => String::new(),
        _ => format!("WHERE ({key}) > ({})", vec!["?"; table.key].join(", ")),
    };
    let sql = format!("SELECT {} FROM {} {behind} ORDER BY {key} LIMIT {PAGE_ROWS}", table.names(), table.name);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(after))?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while bytes < PAGE_BYTES
        && let Some(row) = rows.next()?
    {
        let row = values_of(row, table.columns.len())?;
        bytes += size_of(&row);
        page.push(row);
    }
    Ok(page)
}

fn values_of(row: &rusqlite::Row<'_>, count: usize) -> rusqlite::Result<Row> {
    let value = |place| {
        Ok(match row.get_ref(place)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Number(number),
            ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
            // No column holds a fraction; whatever is not text is refused here.
            _ => Value::Text(row.get(place)?),
        })
    };
    (0..count).map(value).collect()
}

fn words_of(message: Findable<'_>) -> Words {
    Words {
        message: message.message,
        scope: scope_of(message.project, message.sender),
        subject: message.subject.to_owned(),
        body: message.body.to_owned(),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Number(number) => ValueRef::Integer(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
