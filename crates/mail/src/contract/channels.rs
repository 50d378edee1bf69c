//! What every store promises of channels: posts and their names, what is taken in but once, and pages.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{Draft, PLENTY, Team, at, draft, stamp, team, team_at};
use crate::channels::{ChannelName, NewPost, Post, PostQuery, external_id};
use crate::events::EventKind;
use crate::ids::MessageId;
use crate::messages::Appended;

pub async fn a_post_is_kept_with_all_that_belongs_to_it(store: &Shared) {
    let team = team(store).await;
    let new = NewPost {
        keys: vec!["office:7".into(), "msg-1".into()],
        external_id: Some("msg-1".into()),
        cited_as: Some("my own".into()),
        kind: "task_assign".into(),
        mode: "watcher".into(),
        hops: 3,
        sent_at: Some(at("12:00:00.123456")),
        document: Some("{ }\n".into()),
        ..chat("dev")
    };
    let id = team.send(Draft { door: "folder", ..said("Look.").to(&["bob"]).posted(new) }).await;
    let sent = team.events().await.into_iter().find(|event| event.kind == EventKind::MessageSent).unwrap();
    let expected = Post {
        message: team.message(id).await,
        channel: "dev".into(),
        seq: sent.seq,
        external_id: "msg-1".into(),
        cited_as: Some("my own".into()),
        kind: "task_assign".into(),
        mode: "watcher".into(),
        hops: 3,
        sent_at: at("12:00:00.123456"),
        in_reply_to: None,
        document: Some("{ }\n".into()),
        origin: None,
    };
    assert_eq!(expected.message.body, "Look.");
    assert_eq!(store.post(id).await.unwrap(), Some(expected.clone()));
    assert_eq!(posts(&team, store, "dev", newest(PLENTY)).await, [expected]);
}

pub async fn a_post_of_our_own_gets_its_name_when_it_is_kept(store: &Shared) {
    let team = team(store).await;
    let id = team.send(said("Hello").taken(at("16:00:00.5"))).await;
    let post = store.post(id).await.unwrap().unwrap();
    assert_eq!(post.sent_at, post.message.created_at);
    let office = store.office_id().await.unwrap();
    assert_eq!(post.external_id, external_id(post.sent_at, "alice", &office, post.seq, 0));
    assert!(post.external_id.starts_with("msg-20260111-160000-alice-"), "{}", post.external_id);
    assert_eq!(known(&team, store, "dev", &[&post.external_id]).await, [""; 0], "it stands nowhere outside yet");
}

pub async fn what_is_no_post_is_none(store: &Shared) {
    let team = team(store).await;
    let direct = team.send(draft("alice", &["bob"])).await;
    assert_eq!(store.post(direct).await.unwrap(), None);
    assert_eq!(store.post(MessageId(direct.0 + 1)).await.unwrap(), None);
    assert_eq!(posts(&team, store, "dev", newest(PLENTY)).await, []);
    assert_eq!(store.post_called(team.id(), "dev", "msg-1").await.unwrap(), None);
    store.note_key(direct, "msg-1").await.unwrap();
    assert_eq!(store.post(direct).await.unwrap(), None, "it is still no post");
    assert_eq!(store.channels(team.id()).await.unwrap(), []);
}

pub async fn a_message_tells_its_channel_before_its_recipients(store: &Shared) {
    let team = team(store).await;
    let message = team.sent(said("@carol look").to(&["bob"]).cc(&["carol"])).await;
    assert_eq!(message.to, ["#dev", "bob"]);
    assert_eq!(message.cc, ["carol"]);
    assert_eq!(team.inbox("bob").await[0].message.to, ["#dev", "bob"]);
    assert_eq!(store.deliveries(message.id).await.unwrap().len(), 2, "a channel has no delivery");
}

pub async fn a_broadcast_is_nobodys_mail(store: &Shared) {
    let team = team(store).await;
    let message = team.sent(said("Hello all")).await;
    assert_eq!(message.to, ["#dev"]);
    assert_eq!(store.deliveries(message.id).await.unwrap(), []);
    assert!(team.inbox("bob").await.is_empty());
    assert_eq!(store.thread(team.id(), &message.thread, None, PLENTY, true).await.unwrap(), [message]);
}

