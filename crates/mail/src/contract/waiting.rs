//! What every store promises of those who stand in line for reservations that others hold.

use super::Shared;
use super::fixtures::{Team, at, parsed, patterns, stamp, team, team_at};
use crate::clock::from_micros;
use crate::ids::TicketId;
use crate::reservations::{Conflict, Request, Reserved, Waiter, place_held_until};

pub async fn who_waits_is_told_what_is_in_the_way_and_when_to_look_again(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let short = Request { ttl_seconds: 60, ..team.shared("carol", &["b.txt"]) };
    team.granted(&short, at("16:00:00")).await;
    let wanted = team.patient("bob", &["a.txt", "b.txt"], at("16:30:00"));
    let Reserved::Waiting { conflicts, look_again_at, .. } = team.reserve(&wanted, at("16:00:30")).await else {
        panic!("bob waits")
    };
    let held = |pattern: &str, holder: &str, exclusive, until| Conflict {
        wanted: pattern.into(),
        pattern: pattern.into(),
        holder: holder.into(),
        exclusive,
        waiting: false,
        until: at(until),
    };
    assert_eq!(conflicts, [held("a.txt", "alice", true, "16:10:00"), held("b.txt", "carol", false, "16:01:00")]);
    assert_eq!(look_again_at, at("16:01:00"), "when the first of it ends by itself");
}

pub async fn waiting_grants_nothing_and_tells_nobody(store: &Shared) {
    let team = team(store).await;
    let held = team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let before = team.events().await;
    team.queued(&team.patient("bob", &["free.txt", "a.txt"], at("16:30:00")), at("16:00:01")).await;
    assert_eq!(team.reservations(at("16:00:01")).await, held);
    assert_eq!(team.events().await, before);
}

pub async fn what_is_free_is_granted_without_waiting(store: &Shared) {
    let team = team(store).await;
    let reservations = team.granted(&team.patient("bob", &["a.txt"], at("16:30:00")), at("16:00:00")).await;
    assert_eq!(patterns(&reservations), ["a.txt"]);
    store.release(team.id(), team.agent("bob"), None, team.agent("bob"), at("16:00:01")).await.unwrap();
    team.granted(&team.request("carol", &["a.txt"]), at("16:00:02")).await;
}

pub async fn asking_again_with_the_ticket_keeps_the_place(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let wanted = team.patient("bob", &["a.txt"], at("16:30:00"));
    let first = team.queued(&wanted, at("16:00:01")).await;
    let later = team.queued(&team.patient("carol", &["a.txt"], at("16:30:00")), at("16:00:02")).await;
    assert!(first < later, "a lower ticket came earlier");
    let again = team.queued(&with_ticket(&wanted, first), at("16:00:03")).await;
    assert_eq!(again, first);
}

pub async fn who_came_first_is_served_first(store: &Shared) {
    let mut team = team(store).await;
    for name in ["dave", "erin"] {
        team.join(name).await;
    }
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let mut line = Vec::new();
    for name in ["erin", "bob", "dave", "carol"] {
        let wanted = team.patient(name, &["a.txt"], at("16:30:00"));
        let ticket = team.queued(&wanted, at("16:00:01")).await;
        line.push((name, with_ticket(&wanted, ticket)));
    }
    let mut holder = "alice";
    while !line.is_empty() {
        store.release(team.id(), team.agent(holder), None, team.agent(holder), at("16:00:02")).await.unwrap();
        for (_, later) in line.iter().skip(1).rev() {
            team.queued(later, at("16:00:02")).await;
        }
        let (name, first) = line.remove(0);
        team.granted(&first, at("16:00:02")).await;
        holder = name;
    }
}

pub async fn nobody_overtakes_an_earlier_waiter(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/a.rs"]), at("16:00:00")).await;
    let wanted = team.patient("bob", &["src/**"], at("16:30:00"));
    let ticket = team.queued(&wanted, at("16:00:01")).await;
    let refused = team.reserve(&team.request("carol", &["src/b.rs"]), at("16:00:02")).await;
    let conflict = Conflict {
        wanted: "src/b.rs".into(),
        pattern: "src/**".into(),
        holder: "bob".into(),
        exclusive: true,
        waiting: true,
        until: place_held_until(at("16:00:01"), at("16:30:00")),
    };
    assert_eq!(refused, Reserved::Refused(vec![conflict]), "nobody holds it, but bob came earlier");
    team.granted(&team.request("carol", &["docs/b.md"]), at("16:00:02")).await;
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:03")).await.unwrap();
    team.granted(&with_ticket(&wanted, ticket), at("16:00:03")).await;
}

