//! An open store, whichever engine it is of: the one type that serves every port of `mail`.
//!
//! Each noun's file says what its methods read and write; this one says where that runs.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use mail::clock::{Clock, SystemClock};
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::rate_limit::RateLimitStore;
use mail::{Store, Stored};

use crate::error::{Outcome, refused};
use crate::job::{Work, closed};
use crate::postgres::{PostgresTx, address};
use crate::row::values;
use crate::sqlite::Slot;
use crate::tx::Tx;
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

/// A store that may have been closed meanwhile.
pub(crate) enum WeakEngine {
    Sqlite(Weak<Sqlite>),
    Postgres(Weak<Postgres>),
}

impl WeakEngine {
    /// The store, if it is still open.
    pub(crate) fn upgrade(&self) -> Option<Engine> {
        match self {
            Self::Sqlite(store) => store.upgrade().map(Engine::Sqlite),
            Self::Postgres(store) => store.upgrade().map(Engine::Postgres),
        }
    }
}

impl Store for Engine {}

/// The project that a job writes in, or how it is found. Whoever writes in a project of PostgreSQL locks it.
#[derive(Clone, Copy)]
pub(crate) enum Home {
    Project(ProjectId),
    Agent(AgentId),
    Message(MessageId),
    Nobody,
}

impl Engine {
    /// Opens the store, and makes what is missing.
    pub async fn open(location: &Location) -> Stored<Self> {
        match location {
            Location::File(path) => Sqlite::open(path, &Options::default()),
            Location::Postgres(url) => Postgres::open(url, &PostgresOptions::default()).await,
        }
    }

    /// Opens a store that is there, to read it alone: nothing is made or brought up to date.
    pub async fn open_read_only(location: &Location) -> Stored<Self> {
        match location {
            Location::File(path) => Sqlite::open_read_only(path),
            Location::Postgres(url) => Postgres::open_as_it_is(url, &PostgresOptions::default()).await,
        }
    }

    /// The same, without keeping it open.
    pub(crate) fn downgrade(&self) -> WeakEngine {
        match self {
            Self::Sqlite(store) => WeakEngine::Sqlite(Arc::downgrade(store)),
            Self::Postgres(store) => WeakEngine::Postgres(Arc::downgrade(store)),
        }
    }

    /// What the office and its relays use.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.clone())
    }

    /// The clock that all servers over the store agree on.
    pub fn clock(&self) -> Arc<dyn Clock> {
        match self {
            Self::Sqlite(_) => Arc::new(SystemClock),
            Self::Postgres(store) => store.health.clock(),
        }
    }

    /// How servers share a limit; `None` where there is one server.
    pub fn pace(&self) -> Option<Arc<dyn RateLimitStore>> {
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

    /// Runs `work` on a connection that only reads: in SQLite here and now, in PostgreSQL unless the database goes away.
    pub(crate) async fn read<T>(
        &self,
        doing: &'static str,
        work: impl AsyncFnOnce(&mut Tx<'_>) -> Outcome<T>,
    ) -> Stored<T> {
        let reading = async {
            let mut reader = match self {
                Self::Sqlite(store) => Reader::Sqlite(store.readers.slot().await?),
                Self::Postgres(store) => Reader::Postgres(Box::pin(store.reader()).await?),
            };
            work(&mut reader.tx()).await
        };
        let done = match self {
            Self::Sqlite(_) => reading.await,
            Self::Postgres(store) => store.health.unless_away(reading).await,
        };
        done.map_err(refused(doing))
    }

    /// Runs `work`, which may read much, where it holds up nobody else. SQLite gives it up at its deadline.
    pub(crate) async fn read_long<T: Send + 'static>(&self, doing: &'static str, work: impl Work<T>) -> Stored<T> {
        match self {
            Self::Sqlite(store) => store.read_long(doing, work).await,
            Self::Postgres(_) => self.read(doing, async |tx| work(tx).await).await,
        }
    }

    /// Runs `work` in a transaction of its own or with others, and returns when it is on disk. Once it is queued it is done
    /// whether or not anybody waits, unless it came by [`write_for_caller`](Engine::write_for_caller).
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        home: Home,
        work: impl Work<T>,
    ) -> Stored<T> {
        let answer = match self {
            Self::Sqlite(store) => store.hand_in(doing, work)?,
            Self::Postgres(store) => {
                let project = Box::pin(self.project_of(doing, home, store)).await?;
                store.writers.hand_in(doing, project, work)?
            }
        };
        answer.await.unwrap_or_else(|_| Err(closed(doing)))
    }

    /// Runs `work` in a transaction while nobody else writes, and returns when it is on disk.
    pub(crate) async fn write_alone<T: Send + 'static>(&self, doing: &'static str, work: impl Work<T>) -> Stored<T> {
        match self {
            Self::Sqlite(_) => self.write(doing, Home::Nobody, work).await,
            Self::Postgres(store) => store.write_alone(doing, work).await,
        }
    }

    /// The project of whom a job concerns; of one that is not there, a project that is not there either.
    async fn project_of(&self, doing: &'static str, home: Home, store: &Postgres) -> Stored<ProjectId> {
        let (sql, id) = match home {
            Home::Nobody => return Ok(NOBODY),
            Home::Project(project) => return Ok(project),
            Home::Message(message) => ("SELECT project_id FROM message WHERE id = ?1", message.0),
            Home::Agent(agent) => match store.known_home(agent) {
                Some(project) => return Ok(project),
                None => ("SELECT project_id FROM agent WHERE id = ?1", agent.0),
            },
        };
        let found = self.read(doing, async |tx| tx.row(sql, values![id]).await).await?;
        if let (Home::Agent(agent), Some(project)) = (home, found) {
            store.remember_home(agent, project);
        }
        Ok(found.unwrap_or(NOBODY))
    }
}

/// A connection that reads, for as long as somebody does.
enum Reader<'a> {
    Sqlite(Slot<'a>),
    Postgres(Box<PostgresTx>),
}

impl Reader<'_> {
    fn tx(&mut self) -> Tx<'_> {
        match self {
            Self::Sqlite(slot) => slot.tx(),
            Self::Postgres(tx) => tx.tx(),
        }
    }
}

/// No project has this number: whoever writes in it locks none.
const NOBODY: ProjectId = ProjectId(0);

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