pub async fn a_key_is_taken_in_once(store: &Shared) {
    let team = team(store).await;
    let id = team.send(arrived("msg-1", "First").to(&["bob"])).await;
    let before = (team.events().await, store.counts(at("16:00:00")).await.unwrap());
    assert_eq!(team.append(arrived("msg-1", "Other").to(&["carol"])).await, Appended::Repeated(id));
    assert_eq!((team.events().await, store.counts(at("16:00:00")).await.unwrap()), before, "it adds nothing");
    assert_eq!(known(&team, store, "dev", &["msg-2", "msg-1"]).await, ["msg-1"]);
    assert_ne!(team.send(arrived("MSG-1", "Other")).await, id, "keys are compared exactly");
}

pub async fn of_many_who_take_in_one_key_at_once_one_does(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for number in 0..16 {
        let (store, new) = (store.clone(), team.new_message(arrived("msg-1", &format!("{number}"))));
        tasks.spawn(async move { store.append(&new).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    let new = answers.iter().filter(|answer| matches!(answer, Appended::New { .. })).count();
    assert_eq!(new, 1, "{answers:?}");
    assert_eq!(posts(&team, store, "dev", newest(PLENTY)).await.len(), 1);
}

pub async fn the_other_keys_of_what_is_known_are_noted(store: &Shared) {
    let team = team(store).await;
    let keyed = |keys: &[&str]| NewPost { keys: owned(keys), external_id: Some("msg-1".into()), ..chat("dev") };
    let id = team.send(said("Hello").posted(keyed(&["office:7"]))).await;
    assert_eq!(known(&team, store, "dev", &["office:7", "msg-1"]).await, ["office:7"]);
    let again = team.append(said("Hello").posted(keyed(&["office:7", "msg-1"]))).await;
    assert_eq!(again, Appended::Repeated(id));
    assert_eq!(known(&team, store, "dev", &["office:7", "msg-1"]).await, ["office:7", "msg-1"]);
    assert_eq!(team.append(arrived("msg-1", "Hello")).await, Appended::Repeated(id));
}

pub async fn a_key_that_is_taken_stays_with_its_post(store: &Shared) {
    let team = team(store).await;
    let first = team.send(arrived("msg-1", "First")).await;
    let second = NewPost { keys: owned(&["office:7", "msg-1"]), external_id: Some("msg-1".into()), ..chat("dev") };
    assert_ne!(team.send(said("Second").posted(second)).await, first, "the first key says what it is");
    assert_eq!(team.append(arrived("msg-1", "First")).await, Appended::Repeated(first));
}

pub async fn keys_of_two_channels_do_not_meet(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let dev = shop.send(arrived("msg-1", "Hello")).await;
    let new = NewPost { keys: owned(&["msg-1"]), external_id: Some("msg-1".into()), ..chat("ops") };
    let ops = shop.send(said("Hello").posted(new)).await;
    let elsewhere = bank.send(arrived("msg-1", "Hello")).await;
    assert_eq!(store.post_called(shop.id(), "dev", "msg-1").await.unwrap().unwrap().message.id, dev);
    assert_eq!(store.post_called(shop.id(), "ops", "msg-1").await.unwrap().unwrap().message.id, ops);
    assert_eq!(store.post_called(bank.id(), "dev", "msg-1").await.unwrap().unwrap().message.id, elsewhere);
    assert_eq!(known(&shop, store, "other", &["msg-1"]).await, [""; 0]);
}

pub async fn a_channel_is_told_oldest_first_and_a_limit_keeps_the_newest(store: &Shared) {
    let team = team(store).await;
    let sent = send_many(&team, 4).await;
    assert_eq!(numbers(&team, store, newest(PLENTY)).await, sent);
    assert_eq!(numbers(&team, store, newest(2)).await, sent[2..]);
    assert_eq!(numbers(&team, store, PostQuery { before: Some(sent[3]), ..newest(2) }).await, sent[1..3]);
    assert_eq!(numbers(&team, store, newest(0)).await, []);
    assert_eq!(store.newest_post(team.id(), "dev").await.unwrap(), sent.last().copied());
    assert_eq!(store.newest_post(team.id(), "nowhere").await.unwrap(), None);
}

pub async fn after_a_number_a_limit_keeps_the_oldest(store: &Shared) {
    let team = team(store).await;
    let sent = send_many(&team, 5).await;
    assert_eq!(numbers(&team, store, after(MessageId(0), 2)).await, sent[..2]);
    assert_eq!(numbers(&team, store, after(sent[0], 2)).await, sent[1..3]);
    let between = PostQuery { before: Some(sent[4]), ..after(sent[1], PLENTY) };
    assert_eq!(numbers(&team, store, between).await, sent[2..4]);
    assert_eq!(numbers(&team, store, after(sent[4], 2)).await, []);
}

pub async fn since_a_time_the_oldest_that_came_later_are_told(store: &Shared) {
    let team = team(store).await;
    let mut sent = Vec::new();
    for time in ["16:00:00", "17:00:00", "18:00:00"] {
        sent.push(team.send(said("Hello").taken(at(time))).await);
    }
    let since = |time: &str, limit| PostQuery { since: Some(at(time)), ..newest(limit) };
    assert_eq!(numbers(&team, store, since("15:00:00", 2)).await, sent[..2]);
    assert_eq!(numbers(&team, store, since("16:00:00", 2)).await, sent[1..]);
    assert_eq!(numbers(&team, store, since("18:00:00", 2)).await, []);
    let both = PostQuery { after: Some(sent[1]), ..since("16:00:00", 2) };
    assert_eq!(numbers(&team, store, both).await, sent[2..]);
}

pub async fn pages_of_a_channel_meet_without_gap_or_repeat(store: &Shared) {
    let team = team(store).await;
    let sent = send_many(&team, 7).await;
    let mut forth: Vec<MessageId> = Vec::new();
    loop {
        let page = numbers(&team, store, after(forth.last().copied().unwrap_or(MessageId(0)), 3)).await;
        if page.is_empty() {
            break;
        }
        forth.extend(page);
    }
    assert_eq!(forth, sent);
    let mut back: Vec<MessageId> = Vec::new();
    loop {
        let page = numbers(&team, store, PostQuery { before: back.first().copied(), ..newest(3) }).await;
        if page.is_empty() {
            break;
        }
        back.splice(..0, page);
    }
    assert_eq!(back, sent);
}

pub async fn a_channel_can_be_narrowed_to_a_thread(store: &Shared) {
    let team = team(store).await;
    let one = team.send(said("One").thread("T")).await;
    team.send(said("Aside")).await;
    team.send(draft("alice", &["bob"]).thread("T")).await;
    let two = team.send(said("Two").thread("T")).await;
    let thread = |query| PostQuery { thread: Some("T".into()), ..query };
    assert_eq!(numbers(&team, store, thread(newest(PLENTY))).await, [one, two]);
    assert_eq!(numbers(&team, store, thread(after(one, PLENTY))).await, [two]);
    assert_eq!(numbers(&team, store, thread(newest(1))).await, [two]);
}

pub async fn a_channel_of_long_bodies_is_read_in_short_pages(store: &Shared) {
    let team = team(store).await;
    let long = "x".repeat(7 * 1024 * 1024);
    let mut sent = Vec::new();
    for body in ["short", &long, &long, &long, "short"] {
        sent.push(team.send(said(body)).await);
    }
    assert_eq!(numbers(&team, store, newest(PLENTY)).await, sent[1..], "the newest are kept");
    assert_eq!(numbers(&team, store, after(MessageId(0), PLENTY)).await, sent[..4]);
    let come_as = |document: &str| NewPost { document: Some(document.into()), ..chat("docs") };
    for document in [&*long, &long, &long, "{}"] {
        team.send(said("short").posted(come_as(document))).await;
    }
    assert_eq!(posts(&team, store, "docs", after(MessageId(0), PLENTY)).await.len(), 3, "documents count");
}

pub async fn a_post_is_found_by_its_name_and_by_what_its_author_called_it(store: &Shared) {
    let team = team(store).await;
    let called = |name: &str, cited: &str| NewPost {
        keys: owned(&[name]),
        external_id: Some(name.into()),
        cited_as: Some(cited.into()),
        ..chat("dev")
    };
    let first = team.send(said("One").posted(called("msg-1", "mine"))).await;
    let second = team.send(said("Two").posted(called("msg-2", "msg-1"))).await;
    let found = async |id| store.post_called(team.id(), "dev", id).await.unwrap().map(|post| post.message.id);
    assert_eq!(found("mine").await, Some(first));
    assert_eq!(found("msg-1").await, Some(first), "a name counts before what others are called by their authors");
    assert_eq!(found("msg-2").await, Some(second));
    assert_eq!(found("msg-3").await, None);
    let third = team.send(said("Three").posted(called("msg-3", "mine"))).await;
    assert_eq!(found("mine").await, Some(third), "of two the newest is meant");
}

pub async fn an_answer_tells_the_name_of_what_it_answers(store: &Shared) {
    let team = team(store).await;
    let question = team.send(arrived("msg-1", "Well?")).await;
    let answer = team.send(Draft { reply_to: Some(question), ..said("Yes.") }).await;
    assert_eq!(store.post(answer).await.unwrap().unwrap().in_reply_to.as_deref(), Some("msg-1"));
    let direct = team.send(draft("alice", &["bob"])).await;
    let in_the_open = team.send(Draft { reply_to: Some(direct), ..said("Yes.") }).await;
    assert_eq!(
        store.post(in_the_open).await.unwrap().unwrap().in_reply_to,
        None,
        "a message to an agent has no name outside"
    );
}

pub async fn a_post_that_stands_outside_goes_by_its_name_there(store: &Shared) {
    let team = team(store).await;
    let id = team.send(said("Hello")).await;
    for name in ["msg-1", "msg-2", "msg-2"] {
        store.name_post(id, name).await.unwrap();
        assert_eq!(store.post(id).await.unwrap().unwrap().external_id, name);
    }
    let before = stamp(store).await;
    store.name_post(id, "msg-2").await.unwrap();
    assert_eq!(stamp(store).await, before, "nothing is written for what is so");
    assert_eq!(known(&team, store, "dev", &["msg-1", "msg-2"]).await, ["msg-1", "msg-2"]);
    assert_eq!(team.append(arrived("msg-1", "Hello")).await, Appended::Repeated(id), "it is not taken in from there");
    assert_eq!(store.post_called(team.id(), "dev", "msg-2").await.unwrap().unwrap().message.id, id);
}

pub async fn another_name_leads_to_a_post_and_is_not_its_name(store: &Shared) {
    let team = team(store).await;
    let id = team.send(said("Hello")).await;
    let name = store.post(id).await.unwrap().unwrap().external_id;
    store.note_key(id, "msg-2").await.unwrap();
    assert_eq!(store.post_called(team.id(), "dev", "msg-2").await.unwrap().unwrap().external_id, name);
    assert_eq!(team.append(arrived("msg-2", "Hello")).await, Appended::Repeated(id), "it is not taken in from there");
    store.note_key(MessageId(999), "msg-3").await.unwrap();
    assert_eq!(known(&team, store, "dev", &["msg-3"]).await, [""; 0], "no post, no name");
}

pub async fn a_post_gets_a_name_that_nothing_else_in_the_channel_has(store: &Shared) {
    let team = team(store).await;
    let office = store.office_id().await.unwrap();
    // The arrival takes the next number, and the post the one behind it.
    let seq = team.events().await.last().unwrap().seq + 2;
    let name = |attempt| external_id(at("16:00:00"), "alice", &office, seq, attempt);
    team.send(arrived(&name(0), "Hello").taken(at("16:00:00"))).await;
    let id = team.send(said("Hello").taken(at("16:00:00.5"))).await;
    assert_eq!(store.post(id).await.unwrap().unwrap().external_id, name(1));
}

pub async fn an_answer_that_came_first_tells_what_it_answers_and_where_it_is_discussed(store: &Shared) {
    let team = team(store).await;
    let early = |name: &str, thread: &str| {
        let draft = arrived(name, "Yes.").thread(thread);
        let post = draft.post.clone().map(|post| NewPost { answers: Some("msg-1".into()), ..post });
        Draft { post, ..draft }
    };
    let first = team.send(early("msg-2", "A")).await;
    team.send(early("msg-3", "B")).await;
    assert_eq!(store.post(first).await.unwrap().unwrap().in_reply_to.as_deref(), Some("msg-1"));
    let awaiting = async |channel, names: &[&str]| store.thread_awaiting(team.id(), channel, names).await.unwrap();
    assert_eq!(awaiting("dev", &["mine", "msg-1"]).await.as_deref(), Some("A"), "the first of them");
    assert_eq!((awaiting("dev", &["msg-2"]).await, awaiting("ops", &["msg-1"]).await), (None, None));
}

pub async fn channels_are_listed_by_name_with_their_counts(store: &Shared) {
    let team = team(store).await;
    assert_eq!(store.channels(team.id()).await.unwrap(), []);
    let ops = team.send(said("Hello").posted(chat("ops")).taken(at("16:00:00"))).await;
    team.send(said("Hello").taken(at("17:00:00"))).await;
    let dev = team.send(said("Hello").taken(at("18:00:00"))).await;
    let listed = store.channels(team.id()).await.unwrap();
    let told: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.created_at, one.posts, one.newest)).collect();
    assert_eq!(
        told,
        [
            ("dev", at("17:00:00"), 2, Some((dev, at("18:00:00")))),
            ("ops", at("16:00:00"), 1, Some((ops, at("16:00:00")))),
        ]
    );
}

pub async fn a_channel_stays_within_its_project(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    send_many(&shop, 2).await;
    assert_eq!(posts(&bank, store, "dev", newest(PLENTY)).await, []);
    assert_eq!(store.channels(bank.id()).await.unwrap(), []);
}

pub async fn which_office_it_is_never_changes(store: &Shared) {
    let office = store.office_id().await.unwrap();
    assert!(office.len() >= 16 && office.chars().all(|c| c.is_ascii_alphanumeric()), "{office}");
    send_many(&team(store).await, 1).await;
    assert_eq!(store.office_id().await.unwrap(), office);
}

/// A channel's post that says nothing beyond that.
pub(super) fn chat(channel: &str) -> NewPost {
    NewPost::chat(ChannelName::parse(channel).expect("the suites write names that are allowed"))
}

/// What alice says in `dev`, to nobody in particular.
pub(super) fn said(text: &str) -> Draft {
    draft("alice", &[]).body(text).posted(chat("dev"))
}

/// The same, found in the folder under that name.
pub(super) fn arrived(name: &str, text: &str) -> Draft {
    let new = NewPost { keys: owned(&[name]), external_id: Some(name.into()), ..chat("dev") };
    Draft { door: "folder", ..said(text).posted(new) }
}

async fn send_many(team: &Team, count: usize) -> Vec<MessageId> {
    let mut sent = Vec::new();
    for number in 0..count {
        sent.push(team.send(said(&format!("{number}"))).await);
        // Other channels and direct messages stand between them.
        team.send(said("Elsewhere").posted(chat("ops"))).await;
    }
    sent
}

fn newest(limit: usize) -> PostQuery {
    PostQuery { limit, ..PostQuery::default() }
}

fn after(id: MessageId, limit: usize) -> PostQuery {
    PostQuery { after: Some(id), ..newest(limit) }
}

async fn posts(team: &Team, store: &Shared, channel: &str, query: PostQuery) -> Vec<Post> {
    store.posts(team.id(), channel, &query).await.unwrap()
}

async fn numbers(team: &Team, store: &Shared, query: PostQuery) -> Vec<MessageId> {
    posts(team, store, "dev", query).await.iter().map(|post| post.message.id).collect()
}

/// Those of the keys that were dealt with in a channel.
pub(super) async fn known(team: &Team, store: &Shared, channel: &str, keys: &[&str]) -> Vec<String> {
    store.known_keys(team.id(), channel, keys).await.unwrap()
}

fn owned(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}
