//! What every store promises of agents as colleagues. How each stands is decided by `mail`, and tested there.

use super::Shared;
use super::fixtures::{PLENTY, Team, at, introduce, team, team_at};
use crate::agents::Profile;
use crate::colleagues::Colleague;
use crate::presence::{AWAKE, NewPresence, Source};

async fn seen(store: &Shared, team: &Team, name: &str, time: &str) {
    let told = NewPresence {
        state: AWAKE.to_owned(),
        substate: None,
        seen_at: at(time),
        source: Source::Watcher,
        watcher_pid: None,
        channel: None,
    };
    store.set_presence(team.id(), team.agent(name), &told, at(time)).await.unwrap();
}

fn names(colleagues: Vec<Colleague>) -> Vec<String> {
    colleagues.into_iter().map(|one| one.agent.name).collect()
}

pub async fn who_was_heard_of_last_comes_first_and_who_never_was_comes_last(store: &Shared) {
    let mut team = team(store).await;
    team.join("dave").await;
    seen(store, &team, "bob", "16:02:00").await;
    seen(store, &team, "alice", "16:01:00").await;
    let colleagues = async |limit| names(store.colleagues(team.id(), limit).await.unwrap());
    assert_eq!(colleagues(PLENTY).await, ["bob", "alice", "dave", "carol"]);
    assert_eq!(colleagues(3).await, ["bob", "alice", "dave"]);
    assert_eq!(colleagues(1).await, ["bob"]);
    seen(store, &team, "alice", "16:03:00").await;
    assert_eq!(colleagues(2).await, ["alice", "bob"]);
}

pub async fn who_was_heard_of_lately_is_found_alone_also_at_that_very_time(store: &Shared) {
    let team = team(store).await;
    seen(store, &team, "bob", "16:02:00").await;
    seen(store, &team, "alice", "16:01:00").await;
    let since = async |time| names(store.colleagues_since(team.id(), at(time), PLENTY).await.unwrap());
    assert_eq!(since("16:01:00").await, ["bob", "alice"]);
    assert_eq!(since("16:01:01").await, ["bob"]);
    assert_eq!(names(store.colleagues_since(team.id(), at("16:00:00"), 1).await.unwrap()), ["bob"]);
}

pub async fn agents_of_a_program_are_found_by_its_whole_name_unless_they_are_retired(store: &Shared) {
    let team = team(store).await;
    for (name, program) in [("dave", "codex"), ("erin", "codex-cli"), ("fay", "codex")] {
        let profile = Profile { program: Some(program.to_owned()), ..Profile::default() };
        introduce(store, team.id(), name, &profile, None, at("16:00:00")).await;
    }
    let found = async |limit| {
        let agents = store.agents_in(team.id(), "codex", limit).await.unwrap();
        agents.into_iter().map(|agent| agent.name).collect::<Vec<_>>()
    };
    assert_eq!((found(PLENTY).await, found(1).await), (vec!["dave".into(), "fay".into()], vec!["dave".into()]));
    let dave = store.agents_in(team.id(), "codex", 1).await.unwrap()[0].id;
    store.retire(team.id(), dave, team.agent("alice"), at("16:01:00")).await.unwrap();
    assert_eq!(found(PLENTY).await, ["fay"]);
}

pub async fn a_colleague_is_the_agent_with_its_presence(store: &Shared) {
    let team = team(store).await;
    seen(store, &team, "bob", "16:00:00").await;
    let found = store.colleagues(team.id(), 2).await.unwrap();
    let bob =
        Colleague { agent: team.look_up("bob").await, presence: store.presence(team.agent("bob")).await.unwrap() };
    assert!(bob.presence.is_some());
    assert_eq!(found, [bob, Colleague { agent: team.look_up("carol").await, presence: None }]);
}

pub async fn who_is_retired_is_no_colleague_and_is_still_told_of(store: &Shared) {
    let team = team(store).await;
    seen(store, &team, "bob", "16:00:00").await;
    let (bob, carol) = (team.agent("bob"), team.agent("carol"));
    for agent in [bob, carol] {
        store.retire(team.id(), agent, team.agent("alice"), at("16:01:00")).await.unwrap();
    }
    assert_eq!(names(store.colleagues(team.id(), PLENTY).await.unwrap()), ["alice"]);
    let mut told = store.colleagues_of(&[carol, bob, carol]).await.unwrap();
    told.sort_by_key(|one| one.agent.id);
    assert!(told[0].agent.retired_at.is_some() && told[0].presence.is_some());
    assert_eq!(names(told), ["bob", "carol"], "each once");
}

pub async fn colleagues_are_of_one_project(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    seen(store, &bank, "bob", "16:00:00").await;
    let found = store.colleagues(shop.id(), PLENTY).await.unwrap();
    assert!(found.iter().all(|one| one.agent.project == shop.id() && one.presence.is_none()), "{found:?}");
    assert_eq!(store.colleagues_of(&[]).await.unwrap(), []);
}
