//! What every store promises of presences. Which of two is right is decided by `mail::presence`, and tested there.

use jiff::{SignedDuration, Timestamp};

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, stamp, team, team_at};
use crate::events::{Event, EventKind};
use crate::messages::Mark;
use crate::presence::{AWAKE, NewPresence, OFFLINE, Presence, Present, Source};

const MINUTE: SignedDuration = SignedDuration::from_secs(60);

pub async fn a_presence_is_kept_as_it_was_said(store: &Shared) {
    let team = team(store).await;
    assert_eq!(store.presence(team.agent("alice")).await.unwrap(), None);
    for (minute, source) in [Source::Watcher, Source::File, Source::Nats, Source::Activity].into_iter().enumerate() {
        let seen_at = at(&format!("16:0{minute}:00.000001"));
        let told = NewPresence {
            state: format!("STATE_{minute}"),
            substate: (minute > 0).then(|| "漢字 \"'%".to_owned()),
            seen_at,
            source,
            watcher_pid: (minute > 0).then_some(i64::MAX),
            channel: (minute > 0).then(|| "dev".to_owned()),
        };
        assert!(store.set_presence(team.id(), team.agent("alice"), &told, at("17:00:00")).await.unwrap());
        let NewPresence { state, substate, watcher_pid, channel, .. } = told;
        let kept = Presence { state, substate, since: seen_at, seen_at, source, watcher_pid, channel };
        assert_eq!(store.presence(team.agent("alice")).await.unwrap(), Some(kept));
    }
    assert_eq!(store.presence(team.agent("bob")).await.unwrap(), None, "it is alice's alone");
}

pub async fn a_goodbye_keeps_the_watcher_and_its_channel(store: &Shared) {
    let team = team(store).await;
    let here = NewPresence { watcher_pid: Some(7), channel: Some("dev".into()), ..word(AWAKE, None, at("16:00:00")) };
    say(store, &team, "bob", here).await;
    say(store, &team, "bob", word(OFFLINE, None, at("16:00:01"))).await;
    let gone = known(store, &team, "bob").await;
    assert_eq!((gone.state.as_str(), gone.watcher_pid, gone.channel.as_deref()), (OFFLINE, Some(7), Some("dev")));
    say(store, &team, "bob", word(AWAKE, None, at("16:00:02"))).await;
    let back = known(store, &team, "bob").await;
    assert_eq!((back.watcher_pid, back.channel), (None, None), "it does not say who watches now");
}

pub async fn a_change_is_told_and_a_sign_of_life_is_not(store: &Shared) {
    let team = team(store).await;
    let says = async |substate, time: &str| say(store, &team, "bob", word(AWAKE, substate, at(time))).await;
    assert!(says(Some("IDLE"), "16:00:00").await);
    assert!(!says(Some("IDLE"), "16:00:30").await);
    assert!(says(Some("WORKING"), "16:01:00").await);
    let bob = team.agent("bob");
    let event =
        |seq, time| Event { seq, kind: EventKind::PresenceChanged, reference: bob.0, agent: Some(bob), at: at(time) };
    let told: Vec<_> =
        team.events().await.into_iter().filter(|event| event.kind == EventKind::PresenceChanged).collect();
    assert_eq!(told, [event(4, "16:00:00"), event(5, "16:01:00")]);
    let known = known(store, &team, "bob").await;
    assert_eq!((known.since, known.seen_at), (at("16:01:00"), at("16:01:00")));
}

pub async fn what_a_file_says_too_late_is_passed_over(store: &Shared) {
    let team = team(store).await;
    say(store, &team, "bob", word(AWAKE, Some("WORKING"), at("16:00:00"))).await;
    let before = (known(store, &team, "bob").await, team.events().await);
    let late = NewPresence { source: Source::File, ..word(OFFLINE, None, at("15:59:59")) };
    assert!(!store.set_presence(team.id(), team.agent("bob"), &late, at("16:00:10")).await.unwrap());
    assert_eq!((known(store, &team, "bob").await, team.events().await), before);
}

pub async fn who_acts_is_awake(store: &Shared) {
    let team = team(store).await;
    touch(store, &team, "alice", at("16:00:00")).await;
    let alice = known(store, &team, "alice").await;
    assert_eq!((alice.state.as_str(), alice.substate, alice.source), (AWAKE, None, Source::Activity));
    assert_eq!(team.count_events(EventKind::PresenceChanged).await, 1);
    say(store, &team, "alice", word(OFFLINE, Some("SHUTDOWN"), at("16:00:01"))).await;
    touch(store, &team, "alice", at("16:00:02")).await;
    let alice = known(store, &team, "alice").await;
    assert_eq!((alice.state.as_str(), alice.substate, alice.since), (AWAKE, None, at("16:00:02")));
    assert_eq!(team.count_events(EventKind::PresenceChanged).await, 3);
}

