//! What is remembered of a session between its events, each of which is a process of its own.
//!
//! A small file for each session in the home's `sessions` folder: the name that the agent was given, the project it was
//! given in, and its token. Beside it, for mail that another provider keeps, which messages were told. All of it may be
//! lost: then a name is generated again, or a message told twice.

use std::collections::HashSet;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::clients::Client;
use crate::identity::Acting;

/// How many messages are remembered as told. Whoever asks about more at once is told some of them again.
pub const MOST_TOLD: usize = 1_000;
/// When a session that nobody has gone on with is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(30 * 24 * 3600);
/// How often it is noted that a session goes on.
const REFRESHED: Duration = Duration::from_secs(24 * 3600);
/// How many files are looked at to find those, so that a full folder costs no time.
const MOST_LOOKED_AT: usize = 1_000;

/// Who an agent is in its session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name.
    pub agent: String,
    /// What proves it.
    pub token: Option<String>,
    /// The project that it has this name in.
    pub project: String,
}

/// The place where a session is remembered.
pub struct Session {
    folder: PathBuf,
    name: String,
}

impl Session {
    /// The place for a session of a client. The id is only hashed: it may be any text.
    pub fn of(folder: &Path, client: &Client, id: &str) -> Self {
        let hash = blake3::hash(id.as_bytes()).to_hex();
        Self { folder: folder.to_owned(), name: format!("{}-{}", client.name, &hash[..32]) }
    }

    /// What is remembered. A session that goes on is not forgotten.
    pub fn kept(&self) -> Option<Kept> {
        let mut file = File::options().read(true).write(true).open(self.file("")).ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        if is_older(file.metadata(), REFRESHED) {
            let _ = file.set_modified(SystemTime::now());
        }
        serde_json::from_slice(&text).ok()
    }

    /// Held by whoever finds out who the agent of the session is: of two who do so at once, one gets a name generated.
    pub fn turn(&self) -> anyhow::Result<File> {
        self.locked(".turn").with_context(|| format!("cannot take a turn in '{}'", self.folder.display()))
    }

    /// Remembers who the agent is, and forgets sessions of long ago.
    pub fn keep(&self, kept: &Kept) -> anyhow::Result<()> {
        let text = serde_json::to_vec(kept).context("a session can be written")?;
        let fresh = self.file(&format!(".{}", std::process::id()));
        fs::create_dir_all(&self.folder)
            .and_then(|()| {
                let mut file = private(&fresh)?;
                file.set_len(0)?;
                file.write_all(&text)
            })
            .and_then(|()| fs::rename(&fresh, self.file("")))
            .with_context(|| format!("cannot keep the session in '{}'", self.folder.display()))?;
        self.forget_old_sessions();
        Ok(())
    }

    /// Of `ids`, those that were never asked about before. They count as told from now on, for other processes too.
    pub fn untold(&self, ids: &[String]) -> anyhow::Result<Vec<String>> {
        let doing = || format!("cannot note what was told in '{}'", self.folder.display());
        let mut file = self.locked(".told").with_context(doing)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(doing)?;
        let mut told: Vec<&str> = text.lines().collect();
        let known: HashSet<&str> = told.iter().copied().collect();
        let fresh: Vec<String> = ids.iter().filter(|id| !known.contains(id.as_str())).cloned().collect();
        if fresh.is_empty() {
            return Ok(fresh);
        }
        told.extend(fresh.iter().map(String::as_str));
        let newest = &told[told.len().saturating_sub(MOST_TOLD)..];
        file.set_len(0).and_then(|()| file.rewind()).with_context(doing)?;
        file.write_all(newest.join("\n").as_bytes()).with_context(doing)?;
        Ok(fresh)
    }

    /// A file of the session that nobody else has now.
    fn locked(&self, end: &str) -> std::io::Result<File> {
        fs::create_dir_all(&self.folder)?;
        let file = private(&self.file(end))?;
        file.lock()?;
        Ok(file)
    }

    fn file(&self, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", self.name))
    }

    /// What cannot be removed is in nobody's way.
    fn forget_old_sessions(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.take(MOST_LOOKED_AT).flatten() {
            if is_older(file.metadata(), FORGOTTEN) {
                let _ = fs::remove_file(file.path());
            }
        }
    }
}

/// Who the agent of a session is, whose client is at `cwd`, as far as can be said without asking anybody. The name is empty if
/// nobody knows one.
///
/// What was said comes first: by a flag or the environment. The `agent` of the settings is whoever sits at the terminal, and
/// not each agent that works there. A session that began with us goes on as it began, also when its agent has gone to another
/// folder, because its mail is where its name is known.
pub fn me(acting: &Acting, kept: Option<Kept>, cwd: &Path) -> anyhow::Result<Kept> {
    let here = if cwd.is_absolute() { cwd.to_owned() } else { std::env::current_dir()?.join(cwd) };
    // Joining nothing leaves a slash at the end, which would make another project.
    let here: PathBuf = here.components().collect();
    // A shell that goes through a link is told where it really is; so are we.
    let here = here.canonicalize().unwrap_or(here);
    let project = if acting.project.is_given() { Some(acting.project.key_at(&here)?) } else { None };
    let who = acting.said();
    let is_mine = |kept: &Kept| {
        who.as_ref().is_none_or(|who| who.name == kept.agent) && project.as_ref().is_none_or(|key| *key == kept.project)
    };
    let kept = kept.filter(is_mine);
    let (agent, token) = who.map_or_else(Default::default, |who| (who.name, who.token));
    if let Some(kept) = kept {
        return Ok(Kept { token: token.or(kept.token.clone()), ..kept });
    }
    let project = project.map_or_else(|| acting.project.key_at(&here), Ok)?;
    Ok(Kept { agent, token, project })
}

