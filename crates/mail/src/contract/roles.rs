//! What every store promises of roles: one agent holds each, for a time, and its mail reaches whoever that is.

use jiff::Timestamp;
use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{Team, at, draft, introduce, named, team, team_at};
use crate::agents::{Profile, Taking, TokenHash};
use crate::ids::MessageId;
use crate::messages::{Appended, Mark, Role};
use crate::roles::{Holding, KnownRole, ROLE, RoleName, RoleTaken};
use crate::sessions::Release;

fn reviewer() -> RoleName {
    RoleName::parse("reviewer").unwrap()
}

fn token() -> TokenHash {
    TokenHash::of("nobody's")
}

async fn take(store: &Shared, team: &Team, name: &str, until: &str, now: &str) -> RoleTaken {
    store.take_role(team.id(), &reviewer(), team.agent(name), token(), at(until), at(now)).await.unwrap()
}

fn held(team: &Team, name: &str, since: &str, until: &str, handed_over: u64) -> RoleTaken {
    RoleTaken::Held { holding: holding(team, name, since, until), handed_over }
}

fn holding(team: &Team, name: &str, since: &str, until: &str) -> Holding {
    Holding { agent: team.agent(name), name: name.to_owned(), since: at(since), until: at(until) }
}

async fn roles(store: &Shared, team: &Team, now: Timestamp) -> Vec<KnownRole> {
    store.roles(team.id(), now).await.unwrap()
}

/// A message to the role that is delivered to `holder`, or waits.
async fn send(store: &Shared, team: &Team, holder: Option<&str>) -> MessageId {
    let role = store.ensure_role(team.id(), &reviewer(), token(), at("16:00:00")).await.unwrap().unwrap();
    let agent = holder.map_or(role.mailbox, |name| team.agent(name));
    let mut message = team.new_message(draft("alice", &[]));
    message.recipients.push((agent, reviewer().address(), Role::To));
    match store.append(&message).await.unwrap() {
        Appended::New { id, .. } => id,
        other => panic!("a new message was wanted, not {other:?}"),
    }
}

pub async fn a_role_is_held_by_one_until_its_time_is_over(store: &Shared) {
    let team = team(store).await;
    let taken = take(store, &team, "bob", "17:00:00", "16:00:00").await;
    assert_eq!(taken, held(&team, "bob", "16:00:00", "17:00:00", 0));
    let refused = RoleTaken::ByAnother(holding(&team, "bob", "16:00:00", "17:00:00"));
    assert_eq!(take(store, &team, "carol", "18:00:00", "16:59:59.999999").await, refused);
    assert_eq!(
        take(store, &team, "carol", "18:00:00", "17:00:00").await,
        held(&team, "carol", "17:00:00", "18:00:00", 0)
    );
}

pub async fn who_takes_a_role_again_holds_it_longer(store: &Shared) {
    let team = team(store).await;
    take(store, &team, "bob", "17:00:00", "16:00:00").await;
    let again = take(store, &team, "bob", "17:30:00", "16:30:00").await;
    assert_eq!(again, held(&team, "bob", "16:00:00", "17:30:00", 0), "since when stays");
    let later = take(store, &team, "bob", "18:30:00", "17:30:00").await;
    assert_eq!(later, held(&team, "bob", "17:30:00", "18:30:00", 0), "there was a break");
}

pub async fn a_role_is_given_back_by_its_holder_alone(store: &Shared) {
    let team = team(store).await;
    take(store, &team, "bob", "17:00:00", "16:00:00").await;
    let release =
        async |name, now| store.release_role(team.id(), &reviewer(), team.agent(name), at(now)).await.unwrap();
    assert!(!release("carol", "16:01:00").await);
    assert!(release("bob", "16:01:00").await);
    assert!(!release("bob", "16:02:00").await, "it is given back");
    take(store, &team, "carol", "17:00:00", "16:03:00").await;
    assert!(!release("carol", "17:00:00").await, "its time is over");
}

pub async fn of_many_who_take_a_role_at_once_one_does(store: &Shared) {
    let mut team = team(store).await;
    let names: Vec<String> = (0..8).map(|number| format!("worker-{number}")).collect();
    for name in &names {
        team.join(name).await;
    }
    let mut tasks = JoinSet::new();
    for name in &names {
        let (store, project, agent) = (store.clone(), team.id(), team.agent(name));
        tasks.spawn(async move {
            let until = at("17:00:00");
            store.take_role(project, &reviewer(), agent, token(), until, at("16:00:00")).await.unwrap()
        });
    }
    let answers = tasks.join_all().await;
    let took = answers.iter().filter(|answer| matches!(answer, RoleTaken::Held { .. })).count();
    assert_eq!((took, roles(store, &team, at("16:00:00")).await.len()), (1, 1), "{answers:?}");
}

