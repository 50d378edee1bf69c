//! What every store promises of export, import and its own condition. Each promise is given two fresh stores.

use std::collections::HashMap;

use super::Shared;
use super::channels::{arrived, chat, known, said};
use super::fixtures::{Draft, PLENTY, Team, at, draft, entry_ids, ids, introduce, named, register, team, team_at};
use crate::agents::{Profile, TokenHash};
use crate::channels::NewPost;
use crate::clock::from_micros;
use crate::ids::{MessageId, ProjectId};
use crate::messages::{About, Appended, Importance, Mark, Role, Vouched};
use crate::projects::ProjectKey;
use crate::reservations::Request;
use crate::search::query::Query;
use crate::transfer::{Counts, Imported, Record};

pub async fn an_export_tells_each_message_with_all_that_belongs_to_it(store: &Shared, _: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).bcc(&["carol"]).body("Long text")).await;
    store.mark(team.agent("bob"), id, &Mark::Acknowledged { note: "yes".into() }, at("16:05:00")).await.unwrap();
    let expected = Record {
        human_key: "/projects/shop".into(),
        slug: "projects-shop".into(),
        message: team.message(id).await,
        deliveries: store.deliveries(id).await.unwrap(),
        post: None,
    };
    assert_eq!(expected.deliveries.len(), 2);
    assert_eq!(store.export(None, PLENTY).await.unwrap(), [expected]);
}

pub async fn an_export_is_read_in_pages_over_all_projects(store: &Shared, _: &Shared) {
    assert_eq!(store.export(None, PLENTY).await.unwrap(), []);
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let mut sent = Vec::new();
    for team in [&bank, &shop, &shop, &bank, &shop] {
        sent.push(team.send(draft("alice", &["bob"])).await);
    }
    let all = store.export(None, PLENTY).await.unwrap();
    assert!(all.iter().map(|record| record.message.id).eq(sent.iter().copied()));
    assert_eq!(store.export(None, 2).await.unwrap(), all[..2]);
    assert_eq!(store.export(Some(sent[1]), 2).await.unwrap(), all[2..4]);
    assert_eq!(store.export(Some(sent[3]), 2).await.unwrap(), all[4..]);
    assert_eq!(store.export(Some(sent[4]), 2).await.unwrap(), []);
    assert_eq!(store.export(None, 0).await.unwrap(), []);
}

pub async fn what_was_imported_is_exported_again_as_it_was(store: &Shared, second: &Shared) {
    fill(store).await;
    let records = store.export(None, PLENTY).await.unwrap();
    let answers = second.import(&records, at("20:00:00")).await.unwrap();
    assert_eq!(answers, vec![Imported::New; records.len()]);
    assert_eq!(by_names(second.export(None, PLENTY).await.unwrap()), by_names(records));
}

pub async fn an_import_in_parts_gives_the_same(store: &Shared, second: &Shared) {
    fill(store).await;
    let records = store.export(None, PLENTY).await.unwrap();
    for part in records.chunks(2) {
        assert_eq!(second.import(part, at("20:00:00")).await.unwrap(), vec![Imported::New; part.len()]);
    }
    assert_eq!(by_names(second.export(None, PLENTY).await.unwrap()), by_names(records));
    assert_eq!(second.import(&[], at("20:00:00")).await.unwrap(), []);
}

pub async fn an_import_makes_projects_and_agents(store: &Shared, second: &Shared) {
    fill(store).await;
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    let project = second.project(&ProjectKey::Path("/projects/shop".into())).await.unwrap().expect("it was made");
    assert_eq!(project.slug, "projects-shop");
    let mut names: Vec<_> =
        second.agents(project.id, None, PLENTY).await.unwrap().into_iter().map(|agent| agent.name).collect();
    names.sort();
    assert_eq!(names, ["alice", "bob", "carol"], "senders and recipients, blind ones too");
}

