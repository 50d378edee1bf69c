//! What the reservations promises, without any store.

use proptest::prelude::*;

use super::*;
use crate::ids::ProjectId;

const NAMES: [&str; 4] = ["alice", "bob", "carol", "dave"];

#[test]
fn an_empty_book_grants() {
    assert_eq!(ReservationSet::default().decide(&request("alice", &["**"]), at("16:00:00")), Decision::Grant);
}

#[test]
fn a_reservation_blocks_others_until_the_moment_it_ends() {
    let set = ReservationSet::new(vec![reservation(1, "alice", "src/**")], vec![]);
    let wanted = request("bob", &["src/lib.rs"]);
    let conflict = Conflict {
        wanted: "src/lib.rs".into(),
        pattern: "src/**".into(),
        holder: "alice".into(),
        exclusive: true,
        waiting: false,
        until: at("16:10:00"),
    };
    assert_eq!(set.decide(&wanted, at("16:09:59.999999")), Decision::Refuse(vec![conflict]));
    assert_eq!(set.decide(&wanted, at("16:10:00")), Decision::Grant);
}

#[test]
fn a_reservation_stands_while_nobody_holds_what_it_forbids() {
    let mine = reservation(1, "alice", "src/**");
    let stands =
        |other: Reservation| ReservationSet::new(vec![mine.clone(), other], vec![]).stands(&mine, at("16:09:59"));
    assert!(!stands(reservation(2, "bob", "src/lib.rs")));
    assert!(!stands(Reservation { exclusive: false, ..reservation(2, "bob", "src/lib.rs") }));
    assert!(
        stands(Reservation { ends_at: at("16:09:59"), ..reservation(2, "bob", "src/lib.rs") }),
        "that one has ended"
    );
    assert!(stands(reservation(2, "bob", "docs/**")));
    assert!(stands(reservation(2, "alice", "src/lib.rs")));
    let shared = Reservation { exclusive: false, ..mine.clone() };
    let set =
        ReservationSet::new(vec![Reservation { exclusive: false, ..reservation(2, "bob", "src/lib.rs") }], vec![]);
    assert!(set.stands(&shared, at("16:09:59")), "who shares forbids nobody to share");
}

#[test]
fn two_reservations_conflict_when_either_is_exclusive() {
    for (held, wanted, granted) in
        [(true, true, false), (true, false, false), (false, true, false), (false, false, true)]
    {
        let set =
            ReservationSet::new(vec![Reservation { exclusive: held, ..reservation(1, "alice", "src/**") }], vec![]);
        let wanted = Request { exclusive: wanted, ..request("bob", &["src/lib.rs"]) };
        assert_eq!(set.decide(&wanted, at("16:00:00")) == Decision::Grant, granted, "{held} {}", wanted.exclusive);
    }
}

#[test]
fn ones_own_reservations_and_places_are_not_in_the_way() {
    let set = ReservationSet::new(vec![reservation(1, "alice", "src/**")], vec![waiter(1, "alice", &["docs/**"])]);
    assert_eq!(set.decide(&request("alice", &["src/lib.rs", "docs/a.md"]), at("16:00:00")), Decision::Grant);
}

#[test]
fn patterns_that_share_no_path_do_not_conflict() {
    let set = ReservationSet::new(vec![reservation(1, "alice", "src/*.rs")], vec![waiter(1, "bob", &["docs/**"])]);
    assert_eq!(set.decide(&request("carol", &["src/*.md", "src/a/b.rs", "doc/**"]), at("16:00:00")), Decision::Grant);
}

#[test]
fn every_pattern_of_a_request_counts() {
    let set = ReservationSet::new(vec![reservation(1, "alice", "c")], vec![]);
    assert_eq!(wanted_and_whose(&set, &request("bob", &["a", "b", "c"])), [("c".into(), "alice".into())]);
}

#[test]
fn what_an_earlier_waiter_wants_counts_as_held() {
    let set = ReservationSet::new(vec![], vec![waiter(1, "bob", &["x", "src/**"])]);
    let wanted = request("carol", &["src/lib.rs"]);
    let conflict = Conflict {
        wanted: "src/lib.rs".into(),
        pattern: "src/**".into(),
        holder: "bob".into(),
        exclusive: true,
        waiting: true,
        until: at("16:30:00"),
    };
    assert_eq!(set.decide(&wanted, at("16:29:59.999999")), Decision::Refuse(vec![conflict]));
    assert_eq!(set.decide(&wanted, at("16:30:00")), Decision::Grant, "a place is lost when the wait ends");
}

