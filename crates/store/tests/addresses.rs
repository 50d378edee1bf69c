//! Addresses beyond a name, through the office.

use mail::agents::{AgentName, AgentStore, PERSON, Profile, Taking};
use mail::ids::MessageId;
use mail::messages::{About, InboxQuery, Mark, MessageStore};
use mail::office::{Claim, Draft, Registration, ReplyDraft, Rules, SearchRequest, Sent};
use mail::projects::ProjectStore;
use mail::roles::ROLE;
use mail::transfer::TransferStore;
use mail::{Error, Office};

use crate::shop::{PROJECT, Shop, shop};

pub const BANK: &str = "/projects/bank";

pub async fn join(office: &Office, project_key: &str, name: &str, program: &str) {
    let profile = Profile { program: Some(program.to_owned()), ..Profile::default() };
    let registration = Registration { project_key, make_project: true, name: Some(name), profile, token: None };
    office.register(registration).await.unwrap();
}

/// Alice and Bob in the shop, Bob and Carol in the bank.
pub async fn town() -> Shop {
    let shop = shop(Rules::default()).await;
    for (project, name, program) in [
        (PROJECT, "alice", "claude-code"),
        (PROJECT, "bob", "codex-cli"),
        (BANK, "bob", "codex-cli"),
        (BANK, "carol", "claude-code"),
    ] {
        join(&shop.office, project, name, program).await;
    }
    shop
}

fn to<'a>(project_key: &'a str, from: &'a str, to: &[&str]) -> Draft<'a> {
    let to = to.iter().map(|name| (*name).to_owned()).collect();
    Draft { door: "test", ..Draft::plain(project_key, Claim::of(from), to, "Hello", "Hi") }
}

pub async fn send(shop: &Shop, from: &str, names: &[&str]) -> Result<Sent, Error> {
    shop.office.send(to(PROJECT, from, names)).await
}

pub async fn reply(shop: &Shop, project_key: &str, from: &str, reply_to: MessageId) -> Result<Sent, Error> {
    let draft = Draft { to: Vec::new(), ..to(project_key, from, &[]) };
    shop.office.reply(ReplyDraft { reply_to, subject: None, draft }).await
}

/// The senders and numbers of what somebody has not read.
async fn unread(shop: &Shop, project_key: &str, name: &str) -> Vec<(String, MessageId)> {
    let query = InboxQuery { unread_only: true, ..InboxQuery::newest(50) };
    let inbox = shop.office.inbox(project_key, Claim::of(name), &query).await.unwrap();
    inbox.into_iter().map(|entry| (entry.message.from, entry.message.id)).collect()
}

#[tokio::test]
async fn a_name_in_another_project_is_written_to_and_answers() {
    let shop = town().await;
    let sent = send(&shop, "alice", &["carol@projects-bank"]).await.unwrap();
    assert_eq!((sent.other_project.as_deref(), sent.project_key.as_str()), (Some("projects-bank"), BANK));
    assert_eq!((sent.message.from.as_str(), &sent.message.to), ("alice@projects-shop", &vec!["carol".to_owned()]));
    let id = sent.message.id;
    assert_eq!(unread(&shop, BANK, "carol").await, [("alice@projects-shop".to_owned(), id)]);
    let answer = reply(&shop, BANK, "carol", id).await.unwrap().message;
    assert_eq!(
        (answer.from.as_str(), answer.reply_to, &answer.thread),
        ("carol@projects-bank", Some(id), &sent.message.thread)
    );
    assert_eq!(unread(&shop, PROJECT, "alice").await, [("carol@projects-bank".to_owned(), answer.id)]);
    assert_eq!(unread(&shop, BANK, "carol").await, [], "what was answered is read");
    let back = reply(&shop, PROJECT, "alice", answer.id).await.unwrap().message;
    assert_eq!(unread(&shop, BANK, "carol").await, [("alice@projects-shop".to_owned(), back.id)]);
    assert_eq!((back.thread, unread(&shop, PROJECT, "alice").await), (sent.message.thread, vec![]));
}

