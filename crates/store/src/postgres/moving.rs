//! A database of mail as one side of a move: its rows, one page after the other.
//!
//! Whoever has it uses the database alone. A source is read as it was at one moment, and nobody writes until the end.

use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use mail::StoreError;
use tokio::task::JoinHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls};

use super::address::Address;
use super::tx::ALONE;
use super::{in_use, migrations};
use crate::error::{Outcome, SqlError, refused};
use crate::moving::{Kind, MARK, MoveError, PAGE_BYTES, PAGE_ROWS, Row, Side, Table, Value, size_of};
use crate::words::kept_words;

const READING: &str = "read what is to be moved";
const WRITING: &str = "write what is moved";
/// A side may have nothing to do for as long as the other one reads all of its mail.
const PATIENT: &str = " -c idle_in_transaction_session_timeout=0";
/// The index of words is made at once when all words are there, which takes a fraction of the time.
const WITHOUT_INDEX: &str = "DROP INDEX message_words";
/// As the schema has it.
const WITH_INDEX: &str = "SET maintenance_work_mem = '256MB';
     CREATE INDEX IF NOT EXISTS message_words ON message USING gin (words)";
/// What counts by itself: a table and its number.
const COUNTED: [(&str, &str); 7] = [
    ("project", "id"),
    ("agent", "id"),
    ("agent_token", "id"),
    ("message", "id"),
    ("reservation", "id"),
    ("reservation_wait", "ticket"),
    ("channel", "id"),
];

/// An open database.
pub(crate) struct Database {
    client: Client,
    driving: JoinHandle<()>,
    /// Whether a transaction keeps everybody from writing.
    is_locked: bool,
    /// How many rows are asked for next: as many as filled a page of late.
    wanted: usize,
}

impl Database {
    /// Connects to a database that holds mail, called `place`, and keeps everybody else from writing.
    pub(crate) async fn source(url: &str, place: &str) -> Result<Self, MoveError> {
        let failed = refused("open the source");
        let mut this = Self::alone(url, place).await?;
        let locked = async {
            if migrations::done(&this.client, migrations::ALL).await? == 0 {
                return Ok(false);
            }
            migrations::migrate(&this.client, migrations::ALL).await?;
            // The lock comes first: what is read from here on is as it is under it.
            let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = '10s'";
            this.client.batch_execute(begin).await?;
            this.client.batch_execute(ALONE).await?;
            Ok(true)
        };
        this.is_locked = locked.await.map_err(failed)?;
        if this.is_locked { Ok(this) } else { Err(MoveError::NoMail(place.to_owned())) }
    }

    /// Connects to a database, called `place`, and brings its schema up to date.
    pub(crate) async fn target(url: &str, place: &str) -> Result<Self, MoveError> {
        let this = Self::alone(url, place).await?;
        migrations::migrate(&this.client, migrations::ALL).await.map_err(refused("open the target"))?;
        Ok(this)
    }

    async fn alone(url: &str, place: &str) -> Result<Self, MoveError> {
        let doing = "connect to the database";
        let address = Address::parse(url).map_err(|cause| StoreError::Failed { doing, cause: cause.into() })?;
        let (client, driving) = address.connect().await.map_err(SqlError::from).map_err(refused(doing))?;
        let this = Self { client, driving, is_locked: false, wanted: PAGE_ROWS };
        let is_alone = in_use::take_alone(&this.client).await.map_err(SqlError::from).map_err(refused(doing))?;
        if is_alone {
            return Ok(this);
        }
        Err(MoveError::InUse { place: place.to_owned(), who: "a server or a command that is connected".to_owned() })
    }

