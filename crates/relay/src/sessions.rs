//! Sessions of clients on this machine: one run of a client each, and which agent it is.
//!
//! A small private file for each session, in one folder of the home, written by hooks and by `postrider stdio`. All of it may be
//! lost: then an agent is given a name again. Deliberately absent: what other machines know of a session (the office keeps
//! that), and any proof of a name: that a process belongs to a session says who it is, and proves nothing.

mod process;
mod record;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub use process::{Ancestor, Process, ancestors, variable_of};
pub use record::{SessionRecord, host};

/// When a session that nobody has gone on with is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);
/// How often it is noted that a session goes on.
const REFRESHED: Duration = Duration::from_secs(60);
/// When a call that nobody saw end is forgotten.
const CALL_FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// How many files are looked at, so that a full folder costs no time.
const MOST_LOOKED_AT: usize = 20_000;
const MOST_SWEPT: usize = 5_000;
/// How many records are read at once.
const MOST_RECORDS: usize = 1_000;
/// How many sessions that ended are kept of one name.
const MOST_REPLACED: usize = 8;
/// A longer file is not ours.
const LONGEST: u64 = 64 * 1024;
/// How many digits of a hash name a file.
const DIGITS: usize = 32;
/// What the name of a file begins with that notes a call, and ends with that somebody holds for a time.
const CALL: &str = "call.";
const TURN: &str = ".turn";

/// The id may be any text, so the file is called by its hash.
fn file_name(client: &str, session_id: &str) -> String {
    format!("{client}-{}", &blake3::hash(session_id.as_bytes()).to_hex()[..DIGITS])
}

fn call_name(call: &str) -> String {
    format!("{CALL}{}", &blake3::hash(call.as_bytes()).to_hex()[..DIGITS])
}

/// The sessions that are noted in a folder.
#[derive(Clone, Debug)]
pub struct Sessions {
    folder: PathBuf,
}

impl Sessions {
    /// Those in `folder`, which is made with the first one. Other notes may be in it as well.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The record of a session. One that goes on is not forgotten.
    pub fn get(&self, client: &str, session_id: &str) -> Option<SessionRecord> {
        let record = self.stored(client, session_id)?;
        let path = self.folder.join(record.file_name());
        if record.seen_at.and_then(|seen| seen.elapsed().ok()).is_some_and(|age| age > REFRESHED)
            && let Ok(file) = File::options().write(true).open(&path)
        {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(record)
    }

    /// The same of one that goes on unseen: whoever only looks keeps no session from being forgotten.
    pub fn stored(&self, client: &str, session_id: &str) -> Option<SessionRecord> {
        let record = read(&self.folder.join(file_name(client, session_id)))?;
        // Written by an earlier version, it does not say what it is of.
        Some(SessionRecord { client: client.to_owned(), session_id: session_id.to_owned(), ..record })
    }

    /// Keeps a record in the place of an earlier one of the same session, and forgets sessions of long ago.
    pub fn keep(&self, record: &SessionRecord) -> io::Result<()> {
        let _turn = self.changing()?;
        self.write(record)?;
        self.forget_old_files();
        Ok(())
    }

    /// Changes the record of a session, if it is still kept, and returns what it is now. Of several that change it at once, each
    /// changes what the one before it left.
    pub fn change(
        &self,
        client: &str,
        session_id: &str,
        change: impl FnOnce(&mut SessionRecord),
    ) -> io::Result<Option<SessionRecord>> {
        let _turn = self.changing()?;
        let Some(mut record) = self.stored(client, session_id) else { return Ok(None) };
        let before = record.clone();
        change(&mut record);
        if record != before {
            self.write(&record)?;
        }
        Ok(Some(record))
    }

    /// Held while a record is read, changed and written back. That is short, so one is enough for all of them.
    fn changing(&self) -> io::Result<File> {
        self.locked(&format!("records{TURN}"))
    }

    fn write(&self, record: &SessionRecord) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        let path = self.folder.join(record.file_name());
        let fresh = path.with_extension(std::process::id().to_string());
        let mut file = private(&fresh)?;
        file.set_len(0)?;
        file.write_all(&text)?;
        fs::rename(&fresh, path)
    }

    /// Forgets a session.
    pub fn remove(&self, record: &SessionRecord) {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_file(self.folder.join(record.file_name()));
    }