#[tokio::test]
async fn what_one_sent_to_another_project_is_seen_and_followed_up() {
    let shop = town().await;
    let id = send(&shop, "alice", &["carol@/projects/bank"]).await.unwrap().message.id;
    let outbox = shop.office.outbox(PROJECT, Claim::of("alice"), None, 10, true).await.unwrap();
    assert_eq!((outbox[0].0.id, outbox[0].1[0].recipient.as_str()), (id, "carol"));
    shop.office.acknowledge(BANK, Claim::of("carol"), id, "Yes").await.unwrap();
    let (_, deliveries) = shop.office.message(PROJECT, id).await.unwrap();
    assert_eq!(deliveries[0].state.ack_note, "Yes");
    let more = reply(&shop, PROJECT, "alice", id).await.unwrap().message;
    assert_eq!((more.to, more.from.as_str()), (vec!["carol".to_owned()], "alice@projects-shop"), "to the same");
    let query = "from:alice@projects-shop";
    let request = SearchRequest { project_key: BANK, query, about: About::default(), before: None, limit: 10 };
    let found = shop.office.search(request).await.unwrap();
    assert_eq!(found.iter().map(|found| found.message.id).collect::<Vec<_>>(), [more.id, id]);
    let unknown = shop.office.message(PROJECT, MessageId(9_999)).await.unwrap_err();
    assert_eq!(unknown.code(), "MESSAGE_NOT_FOUND");
}

#[tokio::test]
async fn a_whole_project_is_written_to_but_for_who_is_retired() {
    let shop = town().await;
    shop.office.welcome_person(BANK, "Anna").await.unwrap();
    shop.office.retire(BANK, "Anna", "bob").await.unwrap();
    let sent = send(&shop, "alice", &["project:/projects/bank"]).await.unwrap();
    assert_eq!(sent.message.to, ["carol", "Anna"]);
    assert_eq!(
        send(&shop, "alice", &["project:projects-shop"]).await.unwrap().message.to,
        ["agent-0", "agent-1", "bob"]
    );
    assert_eq!(send(&shop, "alice", &["project:/nowhere"]).await.unwrap_err().code(), "PROJECT_NOT_FOUND");
}

#[tokio::test]
async fn one_message_goes_to_one_project() {
    let shop = town().await;
    for names in
        [&["bob", "carol@projects-bank"][..], &["carol@projects-bank", "all"], &["#dev", "carol@projects-bank"]]
    {
        let refused = send(&shop, "alice", names).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT", "{names:?}: {refused}");
    }
    assert_eq!(unread(&shop, BANK, "carol").await, []);
    let both = send(&shop, "alice", &["carol@projects-bank", "bob@projects-bank"]).await.unwrap();
    assert_eq!(both.message.to, ["carol", "bob"]);
}

#[tokio::test]
async fn a_registered_name_wins_over_an_address() {
    let shop = town().await;
    for name in ["carol@projects-bank", "role:reviewer", "program:codex", "person"] {
        named_before(&shop, PROJECT, name).await;
        assert_eq!(send(&shop, "alice", &[name]).await.unwrap().message.to, [name]);
    }
    let refused = shop.office.take_role(PROJECT, Claim::of("bob"), "reviewer", None).await.unwrap_err();
    assert_eq!(refused.code(), "NAME_TAKEN", "a role that nobody could write to");
    named_before(&shop, BANK, "alice@projects-shop").await;
    join(&shop.office, BANK, "alice@projects-shop", "claude-code").await;
    let refused = send(&shop, "alice", &["carol@/projects/bank"]).await.unwrap_err();
    assert_eq!(refused.code(), "NAME_TAKEN", "an answer would go to the wrong one");
}

/// Makes an agent that got its name when that was no address.
async fn named_before(shop: &Shop, project_key: &str, name: &str) {
    let project = shop.store.ensure_project(project_key, shop.office.now()).await.unwrap().id;
    let profile = Profile { program: Some("claude-code".to_owned()), ..Profile::default() };
    let (name, now) = (AgentName::parse(name).unwrap(), shop.office.now());
    shop.store.register(project, &name, &profile, None, Taking::NewOnly, now).await.unwrap().expect("it is free");
}

