//! What every store promises of reservations: who is granted what, for how long, and how it is given back.
//!
//! Standing in line is told in `waiting`.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, at, parsed, patterns, team, team_at};
use super::leaving::{polled, until_some};
use crate::events::EventKind;
use crate::reservations::{Conflict, MOST_CONFLICTS, NewEnd, Request, Reservation, Reserved};

pub async fn a_grant_is_one_reservation_for_each_pattern_in_the_order_asked(store: &Shared) {
    let team = team(store).await;
    let request = Request { reason: "FEAT-1".into(), ..team.request("alice", &["src/**", "docs/*.md", "a.txt"]) };
    let reservations = team.granted(&request, at("16:00:00.000001")).await;
    assert_eq!(patterns(&reservations), ["src/**", "docs/*.md", "a.txt"]);
    let expected = Reservation {
        id: reservations[1].id,
        holder: team.agent("alice"),
        holder_name: "alice".into(),
        pattern: parsed(&["docs/*.md"]).remove(0),
        exclusive: true,
        reason: "FEAT-1".into(),
        granted_at: at("16:00:00.000001"),
        ends_at: at("16:10:00.000001"),
    };
    assert_eq!(reservations[1], expected);
    assert_eq!(team.reservations(at("16:00:01")).await, reservations);
}