pub async fn mail_that_waits_for_a_role_goes_to_whoever_takes_it(store: &Shared) {
    let team = team(store).await;
    let waiting = [send(store, &team, None).await, send(store, &team, None).await];
    assert_eq!(roles(store, &team, at("16:00:00")).await[0].waiting, 2);
    assert_eq!(take(store, &team, "bob", "17:00:00", "16:00:00").await, held(&team, "bob", "16:00:00", "17:00:00", 2));
    assert_eq!(roles(store, &team, at("16:00:00")).await[0].waiting, 0);
    assert_eq!(team.take("bob", 10, at("16:01:00")).await, waiting, "the oldest first, and unseen");
    assert_eq!(team.message(waiting[0]).await.to, ["role:reviewer"], "the message stays as it was sent");
    assert_eq!(take(store, &team, "bob", "17:00:00", "16:02:00").await, held(&team, "bob", "16:00:00", "17:00:00", 0));
}

pub async fn a_blind_copy_waits_for_a_role_like_other_mail(store: &Shared) {
    let team = team(store).await;
    let role = store.ensure_role(team.id(), &reviewer(), token(), at("16:00:00")).await.unwrap().unwrap();
    let mut message = team.new_message(draft("alice", &["carol"]));
    message.recipients.push((role.mailbox, reviewer().address(), Role::Bcc));
    let Appended::New { id, .. } = store.append(&message).await.unwrap() else { panic!("it is new") };
    assert_eq!(take(store, &team, "bob", "17:00:00", "16:00:00").await, held(&team, "bob", "16:00:00", "17:00:00", 1));
    assert_eq!(team.take("bob", 10, at("16:01:00")).await, [id]);
    assert_eq!(team.delivery(id, "bob").await.role, Role::Bcc);
}

pub async fn all_that_waits_is_handed_over_however_much_it_is(store: &Shared) {
    let team = team(store).await;
    take(store, &team, "bob", "16:10:00", "16:00:00").await;
    let own = 1_001;
    team.send_many(own).await;
    let role = send(store, &team, Some("bob")).await;
    let taken = take(store, &team, "carol", "17:00:00", "16:10:00").await;
    assert_eq!(taken, held(&team, "carol", "16:10:00", "17:00:00", 1), "behind all that is not the role's");
    assert_eq!(team.take("carol", 10, at("16:11:00")).await, [role]);
}

pub async fn with_the_last_session_and_with_retirement_an_agent_holds_no_role(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    let end = async |time| store.end_session(team.id(), bob, None, Release::None, at(time)).await.unwrap();
    take(store, &team, "bob", "18:00:00", "16:00:00").await;
    end("16:01:00").await;
    assert_eq!(roles(store, &team, at("16:01:00")).await[0].held, None);
    let left = send(store, &team, Some("bob")).await;
    take(store, &team, "carol", "18:00:00", "16:02:00").await;
    assert_eq!(team.take("carol", 10, at("16:03:00")).await, [left]);
    end("16:04:00").await;
    assert!(roles(store, &team, at("16:04:00")).await[0].held.is_some(), "what another holds stays");
    store.retire(team.id(), team.agent("carol"), bob, at("16:05:00")).await.unwrap();
    store
        .register(team.id(), &named("carol"), &Profile::default(), None, Taking::NewOrKnown, at("16:06:00"))
        .await
        .unwrap();
    assert_eq!(roles(store, &team, at("16:06:00")).await[0].held, None, "who comes back takes it again");
}

