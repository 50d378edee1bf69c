//! What every store promises of agents and their tokens.

use std::collections::HashSet;

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, at, draft, introduce, named, register, team, team_at};
use crate::agents::{Agent, Profile, Taking, TokenHash};
use crate::events::EventKind;
use crate::ids::AgentId;

pub async fn a_new_agent_is_kept_as_it_said(store: &Shared) {
    let team = team(store).await;
    let profile = profile(Some("codex"), Some("gpt"), Some("Fix the build"));
    let time = at("16:00:00.000001");
    let made = introduce(store, team.id(), "dave", &profile, None, time).await;
    let expected = Agent {
        id: made.id,
        project: team.id(),
        name: "dave".into(),
        program: "codex".into(),
        model: "gpt".into(),
        task_description: "Fix the build".into(),
        registered_at: time,
        last_active_at: time,
        retired_at: None,
    };
    assert_eq!(made, expected);
    assert_eq!(team.look_up("dave").await, expected);
}

pub async fn what_a_new_agent_leaves_out_is_empty(store: &Shared) {
    let team = team(store).await;
    let made = register(store, team.id(), "dave").await;
    assert_eq!((made.program.as_str(), made.model.as_str(), made.task_description.as_str()), ("", "", ""));
}

pub async fn registering_again_keeps_number_and_time(store: &Shared) {
    let team = team(store).await;
    let first = team.look_up("alice").await;
    let again = introduce(store, team.id(), "alice", &Profile::default(), None, at("17:00:00")).await;
    assert_eq!(again.id, first.id);
    assert_eq!(again.registered_at, first.registered_at);
    assert_eq!(store.agents(team.id(), None, PLENTY).await.unwrap().len(), 3);
}

pub async fn registering_again_keeps_what_it_leaves_out(store: &Shared) {
    let team = team(store).await;
    let fields = async |program, model, task| {
        let profile = profile(program, model, task);
        let told = introduce(store, team.id(), "dave", &profile, None, at("16:00:00")).await;
        assert_eq!(team.look_up("dave").await, told);
        [told.program, told.model, told.task_description]
    };
    assert_eq!(fields(Some("codex"), Some("gpt"), Some("build")).await, ["codex", "gpt", "build"]);
    assert_eq!(fields(None, None, None).await, ["codex", "gpt", "build"]);
    assert_eq!(fields(Some("claude"), None, None).await, ["claude", "gpt", "build"]);
    assert_eq!(fields(None, Some("opus"), None).await, ["claude", "opus", "build"]);
    assert_eq!(fields(None, None, Some("test")).await, ["claude", "opus", "test"]);
    assert_eq!(fields(None, None, Some("")).await, ["claude", "opus", ""], "what is given as empty is emptied");
}

pub async fn registering_again_tells_that_the_agent_is_active(store: &Shared) {
    let team = team(store).await;
    let again = introduce(store, team.id(), "alice", &Profile::default(), None, at("17:00:00")).await;
    assert_eq!(again.last_active_at, at("17:00:00"));
}

pub async fn only_a_new_name_writes_an_event(store: &Shared) {
    let team = team(store).await;
    assert_eq!(team.count_events(EventKind::AgentRegistered).await, 3);
    introduce(store, team.id(), "alice", &Profile::default(), None, at("17:00:00")).await;
    assert_eq!(team.events().await.len(), 3);
    register(store, team.id(), "dave").await;
    assert_eq!(team.count_events(EventKind::AgentRegistered).await, 4);
}

pub async fn names_are_compared_exactly(store: &Shared) {
    let team = team(store).await;
    let mut numbers = HashSet::from([team.agent("alice")]);
    // A precomposed and a combining accent look alike and are two names.
    for name in ["Alice", "alice ", " alice", "álice", "a\u{301}lice", "alic_", "alic%"] {
        let none: Vec<Agent> = Vec::new();
        assert_eq!(store.agents_named(team.id(), &[name]).await.unwrap(), none, "{name:?}");
        let made = register(store, team.id(), name).await;
        assert_eq!(made.name, name);
        assert!(numbers.insert(made.id), "{name:?} is a name of its own");
        assert_eq!(team.look_up(name).await, made);
    }
}

pub async fn agents_are_found_in_any_case_where_that_is_asked_for(store: &Shared) {
    let mut team = team(store).await;
    for name in ["Codex", "codex", "codex-2", "ÄRA"] {
        team.join(name).await;
    }
    let other = team_at(store, "/projects/other").await;
    register(store, other.id(), "CODEX").await;
    let found = store.agents_in_any_case(team.id(), &["CODEX", "cOdEx", "ära", "nobody", "%"]).await.unwrap();
    let names: Vec<&str> = found.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["Codex", "codex"], "whole names of this project, each once; only ASCII has cases");
}

