//! What every store promises of sessions, and of the names that were generated for them.

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, introduce, named, patterns, register, team, team_at};
use crate::agents::{Profile, Taking};
use crate::clock::after_seconds;
use crate::events::EventKind;
use crate::ids::MessageId;
use crate::presence::{AWAKE, NewPresence, Source};
use crate::sessions::{EndedSession, Release, Session};
use crate::watches::{MAILBOX, NewWatch};

/// Longer than any silence after which a session still counts as open.
const LONG: i64 = 8 * 24 * 3600;

pub async fn a_session_is_kept_as_it_was_said_until_it_ends(store: &Shared) {
    let team = team(store).await;
    let first = session(&team, "bob", "claude-1", "16:00:00");
    assert!(store.note_session(team.id(), &first).await.unwrap());
    assert_eq!(of(store, &team, &["bob", "alice"]).await, std::slice::from_ref(&first));
    let odd =
        Session { place: "/漢字 \"'%".to_owned(), is_idle: true, ..session(&team, "bob", "codex-2", "16:01:00") };
    assert!(store.note_session(team.id(), &odd).await.unwrap());
    assert_eq!(of(store, &team, &["bob"]).await, [first, odd.clone()]);
    assert_eq!(of(store, &team, &["alice"]).await, []);
    end(store, &team, "bob", Some("claude-1"), "16:02:00").await;
    assert_eq!(of(store, &team, &["bob"]).await, [odd]);
}

pub async fn a_session_that_goes_on_keeps_its_beginning_and_is_new_only_where_it_changed(store: &Shared) {
    let team = team(store).await;
    let says = async |is_idle, time: &str| {
        let session = Session { is_idle, ..session(&team, "bob", "claude-1", time) };
        store.note_session(team.id(), &session).await.unwrap()
    };
    assert!(says(false, "16:00:00").await);
    assert!(!says(false, "16:01:00").await, "a mere sign of life");
    assert!(says(true, "16:02:00").await);
    let known = of(store, &team, &["bob"]).await;
    assert_eq!((known[0].began_at, known[0].seen_at, known[0].is_idle), (at("16:00:00"), at("16:02:00"), true));
    end(store, &team, "bob", Some("claude-1"), "16:03:00").await;
    assert!(says(true, "16:04:00").await, "it is open again");
    assert_eq!(of(store, &team, &["bob"]).await[0].began_at, at("16:04:00"));
}

pub async fn with_the_last_session_ends_what_it_held_alone(store: &Shared) {
    let team = team(store).await;
    for (key, time) in [("claude-1", "16:00:00"), ("claude-2", "16:00:01")] {
        store.note_session(team.id(), &session(&team, "bob", key, time)).await.unwrap();
    }
    let held = team.granted(&team.request("bob", &["src/**"]), at("16:00:00")).await;
    team.granted(&team.shared("bob", &["docs/**"]), at("16:00:00")).await;
    team.granted(&team.request("carol", &["lib/**"]), at("16:00:00")).await;
    let one = end(store, &team, "bob", Some("claude-1"), "16:01:00").await;
    let stays = EndedSession { is_new: true, ..EndedSession::default() };
    assert_eq!(one, stays, "another one is open");
    let last = end(store, &team, "bob", Some("claude-2"), "16:02:00").await;
    assert!(last.is_last);
    assert_eq!(patterns(&last.released), ["src/**"]);
    assert_eq!((last.released[0].id, last.released[0].ends_at), (held[0].id, at("16:02:00")));
    assert_eq!(patterns(&team.reservations(at("16:02:00")).await), ["docs/**", "lib/**"]);
    assert_eq!(team.count_events(EventKind::ReservationReleased).await, 1);
    team.granted(&team.request("alice", &["src/a.rs"]), at("16:02:00")).await;
    let again = end(store, &team, "bob", Some("claude-2"), "16:03:00").await;
    assert_eq!(again, EndedSession { is_last: true, ..EndedSession::default() }, "it had ended before");
}

pub async fn which_reservations_end_with_a_session_is_what_was_asked_for(store: &Shared) {
    for (release, left) in [(Release::All, &[][..]), (Release::None, &["a", "b"]), (Release::Exclusive, &["b"])] {
        let team = team_at(store, &format!("/projects/{release}")).await;
        team.granted(&team.request("bob", &["a"]), at("16:00:00")).await;
        team.granted(&team.shared("bob", &["b"]), at("16:00:00")).await;
        let ended = store.end_session(team.id(), team.agent("bob"), None, release, at("16:01:00")).await.unwrap();
        assert!(ended.is_last, "{release}");
        assert_eq!(patterns(&team.reservations(at("16:01:00")).await), left, "{release}");
    }
}