    async fn read_page(&mut self, table: &Table, after: &[Value]) -> Outcome<Vec<Row>> {
        let key = table.key_names("");
        let places: Vec<String> = (1..=after.len()).map(|place| format!("${place}")).collect();
        let behind = if after.is_empty() { String::new() } else { format!("WHERE ({key}) > ({})", places.join(", ")) };
        let columns: Vec<String> = table.columns.iter().map(|(name, kind)| read_as(name, *kind)).collect();
        let (columns, wanted) = (columns.join(", "), self.wanted);
        let sql = format!("SELECT {columns} FROM {} {behind} ORDER BY {key} LIMIT {wanted}", table.name);
        let statement = self.client.prepare(&sql).await?;
        let mut rows = pin!(self.client.query_raw(&statement, after.iter().map(parameter)).await?);
        let (mut page, mut bytes) = (Vec::new(), 0);
        while bytes < PAGE_BYTES
            && let Some(row) = rows.next().await
        {
            let row = values_of(&row?, table)?;
            bytes += size_of(&row);
            page.push(row);
        }
        // What was asked for beyond the page was sent for nothing.
        self.wanted = if bytes < PAGE_BYTES { (wanted * 2).min(PAGE_ROWS) } else { page.len() };
        Ok(page)
    }

    async fn write(&self, table: &Table, rows: &[Row]) -> Outcome<()> {
        let is_findable = rows.first().is_some_and(|row| table.findable(row).is_some());
        let words = if is_findable { ", words" } else { "" };
        let mut text = String::new();
        for row in rows {
            for (place, value) in row.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "\t" });
                write_value(&mut text, value);
            }
            if let Some(found) = table.findable(row) {
                text.push('\t');
                write_text(&mut text, &kept_words(found.project, found.sender, found.subject, found.body));
            }
            text.push('\n');
        }
        let sql = format!("COPY {} ({}{words}) FROM STDIN", table.name, table.names());
        let mut copying = pin!(self.client.copy_in::<str, Bytes>(&sql).await?);
        copying.send(Bytes::from(text)).await?;
        copying.finish().await?;
        Ok(())
    }

    async fn number(&self, sql: &str) -> Outcome<i64> {
        Ok(self.client.query_one(sql, &[]).await?.try_get(0)?)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // The connection, its locks and its transaction end with the task.
        self.driving.abort();
    }
}

#[async_trait(?Send)]
impl Side for Database {
    async fn page(&mut self, table: &Table, after: Option<&[Value]>) -> Result<Vec<Row>, StoreError> {
        self.read_page(table, after.unwrap_or_default()).await.map_err(refused(READING))
    }

    async fn count(&mut self, table: &Table) -> Result<u64, StoreError> {
        let count = self.number(&format!("SELECT count(*) FROM {}", table.name)).await;
        count.map(i64::unsigned_abs).map_err(refused(READING))
    }

    async fn last_key(&mut self, table: &Table) -> Result<Option<Vec<Value>>, StoreError> {
        let (key, order) = (table.key_names(""), table.key_names(" DESC"));
        let sql = format!("SELECT {key} FROM {} ORDER BY {order} LIMIT 1", table.name);
        let read = async {
            let row = self.client.query_opt(&sql, &[]).await?;
            let columns = &table.columns[..table.key];
            row.map(|row| columns.iter().enumerate().map(|(at, (_, kind))| value_of(&row, at, *kind)).collect())
                .transpose()
        };
        read.await.map_err(refused(READING))
    }

