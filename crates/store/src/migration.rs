//! The steps of a schema, whichever engine it is of: numbered, each applied once, and never changed afterwards.
//!
//! The checksum of each step that was applied is kept with the mail, so that a changed step is noticed rather than half
//! believed. There is no way back: an older program refuses a newer store. What is an engine's own stands in its [`Schema`].

use crate::error::{Outcome, SqlError};
use crate::moving::MARK;
use crate::row::values;
use crate::tx::Tx;

/// One step.
pub(crate) type Migration = (&'static str, &'static str);

/// An engine's steps, and what is its own in applying them.
#[derive(Clone, Copy)]
pub(crate) struct Schema<'s> {
    /// The steps that are the engine's own. They come first.
    pub(crate) steps: &'s [Migration],
    /// The steps that both engines have: name and SQL.
    pub(crate) shared: &'s [Migration],
    /// A shared step in the engine's words.
    pub(crate) translate: fn(&str) -> String,
    /// The names of all tables, as `name`.
    pub(crate) tables: &'static str,
    /// Begins a transaction in which nobody else applies steps.
    pub(crate) begin: &'static str,
    /// Makes the table of the steps that were applied, if it is not there.
    pub(crate) noting: &'static str,
    /// Why a store is refused that another program made.
    pub(crate) foreign: &'static str,
    /// Why a store is refused that lacks all steps, or some, and may not be changed.
    pub(crate) empty: &'static str,
    pub(crate) older: &'static str,
}

/// Why a store is not opened that carries the mark of a move ([`crate::moving`]).
const UNFINISHED: &str = "MIGRATION_UNFINISHED: not all mail was moved here yet; run `postrider migrate` again \
     with the same --from and --to, which goes on where it stopped";

impl Schema<'_> {
    /// The version that all steps lead to.
    pub(crate) fn newest(&self) -> i64 {
        (self.steps.len() + self.shared.len()) as i64
    }

    /// Every step, in order.
    fn all(&self) -> impl Iterator<Item = (i64, Migration)> {
        (1..).zip(self.steps.iter().chain(self.shared).copied())
    }

    /// Applies what is missing, all of it or nothing.
    pub(crate) async fn migrate(&self, tx: &mut Tx<'_>) -> Outcome<()> {
        if self.applied(tx).await? == self.newest() {
            return Ok(());
        }
        tx.command(self.begin).await?;
        let migrated = self.apply(tx).await;
        if migrated.is_err() {
            // SQLite may have taken it back already; what went wrong is told, not that.
            let _ = tx.command("ROLLBACK").await;
            return migrated;
        }
        tx.command("COMMIT").await
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Outcome<()> {
        // Asked again under the lock: another process may have been quicker.
        let done = self.applied(tx).await?;
        tx.command(self.noting).await?;
        for (version, (name, sql)) in self.all().filter(|(version, _)| *version > done) {
            match version as usize > self.steps.len() {
                true => tx.command(&(self.translate)(sql)).await?,
                false => tx.command(sql).await?,
            }
            let noting = "INSERT INTO migration (version, name, checksum) VALUES (?1, ?2, ?3)";
            tx.execute(noting, values![version, name, checksum(sql).as_bytes()]).await?;
        }
        Ok(())
    }

    /// Succeeds when nothing is missing.
    pub(crate) async fn check(&self, tx: &mut Tx<'_>) -> Outcome<()> {
        let (found, known) = (self.applied(tx).await?, self.newest());
        if found == known {
            return Ok(());
        }
        let why = if found == 0 { self.empty } else { self.older };
        Err(SqlError::Unknown(why.replace("{found}", &found.to_string()).replace("{known}", &known.to_string())))
    }

    /// Succeeds unless mail is still being moved into the store.
    pub(crate) async fn check_finished(&self, tx: &mut Tx<'_>) -> Outcome<()> {
        match self.is_unfinished(tx).await? {
            true => Err(SqlError::Unknown(UNFINISHED.to_owned())),
            false => Ok(()),
        }
    }

    /// Whether mail is still being moved into the store.
    pub(crate) async fn is_unfinished(&self, tx: &mut Tx<'_>) -> Outcome<bool> {
        let sql = format!("SELECT 1 FROM ({}) AS tables WHERE name = ?1", self.tables);
        tx.exists(&sql, values![MARK]).await
    }

    /// The version of the store, after comparing what was applied with what is known.
    pub(crate) async fn applied(&self, tx: &mut Tx<'_>) -> Outcome<i64> {
        let tables = self.tables;
        let sql = format!("SELECT count(*), count(*) FILTER (WHERE name = 'migration') FROM ({tables}) AS tables");
        match tx.row::<(i64, i64)>(&sql, &[]).await? {
            None | Some((0, _)) => return Ok(0),
            Some((_, 0)) => return Err(SqlError::Unknown(self.foreign.to_owned())),
            Some(_) => {}
        }
        let kept: Vec<(i64, Vec<u8>)> =
            tx.rows("SELECT version, checksum FROM migration ORDER BY version", &[]).await?;
        let (found, known) = (kept.last().map_or(0, |(version, _)| *version), self.newest());
        if found > known {
            return Err(SqlError::Unknown(format!(
                "the database has schema version {found}, and this program knows versions up to {known}; use a newer one"
            )));
        }
        match self.all().zip(kept).find(|((_, (_, sql)), (_, sum))| *checksum(sql).as_bytes() != sum.as_slice()) {
            None => Ok(found),
            Some(((version, (name, _)), _)) => Err(SqlError::Unknown(format!(
                "migration {version} ('{name}') is not the one that this database was made with"
            ))),
        }
    }
}

fn checksum(sql: &str) -> blake3::Hash {
    blake3::hash(sql.as_bytes())
}
