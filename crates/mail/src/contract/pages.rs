//! What every store promises of pages whose bodies are long: they end early, and the next one goes on.
//!
//! How pages follow each other otherwise is told with each noun.

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, entry_ids, ids, team};
use crate::ids::MessageId;
use crate::messages::{InboxQuery, PAGE_BYTES};

pub async fn a_mailbox_of_long_bodies_is_read_in_short_pages(store: &Shared) {
    let team = team(store).await;
    let sent = send_long(&team).await;
    let query = InboxQuery::newest(PLENTY);
    assert_eq!(entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()), [sent[4], sent[3], sent[2], sent[1]]);
    let query = InboxQuery { before: Some(sent[1]), ..query };
    assert_eq!(entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()), [sent[0]]);
    let query = InboxQuery { before: None, with_bodies: false, ..query };
    assert_eq!(store.inbox(team.agent("bob"), &query).await.unwrap().len(), 5, "without bodies nothing is long");
    let query = InboxQuery { thread: Some("T".into()), with_bodies: true, ..query };
    assert_eq!(store.inbox(team.agent("bob"), &query).await.unwrap().len(), 4);
    let outbox =
        async |before, with_bodies| ids(&store.outbox(team.agent("alice"), before, PLENTY, with_bodies).await.unwrap());
    assert_eq!(outbox(None, true).await, [sent[4], sent[3], sent[2], sent[1]]);
    assert_eq!(outbox(Some(sent[1]), true).await, [sent[0]]);
    assert_eq!(outbox(None, false).await.len(), 5);
}

pub async fn a_thread_of_long_bodies_is_read_in_short_pages(store: &Shared) {
    let team = team(store).await;
    let sent = send_long(&team).await;
    let thread =
        async |after, with_bodies| ids(&store.thread(team.id(), "T", after, PLENTY, with_bodies).await.unwrap());
    assert_eq!(thread(None, true).await, sent[..4]);
    assert_eq!(thread(Some(sent[3]), true).await, sent[4..]);
    assert_eq!(thread(None, false).await, sent);
    let tail = store.thread_tail(team.id(), "T", None, PLENTY).await.unwrap();
    assert_eq!(ids(&tail), sent[1..], "the newest are kept");
}

pub async fn unseen_mail_with_long_bodies_is_taken_in_short_pages(store: &Shared) {
    let team = team(store).await;
    let sent = send_long(&team).await;
    assert_eq!(team.take("bob", PLENTY, at("16:05:00")).await, sent[..4]);
    assert_eq!(team.take("bob", PLENTY, at("16:06:00")).await, sent[4..], "what was not returned was not taken");
}

pub async fn an_export_of_long_bodies_is_read_in_short_pages(store: &Shared) {
    let team = team(store).await;
    let sent = send_long(&team).await;
    let page = async |after| {
        let records = store.export(after, PLENTY).await.unwrap();
        records.iter().map(|record| record.message.id).collect::<Vec<_>>()
    };
    assert_eq!(page(None).await, sent[..4]);
    assert_eq!(page(Some(sent[3])).await, sent[4..]);
}

pub async fn a_body_longer_than_a_page_is_a_page(store: &Shared) {
    let team = team(store).await;
    let long = team.send(draft("alice", &["bob"]).body(&"x".repeat(PAGE_BYTES + 1))).await;
    let short = team.send(draft("alice", &["bob"])).await;
    assert_eq!(team.take("bob", PLENTY, at("16:05:00")).await, [long]);
    assert_eq!(team.take("bob", PLENTY, at("16:05:00")).await, [short]);
}

/// Three bodies of 7 MiB between two short ones: with the third a page exceeds its bytes.
async fn send_long(team: &Team) -> Vec<MessageId> {
    let long = "x".repeat(7 * 1024 * 1024);
    let mut sent = Vec::new();
    for body in ["short", &long, &long, &long, "short"] {
        sent.push(team.send(draft("alice", &["bob"]).thread("T").body(body)).await);
    }
    sent
}
