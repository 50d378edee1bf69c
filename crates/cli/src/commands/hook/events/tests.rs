//! Which name a session begins with, also beside others that begin at once.

use relay::sessions::ancestors;

use super::*;
use crate::clients::CLAUDE;

struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn session(&self, id: &str) -> Session {
        Session::of(self.0.path(), &CLAUDE, id)
    }

    /// What is known before its turn of a session that begins.
    fn begins<'a>(&self, session: &'a Session, input: &'a Input, said: Option<&str>) -> Happening<'a> {
        let kept = session.record().map(Kept::from).unwrap_or_else(|| kept(""));
        let running = ancestors().first().expect("a process above").process;
        Happening {
            client: &CLAUDE,
            event: Event::SessionStart,
            called: "SessionStart",
            input,
            session,
            marks: None,
            me: said.map_or(kept, self::kept),
            is_said: said.is_some(),
            names: Names::default(),
            above: vec![Ancestor { process: running, name: "claude".to_owned() }],
            office: None,
            is_strict: false,
            reserved: Reserved::Warn,
            deadline: Instant::now(),
        }
    }
}

fn kept(agent: &str) -> Kept {
    Kept { agent: agent.to_owned(), token: None, project: "/p".to_owned() }
}

fn input(source: &str) -> Input {
    Input { cwd: "/nowhere".into(), source: source.to_owned(), ..Input::default() }
}

fn named(agent: &str) -> SessionRecord {
    let Kept { agent, project, .. } = kept(agent);
    SessionRecord { agent, project, place: "/nowhere".into(), is_generated: true, ..SessionRecord::default() }
}

/// Remembers a session as its start does.
fn keep(happening: &Happening<'_>) -> Option<SessionRecord> {
    let (me, record, before) = happening.named();
    let Kept { agent, token, project } = me;
    happening.session.keep(SessionRecord { agent, token, project, ..record }).unwrap();
    before
}

#[test]
fn a_session_that_is_resumed_has_not_the_name_that_another_took_meanwhile() {
    let machine = Machine::new();
    let (resumed, new) = (machine.session("resumed"), machine.session("new"));
    resumed.keep(SessionRecord { has_ended: true, ..named("Old") }).unwrap();
    let (again, start) = (input("resume"), input("startup"));
    let late = machine.begins(&resumed, &again, None);
    assert_eq!(late.named().0.agent, "Old", "nobody else wants it");
    let before = keep(&machine.begins(&new, &start, None)).expect("it takes the name");
    assert_eq!(new.record().unwrap().agent, "Old");
    assert_eq!(late.named().0.agent, "", "the other session has it");
    machine.session("").all().replace(&before).unwrap();
    let (me, record, _) = late.named();
    assert_eq!((me.agent.as_str(), record.is_generated), ("", true));
    new.change(|record| record.has_ended = true).unwrap();
    assert_eq!(late.named().0.agent, "Old", "nobody uses it any more");
    new.change(|record| record.has_ended = false).unwrap();
    let said = machine.begins(&resumed, &again, Some("Old"));
    assert_eq!(said.named().0.agent, "Old", "somebody said it");
}

#[test]
fn the_name_of_an_earlier_session_is_kept_until_the_new_one_has_it() {
    let machine = Machine::new();
    let (old, new, start) = (machine.session("old"), machine.session("new"), input("startup"));
    old.keep(SessionRecord { has_ended: true, token: Some("t".to_owned()), ..named("Old") }).unwrap();
    let happening = machine.begins(&new, &start, None);
    let (me, _, before) = happening.named();
    assert_eq!((me.agent.as_str(), me.token.as_deref()), ("Old", Some("t")));
    assert!(old.is(&before.expect("it is replaced")) && old.record().is_some());
    assert_eq!(happening.named().0, me, "a start that failed is begun again");
}

#[test]
fn a_session_that_is_cleared_twice_still_ends_the_first() {
    let machine = Machine::new();
    let process = ancestors().first().map(|above| above.process);
    let never_told = SessionRecord { process, instead_of: Some("first".to_owned()), ..named("Old") };
    machine.session("second").keep(never_told.clone()).unwrap();
    let (third, clear) = (machine.session("third"), input("clear"));
    assert_eq!(machine.begins(&third, &clear, None).named().1.instead_of.as_deref(), Some("first"));
    machine.session("second").keep(SessionRecord { told_at: 1, ..never_told }).unwrap();
    assert_eq!(machine.begins(&third, &clear, None).named().1.instead_of, Some(new_key("claude", "second")));
}

#[test]
fn a_name_at_another_office_is_not_taken() {
    let machine = Machine::new();
    let (new, start) = (machine.session("new"), input("startup"));
    machine.session("old").keep(SessionRecord { has_ended: true, ..named("Old") }).unwrap();
    let here = machine.begins(&new, &start, None);
    let office = Some("https://there/mcp".to_owned());
    let there = Happening { office, ..machine.begins(&new, &start, None) };
    assert_eq!((here.named().0.agent.as_str(), there.named().0.agent.as_str()), ("Old", ""));
    assert_eq!(there.named().1.office, there.office);
}
