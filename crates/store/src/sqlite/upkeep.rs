//! Looking after the file: what version it is, whether it is whole, and how to copy it and put a copy in its place.
//!
//! A backup is one self-contained file that was checked before it got its name. Nothing is ever deleted: what a restore
//! replaces is moved aside. Nothing here repairs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use mail::Stored;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::{SCHEMA, absolute, connection, now, tx_over};
use crate::error::{Outcome, SqlError, refused};
use crate::tx::Tx;

/// How many pages are copied between two reports of progress: 2 MiB.
const PAGES: i32 = 512;

/// The version of the schema that the file has.
pub fn schema_version(path: &Path) -> Stored<i64> {
    let path = absolute(path)?;
    let version = || now(tx_over(&mut connection::reading(&path)?).only("SELECT max(version) FROM migration", &[]));
    version().map_err(refused("read the schema's version"))
}

/// What is wrong with the file: damage, rows that point nowhere, a search index that contradicts itself. Empty is good.
pub fn integrity_check(path: &Path) -> Stored<Vec<String>> {
    checked(&absolute(path)?).map_err(refused("check the database"))
}

/// Copies the database as it is now to a new file, while others go on writing.
///
/// `progress` is told how many pages remain, and of how many. The copy gets its name only when it is complete and was
/// checked; a file that is there already is left alone.
pub fn backup(from: &Path, to: &Path, mut progress: impl FnMut(usize, usize)) -> Stored<()> {
    let (from, to) = (absolute(from)?, absolute(to)?);
    let partial = beside(&to, &format!(".partial-{}", std::process::id()));
    let mut backed_up = || {
        if to.try_exists()? {
            return Err(SqlError::Unknown(format!("'{}' is there already", to.display())));
        }
        let done = copy_checked(&from, &partial, &mut progress).and_then(|()| Ok(publish(&partial, &to)?));
        // What was published has its own name by now; what was not is of no use to anybody.
        let _ = fs::remove_file(&partial);
        done
    };
    backed_up().map_err(refused("back up the database"))
}

/// Puts a backup in the place of the database `to`, and returns where the database that was there is now.
///
/// Refused when the backup is damaged or of a newer program, and when somebody has the database open. Whoever calls this
/// owns the database ([`Ownership`](crate::ownership::Ownership)), so that no server starts in the middle. What was
/// there keeps its content under a name made with `label`, such as a time; it is never deleted.
pub fn restore(backup: &Path, to: &Path, label: &str) -> Stored<Option<PathBuf>> {
    let (backup, to) = (absolute(backup)?, absolute(to)?);
    let staged = beside(&to, &format!(".restoring-{}", std::process::id()));
    let restored = || {
        check_backup(&backup)?;
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        copy_checked(&backup, &staged, &mut |_, _| {})?;
        fold_log(&to)?;
        let aside = move_aside(&to, label)?;
        publish(&staged, &to)?;
        Ok(aside)
    };
    let restored = restored().map_err(refused("restore the database"));
    let _ = fs::remove_file(&staged);
    restored
}

/// As [`integrity_check`].
fn checked(path: &Path) -> Outcome<Vec<String>> {
    let problems = || problems(&mut tx_over(&mut connection::reading(path)?));
    match problems() {
        Err(SqlError::Sqlite(error)) if is_damage(&error) => Ok(vec![error.to_string()]),
        checked => checked,
    }
}

fn problems(tx: &mut Tx<'_>) -> Outcome<Vec<String>> {
    // This looks into the search index too.
    let mut found: Vec<String> = now(tx.rows("PRAGMA integrity_check", &[]))?;
    found.retain(|line| line != "ok");
    for (table, _, parent) in now(tx.rows::<(String, Option<i64>, String)>("PRAGMA foreign_key_check", &[]))? {
        found.push(format!("a row of '{table}' points at a row of '{parent}' that is not there"));
    }
    if found.is_empty() {
        for (slug, kept, findable) in now(tx.rows::<(String, i64, i64)>(UNFINDABLE, &[]))? {
            found.push(format!("the search index knows {findable} of the {kept} messages of '{slug}'"));
        }
    }
    Ok(found)
}