pub async fn who_only_shares_does_not_wait_for_those_who_share(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["src/a.rs"]), at("16:00:00")).await;
    let shared = Request { exclusive: false, ..team.patient("bob", &["src/**"], at("16:30:00")) };
    team.queued(&shared, at("16:00:01")).await;
    team.granted(&team.shared("carol", &["src/b.rs"]), at("16:00:02")).await;
}

pub async fn a_reservation_from_the_line_lasts_from_its_grant(store: &Shared) {
    let team = team(store).await;
    let short = Request { ttl_seconds: 4, ..team.request("alice", &["a.txt"]) };
    team.granted(&short, at("16:00:00")).await;
    let wanted = team.patient("bob", &["a.txt"], at("16:30:00"));
    let ticket = team.queued(&wanted, at("16:00:01")).await;
    team.queued(&with_ticket(&wanted, ticket), at("16:00:03.999999")).await;
    let reservations = team.granted(&with_ticket(&wanted, ticket), at("16:00:04")).await;
    assert_eq!((reservations[0].granted_at, reservations[0].ends_at), (at("16:00:04"), at("16:10:04")));
}

pub async fn a_grant_leaves_the_line(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let wanted = team.patient("bob", &["a.txt"], at("16:30:00"));
    let ticket = team.queued(&wanted, at("16:00:01")).await;
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:02")).await.unwrap();
    team.granted(&with_ticket(&wanted, ticket), at("16:00:02")).await;
    store.release(team.id(), team.agent("bob"), None, team.agent("bob"), at("16:00:03")).await.unwrap();
    team.granted(&team.request("carol", &["a.txt"]), at("16:00:03")).await;
}

pub async fn a_refusal_leaves_the_line(store: &Shared) {
    let team = team(store).await;
    let wanted = bob_waits_for_alice(&team).await;
    let impatient = Request { wait_until: None, ..wanted };
    assert!(matches!(team.reserve(&impatient, at("16:00:02")).await, Reserved::Refused(_)));
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:03")).await.unwrap();
    team.granted(&team.request("carol", &["a.txt"]), at("16:00:03")).await;
}

pub async fn who_leaves_the_line_lets_the_next_one_through(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let bob = team.patient("bob", &["a.txt"], at("16:30:00"));
    let ticket = team.queued(&bob, at("16:00:01")).await;
    assert!(!store.leave_line(team.id(), team.agent("carol"), ticket).await.unwrap(), "it is bob's place");
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:02")).await.unwrap();
    let carol = team.request("carol", &["a.txt"]);
    assert!(matches!(team.reserve(&carol, at("16:00:02")).await, Reserved::Refused(_)), "bob came first");
    assert!(store.leave_line(team.id(), team.agent("bob"), ticket).await.unwrap());
    assert!(!store.leave_line(team.id(), team.agent("bob"), ticket).await.unwrap(), "he has left");
    assert_eq!(store.waiters(team.id(), at("16:00:02")).await.unwrap(), []);
    team.granted(&carol, at("16:00:02")).await;
}

pub async fn asking_after_the_end_of_the_wait_is_refused(store: &Shared) {
    let team = team(store).await;
    let wanted = Request { wait_until: Some(at("16:00:03")), ..bob_waits_for_alice(&team).await };
    assert_eq!(team.queued(&wanted, at("16:00:02.999999")).await, wanted.ticket.unwrap());
    assert!(matches!(team.reserve(&wanted, at("16:00:03")).await, Reserved::Refused(_)));
}

pub async fn a_place_is_lost_when_the_wait_ends(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    team.queued(&team.patient("bob", &["a.txt"], at("16:00:03")), at("16:00:01")).await;
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:02")).await.unwrap();
    let wanted = team.request("carol", &["a.txt"]);
    assert!(matches!(team.reserve(&wanted, at("16:00:02.999999")).await, Reserved::Refused(_)));
    team.granted(&wanted, at("16:00:03")).await;
}

pub async fn a_place_is_lost_when_its_owner_does_not_ask_again(store: &Shared) {
    let team = team(store).await;
    bob_waits_for_alice(&team).await;
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:02")).await.unwrap();
    let lost_at = place_held_until(at("16:00:01"), at("16:30:00"));
    let wanted = team.request("carol", &["a.txt"]);
    let refused = team.reserve(&wanted, from_micros(lost_at.as_microsecond() - 1)).await;
    assert!(matches!(refused, Reserved::Refused(_)));
    team.granted(&wanted, lost_at).await;
}