#[test]
fn only_those_ahead_in_the_line_count() {
    let line = vec![waiter(1, "bob", &["a"]), waiter(2, "carol", &["a"]), waiter(3, "dave", &["a"])];
    let set = ReservationSet::new(vec![], line);
    let carols = Request { ticket: Some(TicketId(2)), ..request("carol", &["a"]) };
    assert_eq!(wanted_and_whose(&set, &carols), [("a".into(), "bob".into())]);
    let bobs = Request { ticket: Some(TicketId(1)), ..request("bob", &["a"]) };
    assert_eq!(set.decide(&bobs, at("16:00:00")), Decision::Grant);
    let newcomer = wanted_and_whose(&set, &request("alice", &["a"]));
    assert_eq!(newcomer.len(), 3, "who has no ticket yet stands behind all: {newcomer:?}");
}

#[test]
fn who_shares_does_not_wait_for_those_who_share() {
    let set = ReservationSet::new(vec![], vec![Waiter { exclusive: false, ..waiter(1, "bob", &["a"]) }]);
    let shared = Request { exclusive: false, ..request("carol", &["a"]) };
    assert_eq!(set.decide(&shared, at("16:00:00")), Decision::Grant);
    assert!(matches!(set.decide(&request("carol", &["a"]), at("16:00:00")), Decision::Refuse(_)));
}

#[test]
fn who_is_patient_waits_until_the_patience_ends() {
    let set = ReservationSet::new(vec![reservation(1, "alice", "a")], vec![]);
    let wanted = patient("bob", &["a"], "16:05:00");
    assert!(
        matches!(set.decide(&wanted, at("16:04:59.999999")), Decision::Wait { conflicts, .. } if conflicts.len() == 1)
    );
    assert!(matches!(set.decide(&wanted, at("16:05:00")), Decision::Refuse(conflicts) if conflicts.len() == 1));
}

#[test]
fn conflicts_are_told_up_to_a_limit() {
    let held = (0..30).map(|number| reservation(number, "alice", &format!("src/{number}.rs"))).collect();
    let set = ReservationSet::new(held, vec![]);
    assert_eq!(wanted_and_whose(&set, &request("bob", &["src/**"])).len(), MOST_CONFLICTS);
}

#[test]
fn a_circle_of_two_is_told_from_the_asker_back_to_it() {
    let set = ReservationSet::new(
        vec![reservation(1, "alice", "a"), reservation(2, "bob", "b")],
        vec![waiter(1, "alice", &["b"])],
    );
    let wanted = patient("bob", &["a"], "16:30:00");
    assert_eq!(set.decide(&wanted, at("16:00:00")), circle(&["bob", "alice", "bob"]));
    let impatient = request("bob", &["a"]);
    assert!(matches!(set.decide(&impatient, at("16:00:00")), Decision::Refuse(_)), "who does not wait closes none");
}

#[test]
fn a_circle_over_others_is_found() {
    let held = vec![
        reservation(1, "alice", "a"),
        reservation(2, "bob", "b"),
        reservation(3, "carol", "c"),
        reservation(4, "dave", "d"),
    ];
    let line = vec![waiter(1, "alice", &["b"]), waiter(2, "bob", &["c"]), waiter(3, "carol", &["d"])];
    let set = ReservationSet::new(held, line);
    let closing = patient("dave", &["a"], "16:30:00");
    assert_eq!(set.decide(&closing, at("16:00:00")), circle(&["dave", "alice", "bob", "carol", "dave"]));
}

#[test]
fn a_circle_may_close_over_a_place_in_the_line() {
    // Bob holds b and asks for a; carol stands ahead for a, and waits for b too.
    let set = ReservationSet::new(vec![reservation(1, "bob", "b")], vec![waiter(1, "carol", &["a", "b"])]);
    assert_eq!(set.decide(&patient("bob", &["a"], "16:30:00"), at("16:00:00")), circle(&["bob", "carol", "bob"]));
}

#[test]
fn a_chain_is_not_a_circle() {
    let held = vec![reservation(1, "alice", "a"), reservation(2, "bob", "b")];
    let set = ReservationSet::new(held, vec![waiter(1, "alice", &["b"])]);
    assert!(matches!(set.decide(&patient("carol", &["a"], "16:30:00"), at("16:00:00")), Decision::Wait { .. }));
}