#[tokio::test]
async fn nobody_takes_an_address_for_a_name() {
    let shop = town().await;
    shop.office.ensure_mailbox(PROJECT, "carol@projects-bank").await.unwrap();
    for name in ["carol@projects-bank", "dave@/projects/bank", "person", "Person", "role:writer", "Role:Writer"] {
        let named = Registration { project_key: PROJECT, name: Some(name), ..Registration::default() };
        let refused = shop.office.register(named).await.unwrap_err();
        assert!(refused.code() == "INVALID_ARGUMENT" && refused.to_string().contains("addresses"), "{name}: {refused}");
        let refused = shop.office.rename(PROJECT, Claim::of("bob"), name).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT", "{name}");
    }
    for name in ["joe@home", "joe@projects-shop", "persons", "team:red"] {
        join(&shop.office, PROJECT, name, "codex-cli").await;
    }
}

#[tokio::test]
async fn a_mailbox_that_is_made_for_an_address_is_whose_the_address_is() {
    let shop = town().await;
    let ensure = async |name| shop.office.ensure_mailbox(PROJECT, name).await.unwrap();
    assert_eq!([ensure("Person").await, ensure("person").await], [true, false]);
    assert_eq!([ensure("Role:Writer").await, ensure("role:writer").await], [true, false]);
    let made = shop.store.agents_named(shop.team.project, &["person", "role:writer"]).await.unwrap();
    let mut programs: Vec<_> = made.into_iter().map(|agent| agent.program).collect();
    programs.sort();
    assert_eq!(programs, [PERSON, ROLE]);
    assert_eq!(send(&shop, "alice", &["PERSON"]).await.unwrap().message.to, ["person"]);
    send(&shop, "alice", &["Role:Writer"]).await.unwrap();
    assert_eq!(shop.office.take_role(PROJECT, Claim::of("bob"), "writer", None).await.unwrap().2, 1);
}

#[tokio::test]
async fn mail_that_waited_for_a_role_and_for_the_person_waits_for_them_where_it_is_imported() {
    let from = town().await;
    send(&from, "alice", &["person"]).await.unwrap();
    send(&from, "alice", &["role:reviewer"]).await.unwrap();
    let records = from.store.export(None, 100).await.unwrap();
    let shop = shop(Rules::default()).await;
    shop.store.import(&records, shop.office.now()).await.unwrap();
    send(&shop, "alice", &["person", "role:reviewer"]).await.unwrap();
    let person = shop.store.agents_named(shop.team.project, &["person"]).await.unwrap().remove(0);
    assert!(person.is_person());
    assert_eq!(unread(&shop, PROJECT, "person").await.len(), 2);
    assert_eq!(shop.office.take_role(PROJECT, Claim::of("agent-0"), "reviewer", None).await.unwrap().2, 2);
    assert_eq!(unread(&shop, PROJECT, "agent-0").await.len(), 2);
}

#[tokio::test]
async fn whoever_was_renamed_goes_on_with_those_it_wrote_to() {
    let shop = town().await;
    let id = send(&shop, "bob", &["alice"]).await.unwrap().message.id;
    let across = send(&shop, "bob", &["carol@projects-bank"]).await.unwrap().message.id;
    shop.office.rename(PROJECT, Claim::of("bob"), "Backend").await.unwrap();
    for name in ["Backend", "bob"] {
        assert_eq!(reply(&shop, PROJECT, name, id).await.unwrap().message.to, ["alice"], "{name}");
        let more = reply(&shop, PROJECT, name, across).await.unwrap();
        assert_eq!(
            (more.message.to, more.message.from),
            (vec!["carol".to_owned()], "Backend@projects-shop".to_owned())
        );
    }
    let namesake = reply(&shop, BANK, "bob", across).await.unwrap().message;
    assert_eq!(namesake.to, ["Backend"], "another of that name wrote nothing");
}

#[tokio::test]
async fn what_is_answered_in_another_project_is_read_though_the_answer_was_sent_before() {
    let shop = town().await;
    let id = send(&shop, "alice", &["carol@projects-bank"]).await.unwrap().message.id;
    let carol = shop.store.parties(id).await.unwrap().unwrap().recipients[0].0;
    let draft = || Draft { to: Vec::new(), idempotency_key: Some("k"), ..to(BANK, "carol", &[]) };
    let answer = async || {
        let answer = ReplyDraft { reply_to: id, subject: None, draft: draft() };
        shop.office.reply(answer).await.unwrap().is_new
    };
    assert!(answer().await);
    shop.store.mark(carol, id, &Mark::Unread, shop.office.now()).await.unwrap();
    assert!(!answer().await);
    assert_eq!(unread(&shop, BANK, "carol").await, []);
}