pub async fn asking_again_holds_the_place_anew(store: &Shared) {
    let team = team(store).await;
    let wanted = bob_waits_for_alice(&team).await;
    assert_eq!(team.queued(&wanted, at("16:00:04")).await, wanted.ticket.unwrap());
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:05")).await.unwrap();
    let lost_at = place_held_until(at("16:00:04"), at("16:30:00"));
    let carols = team.request("carol", &["a.txt"]);
    let refused = team.reserve(&carols, from_micros(lost_at.as_microsecond() - 1)).await;
    assert!(matches!(refused, Reserved::Refused(_)));
    team.granted(&carols, lost_at).await;
}

pub async fn asking_again_at_once_changes_nothing(store: &Shared) {
    let team = team(store).await;
    let wanted = bob_waits_for_alice(&team).await;
    let before = stamp(store).await;
    for time in ["16:00:01", "16:00:02", "16:00:03.5"] {
        assert_eq!(team.queued(&wanted, at(time)).await, wanted.ticket.unwrap());
        assert_eq!(stamp(store).await, before, "at {time} half of the place is left");
    }
    assert_eq!(team.queued(&wanted, at("16:00:03.500001")).await, wanted.ticket.unwrap());
    assert_ne!(stamp(store).await, before, "now less than half is left");
}

pub async fn a_holder_reserves_again_what_others_wait_for(store: &Shared) {
    let team = team(store).await;
    let held = team.granted(&team.request("alice", &["src/**"]), at("16:00:00")).await;
    let bobs = team.patient("bob", &["src/**"], at("16:30:00"));
    let ticket = team.queued(&bobs, at("16:00:01")).await;
    let again = team.granted(&team.request("alice", &["src/**"]), at("16:00:02")).await;
    assert_eq!((again[0].id, again[0].ends_at), (held[0].id, at("16:10:02")));
    let less = team.granted(&team.shared("alice", &["src/**"]), at("16:00:02")).await;
    assert_eq!((less[0].id, less[0].exclusive), (held[0].id, true));
    let other = team.reserve(&team.request("alice", &["src/lib.rs"]), at("16:00:02")).await;
    assert!(matches!(other, Reserved::Refused(conflicts) if conflicts[0].waiting), "that is not what alice holds");
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:03")).await.unwrap();
    team.granted(&with_ticket(&bobs, ticket), at("16:00:03")).await;
}

pub async fn who_lost_the_place_goes_to_the_end(store: &Shared) {
    let team = team(store).await;
    let bobs = bob_waits_for_alice(&team).await;
    let carols = team.patient("carol", &["a.txt"], at("16:30:00"));
    let ticket = team.queued(&carols, at("16:00:04")).await;
    let lost_at = place_held_until(at("16:00:01"), at("16:30:00"));
    let new_ticket = team.queued(&bobs, lost_at).await;
    assert!(new_ticket > ticket, "carol came before bob came back");
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), lost_at).await.unwrap();
    team.queued(&with_ticket(&bobs, new_ticket), lost_at).await;
    team.granted(&with_ticket(&carols, ticket), lost_at).await;
}

pub async fn who_lost_the_place_does_not_overtake_with_the_old_ticket(store: &Shared) {
    let team = team(store).await;
    let bobs = bob_waits_for_alice(&team).await;
    let carols = team.patient("carol", &["a.txt"], at("16:30:00"));
    let ticket = team.queued(&carols, at("16:00:04")).await;
    let lost_at = place_held_until(at("16:00:01"), at("16:30:00"));
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), lost_at).await.unwrap();
    let new_ticket = team.queued(&bobs, lost_at).await;
    assert!(new_ticket > ticket, "nobody holds it, but carol stands ahead");
    team.granted(&with_ticket(&carols, ticket), lost_at).await;
}

pub async fn who_lost_the_place_is_granted_what_is_free(store: &Shared) {
    let team = team(store).await;
    let bobs = bob_waits_for_alice(&team).await;
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:02")).await.unwrap();
    team.granted(&bobs, at("16:20:00")).await;
}

pub async fn a_line_stays_within_its_project(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    bob_waits_for_alice(&shop).await;
    bank.granted(&bank.request("carol", &["a.txt"]), at("16:00:02")).await;
}