pub async fn a_name_of_any_script_is_kept_as_given(store: &Shared) {
    let team = team(store).await;
    for name in ["O'Brien \"%_\\", "漢字", "🦀", "rig/polecat-3", &"ü".repeat(128)] {
        assert_eq!(register(store, team.id(), name).await.name, name);
        assert_eq!(team.look_up(name).await.name, name);
    }
}

pub async fn each_agent_asked_for_is_told_once(store: &Shared) {
    let team = team(store).await;
    let mut found = store.agents_named(team.id(), &["bob", "nobody", "alice", "bob"]).await.unwrap();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    let names: Vec<_> = found.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["alice", "bob"]);
    assert_eq!(store.agents_named(team.id(), &[]).await.unwrap(), []);
}

pub async fn thousands_of_names_can_be_asked_for_at_once(store: &Shared) {
    let team = team(store).await;
    let unknown: Vec<String> = (0..5000).map(|number| format!("nobody-{number}")).collect();
    let asked: Vec<&str> = unknown.iter().map(String::as_str).chain(["carol"]).collect();
    assert_eq!(store.agents_named(team.id(), &asked).await.unwrap(), [team.look_up("carol").await]);
}

pub async fn one_name_in_two_projects_is_two_agents(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    assert_ne!(shop.agent("alice"), bank.agent("alice"));
    register(store, bank.id(), "dave").await;
    assert_eq!(store.agents_named(shop.id(), &["dave"]).await.unwrap(), []);
    let names: Vec<_> =
        store.agents(shop.id(), None, PLENTY).await.unwrap().into_iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["alice", "bob", "carol"]);
}

pub async fn agents_are_listed_in_pages_in_the_order_they_were_registered(store: &Shared) {
    let mut team = team(store).await;
    team.join("aaron").await;
    // Registering again does not move an agent to the end.
    introduce(store, team.id(), "alice", &Profile::default(), None, at("17:00:00")).await;
    let all = store.agents(team.id(), None, PLENTY).await.unwrap();
    let names: Vec<_> = all.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(names, ["alice", "bob", "carol", "aaron"]);
    assert!(all.is_sorted_by(|one, next| one.id < next.id));
    assert_eq!(store.agents(team.id(), None, 3).await.unwrap(), all[..3]);
    assert_eq!(store.agents(team.id(), Some(all[2].id), 3).await.unwrap(), all[3..]);
    assert_eq!(store.agents(team.id(), Some(all[3].id), 3).await.unwrap(), []);
    assert_eq!(store.agents(team.id(), None, 0).await.unwrap(), []);
}

pub async fn tokens_are_told_newest_first(store: &Shared) {
    let team = team(store).await;
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), []);
    let tokens = give_tokens(store, &team.look_up("alice").await, 3).await;
    let newest_first: Vec<_> = tokens.into_iter().rev().collect();
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), newest_first);
}

pub async fn of_an_agents_tokens_the_newest_16_stay_valid(store: &Shared) {
    let team = team(store).await;
    let tokens = give_tokens(store, &team.look_up("alice").await, 16).await;
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap().len(), 16);
    let last = TokenHash::of("one more");
    introduce(store, team.id(), "alice", &Profile::default(), Some(last), at("17:00:00")).await;
    let newest_first: Vec<_> = tokens.into_iter().skip(1).chain([last]).rev().collect();
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), newest_first);
}

pub async fn a_token_proves_one_agent_alone(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let alices = give_tokens(store, &shop.look_up("alice").await, 1).await;
    give_tokens(store, &shop.look_up("bob").await, 20).await;
    assert_eq!(store.token_hashes(shop.agent("alice")).await.unwrap(), alices);
    assert_eq!(store.token_hashes(bank.agent("alice")).await.unwrap(), []);
    assert_eq!(store.token_hashes(AgentId(i64::MAX)).await.unwrap(), []);
}

pub async fn registering_without_a_token_keeps_the_tokens(store: &Shared) {
    let team = team(store).await;
    let tokens = give_tokens(store, &team.look_up("alice").await, 1).await;
    register(store, team.id(), "alice").await;
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), tokens);
}

pub async fn sending_moves_on_when_the_sender_was_last_active(store: &Shared) {
    let team = team(store).await;
    let bob_before = team.look_up("bob").await;
    team.send(draft("alice", &["bob"]).taken(at("17:00:00"))).await;
    assert_eq!(team.look_up("alice").await.last_active_at, at("17:00:00"));
    assert_eq!(team.look_up("bob").await, bob_before, "a recipient did nothing");
    team.send(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    assert!(team.look_up("alice").await.last_active_at >= at("17:00:00"), "a clock that goes back moves nobody back");
}

pub async fn registering_one_name_at_once_makes_one_agent(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let (store, project) = (store.clone(), team.id());
        tasks.spawn(async move {
            let token = Some(TokenHash::of(&format!("token {number}")));
            introduce(&store, project, "dave", &Profile::default(), token, at("16:00:00")).await.id
        });
    }
    let made: HashSet<_> = tasks.join_all().await.into_iter().collect();
    assert_eq!(made, HashSet::from([team.look_up("dave").await.id]));
    assert_eq!(team.count_events(EventKind::AgentRegistered).await, 4);
    assert_eq!(store.token_hashes(team.look_up("dave").await.id).await.unwrap().len(), 8);
}