#[test]
fn what_ended_closes_no_circle() {
    let held =
        vec![Reservation { ends_at: at("16:20:00"), ..reservation(1, "alice", "a") }, reservation(2, "bob", "b")];
    let line = vec![Waiter { until: at("16:05:00"), ..waiter(1, "alice", &["b"]) }];
    let set = ReservationSet::new(held.clone(), line);
    let wanted = patient("bob", &["a"], "16:30:00");
    assert!(matches!(set.decide(&wanted, at("16:04:59.999999")), Decision::Circle(_)));
    assert!(matches!(set.decide(&wanted, at("16:05:00")), Decision::Wait { .. }), "alice waits no longer");
    let set = ReservationSet::new(held, vec![waiter(1, "alice", &["b"])]);
    assert!(matches!(set.decide(&wanted, at("16:09:59.999999")), Decision::Circle(_)));
    assert!(matches!(set.decide(&wanted, at("16:10:00")), Decision::Wait { .. }), "bob holds b no longer");
}

#[test]
fn ones_own_reservation_is_found_by_its_exact_pattern_while_it_lasts() {
    let set = ReservationSet::new(
        vec![reservation(1, "bob", "a*"), reservation(2, "alice", "a*"), reservation(3, "alice", "ab")],
        vec![],
    );
    let own = |name: &str, text: &str, time: &str| {
        set.own(agent(name), &pattern(text), at(time)).map(|reservation| reservation.id.0)
    };
    assert_eq!(own("alice", "a*", "16:09:59.999999"), Some(2));
    assert_eq!(own("alice", "a*", "16:10:00"), None);
    assert_eq!(own("alice", "ab", "16:00:00"), Some(3));
    assert_eq!(own("alice", "abc", "16:00:00"), None, "a pattern that merely meets it is not it");
    assert_eq!(own("carol", "a*", "16:00:00"), None);
}

#[test]
fn a_reservation_of_the_same_number_is_replaced() {
    let mut set = ReservationSet::new(vec![reservation(1, "alice", "a")], vec![]);
    set.hold(Reservation { ends_at: at("17:00:00"), exclusive: false, ..reservation(1, "alice", "a") });
    assert_eq!(set.len(), 1);
    assert!(matches!(set.decide(&request("bob", &["a"]), at("16:59:59")), Decision::Refuse(_)));
    let shared = Request { exclusive: false, ..request("bob", &["a"]) };
    assert_eq!(set.decide(&shared, at("16:00:00")), Decision::Grant, "the new mode counts");
}

#[test]
fn what_was_given_back_is_forgotten() {
    let mut set = ReservationSet::new(vec![reservation(1, "alice", "a"), reservation(2, "alice", "b")], vec![]);
    set.end(ReservationId(7), &pattern("a"));
    assert_eq!(set.len(), 2, "another number is another reservation");
    set.end(ReservationId(1), &pattern("a"));
    assert_eq!(set.decide(&request("bob", &["a"]), at("16:00:00")), Decision::Grant);
    assert!(matches!(set.decide(&request("bob", &["b"]), at("16:00:00")), Decision::Refuse(_)));
    set.end(ReservationId(2), &pattern("b"));
    assert!(set.is_empty());
}

#[test]
fn who_left_the_line_is_forgotten() {
    let mut set = ReservationSet::default();
    set.stand(waiter(1, "alice", &["a"]));
    set.stand(waiter(2, "bob", &["a"]));
    set.leave(TicketId(1));
    set.leave(TicketId(9));
    assert_eq!(wanted_and_whose(&set, &request("carol", &["a"])), [("a".into(), "bob".into())]);
}

#[test]
fn forgetting_what_ended_keeps_what_lasts() {
    let longer = Reservation { ends_at: at("16:10:00.000001"), ..reservation(2, "alice", "b") };
    let line = vec![Waiter { until: at("16:10:00"), ..waiter(1, "bob", &["c"]) }, waiter(2, "bob", &["d"])];
    let mut set = ReservationSet::new(vec![reservation(1, "alice", "a"), longer], line);
    set.forget_ended(at("16:10:00"));
    assert_eq!(set.len(), 1);
    // Asked at an earlier time, only what was forgotten is free.
    assert_eq!(set.decide(&request("carol", &["a", "c"]), at("16:00:00")), Decision::Grant);
    assert_eq!(wanted_and_whose(&set, &request("carol", &["b", "d"])).len(), 2);
}

