//! Statements and what comes back from them: running one, reading its rows, and what can go wrong.
//!
//! Every query for messages selects [`COLUMNS`] and then a body, so that one function reads them all. A body that is
//! not wanted is not read from the disk.

use deadpool_postgres::{GenericClient, HookError, Object, PoolError, TimeoutType, Transaction};
use futures_util::StreamExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::clock::from_micros;
use mail::ids::{MessageId, ProjectId};
use mail::messages::{DeliveryState, Message, PAGE_BYTES, Role};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::FromSql;

use super::Values;
use crate::values::{importance_of, kind_of, names_of, role_of, vouched_of};

/// The columns of a message `m`, without the body.
pub(super) const COLUMNS: &str = "m.id, m.project_id, m.from_name, m.to_names, m.cc_names, m.subject, m.thread, \
     m.reply_to, m.importance, m.ack_required, m.kind, m.work_id, m.door, m.vouched, m.created_at";
/// The body, when it is wanted.
pub(super) const BODY: &str = "m.body";
/// What stands for the body when it is not.
pub(super) const NO_BODY: &str = "''";
/// The columns of a delivery `d` that tell how it is with it.
pub(super) const STATE: &str = "d.role, d.shown_at, d.read_at, d.acked_at, d.ack_note, d.archived_at";
/// Where the columns of a delivery begin behind those of a message and its body.
pub(super) const AFTER_BODY: usize = 16;

/// What a statement, or the reading of its rows, comes to.
pub(super) type Outcome<T> = Result<T, Trouble>;

/// What can go wrong with a statement.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    /// PostgreSQL refused, or is not there.
    #[error("{}", told(.0))]
    Sql(#[from] tokio_postgres::Error),
    /// No connection was to be had.
    #[error("{0}")]
    NoConnection(String),
    /// All connections are in use.
    #[error("all connections are in use")]
    Crowded,
    /// A value that no program of this version wrote, or a row that should be there and is not.
    #[error("{0}")]
    Unknown(String),
}

impl From<PoolError> for Trouble {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Sql(error),
            PoolError::Timeout(TimeoutType::Wait) => Self::Crowded,
            PoolError::PostCreateHook(HookError::Backend(error)) => Self::Sql(error),
            PoolError::PostCreateHook(HookError::Message(why)) => Self::NoConnection(why.into_owned()),
            other => Self::NoConnection(other.to_string()),
        }
    }
}

impl From<crate::values::UnknownValue> for Trouble {
    fn from(error: crate::values::UnknownValue) -> Self {
        Self::Unknown(error.to_string())
    }
}

impl Trouble {
    /// What callers are told of it. Nothing was written when this is asked: a commit that failed is told otherwise.
    pub(super) fn told(self, doing: &'static str) -> StoreError {
        match &self {
            Self::Sql(error) if is_slow(error) => StoreError::TooSlow,
            _ => self.told_to_one_of_many(doing),
        }
    }

    /// Whether it came of how the database is just now, and not of what it was asked.
    pub(super) fn will_pass(&self) -> bool {
        match self {
            Self::Crowded | Self::NoConnection(_) => true,
            Self::Sql(error) => is_slow(error) || is_in_the_way(error) || is_gone(error),
            Self::Unknown(_) => false,
        }
    }

    /// What each caller is told when a whole transaction was lost.
    pub(super) fn told_to_one_of_many(&self, doing: &'static str) -> StoreError {
        let cause = self.to_string();
        match self {
            Self::Crowded => StoreError::Busy,
            Self::Sql(error) if is_slow(error) || is_in_the_way(error) => StoreError::Busy,
            Self::Sql(error) if !is_gone(error) => StoreError::Failed { doing, cause: cause.into() },
            Self::Unknown(_) => StoreError::Failed { doing, cause: cause.into() },
            Self::Sql(_) | Self::NoConnection(_) => StoreError::Away { doing, cause },
        }
    }
}

/// Turns what went wrong with a reading, or before a commit, into the store's error.
pub(super) fn refused(doing: &'static str) -> impl Fn(Trouble) -> StoreError {
    move |trouble| trouble.told(doing)
}

/// Whether the connection is lost, or the server will not serve it.
pub(super) fn is_gone(error: &tokio_postgres::Error) -> bool {
    let away = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION, // a standby that was not yet promoted
    ];
    error.code().map_or_else(
        || error.is_closed() || is_of_the_wire(error),
        |code| away.contains(code) || code.code().starts_with("08"),
    )
}

fn is_of_the_wire(error: &tokio_postgres::Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<std::io::Error>());
    // What TLS finds fault with, such as a certificate, does not pass by itself.
    cause.is_some_and(|cause| cause.kind() != std::io::ErrorKind::InvalidData)
        || error.to_string().starts_with("error connecting")
}

fn is_slow(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::QUERY_CANCELED)
}

fn is_in_the_way(error: &tokio_postgres::Error) -> bool {
    let busy = [SqlState::LOCK_NOT_AVAILABLE, SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
    error.code().is_some_and(|code| busy.contains(code))
}

/// What PostgreSQL said, without the values that it said it of.
fn told(error: &tokio_postgres::Error) -> String {
    let fact = match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => format!("PostgreSQL says: {} ({})", said.message(), said.code().code()),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    };
    match advice(error.code(), &fact) {
        Some(next) => format!("{fact}. {next}"),
        None => fact,
    }
}

