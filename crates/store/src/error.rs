//! What can go wrong with a statement, in either engine, and what callers are told of it.

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use mail::StoreError;
use rusqlite::ErrorCode;

use crate::postgres::errors::{fact, is_gone, is_in_the_way, is_slow};

/// The result of a statement, or of reading its rows.
pub(crate) type Outcome<T> = Result<T, SqlError>;

/// What can go wrong with a statement.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlError {
    /// SQLite refused.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The file system refused.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// PostgreSQL refused, or is not there.
    #[error("{}", fact(.0))]
    Postgres(#[from] tokio_postgres::Error),
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

impl From<PoolError> for SqlError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::Postgres(error),
            PoolError::Timeout(TimeoutType::Wait) => Self::Crowded,
            PoolError::PostCreateHook(HookError::Backend(error)) => Self::Postgres(error),
            PoolError::PostCreateHook(HookError::Message(why)) => Self::NoConnection(why.into_owned()),
            other => Self::NoConnection(other.to_string()),
        }
    }
}

impl SqlError {
    /// What the caller of a read, or of one job, is told. Nothing was written.
    pub(crate) fn told(self, doing: &'static str) -> StoreError {
        match self {
            // A file that stayed locked is only busy: nothing was written.
            Self::Sqlite(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy) => StoreError::Busy,
                Some(ErrorCode::OperationInterrupted) => StoreError::TooSlow,
                _ => failure(doing, error),
            },
            Self::Postgres(error) if is_slow(&error) => StoreError::TooSlow,
            other => other.told_to_all(doing),
        }
    }

    /// What each caller is told when a whole transaction was lost.
    pub(crate) fn told_to_all(&self, doing: &'static str) -> StoreError {
        match self {
            Self::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => StoreError::Busy,
            Self::Sqlite(error) => failure(doing, format!("nothing was kept: {error}")),
            Self::Crowded => StoreError::Busy,
            Self::Postgres(error) if is_slow(error) || is_in_the_way(error) => StoreError::Busy,
            Self::Postgres(error) if !is_gone(error) => failure(doing, self.to_string()),
            Self::Unknown(_) | Self::File(_) => failure(doing, self.to_string()),
            Self::Postgres(_) | Self::NoConnection(_) => StoreError::Away { doing, cause: self.to_string() },
        }
    }

    /// Whether it came of the present state of the database, and not of the statement.
    pub(crate) fn will_pass(&self) -> bool {
        match self {
            Self::Crowded | Self::NoConnection(_) => true,
            Self::Postgres(error) => is_slow(error) || is_in_the_way(error) || is_gone(error),
            Self::Sqlite(_) | Self::File(_) | Self::Unknown(_) => false,
        }
    }
}

/// Turns an error of a read, or one before a commit, into the store's.
pub(crate) fn refused(doing: &'static str) -> impl Fn(SqlError) -> StoreError {
    move |error| error.told(doing)
}

/// The store's error for anything else.
pub(crate) fn failure(doing: &'static str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Failed { doing, cause: cause.into() }
}