    async fn last_ticket(&mut self) -> Result<i64, StoreError> {
        let sql = "SELECT greatest((SELECT coalesce(max(ticket), 0) FROM reservation_wait),
                       coalesce(pg_sequence_last_value(pg_get_serial_sequence('reservation_wait', 'ticket')::regclass), 0))";
        self.number(sql).await.map_err(refused(READING))
    }

    async fn mark(&mut self) -> Result<Option<String>, StoreError> {
        let read = async {
            if !migrations::is_unfinished(&self.client).await? {
                return Ok(None);
            }
            let sql = format!("SELECT source FROM {MARK}");
            Ok(Some(self.client.query_one(&sql, &[]).await?.try_get(0)?))
        };
        read.await.map_err(refused(READING))
    }

    async fn begin(&mut self, office: &str) -> Result<(), StoreError> {
        let begun = async {
            let marking = self.client.transaction().await?;
            marking.batch_execute(&format!("CREATE TABLE {MARK} (source TEXT NOT NULL)")).await?;
            marking.execute(&format!("INSERT INTO {MARK} (source) VALUES ($1)"), &[&office]).await?;
            marking.batch_execute("DELETE FROM office").await?;
            marking.batch_execute(WITHOUT_INDEX).await?;
            Ok(marking.commit().await?)
        };
        begun.await.map_err(refused(WRITING))
    }

    async fn append(&mut self, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
        self.write(table, rows).await.map_err(refused(WRITING))
    }

    async fn settle(&mut self, last_ticket: i64) -> Result<(), StoreError> {
        let settled = async {
            for (table, column) in COUNTED {
                let sequence = match table {
                    "message" => "'message_number'".to_owned(),
                    _ => format!("pg_get_serial_sequence('{table}', '{column}')"),
                };
                let highest = self.number(&format!("SELECT coalesce(max({column}), 0) FROM {table}")).await?;
                let last = if table == "reservation_wait" { highest.max(last_ticket) } else { highest };
                // Where nothing was counted yet, 1 is the next number and not the last one.
                let sql = format!("SELECT setval({sequence}, greatest({last}, 1), {last} > 0)");
                self.number(&sql).await?;
            }
            self.client.batch_execute(WITH_INDEX).await?;
            // Otherwise the first questions are answered without knowing how much there is.
            let tables: Vec<&str> = crate::moving::TABLES.iter().map(|table| table.name).collect();
            Ok(self.client.batch_execute(&format!("ANALYZE {}", tables.join(", "))).await?)
        };
        settled.await.map_err(refused(WRITING))
    }

    async fn finish(&mut self) -> Result<(), StoreError> {
        let dropped = self.client.batch_execute(&format!("DROP TABLE {MARK}")).await;
        dropped.map_err(SqlError::from).map_err(refused(WRITING))
    }

    async fn release(&mut self) {
        // PostgreSQL notices a lost connection in its own time. Should this fail, it does so anyway.
        let end = if self.is_locked { "ROLLBACK;" } else { "" };
        let _ = self.client.batch_execute(&format!("{end} SELECT pg_advisory_unlock_all()")).await;
    }
}

impl Address {
    /// A connection of its own, without time limits.
    pub(super) async fn connect(&self) -> Result<(Client, JoinHandle<()>), tokio_postgres::Error> {
        let config = self.limited(Duration::ZERO, PATIENT);
        Ok(match &self.tls {
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                // What becomes of the connection is told to whoever uses it.
                (client, tokio::spawn(async { _ = connection.await }))
            }
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                (client, tokio::spawn(async { _ = connection.await }))
            }
        })
    }
}

/// A column as it is asked for: numbers of every width as the widest.
fn read_as(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Number => format!("{name}::bigint"),
        Kind::Flag => format!("{name}::integer::bigint"),
        Kind::Text | Kind::Bytes => name.to_owned(),
    }
}

fn values_of(row: &tokio_postgres::Row, table: &Table) -> Outcome<Row> {
    table.columns.iter().enumerate().map(|(at, (_, kind))| value_of(row, at, *kind)).collect()
}

fn value_of(row: &tokio_postgres::Row, at: usize, kind: Kind) -> Outcome<Value> {
    let value = match kind {
        Kind::Number | Kind::Flag => row.try_get::<_, Option<i64>>(at)?.map(Value::Number),
        Kind::Text => row.try_get::<_, Option<String>>(at)?.map(Value::Text),
        Kind::Bytes => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Value::Bytes),
    };
    Ok(value.unwrap_or(Value::Null))
}

fn parameter(value: &Value) -> &(dyn ToSql + Sync) {
    match value {
        Value::Null => &None::<i64>,
        Value::Number(number) => number,
        Value::Text(text) => text,
        Value::Bytes(bytes) => bytes,
    }
}

/// Writes a value as `COPY` reads it.
fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("\\N"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::Text(text) => write_text(out, text),
        Value::Bytes(bytes) => {
            out.push_str("\\\\x");
            bytes.iter().for_each(|byte| out.push_str(&format!("{byte:02x}")));
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            other => out.push(other),
        }
    }
}
