//! Which agent a session is that begins: the one that it was before, or one of an earlier session in the same place.
//!
//! "Claude in this working tree" is the same colleague tomorrow: a name that was generated for a session is found again by the
//! next session of that client there, once the old one is gone. Of several free names the oldest is taken. Deliberately absent:
//! names that a person chose, which are nobody else's.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use relay::sessions::{Ancestor, Process, SessionRecord};

use super::input::Input;
use super::session::Session;
use crate::family;
use crate::post_office::Tree;

/// How a session begins that was there before.
const RESUMED: &str = "resume";

/// How sessions come by their names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Names {
    /// A session has the name of an earlier one of the client in its working tree
    #[default]
    PerWorktree,
    /// Every session has a name of its own
    PerSession,
    /// Every session has the name that --as says, else that of the client
    Fixed,
}

/// The name that an agent below the main one has.
pub fn name_below(agent: &str, input: &Input) -> String {
    family::name_below(agent, &input.agent_type, &input.agent_id)
}

/// The place that a session which begins in a folder is found again by.
pub fn place_of(cwd: &Path) -> PathBuf {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    Tree::around(&cwd).map_or(cwd, |tree| tree.top)
}

/// The process of the client that runs a hook, which stands below these.
pub fn client_process(above: &[Ancestor]) -> Option<Process> {
    above.iter().find(|ancestor| !ancestor.is_shell()).map(|ancestor| ancestor.process)
}

/// The session that this one goes on with: in its place from now on, and to be forgotten itself. It has its name in the same project
/// of the same office.
pub fn earlier(
    session: &Session,
    input: &Input,
    names: Names,
    (project, office): (&str, Option<&str>),
    above: &[Ancestor],
) -> Option<SessionRecord> {
    let mut records = session.all().all();
    records
        .retain(|record| !record.agent.is_empty() && record.project == project && record.office.as_deref() == office);
    let open: Vec<SessionRecord> = records.iter().filter(|record| record.is_open()).cloned().collect();
    records.retain(|record| record.client == session.client().name && !session.is(record));
    // The first prompt after a start that failed does not say how the session began.
    let client = session.client();
    let may_go_on = input.source == client.clearing.source || input.source.is_empty() && !client.shares_process;
    if may_go_on {
        let cleared = cleared(&records, session, input, above);
        if cleared.is_some() {
            return cleared.cloned();
        }
    }
    // A conversation that goes on knows itself by its own name; that of another, which may be resumed too, would mislead it.
    if names != Names::PerWorktree || input.source == RESUMED {
        return None;
    }
    let place = place_of(&input.cwd);
    let is_free = |record: &&SessionRecord| {
        let is_held = || open.iter().any(|other| other.is_of_same_agent(record));
        record.is_generated && record.place == place && !record.is_open() && !is_held()
    };
    records.iter().filter(is_free).min_by_key(|record| record.named_at).cloned()
}

/// The session whose conversation was cleared: the one that this process ran last. Where one process runs several, only if
/// there is no other in this place.
fn cleared<'r>(
    records: &'r [SessionRecord],
    session: &Session,
    input: &Input,
    above: &[Ancestor],
) -> Option<&'r SessionRecord> {
    let process = client_process(above)?;
    let mut here = records.iter().filter(|record| !record.has_ended && record.process == Some(process));
    if !session.client().shares_process {
        return here.next();
    }
    let place = place_of(&input.cwd);
    let mut of_place = here.filter(|record| record.place == place);
    of_place.next().filter(|_| of_place.next().is_none())
}

/// Whether the name in the environment of a client can be that of its session: not where it is the name of another session whose
/// environment this one has, because their clients share a process, or one was started in a shell of the other. A run that goes by
/// another name keeps that, also when the other session is gone.
pub fn believes(session: &Session, name: &str, above: &[Ancestor]) -> bool {
    let process = client_process(above);
    let is_this_run = |record: &SessionRecord| record.process == process && (process.is_some() || !record.has_ended);
    let has_another_name = |record: &SessionRecord| !record.agent.is_empty() && record.agent != name;
    if session.record().is_some_and(|record| has_another_name(&record) && is_this_run(&record)) {
        return false;
    }
    let client = above.iter().position(|ancestor| !ancestor.is_shell());
    let outer = client.map_or(&[][..], |client| &above[client + 1..]);
    let is_its_environment = |other: &SessionRecord| {
        let shares = session.client().shares_process && other.client == session.client().name;
        shares || outer.iter().any(|ancestor| other.process == Some(ancestor.process))
    };
    let others = session.all().all().into_iter().filter(|other| !session.is(other) && other.agent == name);
    !others.filter(SessionRecord::is_open).any(|other| is_its_environment(&other))
}

#[cfg(test)]
mod tests {
    use relay::sessions::ancestors;

    use super::*;
    use crate::clients::{CLAUDE, CODEX, Client};
    use crate::commands::hook::session::Session;

    struct Machine {
        folder: tempfile::TempDir,
        /// A process that runs, and one above it.
        above: Vec<Ancestor>,
    }

    impl Machine {
        fn new() -> Self {
            let running = ancestors().first().expect("a process above").process;
            let ancestor = |process, name: &str| Ancestor { process, name: name.to_owned() };
            // The numbers do not matter, but that it runs.
            let above = vec![ancestor(Process { pid: 0, started: 0 }, "sh"), ancestor(running, "claude")];
            Self { folder: tempfile::tempdir().unwrap(), above }
        }

