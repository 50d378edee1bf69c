//! An open store, whichever engine it is of.

use std::path::PathBuf;
use std::sync::Arc;

use mail::clock::{Clock, SystemClock};
use mail::pace::PaceStore;
use mail::{Store, StoreError};

use crate::postgres::address;
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

    /// Opens a store that is there, to read it alone: nothing is made or brought up to date.
    pub async fn open_read_only(location: &Location) -> Result<Self, StoreError> {
        match location {
            Location::File(path) => Ok(Self::Sqlite(Arc::new(Sqlite::open_read_only(path)?))),
            Location::Postgres(url) => {
                Ok(Self::Postgres(Arc::new(Postgres::open_as_it_is(url, &PostgresOptions::default()).await?)))
            }
        }
    }

    /// What the office and its relays use.
    pub fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::Sqlite(store) => store.clone(),
            Self::Postgres(store) => store.clone(),
        }
    }

    /// The clock that all servers over the store agree on.
    pub fn clock(&self) -> Arc<dyn Clock> {
        match self {
            Self::Sqlite(_) => Arc::new(SystemClock),
            Self::Postgres(store) => store.clock(),
        }
    }

    /// How servers share a limit; `None` where there is one server.
    pub fn pace(&self) -> Option<Arc<dyn PaceStore>> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(store) => Some(store.clone()),
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
            Self::Postgres(url) => text.write_str(&address::shown(url)),
        }
    }
}

impl std::fmt::Debug for Location {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(text, "'{self}'")
    }
}

impl Location {
    /// The URL of a database as it may be shown, for the command lines of PostgreSQL's own programs; `None` for a file.
    pub fn url_without_password(&self) -> Option<String> {
        let Self::Postgres(url) = self else { return None };
        let (who, place) = parts_of(url);
        let name = who.split(':').next().filter(|name| !name.is_empty());
        Some(name.map_or_else(|| format!("postgres://{place}"), |name| format!("postgres://{name}@{place}")))
    }
}

/// Who connects, which may hold a password, and to what. A password that is given as a parameter is left out.
fn parts_of(url: &str) -> (&str, String) {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let (front, query) = rest.split_once('?').unwrap_or((rest, ""));
    if query.contains('@') {
        // It cannot be told whether that belongs to a password.
        return ("", String::new());
    }
    let (who, place) = front.rsplit_once('@').unwrap_or(("", front));
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty() && !pair.contains("password")).collect();
    (who, if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_for_other_programs_has_no_password_wherever_that_stood() {
        for (url, shown) in [
            ("postgres://me:s3cret@db:5433/mail", "postgres://me@db:5433/mail"),
            ("postgresql://me:s3c@ret@db/mail?sslmode=disable", "postgres://me@db/mail?sslmode=disable"),
            ("postgres://db/mail?user=me&password=s3cret", "postgres://db/mail?user=me"),
            ("postgres://me@%2Frun%2Fpg/mail?password=s3cret", "postgres://me@%2Frun%2Fpg/mail"),
            ("postgres://db/mail?password=s3cret@s3cret", "postgres://"),
            ("postgres://me:s3cret?s3cret@db/mail", "postgres://"),
            ("postgres://me:s3cret@s3cret?s3cret@db/mail", "postgres://"),
            ("s3cret", "postgres://"),
        ] {
            let location = Location::Postgres(url.to_owned());
            assert_eq!(location.url_without_password().as_deref(), Some(shown));
        }
    }
}