/// What to do about it, where that is known.
fn advice(code: Option<&SqlState>, fact: &str) -> Option<&'static str> {
    let by_code = [
        (SqlState::INVALID_PASSWORD, "Check the user and the password of the URL."),
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "Check the user of the URL, and pg_hba.conf."),
        (SqlState::INVALID_CATALOG_NAME, "Make it: createdb --encoding UTF8 --template template0."),
        (SqlState::UNTRANSLATABLE_CHARACTER, "Make the database with --encoding UTF8 --template template0."),
        (SqlState::INSUFFICIENT_PRIVILEGE, "Let the user of the URL own the database."),
        (SqlState::READ_ONLY_SQL_TRANSACTION, "Name a server and a database that can be written to."),
        (SqlState::TOO_MANY_CONNECTIONS, "Raise max_connections, or the limit of the role: a server uses up to 14."),
    ];
    let by_words = [
        ("password missing", "Write it into the URL."),
        (
            "does not support TLS",
            "Set ssl = on in PostgreSQL, or add ?sslmode=disable to the URL where nobody can listen.",
        ),
        ("UnknownIssuer", "Name the file of its authority with ?sslrootcert=FILE."),
    ];
    let known = code.and_then(|code| by_code.into_iter().find(|(known, _)| known == code).map(|(_, next)| next));
    known.or_else(|| by_words.into_iter().find(|(words, _)| fact.contains(words)).map(|(_, next)| next))
}

/// What was found with text that somebody wrote: nothing, if there is a NUL in it. PostgreSQL takes no such text, and none that
/// is kept has one.
pub(super) fn nothing_has_nul<T: Default>(found: Outcome<T>) -> Outcome<T> {
    match found {
        Err(Trouble::Sql(error)) if error.code() == Some(&SqlState::CHARACTER_NOT_IN_REPERTOIRE) => Ok(T::default()),
        found => found,
    }
}

/// Those of several names that there can be: one with a NUL is nobody's, and keeps no other from being found.
pub(super) fn possible<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().copied().filter(|name| !name.contains('\0')).collect()
}

/// Runs a statement, which is prepared once for each connection.
pub(super) async fn rows(client: &impl GenericClient, sql: &str, values: Values<'_>) -> Outcome<Vec<Row>> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.query(&statement, values).await?)
}

/// Runs a statement, and tells how many rows it changed.
pub(super) async fn execute(client: &impl GenericClient, sql: &str, values: Values<'_>) -> Outcome<u64> {
    let statement = client.prepare_cached(sql).await?;
    Ok(client.execute(&statement, values).await?)
}

/// One moment for several statements that only read.
pub(super) async fn snapshot(client: &mut Object) -> Outcome<Transaction<'_>> {
    let level = tokio_postgres::IsolationLevel::RepeatableRead;
    Ok(client.build_transaction().isolation_level(level).read_only(true).start().await?)
}

/// Reads [`COLUMNS`] and a body.
pub(super) fn message_of(row: &Row) -> Outcome<Message> {
    Ok(Message {
        id: MessageId(row.try_get(0)?),
        project: ProjectId(row.try_get(1)?),
        from: row.try_get(2)?,
        to: names_of(row.try_get(3)?),
        cc: names_of(row.try_get(4)?),
        subject: row.try_get(5)?,
        thread: row.try_get(6)?,
        reply_to: row.try_get::<_, Option<i64>>(7)?.map(MessageId),
        importance: importance_of(row.try_get::<_, i16>(8)?.into())?,
        ack_required: row.try_get(9)?,
        kind: row.try_get::<_, Option<&str>>(10)?.map(kind_of).transpose()?,
        work_id: row.try_get(11)?,
        door: row.try_get(12)?,
        vouched: vouched_of(row.try_get(13)?)?,
        created_at: time(row, 14)?,
        body: row.try_get(15)?,
    })
}

/// Reads [`STATE`], from the column `first` on.
pub(super) fn delivery_of(row: &Row, first: usize) -> Outcome<(Role, DeliveryState)> {
    let at = |column: usize| -> Outcome<Option<Timestamp>> {
        Ok(row.try_get::<_, Option<i64>>(first + column)?.map(from_micros))
    };
    let role = role_of(row.try_get::<_, i16>(first)?.into())?;
    let state = DeliveryState {
        shown_at: at(1)?,
        read_at: at(2)?,
        acked_at: at(3)?,
        ack_note: row.try_get(first + 4)?,
        archived_at: at(5)?,
    };
    Ok((role, state))
}

/// The time in a column.
pub(super) fn time(row: &Row, column: usize) -> Outcome<Timestamp> {
    Ok(from_micros(row.try_get(column)?))
}

/// The only value of the only row, if there is one.
pub(super) fn only<'r, T: FromSql<'r>>(rows: &'r [Row]) -> Outcome<Option<T>> {
    rows.first().map(|row| row.try_get(0)).transpose().map_err(Trouble::from)
}

/// What is read until the page is full: it ends once what it holds exceeds [`PAGE_BYTES`]. Rows come as they are read, so
/// that those beyond the page are never all in memory.
pub(super) async fn page<T>(
    client: &impl GenericClient,
    sql: &str,
    values: Values<'_>,
    read: impl Fn(&Row) -> Outcome<T>,
    bytes: impl Fn(&T) -> usize,
) -> Outcome<Vec<T>> {
    let statement = client.prepare_cached(sql).await?;
    let mut rows = std::pin::pin!(client.query_raw(&statement, values.iter().copied()).await?);
    let (mut page, mut size) = (Vec::new(), 0);
    while size <= PAGE_BYTES
        && let Some(row) = rows.next().await
    {
        let one = read(&row?)?;
        size += bytes(&one);
        page.push(one);
    }
    Ok(page)
}

/// How much a message counts for in a page.
pub(super) fn size_of(message: &Message) -> usize {
    message.body.len()
}

/// A limit as PostgreSQL takes it.
pub(super) fn limit_of(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A time as it stands in a row.
pub(super) fn micros(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_microsecond)
}