pub async fn whoever_goes_without_a_session_of_its_own_ends_none(store: &Shared) {
    let team = team(store).await;
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:00:00")).await.unwrap();
    team.granted(&team.request("bob", &["a"]), at("16:00:00")).await;
    for key in [None, Some("never noted")] {
        let ended = end(store, &team, "bob", key, "16:01:00").await;
        assert!(!ended.is_last && ended.released.is_empty(), "{key:?}");
    }
    assert_eq!(of(store, &team, &["bob"]).await.len(), 1);
    assert_eq!(team.reservations(at("16:01:00")).await.len(), 1);
    assert!(end(store, &team, "carol", Some("never noted"), "16:01:00").await.is_last);
}

pub async fn a_session_that_was_silent_for_long_keeps_nothing(store: &Shared) {
    let team = team(store).await;
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:00:00")).await.unwrap();
    let later = after_seconds(at("16:00:00"), LONG);
    let lost = Session { began_at: later, seen_at: later, ..session(&team, "bob", "claude-2", "16:00:00") };
    store.note_session(team.id(), &lost).await.unwrap();
    let ended = store.end_session(team.id(), team.agent("bob"), Some("claude-2"), Release::All, later).await.unwrap();
    assert!(ended.is_last);
}

pub async fn what_agents_below_held_ends_with_the_session_above(store: &Shared) {
    let mut team = team(store).await;
    for name in ["bob/reviewer-3fa9", "bobby/reviewer-3fa9", "bob/chosen"] {
        let agent = team.join(name).await;
        store.note_generated(team.id(), agent.id).await.unwrap();
    }
    for (name, pattern) in [("bob/reviewer-3fa9", "a"), ("bobby/reviewer-3fa9", "b"), ("bob/chosen", "c")] {
        team.granted(&team.request(name, &[pattern]), at("16:00:00")).await;
    }
    let ended = end(store, &team, "bob", None, "16:01:00").await;
    assert_eq!(patterns(&ended.released), ["a"]);
    assert_eq!(patterns(&team.reservations(at("16:01:00")).await), ["b", "c"]);
}

pub async fn agents_below_a_former_name_are_still_below(store: &Shared) {
    let mut team = team(store).await;
    let below = team.join("bob/reviewer-3fa9").await;
    store.note_generated(team.id(), below.id).await.unwrap();
    team.granted(&team.request("bob/reviewer-3fa9", &["a"]), at("16:00:00")).await;
    store.rename(team.id(), team.agent("bob"), &named("Robert"), at("16:00:30")).await.unwrap().expect("it is free");
    assert_eq!(patterns(&end(store, &team, "bob", None, "16:01:00").await.released), ["a"]);
}

pub async fn of_many_who_end_a_session_at_once_one_does(store: &Shared) {
    let team = team(store).await;
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:00:00")).await.unwrap();
    team.granted(&team.request("bob", &["a"]), at("16:00:00")).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, project, bob) = (store.clone(), team.id(), team.agent("bob"));
        tasks.spawn(async move {
            store.end_session(project, bob, Some("claude-1"), Release::Exclusive, at("16:01:00")).await.unwrap()
        });
    }
    let ended = tasks.join_all().await;
    assert_eq!(ended.iter().filter(|one| one.is_new).count(), 1, "{ended:?}");
}