pub async fn an_import_uses_the_projects_and_agents_that_are_there(store: &Shared, second: &Shared) {
    fill(store).await;
    let project = second.ensure_project("/projects/shop", at("14:00:00")).await.unwrap();
    let alice = register(second, project.id, "alice").await;
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    assert_eq!(second.ensure_project("/projects/shop", at("21:00:00")).await.unwrap(), project);
    let found = second.agents_named(project.id, &["alice"]).await.unwrap();
    assert_eq!((found.len(), found[0].id, found[0].registered_at), (1, alice.id, alice.registered_at));
    assert!(!second.outbox(alice.id, None, PLENTY, true).await.unwrap().is_empty());
}

pub async fn imported_mail_is_found_at_every_door(store: &Shared, second: &Shared) {
    let shop = fill(store).await;
    let sent = store.outbox(shop.agent("alice"), None, PLENTY, false).await.unwrap();
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    let there = team(second).await;
    for name in ["alice", "bob", "carol"] {
        assert_eq!(entry_ids(&there.inbox(name).await), entry_ids(&shop.inbox(name).await), "{name}");
    }
    assert_eq!(ids(&second.outbox(there.agent("alice"), None, PLENTY, false).await.unwrap()), ids(&sent));
    let thread = store.thread(shop.id(), "FEAT-1", None, PLENTY, false).await.unwrap();
    assert!(!thread.is_empty());
    assert_eq!(ids(&second.thread(there.id(), "FEAT-1", None, PLENTY, false).await.unwrap()), ids(&thread));
    let query = Query::parse("stuck from:alice").unwrap();
    let found = store.search(shop.id(), &query, &About::default(), None, PLENTY).await.unwrap();
    assert!(!found.is_empty());
    assert_eq!(ids(&second.search(there.id(), &query, &About::default(), None, PLENTY).await.unwrap()), ids(&found));
}

pub async fn a_post_stays_a_post(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    let new = NewPost {
        keys: vec!["msg-1".into()],
        external_id: Some("msg-1".into()),
        cited_as: Some("mine".into()),
        answers: Some("msg-0".into()),
        kind: "incident".into(),
        mode: "watcher".into(),
        hops: 2,
        sent_at: Some(at("12:00:00")),
        document: Some("{}".into()),
        ..chat("dev")
    };
    let foreign = shop.send(Draft { door: "folder", ..said("Look.").to(&["bob"]).posted(new) }).await;
    let own = shop.send(Draft { reply_to: Some(foreign), ..said("I do.") }).await;
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    let there = team(second).await;
    for id in [foreign, own] {
        let (here, mut moved) = (store.post(id).await.unwrap().unwrap(), second.post(id).await.unwrap().unwrap());
        assert_eq!(moved.origin.is_some(), id == own, "what was said here says where it was said first");
        (moved.seq, moved.message.project, moved.origin) = (here.seq, here.message.project, None);
        assert_eq!(moved, here);
    }
    let listed = second.channels(there.id()).await.unwrap();
    assert_eq!((listed[0].name.as_str(), listed[0].posts), ("dev", 2));
}

pub async fn what_was_taken_in_before_an_export_is_known_after_the_import(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    let foreign = shop.send(arrived("msg-1", "Hello")).await;
    let (written, unwritten) = (shop.send(said("One")).await, shop.send(said("Two")).await);
    store.name_post(written, "msg-2").await.unwrap();
    let unwritten = store.post(unwritten).await.unwrap().unwrap().external_id;
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    let there = team(second).await;
    assert_eq!(known(&there, second, "dev", &["msg-1", "msg-2", &unwritten]).await, ["msg-1", "msg-2"]);
    assert_eq!(there.append(arrived("msg-1", "Hello")).await, Appended::Repeated(foreign));
}

pub async fn what_an_office_said_is_known_where_its_mail_was_imported(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    let id = shop.send(said("Hello")).await;
    let mark = store.post(id).await.unwrap().unwrap().mark(&store.office_id().await.unwrap()).unwrap().key();
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    assert_eq!(team(second).await.append(arrived(&mark, "Hello")).await, Appended::Repeated(id));
}

