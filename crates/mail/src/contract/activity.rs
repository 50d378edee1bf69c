//! What every store promises of what goes on in a project: how much is sent, who writes to whom, and who did what.

use jiff::SignedDuration;

use super::Shared;
use super::fixtures::{PLENTY, Team, at, draft, team, team_at};
use crate::channels::{ChannelName, NewPost};
use crate::events::EventKind;
use crate::ids::MessageId;
use crate::messages::Mark;
use crate::overview::{AuditEntry, Correspondence};

async fn read(store: &Shared, team: &Team, name: &str, id: MessageId) {
    store.mark(team.agent(name), id, &Mark::Read, at("16:05:00")).await.unwrap();
}

pub async fn traffic_is_counted_in_steps_of_time(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    for time in ["15:59:59", "16:00:00", "16:09:59.999999", "16:10:00", "16:30:00", "16:39:59", "16:40:00"] {
        shop.send(draft("alice", &["bob"]).taken(at(time))).await;
    }
    let id = bank.send(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    read(store, &bank, "bob", id).await;
    let traffic = async |project, minutes, steps| {
        store.traffic(project, at("16:00:00"), SignedDuration::from_mins(minutes), steps).await.unwrap()
    };
    assert_eq!(traffic(shop.id(), 10, 4).await, [2, 1, 0, 2]);
    assert_eq!(traffic(shop.id(), 10, 2).await, [2, 1]);
    assert_eq!(traffic(shop.id(), 60, 2).await, [6, 0]);
    assert_eq!(traffic(bank.id(), 10, 1).await, [1], "what became of a message is no traffic");
    assert_eq!(traffic(shop.id(), 10, 0).await, Vec::<u64>::new());
    assert_eq!(traffic(shop.id(), 0, 2).await, [0, 0], "steps of no length hold nothing");
}

pub async fn who_wrote_to_whom_is_counted_most_first(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(draft("carol", &["alice"])).await;
    shop.send(draft("alice", &["bob"])).await;
    shop.send(draft("alice", &["bob"]).cc(&["carol"])).await;
    shop.send(draft("bob", &["alice"]).bcc(&["carol"])).await;
    bank.send(draft("alice", &["bob"])).await;
    let post = NewPost::chat(ChannelName::parse("dev").unwrap());
    shop.send(draft("bob", &[]).cc(&["carol"]).posted(post)).await;
    let told = async |newest| store.correspondence(shop.id(), newest).await.unwrap();
    let line = |from: &str, to: &str, count| Correspondence { from: from.to_owned(), to: to.to_owned(), count };
    let all = [
        line("alice", "bob", 2),
        line("alice", "carol", 1),
        line("bob", "alice", 1),
        line("bob", "carol", 1),
        line("carol", "alice", 1),
    ];
    assert_eq!(told(PLENTY).await, all);
    assert_eq!(told(2).await, [line("bob", "alice", 1), line("bob", "carol", 1)], "only the newest");
    assert_eq!(told(0).await, []);
}

pub async fn the_audit_tells_who_did_what_to_what(store: &Shared) {
    let team = team(store).await;
    let (alice, bob) = (team.agent("alice"), team.agent("bob"));
    let id = team.send(draft("alice", &["bob"]).subject("Parser").thread("T")).await;
    read(store, &team, "bob", id).await;
    store.archive(bob, id, alice, at("16:06:00")).await.unwrap();
    team.granted(&team.request("bob", &["src/**"]), at("16:07:00")).await;
    store.retire(team.id(), bob, alice, at("16:08:00")).await.unwrap();
    let mut events = team.events().await;
    events.reverse();
    let audit = store.audit(team.id(), None, PLENTY).await.unwrap();
    let told = audit.iter().map(|one| (one.agent.as_deref(), one.subject.as_deref(), one.thread.as_deref()));
    let told: Vec<_> = told.collect();
    let (a, b, c, t) = (Some("alice"), Some("bob"), Some("carol"), Some("T"));
    let (parser, reservation) = (Some("Parser"), Some("src/**"));
    let expected = [
        (a, b, None),           // retired
        (a, reservation, None), // its reservation given back
        (b, reservation, None), // granted
        (a, parser, t),         // archived for bob
        (b, parser, t),         // read
        (a, parser, t),         // sent
        (c, c, None),           // registered
        (b, b, None),
        (a, a, None),
    ];
    assert_eq!(told, expected);
    assert_eq!(audit.into_iter().map(|entry| entry.event).collect::<Vec<_>>(), events);
}

pub async fn the_audit_is_read_in_pages_newest_first(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send_many(4).await;
    bank.send_many(1).await;
    let seqs = async |before, limit| {
        let page: Vec<AuditEntry> = store.audit(shop.id(), before, limit).await.unwrap();
        page.iter().map(|entry| entry.event.seq).collect::<Vec<_>>()
    };
    assert_eq!(seqs(None, 3).await, [7, 6, 5]);
    assert_eq!(seqs(Some(5), 3).await, [4, 3, 2]);
    assert_eq!(seqs(Some(2), 3).await, [1]);
    assert_eq!(seqs(Some(1), 3).await, Vec::<i64>::new());
    assert_eq!(seqs(None, 0).await, Vec::<i64>::new());
}

pub async fn the_audit_does_not_betray_a_blind_copy(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).bcc(&["carol", "alice"])).await;
    for name in ["carol", "bob", "alice"] {
        read(store, &team, name, id).await;
    }
    let audit = store.audit(team.id(), None, 2).await.unwrap();
    let told: Vec<_> = audit.iter().map(|entry| (entry.event.kind, entry.agent.as_deref())).collect();
    assert_eq!(told, [(EventKind::MessageRead, Some("bob")), (EventKind::MessageSent, Some("alice"))]);
}
