//! Sessions of clients on this machine: one run of a client each, and which agent it is.
//!
//! A small private file for each session, in one folder of the home, written by hooks and by `postrider stdio`. All of it may be
//! lost: then an agent is given a name again. Deliberately absent: what other machines know of a session (the office keeps
//! that), and any proof of a name: that a process belongs to a session says who it is, and proves nothing.

mod process;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

pub use process::{Ancestor, Process, ancestors, variable_of};

/// When a session that nobody has gone on with is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);
/// When a session whose end cannot be seen counts as ended, if nothing is heard of it.
const SILENT: Duration = Duration::from_secs(3600);
/// When such a session is over, so that what it leaves behind is seen to.
const SILENT_FOR_GOOD: Duration = Duration::from_secs(24 * 3600);
/// How long a session that is at work may say nothing. A turn that its user broke off has no end.
const LONGEST_TURN: Duration = Duration::from_secs(120);
/// How often the office is told that a session goes on, in microseconds.
const TOLD_EVERY: i64 = 60_000_000;
/// How often it is noted that a session goes on.
const REFRESHED: Duration = Duration::from_secs(60);
/// When a call that nobody saw end is forgotten.
const CALL_FORGOTTEN: Duration = Duration::from_secs(24 * 3600);
/// How many files are looked at, so that a full folder costs no time.
const MOST_LOOKED_AT: usize = 20_000;
const MOST_SWEPT: usize = 5_000;
/// How many records are read at once.
const MOST_RECORDS: usize = 1_000;
/// A longer file is not ours.
const LONGEST: u64 = 64 * 1024;
/// How many digits of a hash name a file.
const DIGITS: usize = 32;
/// What the name of a file begins with that notes a call, and ends with that somebody holds for a time.
const CALL: &str = "call.";
const TURN: &str = ".turn";

/// A session, and who its agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionRecord {
    /// The name of the agent.
    pub agent: String,
    /// What proves it.
    pub token: Option<String>,
    /// The project that it has this name in.
    pub project: String,
    /// The client, such as `claude`.
    pub client: String,
    /// What the client calls the session.
    pub session_id: String,
    /// The process of the client, where that can be known.
    pub process: Option<Process>,
    /// The top of the working tree that the session began in, else its folder.
    pub place: PathBuf,
    /// Whether the name was generated, and not given by a person.
    pub is_generated: bool,
    /// When the agent got its name in this place, in microseconds since 1970.
    pub named_at: i64,
    /// Whether the session said that it ended.
    pub has_ended: bool,
    /// Whether what an ended session leaves behind was seen to.
    pub is_settled: bool,
    /// The client's socket that takes messages for the session, and what the session's own processes show it.
    pub socket: Option<String>,
    /// The proof for that socket.
    pub socket_token: Option<String>,
    /// The process of ours that runs inside the session and wakes it, if there is one.
    pub inside: Option<Process>,
    /// Where the client keeps what is its own, if its user moved that.
    pub moved: Option<PathBuf>,
    /// The agents below the main one: their names, by what the client calls them.
    pub below: BTreeMap<String, String>,
    /// Whether its agent has still to be told who it is, because nothing that is said at a start reaches the model.
    pub is_untold: bool,
    /// Whether it waits for its user, as the office was told last.
    pub is_idle: bool,
    /// When the office was told of it last, in microseconds since 1970; 0 if it never was.
    pub told_at: i64,
    /// Whether its agent said that it leaves, and its user has not come back to it since.
    pub has_left: bool,
    /// The server elsewhere that was told of it; none if that is the office of this home.
    pub office: Option<String>,
    /// Whether nobody tells of its end: its client has no event for that, and the process outlives it.
    pub ends_unseen: bool,
    /// The session that it goes on with, until the office was told that this one ended.
    pub instead_of: Option<String>,
    /// When it last did something.
    #[serde(skip)]
    pub seen_at: Option<SystemTime>,
}

impl SessionRecord {
    /// Whether the session goes on, as far as can be seen from here.
    pub fn is_open(&self) -> bool {
        let is_there = self.process.map_or(self.seen_at.is_some(), Process::is_running);
        !self.has_ended && is_there && !self.is_past(SILENT)
    }

    /// Whether only silence tells that it ended, and it was silent for that long.
    fn is_past(&self, silence: Duration) -> bool {
        (self.process.is_none() || self.ends_unseen) && self.is_silent_for(silence)
    }

    fn is_silent_for(&self, time: Duration) -> bool {
        self.seen_at.and_then(|seen| seen.elapsed().ok()).is_some_and(|age| age >= time)
    }

    /// Whether a line may be put before it now: its agent has not left, its user has not stopped it, and it waits for somebody, or was silent for so long that
    /// nobody heard the end of its turn.
    pub fn is_ready(&self) -> bool {
        let is_stopped = self.process.is_some_and(Process::is_stopped);
        !self.has_left && !is_stopped && (self.is_idle || self.is_silent_for(LONGEST_TURN))
    }

    /// Whether a process of ours inside it wakes it.
    pub fn is_woken_inside(&self) -> bool {
        self.inside.is_some_and(Process::is_running)
    }

    /// Whether it is over for good, so that what it leaves behind is to be seen to. Where its end cannot be seen, that takes a long
    /// silence: its user may only be away.
    pub fn is_over(&self) -> bool {
        self.has_ended || self.process.is_some_and(|process| !process.is_running()) || self.is_past(SILENT_FOR_GOOD)
    }

    /// Whether the office is to be told at `now` that the session is idle, or at work.
    pub fn is_news(&self, is_idle: bool, now: i64) -> bool {
        self.is_idle != is_idle || (now - self.told_at).abs() >= TOLD_EVERY
    }

    /// Whether both are sessions of one agent.
    pub fn is_of_same_agent(&self, other: &Self) -> bool {
        self.agent == other.agent && self.project == other.project
    }

    /// Whether nothing has happened to the session since `seen`: it neither began again, nor was the office told of it.
    fn is_unchanged_since(&self, seen: &Self) -> bool {
        let life = |record: &Self| (record.process, record.told_at, record.has_ended);
        life(self) == life(seen) && (self.is_over() || !seen.is_over())
    }

    /// Whether both are the same session.
    pub fn is(&self, other: &Self) -> bool {
        self.client == other.client && self.session_id == other.session_id
    }

    fn file_name(&self) -> String {
        file_name(&self.client, &self.session_id)
    }
}

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
        records.retain(|record| record.told_at > 0 && record.office.as_deref() == office);
        records.retain(|record| !record.agent.is_empty() && !record.is_settled && record.is_over());
        records
    }

    /// Notes that the office was told of the end of a session, unless that went on meanwhile.
    pub fn settle(&self, seen: &SessionRecord) -> io::Result<()> {
        let settle = |record: &mut SessionRecord| {
            if record.is_unchanged_since(seen) {
                (record.has_ended, record.is_settled) = (true, true);
            }
        };
        self.change(&seen.client, &seen.session_id, settle).map(drop)
    }

    /// Gives the sessions of an agent another name.
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
        open.retain(|record| !(record.ends_unseen && record.is_past(SILENT)));
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