    /// The records that can be read, those that did something last first.
    pub fn all(&self) -> Vec<SessionRecord> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = files.flatten().map(|file| file.path()).filter(|path| is_record(path)).take(MOST_LOOKED_AT);
        let seen_at = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
        let mut paths: Vec<_> = paths.map(|path| (seen_at(&path), path)).collect();
        paths.sort_by(|one, other| other.cmp(one));
        let read = |(_, path): (_, PathBuf)| read(&path).filter(|record| path.ends_with(record.file_name()));
        paths.into_iter().take(MOST_RECORDS).filter_map(read).collect()
    }

    /// Those that are over, and that their office still counts as open: nobody told it of their end. The office is a server elsewhere,
    /// or that of this home.
    pub fn unsettled(&self, office: Option<&str>) -> Vec<SessionRecord> {
        let mut records = self.all();
        records.retain(|record| record.is_told() && record.office.as_deref() == office);
        records.retain(|record| !record.agent.is_empty() && !record.is_settled && record.is_over());
        records
    }

    /// Notes that the office was told of the end of a session, unless that went on meanwhile.
    pub fn settle(&self, seen: &SessionRecord) -> io::Result<()> {
        let settle = |record: &mut SessionRecord| {
            if record.is_unchanged_since(seen) {
                (record.has_ended, record.is_settled, record.instead_of) = (true, true, None);
            }
        };
        self.change(&seen.client, &seen.session_id, settle).map(drop)
    }

    /// Leaves the name of a session to another, which tells of its end. One that ended finds its name again when it is resumed and
    /// nobody else has it; of very many with one name, those that ended last.
    pub fn replace(&self, before: &SessionRecord) -> io::Result<()> {
        if before.is_open() {
            self.remove(before);
            return Ok(());
        }
        self.settle(before)?;
        let settled = |record: &SessionRecord| record.is_settled && record.is_of_same_agent(before);
        self.all().iter().filter(|record| settled(record)).skip(MOST_REPLACED).for_each(|record| self.remove(record));
        Ok(())
    }

    /// Gives the sessions of an agent another name. The next session in their place takes it as it would have taken the old one.
    pub fn rename(&self, project: &str, old: &str, new: &str) -> io::Result<()> {
        let is_named = |record: &SessionRecord| record.agent == old && record.project == project;
        let mut named = self.all().into_iter().filter(is_named);
        named.try_for_each(|named| {
            let rename = |record: &mut SessionRecord| {
                if is_named(record) {
                    new.clone_into(&mut record.agent);
                }
            };
            self.change(&named.client, &named.session_id, rename).map(drop)
        })
    }

    /// Notes which agent below the main one makes a call that the client calls so. The server that is called learns it from here.
    pub fn note_call(&self, call: &str, agent: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = private(&self.folder.join(call_name(call)))?;
        file.set_len(0)?;
        file.write_all(agent.as_bytes())
    }

    /// The agent below the main one that makes a call; none if it is the main one's.
    pub fn caller_of(&self, call: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(call_name(call))).ok().filter(|agent| !agent.is_empty())
    }

    /// Forgets a call that has ended.
    pub fn forget_call(&self, call: &str) {
        // What cannot be removed is forgotten with old files.
        let _ = fs::remove_file(self.folder.join(call_name(call)));
    }

    /// The session that a process belongs to: the nearest of those that `ancestors` names, which are the processes above it. Where one
    /// process runs several sessions, `is_named` tells the one that is meant.
    pub fn of_process(
        &self,
        ancestors: impl IntoIterator<Item = Process>,
        is_named: impl Fn(&SessionRecord) -> bool,
    ) -> Option<SessionRecord> {
        let mut open = self.all();
        open.retain(|record| !record.has_ended && !record.agent.is_empty());
        open.retain(|record| !(record.has_ended_unseen()));
        for process in ancestors {
            let mut here = open.iter().filter(|record| record.process.as_ref() == Some(&process));
            match (here.next(), here.next()) {
                (None, _) => {}
                (Some(only), None) => return Some(only.clone()),
                // Of several, none is taken on a guess.
                (Some(_), Some(_)) => {
                    let mut of_process = open.iter().filter(|record| record.process.as_ref() == Some(&process));
                    return of_process.find(|record| is_named(record)).cloned();
                }
            }
        }
        open.into_iter().find(is_named)
    }

    /// Held by whoever gives out names: of two sessions that begin at once, one comes after the other.
    pub fn turn(&self) -> io::Result<File> {
        self.locked(&format!("names{TURN}"))
    }

    /// A file of this folder that nobody else has now.
    pub fn locked(&self, name: &str) -> io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let file = private(&self.folder.join(name))?;
        file.lock()?;
        Ok(file)
    }

    fn forget_old_files(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.take(MOST_SWEPT).flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            let forgotten = if name.starts_with(CALL) { CALL_FORGOTTEN } else { FORGOTTEN };
            let changed = file.metadata().and_then(|about| about.modified()).ok();
            let is_old = changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > forgotten);
            // Whoever waits for a turn would wait for a file that is no longer there.
            if is_old && !name.ends_with(TURN) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Whether a file is called as a record is.
fn is_record(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let hash = name.rsplit_once('-').map_or("", |(_, hash)| hash);
    hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn read(path: &Path) -> Option<SessionRecord> {
    let file = File::open(path).ok()?;
    let seen_at = file.metadata().and_then(|about| about.modified()).ok();
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    let record = serde_json::from_slice(&text).ok()?;
    Some(SessionRecord { seen_at, ..record })
}

/// Opens a file that nobody else may read: it may hold a token.
fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests;