pub async fn what_an_office_said_is_the_same_document_where_its_mail_was_imported(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    let question = shop.send(said("Well?")).await;
    let ids = [question, shop.send(Draft { reply_to: Some(question), ..said("Yes.") }).await];
    let documents = async |store: &Shared| {
        let office = store.office_id().await.unwrap();
        let mut documents = Vec::new();
        for id in ids {
            let post = store.post(id).await.unwrap().unwrap();
            documents.push(post.said(&office, &post.external_id).to_json());
        }
        documents
    };
    // Events of its own, so that the numbers are others.
    team_at(second, "/projects/shop").await;
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    assert_eq!(documents(second).await, documents(store).await);
    assert_eq!(
        by_names(second.export(None, PLENTY).await.unwrap()),
        by_names(store.export(None, PLENTY).await.unwrap())
    );
}

pub async fn what_was_sent_under_a_former_name_is_imported_under_that(store: &Shared, second: &Shared) {
    fill(store).await;
    let there = team(second).await;
    second.rename(there.id(), there.agent("alice"), &named("Ann"), at("16:00:30")).await.unwrap().expect("it is free");
    let records = store.export(None, PLENTY).await.unwrap();
    assert_eq!(second.import(&records, at("20:00:00")).await.unwrap(), vec![Imported::New; records.len()]);
    assert_eq!(second.import(&records, at("20:00:01")).await.unwrap(), vec![Imported::AlreadyThere; records.len()]);
}

pub async fn importing_twice_adds_nothing(store: &Shared, second: &Shared) {
    fill(store).await;
    let records = store.export(None, PLENTY).await.unwrap();
    second.import(&records, at("20:00:00")).await.unwrap();
    let before = (second.counts(at("20:00:00")).await.unwrap(), second.export(None, PLENTY).await.unwrap());
    let answers = second.import(&records, at("21:00:00")).await.unwrap();
    assert_eq!(answers, vec![Imported::AlreadyThere; records.len()]);
    assert_eq!((second.counts(at("20:00:00")).await.unwrap(), second.export(None, PLENTY).await.unwrap()), before);
    let answers = store.import(&records, at("21:00:00")).await.unwrap();
    assert_eq!(answers, vec![Imported::AlreadyThere; records.len()], "also where they came from");
}

pub async fn importing_again_takes_nothing_back(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    let id = shop.send(draft("alice", &["bob"])).await;
    let records = store.export(None, PLENTY).await.unwrap();
    second.import(&records, at("20:00:00")).await.unwrap();
    let there = team(second).await;
    let read = second.mark(there.agent("bob"), id, &Mark::Read, at("20:01:00")).await.unwrap();
    assert_eq!(second.import(&records, at("21:00:00")).await.unwrap(), [Imported::AlreadyThere]);
    assert_eq!(Some(there.delivery(id, "bob").await.state), read, "what bob did since stays");
}

pub async fn an_import_goes_on_where_the_last_one_ended(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    shop.send_many(2).await;
    second.import(&store.export(None, PLENTY).await.unwrap(), at("20:00:00")).await.unwrap();
    shop.send_many(1).await;
    let answers = second.import(&store.export(None, PLENTY).await.unwrap(), at("21:00:00")).await.unwrap();
    assert_eq!(answers, [Imported::AlreadyThere, Imported::AlreadyThere, Imported::New]);
}

pub async fn another_message_under_the_number_is_a_clash(store: &Shared, second: &Shared) {
    let (shop, there) = (team(store).await, team(second).await);
    shop.send_many(3).await;
    let mut records = store.export(None, PLENTY).await.unwrap();
    second.import(&records[..2], at("20:00:00")).await.unwrap();
    let before = (second.counts(at("20:00:00")).await.unwrap(), second.export(None, PLENTY).await.unwrap());
    records[1].message.body = "Something else".into();
    let answers = second.import(&records, at("21:00:00")).await.unwrap();
    assert_eq!(answers, [Imported::AlreadyThere, Imported::Clash], "the clash is the last answer");
    assert_eq!((second.counts(at("20:00:00")).await.unwrap(), second.export(None, PLENTY).await.unwrap()), before);
    assert_eq!(there.inbox("bob").await.len(), 2);
}