pub async fn who_wants_only_a_new_name_changes_nothing_of_a_known_one(store: &Shared) {
    let team = team(store).await;
    let before = (team.look_up("alice").await, team.events().await);
    let (profile, token) = (profile(Some("codex"), None, None), Some(TokenHash::of("mine")));
    let take = async |name: &str| {
        let name = named(name);
        store.register(team.id(), &name, &profile, token, Taking::NewOnly, at("17:00:00")).await.unwrap()
    };
    assert_eq!(take("alice").await, None);
    assert_eq!((team.look_up("alice").await, team.events().await), before);
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), []);
    let made = take("dave").await.expect("nobody is called dave");
    assert_eq!(made, team.look_up("dave").await);
    assert_eq!(take("dave").await, None, "now somebody is");
}

pub async fn a_known_name_without_a_token_is_taken_once(store: &Shared) {
    let team = team(store).await;
    let take = async |name: &str, token: &str| {
        let token = Some(TokenHash::of(token));
        let taking = Taking::NewOrTokenless;
        store.register(team.id(), &named(name), &Profile::default(), token, taking, at("17:00:00")).await.unwrap()
    };
    let taken = take("alice", "first").await.expect("nobody has a token for alice");
    assert_eq!(taken.id, team.agent("alice"), "the name keeps its number");
    assert_eq!(take("alice", "second").await, None);
    assert_eq!(store.token_hashes(team.agent("alice")).await.unwrap(), [TokenHash::of("first")]);
    assert!(take("dave", "first").await.is_some(), "a new name has no token either");
    assert_eq!(take("dave", "second").await, None);
}

pub async fn of_a_name_that_is_taken_over_the_earlier_tokens_are_forgotten(store: &Shared) {
    let team = team(store).await;
    let alice = team.look_up("alice").await;
    give_tokens(store, &alice, 3).await;
    give_tokens(store, &team.look_up("bob").await, 1).await;
    let (name, own) = (named("alice"), TokenHash::of("own"));
    let over = store.register(team.id(), &name, &Profile::default(), Some(own), Taking::Over, at("17:00:00")).await;
    assert_eq!(over.unwrap().map(|agent| agent.id), Some(alice.id), "the name keeps its number");
    assert_eq!(store.token_hashes(alice.id).await.unwrap(), [own]);
    assert_eq!(store.token_hashes(team.agent("bob")).await.unwrap().len(), 1, "another's stay");
}

pub async fn of_many_who_race_for_a_new_name_one_gets_it(store: &Shared) {
    let team = team(store).await;
    for (name, taking) in [("dave", Taking::NewOnly), ("erin", Taking::NewOrTokenless)] {
        let mut tasks = JoinSet::new();
        for number in 0..8 {
            let (store, project) = (store.clone(), team.id());
            tasks.spawn(async move {
                let (name, profile) = (named(name), Profile::default());
                let token = TokenHash::of(&number.to_string());
                let taken = store.register(project, &name, &profile, Some(token), taking, at("16:00:00")).await;
                taken.unwrap().map(|agent| (agent, token))
            });
        }
        let won: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
        let [(agent, token)] = won.as_slice() else { panic!("one gets {name}, not {won:?}") };
        assert_eq!(*agent, team.look_up(name).await);
        assert_eq!(store.token_hashes(agent.id).await.unwrap(), [*token], "the winner's token alone counts");
    }
    assert_eq!(team.count_events(EventKind::AgentRegistered).await, 5);
}

/// Registers the agent again, once for each token, all at one time; the oldest comes first.
async fn give_tokens(store: &Shared, agent: &Agent, count: usize) -> Vec<TokenHash> {
    let mut tokens = Vec::with_capacity(count);
    for number in 0..count {
        let token = TokenHash::of(&format!("{} {number}", agent.name));
        introduce(store, agent.project, &agent.name, &Profile::default(), Some(token), at("16:00:00")).await;
        tokens.push(token);
    }
    tokens
}

fn profile(program: Option<&str>, model: Option<&str>, task: Option<&str>) -> Profile {
    Profile { program: program.map(Into::into), model: model.map(Into::into), task_description: task.map(Into::into) }
}