pub async fn what_another_holds_is_refused_with_the_holder(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/**"]), at("16:00:00")).await;
    let refused = team.reserve(&team.request("bob", &["src/lib.rs"]), at("16:00:01")).await;
    let conflict = Conflict {
        wanted: "src/lib.rs".into(),
        pattern: "src/**".into(),
        holder: "alice".into(),
        exclusive: true,
        waiting: false,
        until: at("16:10:00"),
    };
    assert_eq!(refused, Reserved::Refused(vec![conflict]));
}

pub async fn patterns_that_share_no_path_do_not_conflict(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/*.rs", "docs/**"]), at("16:00:00")).await;
    team.granted(&team.request("bob", &["src/*.md", "src/deep/a.rs", "doc/**"]), at("16:00:00")).await;
}

pub async fn one_conflict_grants_nothing(store: &Shared) {
    let team = team(store).await;
    let held = team.granted(&team.request("alice", &["b.txt"]), at("16:00:00")).await;
    let before = team.events().await;
    let refused = team.reserve(&team.request("bob", &["a.txt", "b.txt", "c.txt"]), at("16:00:01")).await;
    assert!(matches!(refused, Reserved::Refused(conflicts) if conflicts.len() == 1));
    assert_eq!(team.reservations(at("16:00:01")).await, held);
    assert_eq!(team.events().await, before);
}

pub async fn a_refusal_names_a_bounded_number_of_conflicts(store: &Shared) {
    let team = team(store).await;
    let names: Vec<String> = (0..MOST_CONFLICTS + 5).map(|number| format!("src/{number}.rs")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    team.granted(&team.request("alice", &names), at("16:00:00")).await;
    let refused = team.reserve(&team.request("bob", &["src/**"]), at("16:00:01")).await;
    assert!(matches!(refused, Reserved::Refused(conflicts) if conflicts.len() == MOST_CONFLICTS));
}

pub async fn shared_reservations_meet_and_exclusive_ones_do_not(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.shared("alice", &["src/**"]), at("16:00:00")).await;
    team.granted(&team.shared("bob", &["src/lib.rs"]), at("16:00:00")).await;
    let exclusive = team.reserve(&team.request("carol", &["src/lib.rs"]), at("16:00:00")).await;
    assert!(matches!(exclusive, Reserved::Refused(conflicts) if conflicts.len() == 2 && !conflicts[0].exclusive));
    team.granted(&team.request("carol", &["docs/**"]), at("16:00:00")).await;
    let shared = team.reserve(&team.shared("alice", &["docs/a.md"]), at("16:00:00")).await;
    assert!(matches!(shared, Reserved::Refused(conflicts) if conflicts.len() == 1 && conflicts[0].exclusive));
}

pub async fn ones_own_reservations_are_not_in_the_way(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/**"]), at("16:00:00")).await;
    team.granted(&team.request("alice", &["src/lib.rs", "**"]), at("16:00:00")).await;
    assert_eq!(patterns(&team.reservations(at("16:00:00")).await), ["src/**", "src/lib.rs", "**"]);
}

pub async fn a_reservation_of_another_project_is_not_in_the_way(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let shops = shop.granted(&shop.request("alice", &["src/**"]), at("16:00:00")).await;
    let banks = bank.granted(&bank.request("bob", &["src/**"]), at("16:00:00")).await;
    assert_eq!(shop.reservations(at("16:00:00")).await, shops);
    assert_eq!(bank.reservations(at("16:00:00")).await, banks);
    store.release(bank.id(), bank.agent("bob"), None, bank.agent("bob"), at("16:00:01")).await.unwrap();
    assert_eq!(shop.reservations(at("16:00:01")).await, shops);
}

pub async fn the_same_pattern_again_keeps_its_number(store: &Shared) {
    let team = team(store).await;
    let first = team.granted(&team.request("alice", &["a.txt", "b.txt"]), at("16:00:00")).await;
    let again = Request { reason: "more".into(), ttl_seconds: 60, ..team.shared("alice", &["c.txt", "b.txt"]) };
    let second = team.granted(&again, at("16:05:00")).await;
    assert_eq!(patterns(&second), ["c.txt", "b.txt"]);
    let expected = Reservation { reason: "more".into(), ends_at: at("16:06:00"), ..first[1].clone() };
    assert!(expected.exclusive, "asking for less does not make it weaker");
    assert_eq!(second[1], expected, "new end and reason; the same number and time of grant");
    assert_eq!(team.reservations(at("16:05:00")).await, [first[0].clone(), expected, second[0].clone()]);
}

pub async fn a_new_mode_that_another_forbids_changes_nothing(store: &Shared) {
    let team = team(store).await;
    let mut held = team.granted(&team.shared("alice", &["a.txt"]), at("16:00:00")).await;
    held.extend(team.granted(&team.shared("bob", &["a.txt"]), at("16:00:00")).await);
    let refused = team.reserve(&team.request("alice", &["a.txt"]), at("16:05:00")).await;
    assert!(matches!(refused, Reserved::Refused(_)));
    assert_eq!(team.reservations(at("16:05:00")).await, held);
}

pub async fn a_reservation_that_ended_blocks_nobody(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/**"]), at("16:00:00")).await;
    let wanted = team.request("bob", &["src/lib.rs"]);
    assert!(matches!(team.reserve(&wanted, at("16:09:59.999999")).await, Reserved::Refused(_)));
    team.granted(&wanted, at("16:10:00")).await;
}

pub async fn a_reservation_that_ended_is_not_listed(store: &Shared) {
    let team = team(store).await;
    let reservations = team.granted(&team.request("alice", &["src/**"]), at("16:00:00")).await;
    assert_eq!(team.reservations(at("16:09:59.999999")).await, reservations);
    assert_eq!(team.reservations(at("16:10:00")).await, []);
}

pub async fn a_pattern_asked_for_after_its_end_is_a_new_reservation(store: &Shared) {
    let team = team(store).await;
    let first = team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let second = team.granted(&team.request("alice", &["a.txt"]), at("16:10:00")).await;
    assert!(second[0].id > first[0].id);
    assert_eq!(second[0].granted_at, at("16:10:00"));
    assert_eq!(team.reservations(at("16:10:00")).await, second);
}

pub async fn release_gives_back_the_patterns_named(store: &Shared) {
    let team = team(store).await;
    let held = team.granted(&team.request("alice", &["src/**", "src/lib.rs", "a.txt"]), at("16:00:00")).await;
    let named = parsed(&["src/**", "not/held", "a.txt"]);
    let mut back =
        store.release(team.id(), team.agent("alice"), Some(&named), team.agent("alice"), at("16:05:00")).await.unwrap();
    back.sort_by_key(|reservation| reservation.id);
    let ended = |reservation: &Reservation| Reservation { ends_at: at("16:05:00"), ..reservation.clone() };
    assert_eq!(back, [ended(&held[0]), ended(&held[2])]);
    assert_eq!(team.reservations(at("16:05:00")).await, [held[1].clone()], "compared as text, not as files");
}

pub async fn release_gives_back_all_of_ones_own(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt", "b.txt"]), at("16:00:00")).await;
    let bobs = team.granted(&team.request("bob", &["c.txt"]), at("16:00:00")).await;
    let back = store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:05:00")).await.unwrap();
    assert_eq!(back.len(), 2);
    assert_eq!(team.reservations(at("16:05:00")).await, bobs);
    team.granted(&team.request("bob", &["a.txt"]), at("16:05:00")).await;
}

pub async fn who_gives_a_reservation_back_is_told(store: &Shared) {
    let team = team(store).await;
    let (alice, carol) = (team.agent("alice"), team.agent("carol"));
    let held = team.granted(&team.request("alice", &["a", "b"]), at("16:00:00")).await;
    let back = store.release(team.id(), alice, Some(&parsed(&["a"])), carol, at("16:05:00")).await.unwrap();
    assert_eq!((patterns(&back), back[0].holder), (vec!["a"], alice), "it was alice's reservation");
    let last = team.events().await.pop().unwrap();
    let told = (last.kind, last.reference, last.agent, last.at);
    assert_eq!(told, (EventKind::ReservationReleased, held[0].id.0, Some(carol), at("16:05:00")));
    assert_eq!(patterns(&team.reservations(at("16:05:00")).await), ["b"]);
}

pub async fn what_is_not_held_is_not_given_back(store: &Shared) {
    let team = team(store).await;
    let held = team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let before = team.events().await;
    let named = parsed(&["a.txt"]);
    let release = async |name: &str, patterns| {
        store.release(team.id(), team.agent(name), patterns, team.agent(name), at("16:05:00")).await.unwrap()
    };
    assert_eq!(release("bob", Some(named.as_slice())).await, []);
    assert_eq!(release("bob", None).await, []);
    assert_eq!(release("alice", Some(&[])).await, []);
    assert_eq!(team.reservations(at("16:05:00")).await, held);
    assert_eq!(team.events().await, before);
    assert_eq!(release("alice", None).await.len(), 1);
    assert_eq!(release("alice", None).await, [], "it was given back already");
    assert_eq!(team.count_events(EventKind::ReservationReleased).await, 1);
}

pub async fn a_reservation_that_ended_is_not_given_back(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt", "b.txt"]), at("16:00:00")).await;
    let (alice, named) = (team.agent("alice"), parsed(&["a.txt"]));
    let in_time = store.release(team.id(), alice, Some(&named), alice, at("16:09:59.999999")).await.unwrap();
    assert_eq!(patterns(&in_time), ["a.txt"]);
    assert_eq!(store.release(team.id(), alice, None, alice, at("16:10:00")).await.unwrap(), []);
    assert_eq!(team.count_events(EventKind::ReservationReleased).await, 1);
}

/// What it held before stays, and so does what it asked for again and was told of.
pub async fn what_is_granted_to_a_caller_that_went_away_is_free_again(store: &Shared) {
    let team = team(store).await;
    let before = team.granted(&team.request("alice", &["held.txt"]), at("16:00:00")).await;
    for round in 0..60 {
        let wanted = team.request("alice", &["held.txt", "a.txt"]);
        if polled(store.reserve(&wanted, at("16:00:01")), round).await.is_some() {
            store
                .release(team.id(), team.agent("alice"), Some(&parsed(&["a.txt"])), team.agent("alice"), at("16:00:01"))
                .await
                .unwrap();
        }
        let bobs = until_some(async || match team.reserve(&team.request("bob", &["a.txt"]), at("16:00:02")).await {
            Reserved::Granted(granted) => granted,
            _ => vec![],
        });
        assert_eq!(patterns(&bobs.await), ["a.txt"]);
        store.release(team.id(), team.agent("bob"), None, team.agent("bob"), at("16:00:03")).await.unwrap();
    }
    let held = team.reservations(at("16:00:04")).await;
    assert_eq!(held.iter().map(|one| one.id).collect::<Vec<_>>(), [before[0].id]);
}

pub async fn renewing_moves_the_end(store: &Shared) {
    let team = team(store).await;
    let held = team.granted(&team.request("alice", &["a.txt", "b.txt"]), at("16:00:00")).await;
    let (alice, named) = (team.agent("alice"), parsed(&["b.txt"]));
    let renewed =
        store.renew(team.id(), alice, Some(&named), NewEnd::At(at("17:00:00")), at("16:05:00")).await.unwrap();
    let longer = Reservation { ends_at: at("17:00:00"), ..held[1].clone() };
    assert_eq!(renewed, Ok(vec![longer.clone()]));
    assert_eq!(team.reservations(at("16:05:00")).await, [held[0].clone(), longer.clone()]);
    let refused = team.reserve(&team.request("bob", &["b.txt"]), at("16:59:59")).await;
    assert!(matches!(refused, Reserved::Refused(_)), "the new end counts");
    let sooner = store.renew(team.id(), alice, Some(&named), NewEnd::At(at("16:07:00")), at("16:06:00")).await.unwrap();
    assert_eq!(sooner, Ok(vec![Reservation { ends_at: at("16:07:00"), ..longer }]));
    team.granted(&team.request("bob", &["b.txt"]), at("16:07:00")).await;
}

pub async fn renewing_all_moves_every_active_reservation_of_ones_own(store: &Shared) {
    let team = team(store).await;
    let short = Request { ttl_seconds: 60, ..team.request("alice", &["short.txt"]) };
    team.granted(&short, at("16:00:00")).await;
    let held = team.granted(&team.request("alice", &["a.txt", "b.txt"]), at("16:00:00")).await;
    let bobs = team.granted(&team.request("bob", &["c.txt"]), at("16:00:00")).await;
    let mut renewed = store
        .renew(team.id(), team.agent("alice"), None, NewEnd::At(at("17:00:00")), at("16:05:00"))
        .await
        .unwrap()
        .expect("nothing was named that is not held");
    renewed.sort_by_key(|reservation| reservation.id);
    let longer: Vec<_> =
        held.iter().map(|reservation| Reservation { ends_at: at("17:00:00"), ..reservation.clone() }).collect();
    assert_eq!(renewed, longer);
    assert_eq!(team.reservations(at("16:05:00")).await, [longer, bobs].concat());
    let nothing =
        store.renew(team.id(), team.agent("carol"), None, NewEnd::At(at("17:00:00")), at("16:05:00")).await.unwrap();
    assert_eq!(nothing, Ok(vec![]));
}

pub async fn renewing_what_is_not_held_changes_nothing(store: &Shared) {
    let team = team(store).await;
    let mut held = team.granted(&team.request("alice", &["a.txt", "b.txt", "src/**"]), at("16:00:00")).await;
    held.extend(team.granted(&team.request("bob", &["c.txt"]), at("16:00:00")).await);
    let before = team.events().await;
    let alice = team.agent("alice");
    for missing in ["c.txt", "d.txt", "src/lib.rs"] {
        let named = parsed(&["a.txt", missing, "b.txt", "e.txt"]);
        let answer =
            store.renew(team.id(), alice, Some(&named), NewEnd::At(at("17:00:00")), at("16:05:00")).await.unwrap();
        assert_eq!(answer, Err(named[1].clone()), "the first that is not held");
    }
    assert_eq!(team.reservations(at("16:05:00")).await, held);
    assert_eq!(team.events().await, before);
}

/// Each keeps what was left of it, and gets as much more; nothing lasts longer than the longest end, or becomes shorter.
pub async fn renewing_can_add_to_what_is_left(store: &Shared) {
    let team = team(store).await;
    for (path, ttl_seconds) in [("a.txt", 600), ("b.txt", 60), ("c.txt", 7200)] {
        team.granted(&Request { ttl_seconds, ..team.request("alice", &[path]) }, at("16:00:00")).await;
    }
    let end = NewEnd::Later { seconds: 600, at_most: at("16:15:00") };
    let renewed = store.renew(team.id(), team.agent("alice"), None, end, at("16:00:30")).await.unwrap().unwrap();
    let ends: Vec<_> = renewed.iter().map(|reservation| reservation.ends_at).collect();
    assert_eq!(ends, [at("16:15:00"), at("16:11:00"), at("18:00:00")]);
    assert_eq!(team.reservations(at("16:00:31")).await, renewed);
}

pub async fn a_reservation_that_ended_cannot_be_renewed(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt", "b.txt"]), at("16:00:00")).await;
    let renew = async |pattern, now| {
        let named = parsed(&[pattern]);
        let answer = store
            .renew(team.id(), team.agent("alice"), Some(&named), NewEnd::At(at("17:00:00")), at(now))
            .await
            .unwrap();
        answer.map_err(|missing| missing.as_str().to_owned())
    };
    assert!(renew("a.txt", "16:09:59.999999").await.is_ok());
    assert_eq!(renew("b.txt", "16:10:00").await, Err("b.txt".to_owned()));
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:11:00")).await.unwrap();
    assert_eq!(renew("a.txt", "16:11:00").await, Err("a.txt".to_owned()), "nor one that was given back");
}

pub async fn a_reservation_that_went_to_another_cannot_be_renewed_with_an_old_clock(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/**", "docs/a.md"]), at("16:00:00")).await;
    let bobs = team.granted(&team.request("bob", &["src/lib.rs"]), at("16:10:00")).await;
    let before = team.events().await;
    // As one that waited while the reservation ended.
    let (alice, named, old) = (team.agent("alice"), parsed(&["docs/a.md", "src/**"]), at("16:09:59"));
    let answer = store.renew(team.id(), alice, Some(&named), NewEnd::At(at("17:00:00")), old).await.unwrap();
    assert_eq!(answer, Err(named[1].clone()));
    assert_eq!(team.reservations(at("16:10:01")).await, bobs);
    assert_eq!(team.events().await, before);
    let all = store.renew(team.id(), alice, None, NewEnd::At(at("17:00:00")), old).await.unwrap().unwrap();
    assert_eq!(patterns(&all), ["docs/a.md"], "what nobody else holds is renewed");
    store.release(team.id(), team.agent("bob"), None, team.agent("bob"), at("16:10:02")).await.unwrap();
    let back = store.renew(team.id(), alice, Some(&named), NewEnd::At(at("17:00:00")), old).await.unwrap();
    assert!(back.is_ok(), "nobody else holds it any more");
}

pub async fn pages_of_reservations_meet_without_gap_or_repeat(store: &Shared) {
    let team = team(store).await;
    let mut held = team.granted(&team.request("bob", &["z", "y"]), at("16:00:00")).await;
    let short = Request { ttl_seconds: 1, ..team.request("carol", &["gone"]) };
    team.granted(&short, at("16:00:00")).await;
    held.extend(team.granted(&team.request("alice", &["x", "w", "v"]), at("16:00:00")).await);
    let page = async |after, limit| store.reservations(team.id(), after, limit, at("16:00:01")).await.unwrap();
    assert!(held.is_sorted_by(|one, next| one.id < next.id));
    assert_eq!(page(None, PLENTY).await, held);
    assert_eq!(page(None, 3).await, held[..3]);
    assert_eq!(page(Some(held[2].id), 1).await, held[3..4]);
    assert_eq!(page(Some(held[3].id), 2).await, held[4..]);
    assert_eq!(page(Some(held[4].id), 2).await, []);
    assert_eq!(page(None, 0).await, []);
}

pub async fn of_many_who_race_for_one_path_one_wins(store: &Shared) {
    race(store, &["src/lib.rs"; 8]).await;
}

pub async fn of_many_who_race_for_patterns_that_meet_one_wins(store: &Shared) {
    let meeting = ["**", "src/**", "src/*.rs", "*/lib.rs", "src/lib.rs", "s*/l*.rs", "src/l?b.rs", "{src,doc}/lib.rs"];
    race(store, &meeting).await;
}

/// Eight agents ask at once, each for one of the patterns.
async fn race(store: &Shared, wanted: &[&str; 8]) {
    let mut team = team(store).await;
    let mut requests = Vec::new();
    for (number, pattern) in wanted.iter().enumerate() {
        let racer = format!("racer-{number}");
        team.join(&racer).await;
        requests.push(team.request(&racer, &[pattern]));
    }
    let mut tasks = JoinSet::new();
    for request in requests {
        let store = store.clone();
        tasks.spawn(async move { store.reserve(&request, at("16:00:00")).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    let won: Vec<_> = answers.iter().filter(|answer| matches!(answer, Reserved::Granted(_))).collect();
    assert_eq!(won, [&Reserved::Granted(team.reservations(at("16:00:00")).await)]);
    assert_eq!(answers.iter().filter(|answer| matches!(answer, Reserved::Refused(_))).count(), 7);
    assert_eq!(team.count_events(EventKind::ReservationGranted).await, 1);
}