pub async fn what_the_last_holder_left_unread_goes_to_the_next(store: &Shared) {
    let team = team(store).await;
    take(store, &team, "bob", "16:10:00", "16:00:00").await;
    let (read, left) = (send(store, &team, Some("bob")).await, send(store, &team, Some("bob")).await);
    let own = team.send(draft("alice", &["bob"])).await;
    store.mark(team.agent("bob"), read, &Mark::Read, at("16:01:00")).await.unwrap();
    team.take("bob", 10, at("16:02:00")).await;
    assert_eq!(
        take(store, &team, "carol", "17:00:00", "16:10:00").await,
        held(&team, "carol", "16:10:00", "17:00:00", 1)
    );
    assert_eq!(
        team.take("carol", 10, at("16:11:00")).await,
        [left],
        "it was shown to the last holder, not to this one"
    );
    let kept: Vec<MessageId> = team.inbox("bob").await.into_iter().map(|entry| entry.message.id).collect();
    assert_eq!(kept, [own, read], "what is not the role's stays");
}

pub async fn the_mail_of_a_retired_holder_goes_to_the_next(store: &Shared) {
    let team = team(store).await;
    take(store, &team, "bob", "17:00:00", "16:00:00").await;
    let left = send(store, &team, Some("bob")).await;
    store.retire(team.id(), team.agent("bob"), team.agent("alice"), at("16:01:00")).await.unwrap();
    assert_eq!(roles(store, &team, at("16:02:00")).await[0].held, None);
    take(store, &team, "carol", "17:00:00", "16:02:00").await;
    assert_eq!(team.take("carol", 10, at("16:03:00")).await, [left]);
}

pub async fn a_message_comes_once_to_whoever_has_it_already(store: &Shared) {
    let team = team(store).await;
    let role = store.ensure_role(team.id(), &reviewer(), token(), at("16:00:00")).await.unwrap().unwrap();
    let mut message = team.new_message(draft("alice", &["bob"]));
    message.recipients.push((role.mailbox, reviewer().address(), Role::Cc));
    store.append(&message).await.unwrap();
    assert_eq!(take(store, &team, "bob", "17:00:00", "16:00:00").await, held(&team, "bob", "16:00:00", "17:00:00", 0));
    assert_eq!(team.inbox("bob").await.len(), 1);
}

pub async fn what_comes_while_a_role_is_taken_is_handed_out(store: &Shared) {
    let team = team(store).await;
    let nobody = team.agent("alice");
    assert_eq!(store.hand_out(team.id(), &reviewer(), nobody, at("16:00:00")).await.unwrap(), None);
    let mailbox = store.ensure_role(team.id(), &reviewer(), token(), at("16:00:00")).await.unwrap().unwrap().mailbox;
    let hand_out = async |now| store.hand_out(team.id(), &reviewer(), mailbox, at(now)).await.unwrap();
    take(store, &team, "bob", "17:00:00", "16:00:00").await;
    let late = send(store, &team, None).await;
    assert_eq!(hand_out("16:01:00").await, Some(team.agent("bob")));
    assert_eq!(team.take("bob", 10, at("16:02:00")).await, [late]);
    send(store, &team, None).await;
    assert_eq!(hand_out("17:00:00").await, None, "nobody holds it any more");
    assert_eq!(roles(store, &team, at("17:00:00")).await[0].waiting, 1);
}

pub async fn what_comes_to_a_holder_that_is_none_any_more_goes_to_whoever_is(store: &Shared) {
    let team = team(store).await;
    let hand_out = async |now| store.hand_out(team.id(), &reviewer(), team.agent("bob"), at(now)).await.unwrap();
    take(store, &team, "bob", "16:10:00", "16:00:00").await;
    let left = send(store, &team, Some("bob")).await;
    assert_eq!(hand_out("16:10:00").await, None);
    take(store, &team, "carol", "17:00:00", "16:10:00").await;
    let own = team.send(draft("alice", &["bob"])).await;
    let late = send(store, &team, Some("bob")).await;
    assert_eq!(hand_out("16:11:00").await, Some(team.agent("carol")));
    assert_eq!(team.take("carol", 10, at("16:12:00")).await, [left, late]);
    let later = send(store, &team, Some("bob")).await;
    assert_eq!(hand_out("17:00:00").await, None, "nobody holds it any more");
    assert_eq!(roles(store, &team, at("17:00:00")).await[0].waiting, 1);
    take(store, &team, "alice", "18:00:00", "17:00:00").await;
    assert!(team.inbox("alice").await.iter().any(|entry| entry.message.id == later));
    assert_eq!(team.inbox("bob").await.into_iter().map(|entry| entry.message.id).collect::<Vec<_>>(), [own]);
}