pub async fn a_number_below_the_highest_is_a_clash(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    shop.send_many(3).await;
    let records = store.export(None, PLENTY).await.unwrap();
    second.import(&records[1..2], at("20:00:00")).await.unwrap();
    let answers = second.import(&records[..1], at("21:00:00")).await.unwrap();
    assert_eq!(answers, [Imported::Clash], "it would come out of order");
    assert_eq!(second.import(&records[1..], at("21:00:00")).await.unwrap(), [Imported::AlreadyThere, Imported::New]);
}

pub async fn a_time_that_does_not_rise_is_a_clash(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    shop.send_many(2).await;
    team_at(store, "/projects/bank").await.send(draft("alice", &["bob"])).await;
    let mut records = store.export(None, PLENTY).await.unwrap();
    let first_at = records[0].message.created_at;
    for time in [at("15:59:59"), first_at] {
        records[1].message.created_at = time;
        assert_eq!(second.import(&records, at("20:00:00")).await.unwrap(), [Imported::New, Imported::Clash]);
        assert_eq!(second.export(None, PLENTY).await.unwrap(), []);
    }
    records[1].message.created_at = from_micros(first_at.as_microsecond() + 1);
    records[2].message.created_at = at("15:00:00");
    let answers = second.import(&records, at("20:00:00")).await.unwrap();
    assert_eq!(answers, [Imported::New; 3], "the times of another project do not count");
}

pub async fn after_a_clash_nothing_of_the_call_is_kept(store: &Shared, second: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(draft("alice", &["bob"])).await;
    bank.send(draft("alice", &["bob"])).await;
    let mut records = store.export(None, PLENTY).await.unwrap();
    // Out of order within one call: the second comes below the first.
    records.swap(0, 1);
    let before = second.counts(at("20:00:00")).await.unwrap();
    assert_eq!(second.import(&records, at("20:00:00")).await.unwrap(), [Imported::New, Imported::Clash]);
    assert_eq!(second.counts(at("20:00:00")).await.unwrap(), before, "neither mail nor projects nor agents");
    assert_eq!(second.export(None, PLENTY).await.unwrap(), []);
    records.swap(0, 1);
    assert_eq!(second.import(&records, at("20:00:00")).await.unwrap(), [Imported::New, Imported::New]);
}