pub async fn those_in_line_are_told_in_order_until_their_place_is_lost(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let line = async |now| store.waiters(shop.id(), now).await.unwrap();
    assert_eq!(line(at("16:00:00")).await, []);
    for team in [&shop, &bank] {
        team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    }
    let bobs = shop.queued(&shop.patient("bob", &["a.txt", "b/**"], at("16:30:00")), at("16:00:01")).await;
    let carols = shop.queued(&shop.patient("carol", &["a.txt"], at("16:00:04")), at("16:00:02")).await;
    bank.queued(&bank.patient("bob", &["a.txt"], at("16:30:00")), at("16:00:02")).await;
    let waiter = |ticket, name: &str, wanted: &[&str], until| Waiter {
        ticket,
        agent: shop.agent(name),
        agent_name: name.to_owned(),
        patterns: parsed(wanted),
        exclusive: true,
        until,
    };
    let bob = waiter(bobs, "bob", &["a.txt", "b/**"], place_held_until(at("16:00:01"), at("16:30:00")));
    let carol = waiter(carols, "carol", &["a.txt"], at("16:00:04"));
    assert_eq!(line(at("16:00:03.999999")).await, [bob.clone(), carol]);
    assert_eq!(line(at("16:00:04")).await, [bob], "her wait is over");
    assert_eq!(line(at("16:00:06")).await, [], "he did not ask again");
}

pub async fn two_who_would_wait_for_each_other_are_told_of_the_circle(store: &Shared) {
    let team = team(store).await;
    let held = [
        team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await,
        team.granted(&team.request("bob", &["b.txt"]), at("16:00:00")).await,
    ];
    let alices = team.patient("alice", &["b.txt"], at("16:30:00"));
    let ticket = team.queued(&alices, at("16:00:01")).await;
    let circle = team.reserve(&team.patient("bob", &["a.txt"], at("16:30:00")), at("16:00:02")).await;
    assert_eq!(circle, circle_of(&["bob", "alice", "bob"]));
    assert_eq!(team.reservations(at("16:00:02")).await, held.concat(), "nobody lost anything");
    let refused = team.reserve(&team.request("bob", &["a.txt"]), at("16:00:02")).await;
    assert!(matches!(refused, Reserved::Refused(_)), "who does not wait closes no circle");
    store.release(team.id(), team.agent("bob"), None, team.agent("bob"), at("16:00:03")).await.unwrap();
    team.granted(&with_ticket(&alices, ticket), at("16:00:03")).await;
}

pub async fn who_was_told_of_a_circle_does_not_stand_in_line(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    team.granted(&team.request("bob", &["b.txt"]), at("16:00:00")).await;
    team.queued(&team.patient("alice", &["b.txt"], at("16:30:00")), at("16:00:01")).await;
    team.reserve(&team.patient("bob", &["a.txt"], at("16:30:00")), at("16:00:02")).await;
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), at("16:00:03")).await.unwrap();
    team.granted(&team.request("carol", &["a.txt"]), at("16:00:03")).await;
}

pub async fn a_circle_of_three_is_found(store: &Shared) {
    let team = team(store).await;
    for (name, pattern) in [("alice", "a.txt"), ("bob", "b.txt"), ("carol", "c.txt")] {
        team.granted(&team.request(name, &[pattern]), at("16:00:00")).await;
    }
    team.queued(&team.patient("alice", &["b.txt"], at("16:30:00")), at("16:00:01")).await;
    team.queued(&team.patient("bob", &["c.txt"], at("16:30:00")), at("16:00:02")).await;
    let circle = team.reserve(&team.patient("carol", &["a.txt"], at("16:30:00")), at("16:00:03")).await;
    assert_eq!(circle, circle_of(&["carol", "alice", "bob", "carol"]));
}

pub async fn a_wait_that_ended_closes_no_circle(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    team.granted(&team.request("bob", &["b.txt"]), at("16:00:00")).await;
    team.queued(&team.patient("alice", &["b.txt"], at("16:00:03")), at("16:00:01")).await;
    let bobs = team.patient("bob", &["a.txt"], at("16:30:00"));
    assert!(matches!(team.reserve(&bobs, at("16:00:02.999999")).await, Reserved::Circle(_)));
    team.queued(&bobs, at("16:00:03")).await;
}

/// Alice holds `a.txt` until 16:10; bob stands in line for it from 16:00:01 on, and asks again with what is returned.
async fn bob_waits_for_alice(team: &Team) -> Request {
    team.granted(&team.request("alice", &["a.txt"]), at("16:00:00")).await;
    let wanted = team.patient("bob", &["a.txt"], at("16:30:00"));
    let ticket = team.queued(&wanted, at("16:00:01")).await;
    with_ticket(&wanted, ticket)
}

fn with_ticket(request: &Request, ticket: TicketId) -> Request {
    Request { ticket: Some(ticket), ..request.clone() }
}

fn circle_of(names: &[&str]) -> Reserved {
    Reserved::Circle(names.iter().map(|name| (*name).to_owned()).collect())
}