pub async fn what_names_a_holder_and_its_role_is_for_both(store: &Shared) {
    let team = team(store).await;
    take(store, &team, "bob", "16:10:00", "16:00:00").await;
    let mut message = team.new_message(draft("alice", &["bob"]));
    message.recipients.push((team.agent("bob"), reviewer().address(), Role::Cc));
    let Appended::New { id, .. } = store.append(&message).await.unwrap() else { panic!("it is new") };
    let sent = team.message(id).await;
    assert_eq!((sent.to, sent.cc), (vec!["bob".to_owned()], vec!["role:reviewer".to_owned()]));
    assert_eq!(store.deliveries(id).await.unwrap().len(), 1);
    store.rename(team.id(), team.agent("bob"), &named("Robert"), at("16:05:00")).await.unwrap();
    let taken = take(store, &team, "carol", "17:00:00", "16:10:00").await;
    assert_eq!(taken, held(&team, "carol", "16:10:00", "17:00:00", 1));
    for name in ["bob", "carol"] {
        assert_eq!(team.take(name, 10, at("16:11:00")).await, [id], "{name}");
    }
    let again = take(store, &team, "carol", "18:00:00", "16:12:00").await;
    assert_eq!(again, held(&team, "carol", "16:10:00", "18:00:00", 0));
}

pub async fn the_mailbox_of_a_role_is_made_once_and_belongs_to_nobody(store: &Shared) {
    let team = team(store).await;
    let make = async || store.ensure_role(team.id(), &reviewer(), token(), at("16:00:00")).await.unwrap().unwrap();
    let role = make().await;
    assert_eq!(role, KnownRole { name: "reviewer".into(), mailbox: role.mailbox, waiting: 0, held: None });
    assert_eq!(make().await, role);
    let mailbox = store.agents_named(team.id(), &["role:reviewer"]).await.unwrap().remove(0);
    assert_eq!((mailbox.id, mailbox.program.as_str()), (role.mailbox, ROLE));
    assert_eq!(store.token_hashes(role.mailbox).await.unwrap(), [token()]);
    let taking = Taking::NewOrTokenless;
    let name = named("role:reviewer");
    let taken = store.register(team.id(), &name, &Profile::default(), None, taking, at("16:01:00")).await.unwrap();
    assert_eq!(taken, None);
}

pub async fn a_role_takes_over_a_mailbox_that_nobody_registered_and_no_name_of_an_agent(store: &Shared) {
    let mut team = team(store).await;
    let (left, taken) = (team.join("role:reviewer").await, RoleName::parse("writer").unwrap());
    let waits = team.send(draft("alice", &["role:reviewer"])).await;
    assert_eq!(take(store, &team, "bob", "17:00:00", "16:00:00").await, held(&team, "bob", "16:00:00", "17:00:00", 1));
    assert_eq!(team.take("bob", 10, at("16:01:00")).await, [waits]);
    assert_eq!(roles(store, &team, at("16:01:00")).await[0].mailbox, left.id);
    introduce(store, team.id(), "role:writer", &Profile::default(), Some(TokenHash::of("own")), at("16:00:00")).await;
    let before = team.look_up("role:writer").await;
    for name in [None, Some("Robert")] {
        if let Some(name) = name {
            store.rename(team.id(), before.id, &named(name), at("16:01:00")).await.unwrap().expect("it is free");
        }
        assert_eq!(store.ensure_role(team.id(), &taken, token(), at("16:02:00")).await.unwrap(), None);
        let until = at("17:00:00");
        let answer = store.take_role(team.id(), &taken, team.agent("bob"), token(), until, at("16:02:00")).await;
        assert_eq!(answer.unwrap(), RoleTaken::NameTaken);
    }
    assert_eq!(team.look_up("Robert").await.program, before.program);
}

pub async fn roles_are_told_by_name_and_each_project_has_its_own(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    for name in ["writer", "reviewer", "builder"] {
        let role = RoleName::parse(name).unwrap();
        store.ensure_role(shop.id(), &role, token(), at("16:00:00")).await.unwrap();
    }
    let names: Vec<String> = roles(store, &shop, at("16:00:00")).await.into_iter().map(|role| role.name).collect();
    assert_eq!(names, ["builder", "reviewer", "writer"]);
    assert_eq!(roles(store, &bank, at("16:00:00")).await, []);
    take(store, &shop, "bob", "17:00:00", "16:00:00").await;
    assert_eq!(take(store, &bank, "bob", "17:00:00", "16:00:00").await, held(&bank, "bob", "16:00:00", "17:00:00", 0));
}