pub async fn many_acts_are_one_sign_of_life(store: &Shared) {
    let team = team(store).await;
    touch(store, &team, "alice", at("16:00:00")).await;
    let before = stamp(store).await;
    touch(store, &team, "alice", at("16:00:59")).await;
    assert_eq!(stamp(store).await, before, "nothing is written for it");
    assert_eq!(known(store, &team, "alice").await.seen_at, at("16:00:00"));
    touch(store, &team, "alice", at("16:01:00")).await;
    assert_eq!(known(store, &team, "alice").await.seen_at, at("16:01:00"));
    assert_eq!(team.count_events(EventKind::PresenceChanged).await, 1, "it was awake all the time");
}

pub async fn the_stamp_of_presence_changes_with_what_is_told_and_with_no_sign_of_life(store: &Shared) {
    let team = team(store).await;
    let stamp = async |time: &str| store.presence_stamp(team.id(), at(time)).await.unwrap();
    let mut last = stamp("16:00:00").await;
    let mut is_new = |stamp: i64| std::mem::replace(&mut last, stamp) != stamp;
    say(store, &team, "alice", word(AWAKE, Some("IDLE"), at("16:00:00"))).await;
    assert!(is_new(stamp("16:00:00").await), "somebody came");
    say(store, &team, "alice", word(AWAKE, Some("IDLE"), at("16:01:00"))).await;
    assert!(!is_new(stamp("16:01:00").await), "a mere sign of life");
    let late = NewPresence { source: Source::File, ..word(OFFLINE, None, at("15:00:00")) };
    say(store, &team, "bob", late).await;
    assert!(is_new(stamp("16:01:00").await), "news may be old");
    assert!(!is_new(stamp("16:06:00").await));
    assert!(is_new(stamp("16:06:01").await), "alice was silent for too long");
    team.send(draft("bob", &["carol"])).await;
    assert!(is_new(stamp("16:06:01").await), "mail");
    team.granted(&team.request("bob", &["a"]), at("16:06:01")).await;
    assert!(is_new(stamp("16:06:01").await), "a reservation");
    assert!(is_new(stamp("17:06:01").await), "that ended");
}

pub async fn an_act_leaves_a_watcher_its_word(store: &Shared) {
    let team = team(store).await;
    let working = NewPresence { watcher_pid: Some(7), ..word(AWAKE, Some("WORKING"), at("16:00:00")) };
    say(store, &team, "alice", working).await;
    let before = known(store, &team, "alice").await;
    touch(store, &team, "alice", at("16:05:00")).await;
    assert_eq!(known(store, &team, "alice").await, Presence { seen_at: at("16:05:00"), ..before });
}

pub async fn everybody_is_listed_with_presence_mail_and_reservations(store: &Shared) {
    let team = team(store).await;
    say(store, &team, "alice", word(AWAKE, Some("IDLE"), at("16:00:00"))).await;
    let sent = team.sent(draft("bob", &["alice"])).await.created_at;
    let newer = team.sent(draft("bob", &["alice"])).await.created_at;
    assert!(sent < newer);
    team.granted(&team.request("bob", &["a", "b"]), at("16:00:00")).await;
    team.granted(&team.request("carol", &["c"]), at("16:00:00")).await;
    store.release(team.id(), team.agent("carol"), None, team.agent("carol"), at("16:01:00")).await.unwrap();
    let present = store.present(team.id(), None, PLENTY, at("16:09:59")).await.unwrap();
    let line = |present: &Present| (present.agent.name.clone(), present.last_mail_at, present.reservations);
    let lines: Vec<_> = present.iter().map(line).collect();
    let expected = [("alice", Some(newer), 0), ("bob", Some(newer), 2), ("carol", None, 0)];
    assert_eq!(lines, expected.map(|(name, mail, reservations)| (name.to_owned(), mail, reservations)));
    let presences: Vec<_> = present.iter().map(|one| one.presence.clone()).collect();
    assert_eq!(presences, [Some(known(store, &team, "alice").await), None, None]);
    let agents: Vec<_> = present.into_iter().map(|one| one.agent).collect();
    assert_eq!(agents, store.agents(team.id(), None, PLENTY).await.unwrap());
    let ended = store.present(team.id(), None, PLENTY, at("16:10:00")).await.unwrap();
    assert_eq!(ended[1].reservations, 0, "a reservation that ended is not held");
}