/// The search index holds no text of its own that SQLite could compare, so messages are counted on both sides.
const UNFINDABLE: &str = "
    SELECT slug, kept, findable FROM (
        SELECT p.slug, (SELECT count(*) FROM message m WHERE m.project_id = p.id) AS kept,
            (SELECT count(*) FROM message_fts f WHERE f.message_fts MATCH 'scope : p' || p.id) AS findable
        FROM project p)
    WHERE kept <> findable";

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn check_backup(backup: &Path) -> Outcome<()> {
    let mut connection = connection::reading(backup)?;
    if now(SCHEMA.applied(&mut tx_over(&mut connection)))? == 0 {
        return Err(SqlError::Unknown(format!("'{}' holds no mail", backup.display())));
    }
    refuse_damage(backup)
}

fn refuse_damage(path: &Path) -> Outcome<()> {
    match checked(path)?.first() {
        None => Ok(()),
        Some(problem) => Err(SqlError::Unknown(format!("'{}' is damaged: {problem}", path.display()))),
    }
}

/// Copies a database into a new file that needs no other file beside it, and checks the copy.
fn copy_checked(from: &Path, to: &Path, progress: &mut dyn FnMut(usize, usize)) -> Outcome<()> {
    connection::make_file(to)?;
    copy(from, to, progress)?;
    refuse_damage(to)?;
    Ok(File::open(to)?.sync_all()?)
}

fn copy(from: &Path, to: &Path, progress: &mut dyn FnMut(usize, usize)) -> rusqlite::Result<()> {
    let source = connection::reading(from)?;
    // Held to the end: without it a copy begins again whenever somebody writes, and might never be done.
    let snapshot = source.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    target.execute_batch("PRAGMA synchronous = OFF")?;
    {
        let copying = Backup::new(&snapshot, &mut target)?;
        loop {
            let step = copying.step(PAGES)?;
            let so_far = copying.progress();
            progress(so_far.remaining.unsigned_abs() as usize, so_far.pagecount.unsigned_abs() as usize);
            match step {
                StepResult::Done => break,
                StepResult::More => {}
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    Ok(())
}

/// Folds the write-ahead log into the file, which also shows whether somebody uses it. A damaged file stays as it is.
fn fold_log(path: &Path) -> Outcome<()> {
    if !path.exists() {
        return Ok(());
    }
    let folded = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .and_then(|connection| connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get::<_, String>(0)));
    match folded {
        Ok(mode) if mode == "delete" => Ok(()),
        Ok(mode) => Err(SqlError::Unknown(format!("the database is in use (journal mode '{mode}' stays)"))),
        Err(error) if is_damage(&error) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Moves a database and what belongs to it to a free name.
///
/// The log goes first: should this be cut short, a log must never be left beside a file that it does not belong to.
fn move_aside(path: &Path, label: &str) -> io::Result<Option<PathBuf>> {
    let label: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let mut aside = beside(path, &format!(".before-{label}"));
    let mut number = 2;
    while ["", "-wal", "-shm"].iter().any(|end| beside(&aside, end).exists()) {
        aside = beside(path, &format!(".before-{label}-{number}"));
        number += 1;
    }
    let there = path.exists();
    for end in ["-wal", "-shm", ""] {
        match fs::rename(beside(path, end), beside(&aside, end)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(there.then_some(aside))
}

/// Gives a finished file its name, and never that of another.
fn publish(finished: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(finished, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // Some file systems have no links; there, looking before renaming has to do.
        Err(_) if !name.try_exists()? => fs::rename(finished, name)?,
        linked => linked?,
    }
    #[cfg(unix)]
    if let Some(folder) = name.parent() {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}
