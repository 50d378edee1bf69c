//! What is remembered of a session between its events, each of which is a process of its own: who its agent is.
//!
//! All of it may be lost: then a name is generated again. Which name a session gets that begins is for `naming`, what its
//! agent was told for `memory`, and where it stood before it was compacted for `checkpoint`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use relay::sessions::{SessionRecord, Sessions};

use crate::clients::Client;
use crate::identity::Acting;
use crate::mailbox::Caller;

/// Who an agent is in its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub agent: String,
    /// What proves it.
    pub token: Option<String>,
    /// The project that it has this name in.
    pub project: String,
}

impl From<SessionRecord> for Kept {
    fn from(record: SessionRecord) -> Self {
        Self { agent: record.agent, token: record.token, project: record.project }
    }
}

/// The place where a session is remembered.
pub struct Session {
    sessions: Sessions,
    client: &'static Client,
    id: String,
}

impl Session {
    /// The place for a session of a client.
    pub fn of(folder: &Path, client: &'static Client, id: &str) -> Self {
        Self { sessions: Sessions::new(folder.to_owned()), client, id: id.to_owned() }
    }

    /// The client that it is of.
    pub fn client(&self) -> &'static Client {
        self.client
    }

    /// All sessions that are remembered on this machine.
    pub fn all(&self) -> &Sessions {
        &self.sessions
    }

    /// What is remembered of it. A client that says no id is not remembered.
    pub fn record(&self) -> Option<SessionRecord> {
        if self.id.is_empty() { None } else { self.sessions.get(self.client.name, &self.id) }
    }

    /// Every other session of its agent that is open.
    pub fn others_of(&self, me: &Kept) -> Vec<SessionRecord> {
        let mut others = self.sessions.all();
        others.retain(|other| !self.is(other) && other.agent == me.agent && other.project == me.project);
        others.retain(SessionRecord::is_open);
        others
    }

    /// Whether a record is of this session.
    pub fn is(&self, record: &SessionRecord) -> bool {
        record.client == self.client.name && record.session_id == self.id
    }

    /// Remembers who the agent is.
    pub fn keep(&self, record: SessionRecord) -> anyhow::Result<()> {
        let record = SessionRecord { client: self.client.name.to_owned(), session_id: self.id.clone(), ..record };
        let doing = || format!("cannot keep the session in '{}'", self.sessions.folder().display());
        self.sessions.keep(&record).with_context(doing)
    }

    /// Changes what is remembered of it, if anything is.
    pub fn change(&self, change: impl FnOnce(&mut SessionRecord)) -> anyhow::Result<()> {
        if self.id.is_empty() {
            return Ok(());
        }
        let doing = || format!("cannot keep the session in '{}'", self.sessions.folder().display());
        self.sessions.change(self.client.name, &self.id, change).map(drop).with_context(doing)
    }

    /// What a file of the session is called whose name has this end.
    pub fn file_name(&self, end: &str) -> String {
        let hash = blake3::hash(self.id.as_bytes()).to_hex();
        format!("{}-{}{end}", self.client.name, &hash[..32])
    }
}

/// Who the agent is, if a flag or the environment says so. A variable is asked about first: `believes` says whether the name in it can
/// be this agent's.
pub fn said(acting: &Acting, believes: impl FnOnce(&str) -> bool) -> Option<Caller> {
    acting.said().filter(|said| !said.is_variable || believes(&said.who.name)).map(|said| said.who)
}

/// Who the agent of a session is, whose client is at `cwd`, as far as can be said without asking anybody. The name is empty if
/// nobody knows one.
///
/// What was said comes first. The `agent` of the settings is whoever sits at the terminal, and
/// not each agent that works there. A session that began with us goes on as it began, also when its agent has gone to another
/// folder, because its mail is where its name is known.
pub fn me(acting: &Acting, said: Option<Caller>, kept: Option<Kept>, cwd: &Path) -> anyhow::Result<Kept> {
    let here = if cwd.is_absolute() { cwd.to_owned() } else { std::env::current_dir()?.join(cwd) };
    // Joining nothing leaves a slash at the end, which would make another project.
    let here: PathBuf = here.components().collect();
    // A shell that goes through a link is told where it really is; so are we.
    let here = here.canonicalize().unwrap_or(here);
    let project = if acting.project.is_given() { Some(acting.project.key_at(&here)?) } else { None };
    let is_mine = |kept: &Kept| {
        said.as_ref().is_none_or(|who| who.name == kept.agent)
            && project.as_ref().is_none_or(|key| *key == kept.project)
    };
    let kept = kept.filter(is_mine);
    let (agent, token) = said.map_or_else(Default::default, |who| (who.name, who.token));
    if let Some(kept) = kept {
        return Ok(Kept { token: token.or(kept.token.clone()), ..kept });
    }
    let project = project.map_or_else(|| acting.project.key_at(&here), Ok)?;
    Ok(Kept { agent, token, project })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::clients::CLAUDE;

    fn session(folder: &tempfile::TempDir, id: &str) -> Session {
        Session::of(&folder.path().join("sessions"), &CLAUDE, id)
    }

    #[test]
    fn the_other_sessions_of_an_agent_are_those_that_are_open() {
        let folder = tempfile::tempdir().unwrap();
        let me = Kept { agent: "GreenDog".to_owned(), token: None, project: "/p".to_owned() };
        let keep = |id: &str, agent: &str, has_ended: bool| {
            let (agent, project) = (agent.to_owned(), me.project.clone());
            let process = relay::sessions::ancestors().first().map(|above| above.process);
            session(&folder, id)
                .keep(SessionRecord { agent, project, process, has_ended, ..Default::default() })
                .unwrap();
        };
        keep("own", "GreenDog", false);
        keep("other", "GreenDog", false);
        keep("over", "GreenDog", true);
        keep("another", "RedFox", false);
        let others = session(&folder, "own").others_of(&me);
        assert_eq!(others.iter().map(|other| other.session_id.as_str()).collect::<Vec<_>>(), ["other"]);
    }

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        acting: Acting,
    }

    fn who(flags: &[&str], kept: Option<&Kept>) -> (String, Option<String>, String) {
        let line = Line::parse_from([&["postrider"], flags].concat());
        let Kept { agent, token, project } =
            me(&line.acting, said(&line.acting, |_| true), kept.cloned(), Path::new("/nowhere/app")).unwrap();
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
        let there = me(&line.acting, None, None, Path::new("")).unwrap().project;
        assert_eq!(Path::new(&there), std::env::current_dir().unwrap().join("x"));
        let nowhere = Line::parse_from(["postrider"]);
        let project = me(&nowhere.acting, None, None, Path::new("/nowhere/app/")).unwrap().project;
        assert_eq!(project, "/nowhere/app");
    }

    #[test]
    fn a_name_of_another_project_is_nobodys_here() {
        let kept = Kept { agent: "Kept".to_owned(), token: None, project: "/home/p".to_owned() };
        assert_eq!(who(&["--project", "/home/q"], Some(&kept)), is("", None, "/home/q"));
        assert_eq!(who(&[], None), is("", None, "/nowhere/app"));
    }
}
