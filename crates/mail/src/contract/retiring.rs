//! What every store promises of agents that a person retires, and of their return.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, at, introduce, named, patterns, team, team_at};
use crate::agents::{Agent, Profile, Taking};
use crate::events::{Event, EventKind};

pub async fn a_retired_agent_tells_since_when(store: &Shared) {
    let team = team(store).await;
    let (before, carol) = (team.look_up("bob").await, team.look_up("carol").await);
    assert!(store.retire(team.id(), team.agent("bob"), team.agent("alice"), at("16:00:00")).await.unwrap());
    let retired = Agent { retired_at: Some(at("16:00:00")), ..before };
    assert_eq!(team.look_up("bob").await, retired);
    assert_eq!(store.agents(team.id(), None, PLENTY).await.unwrap()[1], retired, "it is listed still");
    assert_eq!(store.agents_in_any_case(team.id(), &["BOB"]).await.unwrap(), [retired]);
    assert_eq!(team.look_up("carol").await, carol);
}

pub async fn retiring_gives_back_reservations_and_tells_who_did_it(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    let held = team.granted(&team.request("bob", &["a", "b"]), at("16:00:00")).await;
    team.granted(&team.request("carol", &["c"]), at("16:00:00")).await;
    let before = team.events().await;
    assert!(store.retire(team.id(), bob, alice, at("16:01:00")).await.unwrap());
    assert_eq!(patterns(&team.reservations(at("16:01:00")).await), ["c"]);
    team.granted(&team.request("carol", &["a"]), at("16:01:00")).await;
    let told = |place: i64, kind, reference| Event {
        seq: before.len() as i64 + place,
        kind,
        reference,
        agent: Some(alice),
        at: at("16:01:00"),
    };
    let expected = [
        told(1, EventKind::ReservationReleased, held[0].id.0),
        told(2, EventKind::ReservationReleased, held[1].id.0),
        told(3, EventKind::AgentRetired, bob.0),
    ];
    assert_eq!(team.events().await[before.len()..][..3], expected);
}

pub async fn who_is_retired_is_not_retired_again(store: &Shared) {
    let team = team(store).await;
    let (alice, bob, carol) = (team.agent("alice"), team.agent("bob"), team.agent("carol"));
    assert!(store.retire(team.id(), bob, alice, at("16:00:00")).await.unwrap());
    // It may reserve still, as whoever is there, and keeps that.
    let held = team.granted(&team.request("bob", &["a"]), at("16:01:00")).await;
    let before = (team.look_up("bob").await, team.events().await);
    assert!(!store.retire(team.id(), bob, carol, at("16:02:00")).await.unwrap());
    assert_eq!((team.look_up("bob").await, team.events().await), before);
    assert_eq!(team.reservations(at("16:02:00")).await, held);
}

pub async fn only_an_agent_of_the_project_is_retired(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let (before, alice) = (bank.look_up("bob").await, shop.agent("alice"));
    assert!(!store.retire(shop.id(), bank.agent("bob"), alice, at("16:00:00")).await.unwrap());
    assert_eq!(bank.look_up("bob").await, before);
    assert_eq!((shop.events().await.len(), bank.events().await.len()), (3, 3));
}

pub async fn a_retired_agent_that_registers_again_is_back(store: &Shared) {
    let team = team(store).await;
    let (before, bob) = (team.look_up("bob").await, team.agent("bob"));
    store.retire(team.id(), bob, team.agent("alice"), at("16:00:00")).await.unwrap();
    let (name, profile) = (named("bob"), Profile::default());
    let refused = store.register(team.id(), &name, &profile, None, Taking::NewOnly, at("16:01:00")).await.unwrap();
    assert_eq!(refused, None, "who wants a new name does not get that of a retired agent");
    assert_eq!(team.look_up("bob").await.retired_at, Some(at("16:00:00")));
    let back = introduce(store, team.id(), "bob", &profile, None, at("16:02:00")).await;
    assert_eq!(back, Agent { last_active_at: at("16:02:00"), ..before });
    assert_eq!(team.look_up("bob").await, back);
    let last = team.events().await.pop().unwrap();
    let told = (last.kind, last.reference, last.agent, last.at);
    assert_eq!(told, (EventKind::AgentRegistered, bob.0, Some(bob), at("16:02:00")));
    introduce(store, team.id(), "bob", &profile, None, at("16:03:00")).await;
    assert_eq!(team.count_events(EventKind::AgentRegistered).await, 4, "it comes back once");
    assert!(store.retire(team.id(), bob, bob, at("16:04:00")).await.unwrap(), "and can be retired again");
}

pub async fn of_many_who_retire_an_agent_at_once_one_does(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, project, bob, alice) = (store.clone(), team.id(), team.agent("bob"), team.agent("alice"));
        tasks.spawn(async move { store.retire(project, bob, alice, at("16:00:00")).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    assert_eq!(answers.iter().filter(|did| **did).count(), 1, "{answers:?}");
    assert_eq!(team.count_events(EventKind::AgentRetired).await, 1);
}

pub async fn the_stamp_of_presence_changes_when_somebody_is_retired_or_comes_back(store: &Shared) {
    let team = team(store).await;
    let stamp = async || store.presence_stamp(team.id(), at("16:00:00")).await.unwrap();
    let first = stamp().await;
    store.retire(team.id(), team.agent("bob"), team.agent("alice"), at("16:00:00")).await.unwrap();
    let second = stamp().await;
    assert_ne!(second, first);
    introduce(store, team.id(), "bob", &Profile::default(), None, at("16:00:00")).await;
    assert_ne!(stamp().await, second);
    let present = store.present(team.id(), None, PLENTY, at("16:00:00")).await.unwrap();
    let agents: Vec<Agent> = present.into_iter().map(|one| one.agent).collect();
    assert_eq!(agents, store.agents(team.id(), None, PLENTY).await.unwrap());
}
