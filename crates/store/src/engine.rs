//! An open store, whichever engine it is of.

use std::path::PathBuf;
use std::sync::Arc;

use mail::{Store, StoreError};

use crate::{Options, Postgres, PostgresOptions, Sqlite};

/// Where mail is kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// In a file.
    File(PathBuf),
    /// In the database of this URL, which may hold a password.
    Postgres(String),
}

/// An open store.
#[derive(Clone)]
pub enum Engine {
    /// In a file.
    Sqlite(Arc<Sqlite>),
    /// In a database that other servers use too.
    Postgres(Arc<Postgres>),
}

impl Engine {
    /// Opens the store, and makes what is missing.
    pub async fn open(location: &Location) -> Result<Self, StoreError> {
        Ok(match location {
            Location::File(path) => Self::Sqlite(Arc::new(Sqlite::open(path, &Options::default())?)),
            Location::Postgres(url) => {
                Self::Postgres(Arc::new(Postgres::open(url, &PostgresOptions::default()).await?))
            }
        })
    }

    /// Opens a store that is there, to read it alone.
    pub async fn open_read_only(location: &Location) -> Result<Self, StoreError> {
        match location {
            Location::File(path) => Ok(Self::Sqlite(Arc::new(Sqlite::open_read_only(path)?))),
            Location::Postgres(_) => Self::open(location).await,
        }
    }

    /// What the office and its relays use.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    /// Finishes the writes that wait. Later writes fail.
    pub async fn close(&self) {
        match self {
            Self::Sqlite(store) => store.close(),
            Self::Postgres(store) => store.close().await,
        }
    }
}

impl std::fmt::Display for Location {
    /// Without the password.
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(text),
            Self::Postgres(url) => match url.rsplit_once('@') {
                Some((_, host)) => write!(text, "postgres://…@{host}"),
                None => text.write_str("postgres://…"),
            },
        }
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(text, "'{self}'")
    }
}
