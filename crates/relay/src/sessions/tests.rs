//! Records of sessions: kept, found again, and forgotten.

use super::record::{SILENT, SILENT_FOR_GOOD};
use super::*;

fn sessions(folder: &tempfile::TempDir) -> Sessions {
    Sessions::new(folder.path().join("sessions"))
}

fn process(pid: u32) -> Process {
    Process { pid, started: 1 }
}

fn record(client: &str, id: &str, pid: u32) -> SessionRecord {
    SessionRecord {
        agent: format!("Agent-{id}"),
        token: Some("t".to_owned()),
        project: "/p".to_owned(),
        client: client.to_owned(),
        session_id: id.to_owned(),
        process: Some(process(pid)),
        ..SessionRecord::default()
    }
}

fn agent_of(sessions: &Sessions, above: &[u32], named: &str) -> Option<String> {
    let above = above.iter().map(|pid| process(*pid));
    sessions.of_process(above, |record| record.session_id == named).map(|record| record.agent)
}

#[test]
fn a_session_is_remembered_by_whatever_id_it_has_and_mixed_up_with_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    for id in ["a", "../../etc/passwd", "", "ü\n"] {
        assert_eq!(sessions.get("claude", id), None, "{id}");
        let record = record("claude", id, 7);
        sessions.keep(&record).unwrap();
        let found = sessions.get("claude", id).map(|found| SessionRecord { seen_at: None, ..found });
        assert_eq!(found, Some(record), "{id}");
    }
    assert_eq!(sessions.get("codex", "a"), None);
    let files = fs::read_dir(sessions.folder()).unwrap().flatten().filter(|file| is_record(&file.path()));
    assert_eq!((sessions.all().len(), files.count()), (4, 4));
}

#[test]
fn a_record_of_an_earlier_version_still_says_who_the_agent_is() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    sessions.keep(&record("claude", "a", 7)).unwrap();
    let text = r#"{"agent":"Old","token":null,"project":"/p"}"#;
    fs::write(sessions.folder().join(file_name("claude", "a")), text).unwrap();
    let found = sessions.get("claude", "a").unwrap();
    assert_eq!((found.agent.as_str(), found.client.as_str(), found.process), ("Old", "claude", None));
}

#[test]
fn nobody_else_can_read_a_token() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    sessions.keep(&record("claude", "a", 7)).unwrap();
    let path = sessions.folder().join(file_name("claude", "a"));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_session_of_long_ago_is_forgotten_and_one_that_goes_on_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let aged = |id: &str, days: u32| {
        sessions.keep(&record("claude", id, 7)).unwrap();
        let file = File::options().write(true).open(sessions.folder().join(file_name("claude", id))).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(24 * 3600) * days).unwrap();
    };
    aged("young", 29);
    aged("going on", 31);
    sessions.get("claude", "going on").expect("somebody goes on with it");
    aged("old", 31);
    sessions.keep(&record("claude", "new", 7)).unwrap();
    let there = |id| sessions.get("claude", id).is_some();
    assert_eq!(["young", "going on", "old", "new"].map(there), [true, true, false, true]);
}

#[test]
fn a_process_belongs_to_the_nearest_session_above_it() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    sessions.keep(&record("claude", "outer", 10)).unwrap();
    sessions.keep(&record("gemini", "inner", 20)).unwrap();
    assert_eq!(agent_of(&sessions, &[30, 20, 10, 1], "").as_deref(), Some("Agent-inner"));
    assert_eq!(
        agent_of(&sessions, &[10, 1], "inner").as_deref(),
        Some("Agent-outer"),
        "a process says more than a variable"
    );
    assert_eq!(agent_of(&sessions, &[30, 1], ""), None);
    assert_eq!(
        agent_of(&sessions, &[30, 1], "inner").as_deref(),
        Some("Agent-inner"),
        "where processes cannot be seen"
    );
    sessions.keep(&SessionRecord { has_ended: true, ..record("gemini", "inner", 20) }).unwrap();
    assert_eq!(agent_of(&sessions, &[20, 10], "").as_deref(), Some("Agent-outer"));
}

#[test]
fn of_several_sessions_in_one_process_the_one_that_is_named_is_meant_and_none_is_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    for id in ["one", "two"] {
        sessions.keep(&record("codex", id, 10)).unwrap();
    }
    assert_eq!(agent_of(&sessions, &[20, 10], "two").as_deref(), Some("Agent-two"));
    assert_eq!(agent_of(&sessions, &[20, 10], "three"), None);
}

#[test]
fn a_session_is_open_while_its_process_runs_and_it_did_not_say_that_it_ended() {
    let parent = ancestors()[0].process;
    let open = SessionRecord { process: Some(parent), ..record("claude", "a", 1) };
    assert!(open.is_open());
    assert!(!SessionRecord { has_ended: true, ..open.clone() }.is_open());
    assert!(
        !SessionRecord { process: Some(Process { started: parent.started + 1, ..parent }), ..open.clone() }.is_open()
    );
    let unknown = SessionRecord { process: None, seen_at: Some(SystemTime::now()), ..open };
    assert!(unknown.is_open());
    assert!(!SessionRecord { seen_at: Some(SystemTime::now() - record::SILENT * 2), ..unknown }.is_open());
}