pub async fn a_generated_name_is_quiet_when_nobody_uses_it(store: &Shared) {
    let team = team(store).await;
    for name in ["alice", "bob"] {
        store.note_generated(team.id(), team.agent(name)).await.unwrap();
        store.note_generated(team.id(), team.agent(name)).await.unwrap();
    }
    assert_eq!(quiet(store, &team, "14:59:59.999999", "17:00:00").await, [""; 0], "they registered then");
    assert_eq!(quiet(store, &team, "15:00:00", "17:00:00").await, ["alice", "bob"], "carol chose her name");
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:00:00")).await.unwrap();
    assert_eq!(quiet(store, &team, "17:00:00", "17:00:00").await, ["alice"]);
    end(store, &team, "bob", Some("claude-1"), "16:01:00").await;
    assert_eq!(quiet(store, &team, "16:00:59.999999", "17:00:00").await, ["alice"]);
    assert_eq!(quiet(store, &team, "16:01:00", "17:00:00").await, ["alice", "bob"]);
    let seen_at = at("16:02:00");
    let (state, substate, source) = (AWAKE.to_owned(), None, Source::Activity);
    let here = NewPresence { state, substate, seen_at, source, watcher_pid: None, channel: None };
    store.set_presence(team.id(), team.agent("alice"), &here, seen_at).await.unwrap();
    assert_eq!(quiet(store, &team, "16:01:59.999999", "17:00:00").await, ["bob"], "alice did something");
    let watch = NewWatch {
        agent: team.agent("bob"),
        channel: MAILBOX.to_owned(),
        holder: "w".to_owned(),
        instead_of: None,
        since: at("16:00:00"),
        until: at("18:00:00"),
    };
    store.begin_watch(&watch, at("16:03:00")).await.unwrap();
    assert_eq!(quiet(store, &team, "17:00:00", "17:00:00").await, ["alice"], "a watcher answers for bob");
    assert_eq!(quiet(store, &team, "17:00:00", "18:00:00").await, ["alice", "bob"]);
}

pub async fn a_quiet_name_tells_since_when_and_what_it_holds(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    store.note_generated(team.id(), bob).await.unwrap();
    team.granted(&team.request("bob", &["a", "b"]), at("16:00:00")).await;
    let told = async |now: &str| {
        let mut names = store.quiet_names(team.id(), at("17:00:00"), PLENTY, at(now)).await.unwrap();
        let name = names.pop().expect("bob is quiet");
        assert_eq!(name.agent, team.look_up("bob").await);
        (name.quiet_since, name.handed_over, name.reservations)
    };
    assert_eq!(told("16:05:00").await, (at("15:00:00"), MessageId(0), 2));
    let sent = team.sent(draft("bob", &["alice"])).await;
    store.note_handed_over(bob, MessageId(9)).await.unwrap();
    store.note_handed_over(bob, MessageId(7)).await.unwrap();
    assert_eq!(told("16:10:00").await, (sent.created_at.max(at("16:00:00")), MessageId(9), 0), "it never goes back");
}

pub async fn a_lost_session_is_forgotten_when_another_of_its_agent_begins(store: &Shared) {
    let team = team(store).await;
    let keys = async || of(store, &team, &["bob"]).await.into_iter().map(|one| one.key).collect::<Vec<_>>();
    store.note_session(team.id(), &session(&team, "bob", "lost", "16:00:00")).await.unwrap();
    store.note_session(team.id(), &session(&team, "bob", "other", "16:00:01")).await.unwrap();
    assert_eq!(keys().await, ["lost", "other"]);
    let later = after_seconds(at("16:00:01"), 7 * 24 * 3600);
    let next = Session { began_at: later, seen_at: later, ..session(&team, "bob", "next", "16:00:00") };
    store.note_session(team.id(), &next).await.unwrap();
    assert_eq!(keys().await, ["other", "next"]);
}

pub async fn a_name_that_was_made_up_is_noted_as_it_is_registered(store: &Shared) {
    let team = team(store).await;
    for (name, taking) in
        [("dave", Taking::Generated), ("bob/tester-3fa9", Taking::NewOrKnown), ("erin", Taking::NewOnly)]
    {
        let made = store.register(team.id(), &named(name), &Profile::default(), None, taking, at("16:00:00")).await;
        assert!(made.unwrap().is_some(), "{name}");
    }
    let quiet = store.quiet_names(team.id(), at("17:00:00"), PLENTY, at("17:00:00")).await.unwrap();
    let names: Vec<String> = quiet.into_iter().map(|name| name.agent.name).collect();
    assert_eq!(names, ["dave", "bob/tester-3fa9"]);
    let dave = store.agents_named(team.id(), &["dave"]).await.unwrap().remove(0);
    store.rename(team.id(), dave.id, &named("reviewer"), at("16:01:00")).await.unwrap();
    let quiet = store.quiet_names(team.id(), at("17:00:00"), PLENTY, at("17:00:00")).await.unwrap();
    let names: Vec<String> = quiet.into_iter().map(|name| name.agent.name).collect();
    assert_eq!(names, ["bob/tester-3fa9"], "a name that somebody chose was not made up");
}