pub async fn new_mail_follows_what_was_imported(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    shop.send(draft("alice", &["bob"]).taken(at("18:00:00"))).await;
    let mut records = store.export(None, PLENTY).await.unwrap();
    records[0].message.id = MessageId(5000);
    records[0].message.thread = "5000".into();
    second.import(&records, at("20:00:00")).await.unwrap();
    let there = team(second).await;
    let next = there.sent(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    assert!(next.id > MessageId(5000));
    assert!(next.created_at > at("18:00:00"), "times go on rising");
    let seqs: Vec<i64> = there.events().await.iter().map(|event| event.seq).collect();
    assert!((1..).zip(&seqs).all(|(expected, seq)| expected == *seq), "the log has no gap: {seqs:?}");
}

pub async fn archived_mail_is_left_out_of_the_mailboxes(store: &Shared, second: &Shared) {
    let shop = team(store).await;
    let sent = shop.send_many(3).await;
    let mut records = store.export(None, PLENTY).await.unwrap();
    records[1].deliveries[0].state.archived_at = Some(at("16:05:00"));
    second.import(&records, at("20:00:00")).await.unwrap();
    let there = team(second).await;
    let bob = there.agent("bob");
    assert_eq!(entry_ids(&there.inbox("bob").await), [sent[2], sent[0]]);
    assert_eq!(there.take("bob", PLENTY, at("20:00:00")).await, [sent[0], sent[2]]);
    let unread = second.take_unseen(bob, Some(MessageId(0)), PLENTY, at("20:00:00"), None).await.unwrap();
    assert_eq!(entry_ids(&unread), [sent[0], sent[2]]);
    assert_eq!(there.delivery(sent[1], "bob").await.state.archived_at, Some(at("16:05:00")));
    assert_eq!(second.outbox(there.agent("alice"), None, PLENTY, true).await.unwrap().len(), 3, "nothing is destroyed");
}

pub async fn counts_tell_how_much_there_is(store: &Shared, _: &Shared) {
    assert_eq!(store.counts(at("16:00:00")).await.unwrap(), Counts::default());
    let (shop, _bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(draft("alice", &["bob"]).cc(&["carol"])).await;
    shop.send(draft("bob", &["alice"])).await;
    let short = Request { ttl_seconds: 60, ..shop.request("alice", &["a.txt"]) };
    shop.granted(&short, at("16:00:00")).await;
    shop.granted(&shop.request("alice", &["b.txt"]), at("16:00:00")).await;
    let full = Counts { projects: 2, agents: 6, messages: 2, deliveries: 3, reservations: 2, events: 10 };
    assert_eq!(store.counts(at("16:00:59.999999")).await.unwrap(), full);
    assert_eq!(
        store.counts(at("16:01:00")).await.unwrap(),
        Counts { reservations: 1, ..full },
        "only active reservations count"
    );
    store.release(shop.id(), shop.agent("alice"), None, shop.agent("alice"), at("16:01:00")).await.unwrap();
    assert_eq!(store.counts(at("16:01:00")).await.unwrap(), Counts { reservations: 0, events: 11, ..full });
}

pub async fn a_fresh_store_is_ready_and_being_asked_changes_nothing(store: &Shared, _: &Shared) {
    store.check_ready().await.unwrap();
    fill(store).await;
    let before = (store.counts(at("20:00:00")).await.unwrap(), store.export(None, PLENTY).await.unwrap());
    store.check_ready().await.unwrap();
    assert_eq!((store.counts(at("20:00:00")).await.unwrap(), store.export(None, PLENTY).await.unwrap()), before);
}

/// Mail of two projects in every state that the ports can bring about; returns the first project.
async fn fill(store: &Shared) -> Team {
    let (shop, bank) = (team(store).await, team_at(store, "/work_shop").await);
    let token = Some(TokenHash::of("secret"));
    introduce(store, shop.id(), "alice", &Profile::default(), token, at("15:30:00")).await;
    let question = Draft {
        importance: Importance::Urgent,
        work_id: Some("bd-42".into()),
        vouched: Vouched::Human,
        door: "channel",
        ..draft("alice", &["bob"]).cc(&["alice"]).bcc(&["carol"]).thread("FEAT-1").subject("Stuck").wants_ack()
    };
    let first = shop.send(question).await;
    bank.send(draft("carol", &["bob", "alice"]).body("Ärger 漢字 🦀\r\n")).await;
    let answer = Draft { reply_to: Some(first), ..draft("bob", &["alice"]).thread("FEAT-1").key("k1", 1) };
    let second = shop.send(answer).await;
    shop.send_many(2).await;
    let ack = Mark::Acknowledged { note: "on it".into() };
    store.mark(shop.agent("bob"), first, &ack, at("16:05:00")).await.unwrap();
    assert_eq!(shop.take("carol", 1, at("16:06:00")).await, [first]);
    store.mark(shop.agent("alice"), second, &Mark::Read, at("16:07:00")).await.unwrap();
    assert_eq!(shop.delivery(first, "carol").await.role, Role::Bcc);
    shop
}

/// The records with projects numbered by their slugs' first appearance, because another store may number otherwise.
fn by_names(mut records: Vec<Record>) -> Vec<Record> {
    let mut numbers = HashMap::new();
    for record in &mut records {
        let next = ProjectId(numbers.len() as i64);
        record.message.project = *numbers.entry(record.slug.clone()).or_insert(next);
    }
    records
}