#[tokio::test]
async fn a_name_that_only_came_with_imported_mail_leads_back() {
    let shop = town().await;
    shop.office.ensure_mailbox(BANK, "alice@projects-shop").await.unwrap();
    let sent = shop.office.send(to(BANK, "carol", &["alice@projects-shop"])).await.unwrap();
    assert_eq!(unread(&shop, PROJECT, "alice").await, [("carol@projects-bank".to_owned(), sent.message.id)]);
    shop.office.ensure_mailbox(BANK, "joe@home").await.unwrap();
    assert_eq!(shop.office.send(to(BANK, "carol", &["joe@home"])).await.unwrap().message.to, ["joe@home"]);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_what_could() {
    let shop = town().await;
    let refused = async |name| send(&shop, "alice", &[name]).await.unwrap_err();
    let misspelt = refused("karol@projects-bank").await;
    assert_eq!((misspelt.code(), misspelt.near()), ("AGENT_NOT_FOUND", &["carol@projects-bank".to_owned()][..]));
    let misspelt = refused("carol@projects-bang").await;
    assert_eq!(misspelt.code(), "PROJECT_NOT_FOUND");
    assert_eq!(misspelt.near()[0], "projects-bank");
    assert_eq!(refused("team:red").await.code(), "ADDRESS_UNKNOWN");
    assert_eq!(refused("role:two words").await.code(), "INVALID_ARGUMENT");
    let program = refused("program:gemini").await;
    assert_eq!((program.code(), program.near()), ("PROGRAM_NOT_FOUND", &["codex-cli".to_owned()][..]));
}

#[tokio::test]
async fn a_program_is_one_agent_of_it_who_is_awake_if_one_is() {
    let shop = town().await;
    join(&shop.office, PROJECT, "codex-2", "codex-cli").await;
    shop.office.leave(PROJECT, Claim::of("codex-2")).await.unwrap();
    let sent = send(&shop, "alice", &["program:codex"]).await.unwrap();
    assert_eq!((&sent.message.to, &sent.resolved[0].names), (&vec!["bob".to_owned()], &vec!["bob".to_owned()]));
    join(&shop.office, PROJECT, "codex-2", "codex-cli").await;
    shop.office.leave(PROJECT, Claim::of("bob")).await.unwrap();
    assert_eq!(send(&shop, "alice", &["program:codex-cli"]).await.unwrap().message.to, ["codex-2"]);
    let own = shop.office.send(to(PROJECT, "codex-2", &["program:codex"])).await.unwrap();
    assert_eq!(own.message.to, ["bob"], "nobody writes to itself so");
}

#[tokio::test]
async fn a_person_is_whoever_writes_from_the_page_and_a_mailbox_where_nobody_did() {
    let shop = town().await;
    assert_eq!(send(&shop, "alice", &["person"]).await.unwrap().message.to, ["person"]);
    assert_eq!(send(&shop, "alice", &["person"]).await.unwrap().message.to, ["person"]);
    let made = shop.store.agents_named(shop.team.project, &["person"]).await.unwrap().remove(0);
    assert!(made.is_person());
    shop.office.welcome_person(PROJECT, "Anna").await.unwrap();
    let sent = send(&shop, "alice", &["person"]).await.unwrap();
    assert_eq!((sent.message.to, sent.resolved[0].names.clone()), (vec!["Anna".to_owned()], vec!["Anna".to_owned()]));
}

#[tokio::test]
async fn mail_to_a_role_waits_and_goes_to_whoever_takes_it() {
    let shop = town().await;
    let waits = send(&shop, "alice", &["role:Reviewer"]).await.unwrap();
    assert_eq!((waits.message.to, waits.resolved[0].names.clone()), (vec!["role:reviewer".to_owned()], vec![]));
    let everybody = send(&shop, "alice", &["all"]).await.unwrap().message.to;
    assert_eq!(everybody, ["agent-0", "agent-1", "bob"], "a mailbox of a role is nobody");
    let (role, held, handed) = shop.office.take_role(PROJECT, Claim::of("bob"), "reviewer", Some(60)).await.unwrap();
    assert_eq!((role.as_str(), held.name.as_str(), handed), ("reviewer", "bob", 1));
    let direct = send(&shop, "alice", &["role:reviewer"]).await.unwrap();
    assert_eq!(
        (direct.message.to, direct.resolved[0].names.clone()),
        (vec!["role:reviewer".to_owned()], vec!["bob".to_owned()])
    );
    assert_eq!(unread(&shop, PROJECT, "bob").await.len(), 3);
    let refused = shop.office.take_role(PROJECT, Claim::of("agent-0"), "reviewer", None).await.unwrap_err();
    assert!(matches!(&refused, Error::RoleHeld { holder, .. } if holder == "bob"), "{refused}");
    reply(&shop, PROJECT, "bob", waits.message.id).await.unwrap();
    shop.clock.advance_seconds(60);
    let (.., handed) = shop.office.take_role(PROJECT, Claim::of("agent-0"), "reviewer", None).await.unwrap();
    assert_eq!(
        (handed, unread(&shop, PROJECT, "agent-0").await[0].1),
        (1, direct.message.id),
        "what was answered stays"
    );
}

#[tokio::test]
async fn a_message_to_a_role_and_to_its_holder_says_both_and_comes_once() {
    let shop = town().await;
    shop.office.take_role(PROJECT, Claim::of("bob"), "reviewer", Some(60)).await.unwrap();
    for named in [["bob", "role:reviewer"], ["role:reviewer", "bob"]] {
        let sent = send(&shop, "alice", &[named[0], named[1], named[1]]).await.unwrap();
        assert_eq!(sent.message.to, named);
    }
    assert_eq!(unread(&shop, PROJECT, "bob").await.len(), 2);
    shop.clock.advance_seconds(60);
    let (.., handed) = shop.office.take_role(PROJECT, Claim::of("agent-0"), "reviewer", None).await.unwrap();
    assert_eq!((handed, unread(&shop, PROJECT, "bob").await.len()), (2, 2), "both have them now");
}

#[tokio::test]
async fn a_role_of_another_project_is_written_to() {
    let shop = town().await;
    shop.office.take_role(BANK, Claim::of("carol"), "reviewer", None).await.unwrap();
    let sent = send(&shop, "alice", &["role:reviewer@projects-bank"]).await.unwrap();
    assert_eq!(sent.other_project.as_deref(), Some("projects-bank"));
    assert_eq!(unread(&shop, BANK, "carol").await, [("alice@projects-shop".to_owned(), sent.message.id)]);
}

#[tokio::test]
async fn nobody_acts_as_the_mailbox_of_a_role() {
    let shop = town().await;
    send(&shop, "alice", &["role:reviewer"]).await.unwrap();
    let mailbox = shop.store.agents_named(shop.team.project, &["role:reviewer"]).await.unwrap().remove(0);
    assert_eq!(mailbox.program, ROLE);
    let refused = send(&shop, "role:reviewer", &["bob"]).await.unwrap_err();
    assert_eq!(refused.code(), "NAME_TAKEN");
    let named = Registration { project_key: PROJECT, name: Some("role:reviewer"), ..Registration::default() };
    assert_eq!(shop.office.register(named).await.unwrap_err().code(), "NAME_TAKEN");
    let profile = Profile { program: Some(ROLE.to_owned()), ..Profile::default() };
    let posing = Registration { project_key: PROJECT, name: Some("zed"), profile, ..Registration::default() };
    assert_eq!(shop.office.register(posing).await.unwrap_err().code(), "INVALID_ARGUMENT");
    for seconds in [0, 7 * 24 * 3600 + 1] {
        let refused = shop.office.take_role(PROJECT, Claim::of("bob"), "reviewer", Some(seconds)).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENT", "{seconds}");
    }
}

#[tokio::test]
async fn a_message_to_another_project_wakes_and_counts_there_alone() {
    let shop = town().await;
    shop.heard.mail.lock().unwrap().clear();
    let sent = send(&shop, "alice", &["carol@projects-bank"]).await.unwrap();
    let carol = shop.store.deliveries(sent.message.id).await.unwrap();
    assert_eq!((carol.len(), shop.heard.mail.lock().unwrap().len()), (1, 1));
    assert_eq!(shop.office.count_open(PROJECT, None).await.unwrap().total, 0);
    assert_eq!(shop.office.count_open(BANK, None).await.unwrap().total, 1);
}