pub async fn a_name_is_not_retired_while_mail_waits_for_an_answer_that_nobody_was_told_of(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    store.note_generated(team.id(), bob).await.unwrap();
    let sent = team.send(draft("alice", &["bob"]).wants_ack()).await;
    let retire = async || store.retire_quiet(team.id(), bob, at("16:59:00"), alice, at("17:00:00")).await.unwrap();
    assert!(!retire().await);
    store.note_handed_over(bob, sent).await.unwrap();
    assert!(retire().await);
}

pub async fn a_name_is_retired_only_while_it_is_quiet(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    let retire =
        async |agent| store.retire_quiet(team.id(), agent, at("16:00:00"), alice, at("17:00:00")).await.unwrap();
    assert!(!retire(bob).await, "nobody generated it");
    store.note_generated(team.id(), bob).await.unwrap();
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:30:00")).await.unwrap();
    assert!(!retire(bob).await, "a session began meanwhile");
    end(store, &team, "bob", Some("claude-1"), "16:31:00").await;
    assert!(!retire(bob).await, "it ended a moment ago");
    let later = store.retire_quiet(team.id(), bob, at("16:32:00"), alice, at("17:00:00")).await.unwrap();
    assert!(later && team.look_up("bob").await.retired_at == Some(at("17:00:00")));
    assert_eq!(team.count_events(EventKind::AgentRetired).await, 1);
    assert!(!retire(bob).await, "once");
    introduce(store, team.id(), "bob", &Profile::default(), None, at("17:01:00")).await;
    assert_eq!(team.look_up("bob").await.retired_at, None, "it comes back under its name");
}

pub async fn retiring_ends_every_session(store: &Shared) {
    let team = team(store).await;
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:00:00")).await.unwrap();
    store.retire(team.id(), team.agent("bob"), team.agent("alice"), at("16:01:00")).await.unwrap();
    assert_eq!(of(store, &team, &["bob"]).await, []);
}

pub async fn names_and_sessions_of_another_project_are_not_told(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    store.note_generated(bank.id(), bank.agent("bob")).await.unwrap();
    store.note_session(bank.id(), &session(&bank, "alice", "claude-1", "16:00:00")).await.unwrap();
    assert_eq!(quiet(store, &shop, "17:00:00", "17:00:00").await, [""; 0]);
    let asked = [bank.agent("alice")];
    assert_eq!(store.sessions(shop.id(), &asked).await.unwrap(), []);
    assert_eq!(store.sessions(bank.id(), &asked).await.unwrap().len(), 1);
    register(store, shop.id(), "dave").await;
}

pub async fn the_stamp_of_presence_changes_with_sessions(store: &Shared) {
    let team = team(store).await;
    let stamp = async || store.presence_stamp(team.id(), at("16:00:00")).await.unwrap();
    let first = stamp().await;
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:00:00")).await.unwrap();
    let second = stamp().await;
    assert_ne!(second, first);
    store.note_session(team.id(), &session(&team, "bob", "claude-1", "16:01:00")).await.unwrap();
    assert_eq!(stamp().await, second, "a mere sign of life");
    end(store, &team, "bob", Some("claude-1"), "16:02:00").await;
    assert_ne!(stamp().await, second);
}

fn session(team: &Team, agent: &str, key: &str, time: &str) -> Session {
    Session {
        agent: team.agent(agent),
        key: key.to_owned(),
        client: "claude".to_owned(),
        host: "here".to_owned(),
        place: "/projects/shop".to_owned(),
        is_idle: false,
        began_at: at(time),
        seen_at: at(time),
    }
}

async fn of(store: &Shared, team: &Team, names: &[&str]) -> Vec<Session> {
    let agents: Vec<_> = names.iter().map(|name| team.agent(name)).collect();
    store.sessions(team.id(), &agents).await.unwrap()
}

async fn end(store: &Shared, team: &Team, name: &str, key: Option<&str>, time: &str) -> EndedSession {
    store.end_session(team.id(), team.agent(name), key, Release::Exclusive, at(time)).await.unwrap()
}

async fn quiet(store: &Shared, team: &Team, until: &str, now: &str) -> Vec<String> {
    let (until, now): (Timestamp, Timestamp) = (at(until), at(now));
    let names = store.quiet_names(team.id(), until, PLENTY, now).await.unwrap();
    names.into_iter().map(|name| name.agent.name).collect()
}