#[test]
fn a_session_of_another_machine_that_shares_the_folder_is_open_until_it_was_silent_for_long() {
    let there = SessionRecord { host: "another".to_owned(), told_at: 1, ..record("claude", "a", 7) };
    let silent_for = |age: Duration| {
        let record = SessionRecord { seen_at: Some(SystemTime::now() - age), ..there.clone() };
        (record.is_open(), record.is_over())
    };
    assert_eq!(silent_for(record::SILENT * 2), (true, false), "its process cannot be seen from here");
    assert_eq!(silent_for(record::SILENT_FOR_GOOD * 2), (false, true));
    let here = SessionRecord { host: host(), ..there.clone() };
    assert_eq!((here.is_open(), here.is_over()), (false, true), "its process does not run");
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    sessions.keep(&there).unwrap();
    assert_eq!(sessions.unsettled(None), []);
    sessions.keep(&here).unwrap();
    assert_eq!(sessions.unsettled(None).len(), 1);
}

#[test]
fn a_session_whose_end_nobody_tells_is_ended_by_silence_though_its_process_runs() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let parent = ancestors()[0].process;
    let silent = |time: Duration| SessionRecord { seen_at: Some(SystemTime::now() - time), ..SessionRecord::default() };
    let unseen = |time| SessionRecord { process: Some(parent), ends_unseen: true, ..silent(time) };
    assert!(unseen(SILENT / 2).is_open() && !unseen(SILENT / 2).is_over());
    assert!(!unseen(SILENT * 2).is_open() && !unseen(SILENT * 2).is_over(), "its user may only be away");
    assert!(unseen(SILENT_FOR_GOOD * 2).is_over());
    let told = SessionRecord { ends_unseen: false, ..unseen(SILENT_FOR_GOOD * 2) };
    assert!(told.is_open() && !told.is_over(), "it would say that it ended");
    for (id, age) in [("earlier", SILENT * 2), ("now", SILENT / 2)] {
        let record = SessionRecord { ends_unseen: true, ..record("cline", id, 10) };
        sessions.keep(&record).unwrap();
        let file = File::options().write(true).open(sessions.folder().join(record.file_name())).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    assert_eq!(agent_of(&sessions, &[10], "").as_deref(), Some("Agent-now"));
}

#[test]
fn a_session_whose_process_died_is_settled_once() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let alive = ancestors().first().map(|above| above.process);
    let keep = |id: &str, change: SessionRecord| sessions.keep(&SessionRecord { session_id: id.to_owned(), ..change });
    let told = SessionRecord { told_at: 1, ..record("claude", "", 7) };
    keep("died", told.clone()).unwrap();
    keep("never told of", SessionRecord { told_at: 0, ..told.clone() }).unwrap();
    keep("goes on", SessionRecord { process: alive, ..told.clone() }).unwrap();
    keep("said goodbye", SessionRecord { process: alive, has_ended: true, ..told.clone() }).unwrap();
    let begun = SessionRecord { told_at: 0, instead_of: Some("before".to_owned()), ..told.clone() };
    keep("never told of, instead of another", begun).unwrap();
    keep("was silent a moment", SessionRecord { process: None, ..told }).unwrap();
    let ids = || {
        let mut ids: Vec<String> = sessions.unsettled(None).into_iter().map(|record| record.session_id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(), ["died", "never told of, instead of another", "said goodbye"]);
    sessions.settle(&sessions.unsettled(None)[0]).unwrap();
    assert_eq!(ids().len(), 2);
}

#[test]
fn of_the_sessions_that_left_a_name_to_another_those_that_ended_last_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let alive = ancestors().first().map(|above| above.process);
    let open = SessionRecord { process: alive, ..record("claude", "open", 7) };
    for record in [open.clone(), record("claude", "other", 7)] {
        sessions.keep(&record).unwrap();
    }
    for number in 0..=MOST_REPLACED {
        let id = number.to_string();
        let ended = SessionRecord { agent: "Old".to_owned(), ..record("claude", &id, 7) };
        sessions.keep(&ended).unwrap();
        sessions.replace(&ended).unwrap();
        let file = File::options().write(true).open(sessions.folder().join(ended.file_name())).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60 - number as u64)).unwrap();
    }
    let last = SessionRecord { agent: "Old".to_owned(), ..record("claude", "last", 7) };
    sessions.keep(&last).unwrap();
    sessions.replace(&last).unwrap();
    let there = |id: &str| sessions.stored("claude", id).is_some();
    assert_eq!(["0", "1", "2", "last", "other"].map(there), [false, false, true, true, true]);
    sessions.replace(&open).unwrap();
    assert!(!there("open"), "what it says late is not taken for a session");
}

