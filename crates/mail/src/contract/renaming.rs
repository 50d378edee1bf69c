//! What every store promises of agents that get another name.

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, introduce, named, register, team, team_at};
use crate::agents::{Agent, Profile, Taking, TokenHash};
use crate::events::EventKind;
use crate::messages::About;
use crate::search::query::Query;

pub async fn a_renamed_agent_stays_who_it_is(store: &Shared) {
    let team = team(store).await;
    let token = TokenHash::of("secret");
    introduce(store, team.id(), "bob", &Profile::default(), Some(token), at("15:30:00")).await;
    let bob = team.agent("bob");
    let sent = team.sent(draft("bob", &["alice"])).await;
    team.send(draft("alice", &["bob"])).await;
    team.granted(&team.request("bob", &["src/**"]), at("16:00:00")).await;
    let before = team.look_up("bob").await;
    let renamed = rename(store, &team, "bob", "Robert").await.expect("the name is free");
    assert_eq!(renamed, Agent { name: "Robert".into(), ..before });
    assert_eq!(store.agents_named(team.id(), &["bob", "Robert"]).await.unwrap(), std::slice::from_ref(&renamed));
    assert_eq!(store.token_hashes(bob).await.unwrap(), [token]);
    assert_eq!(team.inbox("bob").await.len(), 1, "the mailbox is the same");
    assert_eq!(team.message(sent.id).await.from, "bob", "what was sent shows the name that it was sent under");
    assert_eq!(team.reservations(at("16:01:00")).await[0].holder_name, "Robert");
    let last = team.events().await.pop().unwrap();
    assert_eq!((last.kind, last.reference, last.agent), (EventKind::AgentRenamed, bob.0, Some(bob)));
}

pub async fn what_a_renamed_agent_holds_is_refused_to_others_under_its_new_name(store: &Shared) {
    let team = team(store).await;
    team.granted(&team.request("bob", &["src/**"]), at("16:00:00")).await;
    rename(store, &team, "bob", "Robert").await.unwrap();
    let refused = team.reserve(&team.request("alice", &["src/a.rs"]), at("16:01:00")).await;
    assert!(format!("{refused:?}").contains("Robert"), "{refused:?}");
}

pub async fn a_former_name_finds_the_agent_and_is_nobody_elses(store: &Shared) {
    let team = team(store).await;
    assert_eq!(once_named(store, &team, "bob").await, None, "it is called so now");
    let renamed = rename(store, &team, "bob", "Robert").await.unwrap();
    assert_eq!(once_named(store, &team, "bob").await.as_ref(), Some(&renamed));
    let (name, profile) = (named("bob"), Profile::default());
    let taken = store.register(team.id(), &name, &profile, None, Taking::NewOnly, at("16:01:00")).await.unwrap();
    assert_eq!(taken, None);
    let found = introduce(store, team.id(), "bob", &profile, None, at("16:02:00")).await;
    assert_eq!((found.id, found.name.as_str()), (renamed.id, "Robert"), "who comes back by it is that agent");
    assert_eq!(rename(store, &team, "alice", "bob").await, None);
    assert_eq!(store.agents(team.id(), None, PLENTY).await.unwrap().len(), 3);
}

pub async fn several_are_found_by_former_names_at_once(store: &Shared) {
    let team = team(store).await;
    rename(store, &team, "bob", "Robert").await.unwrap();
    rename(store, &team, "carol", "Caroline").await.unwrap();
    let found = store.agents_once_named(team.id(), &["carol", "alice", "bob", "nobody"]).await.unwrap();
    let mut names: Vec<String> = found.into_iter().map(|agent| agent.name).collect();
    names.sort();
    assert_eq!(names, ["Caroline", "Robert"]);
}

pub async fn a_search_by_a_former_name_finds_what_the_agent_sent_under_any(store: &Shared) {
    let team = team(store).await;
    let mut sent = vec![team.send(draft("bob", &["alice"])).await];
    rename(store, &team, "bob", "Robert").await.unwrap();
    sent.push(team.send(draft("bob", &["alice"])).await);
    let mut found =
        store.search(team.id(), &Query::parse("from:Bob").unwrap(), &About::default(), None, PLENTY).await.unwrap();
    found.reverse();
    assert_eq!(found.iter().map(|message| message.id).collect::<Vec<_>>(), sent);
}

pub async fn a_name_of_another_agent_is_not_given(store: &Shared) {
    let team = team(store).await;
    let before = (team.look_up("bob").await, team.events().await);
    assert_eq!(rename(store, &team, "bob", "alice").await, None);
    assert_eq!((team.look_up("bob").await, team.events().await), before);
    assert_eq!(rename(store, &team, "bob", "bob").await.as_ref(), Some(&before.0), "its own changes nothing");
    assert_eq!(team.events().await, before.1);
}

pub async fn an_agent_may_have_its_former_name_again(store: &Shared) {
    let team = team(store).await;
    rename(store, &team, "bob", "Robert").await.unwrap();
    let again = rename(store, &team, "bob", "bob").await.unwrap();
    assert_eq!(again.name, "bob");
    assert_eq!(once_named(store, &team, "bob").await, None);
    assert_eq!(once_named(store, &team, "Robert").await, Some(again));
}

pub async fn a_name_is_given_in_one_project_alone(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let name = named("Robert");
    assert_eq!(store.rename(shop.id(), bank.agent("bob"), &name, at("16:00:00")).await.unwrap(), None);
    rename(store, &shop, "bob", "Robert").await.unwrap();
    assert_eq!(bank.look_up("bob").await.name, "bob");
    assert_eq!(once_named(store, &bank, "bob").await, None);
    register(store, bank.id(), "Robert").await;
}

/// Renames the agent that joined under a name.
async fn rename(store: &Shared, team: &Team, joined: &str, name: &str) -> Option<Agent> {
    store.rename(team.id(), team.agent(joined), &named(name), at("16:00:30")).await.unwrap()
}

async fn once_named(store: &Shared, team: &Team, name: &str) -> Option<Agent> {
    store.once_named(team.id(), name).await.unwrap()
}