/// Whether a file was changed longer ago than that; not if nobody can say.
fn is_older(about: std::io::Result<Metadata>, than: Duration) -> bool {
    let changed = about.and_then(|about| about.modified()).ok();
    changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|age| age > than)
}

/// Opens a file that nobody else may read: it may hold a token.
fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::clients::{CLAUDE, CODEX};

    fn session(folder: &tempfile::TempDir, id: &str) -> Session {
        Session::of(&folder.path().join("sessions"), &CLAUDE, id)
    }

    fn ids(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|id| id.to_string()).collect()
    }

    #[test]
    fn a_session_is_remembered_by_whatever_id_it_has_and_mixed_up_with_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept { agent: "GreenDog".to_owned(), token: Some("t".to_owned()), project: "/p".to_owned() };
        for id in ["a", "../../etc/passwd", "", "ü\n"] {
            let session = session(&folder, id);
            assert_eq!(session.kept(), None, "{id}");
            session.keep(&kept).unwrap();
            assert_eq!(session.kept().as_ref(), Some(&kept), "{id}");
        }
        assert_eq!(Session::of(&folder.path().join("sessions"), &CODEX, "a").kept(), None);
        assert_eq!(fs::read_dir(folder.path().join("sessions")).unwrap().count(), 4, "nothing else is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_a_token() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let session = session(&folder, "a");
        session.keep(&Kept::default()).unwrap();
        assert_eq!(fs::metadata(session.file("")).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_session_of_long_ago_is_forgotten_and_one_of_yesterday_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let age = |session: &Session, days: u32| {
            session.keep(&Kept::default()).unwrap();
            let file = File::options().write(true).open(session.file("")).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(24 * 3600) * days).unwrap();
        };
        let (old, young) = (session(&folder, "old"), session(&folder, "young"));
        age(&young, 29);
        age(&old, 31);
        session(&folder, "new").keep(&Kept::default()).unwrap();
        assert!(old.kept().is_none() && young.kept().is_some());
    }

    #[test]
    fn a_session_that_goes_on_is_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(&folder, "old");
        session.keep(&Kept::default()).unwrap();
        let file = File::options().write(true).open(session.file("")).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(31 * 24 * 3600)).unwrap();
        session.kept().expect("somebody goes on with it");
        session.forget_old_sessions();
        assert!(session.kept().is_some());
    }

    #[test]
    fn a_message_is_told_once_by_however_many_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let start = std::sync::Barrier::new(8);
        let ask = || {
            // Each starts every round at the same moment, so that without a lock they would meet.
            let rounds = (0..100).map(|round| {
                start.wait();
                session(&folder, "a").untold(&ids(round..round + 1)).unwrap()
            });
            rounds.collect::<Vec<_>>().concat()
        };
        let mut told: Vec<String> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().flat_map(|one| one.join().unwrap()).collect()
        });
        told.sort_by_key(|id| id.parse::<usize>().unwrap());
        assert_eq!(told, ids(0..100));
        assert_eq!(session(&folder, "a").untold(&ids(99..101)).unwrap(), ["100"]);
    }

    #[test]
    fn only_so_many_messages_are_remembered_and_the_newest_are() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(&folder, "a");
        session.untold(&ids(0..MOST_TOLD + 1)).unwrap();
        assert!(session.untold(&ids(1..MOST_TOLD + 1)).unwrap().is_empty());
        assert_eq!(session.untold(&ids(0..1)).unwrap(), ["0"]);
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        acting: Acting,
    }

    fn who(flags: &[&str], kept: Option<&Kept>) -> (String, Option<String>, String) {
        let line = Line::parse_from([&["postrider"], flags].concat());
        let Kept { agent, token, project } = me(&line.acting, kept.cloned(), Path::new("/nowhere/app")).unwrap();
        (agent, token, project)
    }

    fn is(agent: &str, token: Option<&str>, project: &str) -> (String, Option<String>, String) {
        (agent.to_owned(), token.map(str::to_owned), project.to_owned())
    }

    #[test]
    fn what_is_said_comes_before_what_was_kept() {
        let kept = Kept { agent: "Kept".to_owned(), token: Some("t".to_owned()), project: "/home/p".to_owned() };
        assert_eq!(who(&[], Some(&kept)), is("Kept", Some("t"), "/home/p"));
        assert_eq!(who(&["--as", "Said"], Some(&kept)), is("Said", None, "/nowhere/app"));
        assert_eq!(who(&["--as", "Kept"], Some(&kept)), is("Kept", Some("t"), "/home/p"));
        assert_eq!(who(&["--project", "/home/p"], Some(&kept)), is("Kept", Some("t"), "/home/p"));
    }

    #[test]
    fn a_client_that_does_not_say_where_it_is_is_where_its_hook_is() {
        let line = Line::parse_from(["postrider", "--project", "./x"]);
        let there = me(&line.acting, None, Path::new("")).unwrap().project;
        assert_eq!(Path::new(&there), std::env::current_dir().unwrap().join("x"));
        let nowhere = Line::parse_from(["postrider"]);
        let project = me(&nowhere.acting, None, Path::new("/nowhere/app/")).unwrap().project;
        assert_eq!(project, "/nowhere/app");
    }

    #[test]
    fn a_name_of_another_project_is_nobodys_here() {
        let kept = Kept { agent: "Kept".to_owned(), token: None, project: "/home/p".to_owned() };
        assert_eq!(who(&["--project", "/home/q"], Some(&kept)), is("", None, "/home/q"));
        assert_eq!(who(&[], None), is("", None, "/nowhere/app"));
    }
}