#[test]
fn the_office_is_told_of_a_change_at_once_and_else_once_a_minute() {
    let record = SessionRecord { told_at: 1_000_000, is_idle: false, ..SessionRecord::default() };
    assert!(record.is_news(true, 1_000_001) && !record.is_news(false, 60_999_999) && record.is_news(false, 61_000_000));
}

#[test]
fn the_sessions_of_a_renamed_agent_follow_it() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    sessions.keep(&SessionRecord { agent: "Old".to_owned(), ..record("claude", "a", 7) }).unwrap();
    sessions
        .keep(&SessionRecord { agent: "Old".to_owned(), project: "/q".to_owned(), ..record("claude", "b", 7) })
        .unwrap();
    sessions.rename("/p", "Old", "New").unwrap();
    let agent = |id| sessions.get("claude", id).unwrap().agent;
    assert_eq!([agent("a"), agent("b")], ["New", "Old"]);
}

#[test]
fn what_several_change_at_once_is_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    sessions.keep(&record("claude", "a", 7)).unwrap();
    std::thread::scope(|scope| {
        for below in 0..16 {
            let sessions = &sessions;
            let add =
                move |record: &mut SessionRecord| drop(record.below.insert(below.to_string(), "Below".to_owned()));
            scope.spawn(move || sessions.change("claude", "a", add).unwrap().expect("it is kept"));
        }
    });
    assert_eq!(sessions.get("claude", "a").unwrap().below.len(), 16);
    assert_eq!(sessions.change("claude", "gone", |record| record.told_at = 1).unwrap(), None);
}

#[test]
fn a_session_that_went_on_meanwhile_is_not_settled() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let died = SessionRecord { told_at: 1, ..record("claude", "a", 7) };
    let alive = ancestors().first().map(|above| above.process);
    for went_on in [
        SessionRecord { process: alive, ..died.clone() },
        SessionRecord { told_at: 2, ..died.clone() },
        SessionRecord { process: None, ..died.clone() },
    ] {
        sessions.keep(&died).unwrap();
        let seen = sessions.get("claude", "a").unwrap();
        sessions.keep(&went_on).unwrap();
        sessions.settle(&seen).unwrap();
        let stored = sessions.get("claude", "a").unwrap();
        assert!(!stored.has_ended && !stored.is_settled, "{stored:?}");
    }
    sessions.keep(&died).unwrap();
    sessions.settle(&sessions.get("claude", "a").unwrap()).unwrap();
    assert!(sessions.get("claude", "a").unwrap().is_settled);
}

#[test]
fn an_office_learns_only_of_the_ends_that_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let told = |id: &str, office: Option<&str>| {
        let office = office.map(str::to_owned);
        sessions.keep(&SessionRecord { told_at: 1, office, ..record("claude", id, 7) }).unwrap();
    };
    told("here", None);
    told("there", Some("https://there/mcp"));
    let ids = |office| sessions.unsettled(office).into_iter().map(|record| record.session_id).collect::<Vec<_>>();
    assert_eq!((ids(None), ids(Some("https://there/mcp"))), (vec!["here".to_owned()], vec!["there".to_owned()]));
}

#[test]
fn of_very_many_sessions_those_that_did_something_last_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    for number in 0..=MOST_RECORDS {
        let record = record("claude", &number.to_string(), 7);
        fs::create_dir_all(sessions.folder()).unwrap();
        let path = sessions.folder().join(record.file_name());
        fs::write(&path, serde_json::to_vec(&record).unwrap()).unwrap();
        if number != 500 {
            File::options().write(true).open(path).unwrap().set_modified(long_ago).unwrap();
        }
    }
    let all = sessions.all();
    assert_eq!((all.len(), all[0].session_id.as_str()), (MOST_RECORDS, "500"));
}

#[test]
fn a_call_that_nobody_saw_end_is_forgotten_after_a_day_and_a_turn_is_never() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = sessions(&folder);
    let age = |name: &str, hours: u64| {
        let file = File::options().write(true).open(sessions.folder().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600) * hours as u32).unwrap();
    };
    for (call, hours) in [("young", 23), ("old", 25)] {
        sessions.note_call(call, "GreenDog/agent").unwrap();
        age(&call_name(call), hours);
    }
    drop(sessions.turn().unwrap());
    age("names.turn", 24 * 31);
    sessions.keep(&record("claude", "a", 7)).unwrap();
    assert_eq!((sessions.caller_of("young").is_some(), sessions.caller_of("old").is_some()), (true, false));
    assert!(sessions.folder().join("names.turn").exists());
}

#[test]
fn a_shell_of_any_kind_is_no_client() {
    let above = |name: &str| Ancestor { process: process(7), name: name.to_owned() };
    for shell in ["sh", "-bash", "tcsh", "nu", "pwsh", "elvish"] {
        assert!(above(shell).is_shell(), "{shell}");
    }
    for client in ["claude", "node", "codex", ""] {
        assert!(!above(client).is_shell(), "{client}");
    }
}