/// A step of the random stories below: who, what, how, and whether it waits.
type Step = (usize, usize, bool, bool, bool);

const WANTED: [&str; 6] = ["a", "b", "*", "src/**", "src/a", "{a,src/b}"];

proptest! {
    /// Whatever is asked and given back, no two active reservations of different holders conflict.
    #[test]
    fn what_is_granted_never_conflicts(steps in prop::collection::vec(any_step(), 0..60)) {
        let (mut set, mut held, mut tickets) = (ReservationSet::default(), Vec::<Reservation>::new(), 0);
        for (who, what, exclusive, waits, gives_back) in steps {
            let name = NAMES[who];
            if gives_back {
                held.retain(|reservation| {
                    let keeps = reservation.holder != agent(name);
                    if !keeps {
                        set.end(reservation.id, &reservation.pattern);
                    }
                    keeps
                });
                continue;
            }
            let wait_until = waits.then(|| at("16:30:00"));
            let wanted = Request { exclusive, wait_until, ..request(name, &[WANTED[what]]) };
            match set.decide(&wanted, at("16:00:00")) {
                Decision::Grant => {
                    let number = held.iter().map(|reservation| reservation.id.0).max().unwrap_or(0) + 1;
                    let reservation = Reservation { exclusive, ..reservation(number, name, WANTED[what]) };
                    for other in held.iter().filter(|other| other.holder != reservation.holder) {
                        let meets = other.pattern.may_meet(&reservation.pattern);
                        prop_assert!(!meets || !(other.exclusive || reservation.exclusive), "{other:?} {reservation:?}");
                    }
                    set.hold(reservation.clone());
                    held.push(reservation);
                }
                Decision::Wait { conflicts, .. } => {
                    prop_assert!(!conflicts.is_empty());
                    tickets += 1;
                    set.stand(Waiter { exclusive, ..waiter(tickets, name, &[WANTED[what]]) });
                }
                Decision::Refuse(conflicts) => prop_assert!(!waits && !conflicts.is_empty()),
                Decision::Circle(names) => {
                    prop_assert!(waits && names.len() > 2);
                    prop_assert!(names.first() == names.last() && names[0] == name);
                }
            }
        }
        prop_assert_eq!(set.len(), held.len());
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    (0..NAMES.len(), 0..WANTED.len(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2))
}

fn at(time: &str) -> Timestamp {
    format!("2026-01-11T{time}Z").parse().unwrap()
}

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap()
}

fn agent(name: &str) -> AgentId {
    AgentId(NAMES.iter().position(|known| *known == name).unwrap() as i64)
}

/// An exclusive reservation from 16:00 to 16:10.
fn reservation(id: i64, holder: &str, text: &str) -> Reservation {
    Reservation {
        id: ReservationId(id),
        holder: agent(holder),
        holder_name: holder.into(),
        pattern: pattern(text),
        exclusive: true,
        reason: String::new(),
        granted_at: at("16:00:00"),
        ends_at: at("16:10:00"),
    }
}

/// Stands in line until 16:30, for exclusive reservations.
fn waiter(ticket: i64, name: &str, texts: &[&str]) -> Waiter {
    Waiter {
        ticket: TicketId(ticket),
        agent: agent(name),
        agent_name: name.into(),
        patterns: texts.iter().map(|text| pattern(text)).collect(),
        exclusive: true,
        until: at("16:30:00"),
    }
}

fn request(name: &str, texts: &[&str]) -> Request {
    Request {
        project: ProjectId(1),
        agent: agent(name),
        agent_name: name.into(),
        patterns: texts.iter().map(|text| pattern(text)).collect(),
        exclusive: true,
        reason: String::new(),
        ttl_seconds: 600,
        wait_until: None,
        ticket: None,
    }
}

fn patient(name: &str, texts: &[&str], until: &str) -> Request {
    Request { wait_until: Some(at(until)), ..request(name, texts) }
}

/// What is refused at 16:00, and because of whom.
fn wanted_and_whose(set: &ReservationSet, request: &Request) -> Vec<(String, String)> {
    match set.decide(request, at("16:00:00")) {
        Decision::Refuse(conflicts) => conflicts.into_iter().map(|one| (one.wanted, one.holder)).collect(),
        other => panic!("a refusal was wanted, not {other:?}"),
    }
}

fn circle(names: &[&str]) -> Decision {
    Decision::Circle(names.iter().map(|name| (*name).to_owned()).collect())
}