        fn session(&self, client: &'static Client, id: &str) -> Session {
            Session::of(self.folder.path(), client, id)
        }

        fn running(&self) -> Option<Process> {
            Some(self.above[1].process)
        }

        fn keep(&self, client: &'static Client, id: &str, record: SessionRecord) {
            let record = SessionRecord { project: "/p".to_owned(), place: "/nowhere".into(), ..record };
            self.session(client, id).keep(record).unwrap();
        }

        fn earlier(&self, client: &'static Client, source: &str, names: Names) -> Option<String> {
            let input = Input { cwd: "/nowhere".into(), source: source.to_owned(), ..Input::default() };
            earlier(&self.session(client, "new"), &input, names, ("/p", None), &self.above).map(|record| record.agent)
        }
    }

    fn named(agent: &str, named_at: i64) -> SessionRecord {
        let process = Some(Process { pid: 1, started: u64::MAX });
        SessionRecord { agent: agent.to_owned(), is_generated: true, named_at, process, ..SessionRecord::default() }
    }

    #[test]
    fn a_session_that_begins_has_the_oldest_name_of_its_place_that_is_free() {
        let machine = Machine::new();
        machine.keep(&CLAUDE, "1", named("Young", 20));
        machine.keep(&CLAUDE, "2", named("Old", 10));
        machine.keep(&CLAUDE, "3", SessionRecord { process: machine.running(), ..named("Busy", 1) });
        machine.keep(&CLAUDE, "4", named("Busy", 1));
        machine.keep(&CLAUDE, "5", SessionRecord { is_generated: false, ..named("Chosen", 2) });
        machine.keep(&CODEX, "6", named("Another client", 3));
        assert_eq!(machine.earlier(&CLAUDE, "startup", Names::PerWorktree).as_deref(), Some("Old"));
        assert_eq!(machine.earlier(&CLAUDE, "startup", Names::PerSession), None);
        assert_eq!(machine.earlier(&CLAUDE, "resume", Names::PerWorktree), None, "it would be told that it is another");
        machine.keep(&CLAUDE, "3", SessionRecord { process: machine.running(), has_ended: true, ..named("Busy", 1) });
        assert_eq!(machine.earlier(&CLAUDE, "startup", Names::PerWorktree).as_deref(), Some("Busy"));
        machine.keep(&CODEX, "7", SessionRecord { process: machine.running(), ..named("Busy", 1) });
        assert_eq!(
            machine.earlier(&CLAUDE, "startup", Names::PerWorktree).as_deref(),
            Some("Old"),
            "another client has it"
        );
    }

    #[test]
    fn a_cleared_session_keeps_its_name_however_names_are_given() {
        let machine = Machine::new();
        let running = |agent: &str| SessionRecord { process: machine.running(), ..named(agent, 1) };
        machine.keep(&CLAUDE, "1", running("Mine"));
        for names in [Names::PerWorktree, Names::PerSession, Names::Fixed] {
            assert_eq!(machine.earlier(&CLAUDE, "clear", names).as_deref(), Some("Mine"));
            assert_eq!(machine.earlier(&CLAUDE, "startup", names), None, "another session of the process is open");
        }
        machine.keep(&CODEX, "1", running("Shared"));
        assert_eq!(machine.earlier(&CODEX, "clear", Names::PerWorktree).as_deref(), Some("Shared"));
        machine.keep(&CODEX, "2", running("Another"));
        assert_eq!(machine.earlier(&CODEX, "clear", Names::PerWorktree), None, "which of the two is not known");
    }

    #[test]
    fn a_variable_of_another_session_is_not_believed() {
        let machine = Machine::new();
        let believes = |client: &'static Client, name: &str, above: &[Ancestor]| {
            believes(&machine.session(client, "new"), name, above)
        };
        let running = |agent: &str| SessionRecord { process: machine.running(), ..named(agent, 1) };
        machine.keep(&CLAUDE, "1", running("Two of us"));
        machine.keep(&CODEX, "1", running("First terminal"));
        assert!(believes(&CLAUDE, "Two of us", &machine.above), "a person may start two under one name");
        assert!(!believes(&CODEX, "First terminal", &machine.above));
        let inner = Ancestor { process: Process { pid: 2, started: 2 }, name: "gemini".to_owned() };
        let nested = [&[inner], &machine.above[..]].concat();
        assert!(!believes(&CLAUDE, "Two of us", &nested), "it was started in a shell of the other");
        assert!(believes(&CODEX, "Somebody", &nested));
    }

    #[test]
    fn a_run_keeps_its_name_when_the_session_is_gone_whose_variable_it_inherited() {
        let machine = Machine::new();
        let running = |agent: &str| SessionRecord { process: machine.running(), ..named(agent, 1) };
        machine.keep(&CODEX, "1", SessionRecord { has_ended: true, ..running("First terminal") });
        machine.keep(&CODEX, "2", running("Second terminal"));
        let believes = |id: &str, name: &str| believes(&machine.session(&CODEX, id), name, &machine.above);
        assert!(!believes("2", "First terminal"));
        assert!(believes("2", "Second terminal"));
        assert!(believes("3", "First terminal"), "nothing is known of it");
        machine.keep(&CODEX, "2", named("Second terminal", 1));
        assert!(believes("2", "First terminal"), "it was resumed in another process, whose user says so");
    }
}