pub async fn those_who_are_listed_come_in_pages_and_from_one_project(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    say(store, &bank, "alice", word(AWAKE, None, at("16:00:00"))).await;
    let all = store.present(shop.id(), None, PLENTY, at("16:00:00")).await.unwrap();
    assert!(all.iter().all(|one| one.presence.is_none() && one.agent.project == shop.id()));
    let page = async |after: Option<usize>, limit| {
        let after = after.map(|at| all[at].agent.id);
        store.present(shop.id(), after, limit, at("16:00:00")).await.unwrap()
    };
    assert_eq!(page(None, 2).await, all[..2]);
    assert_eq!(page(Some(1), 2).await, all[2..]);
    assert_eq!(page(Some(2), 2).await, []);
    assert_eq!(page(None, 0).await, []);
}

pub async fn when_mail_came_does_not_betray_a_blind_copy(store: &Shared) {
    let team = team(store).await;
    let open = team.sent(draft("alice", &["bob", "carol"])).await.created_at;
    let blind = team.sent(draft("alice", &["bob"]).bcc(&["carol"])).await.created_at;
    let present = store.present(team.id(), None, PLENTY, at("16:00:00")).await.unwrap();
    let times: Vec<_> = present.iter().map(|one| one.last_mail_at).collect();
    assert_eq!(times, [Some(blind), Some(blind), Some(open)]);
}

pub async fn unread_mail_of_everybody_is_counted_without_blind_copies(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(3).await;
    team.send(draft("alice", &["bob"]).bcc(&["carol"])).await;
    store.mark(team.agent("bob"), sent[0], &Mark::Read, at("16:05:00")).await.unwrap();
    store.archive(team.agent("bob"), sent[1], team.agent("bob"), at("16:05:00")).await.unwrap();
    let present = store.present(team.id(), None, PLENTY, at("16:05:00")).await.unwrap();
    assert_eq!(present.iter().map(|one| one.unread).collect::<Vec<_>>(), [0, 2, 0]);
}

pub async fn who_was_heard_of_of_late_is_told_unless_that_was_on_nats(store: &Shared) {
    let (team, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    say(store, &bank, "alice", word(AWAKE, None, at("16:00:00"))).await;
    for (name, source, time) in
        [("alice", Source::Watcher, "16:00:00"), ("bob", Source::Nats, "16:00:00"), ("carol", Source::File, "16:00:01")]
    {
        say(store, &team, name, NewPresence { source, ..word(OFFLINE, Some("IDLE"), at(time)) }).await;
    }
    let heard_of = async |since: &str, after: Option<&str>, limit| {
        let after = after.map(|name| team.agent(name));
        let all = store.heard_of(team.id(), at(since), after, limit).await.unwrap();
        for one in &all {
            assert_eq!((one.agent, &one.presence), (team.agent(&one.name), &known(store, &team, &one.name).await));
        }
        all.into_iter().map(|one| one.name).collect::<Vec<_>>()
    };
    assert_eq!(heard_of("16:00:00", None, PLENTY).await, ["alice", "carol"]);
    assert_eq!(heard_of("16:00:00.000001", None, PLENTY).await, ["carol"]);
    assert_eq!(heard_of("16:00:02", None, PLENTY).await, [""; 0]);
    assert_eq!(heard_of("16:00:00", None, 1).await, ["alice"]);
    assert_eq!(heard_of("16:00:00", Some("alice"), PLENTY).await, ["carol"]);
}

fn word(state: &str, substate: Option<&str>, seen_at: Timestamp) -> NewPresence {
    NewPresence {
        state: state.to_owned(),
        substate: substate.map(str::to_owned),
        seen_at,
        source: Source::Watcher,
        watcher_pid: None,
        channel: None,
    }
}

async fn say(store: &Shared, team: &Team, name: &str, word: NewPresence) -> bool {
    store.set_presence(team.id(), team.agent(name), &word, word.seen_at).await.unwrap()
}

async fn touch(store: &Shared, team: &Team, name: &str, now: Timestamp) {
    store.touch_soon(team.id(), team.agent(name), now, MINUTE);
    // A project's writes are done in the order in which they were asked for, so this one, which changes nothing, ends
    // behind it.
    store.end_watch(team.agent(name), "", "nobody").await.unwrap();
}

async fn known(store: &Shared, team: &Team, name: &str) -> Presence {
    store.presence(team.agent(name)).await.unwrap().expect("it was heard of")
}
