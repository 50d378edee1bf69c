//! What every store promises of inbox, outbox and mail that was not seen yet.

use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{PLENTY, at, draft, entry_ids, ids, stamp, team, team_at};
use super::leaving::{polled, until_some};
use crate::ids::{AgentId, MessageId};
use crate::messages::{About, DeliveryState, InboxQuery, Mark, Role};

pub async fn the_inbox_is_newest_first_and_a_limit_keeps_the_newest(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    assert_eq!(entry_ids(&team.inbox("bob").await), [sent[3], sent[2], sent[1], sent[0]]);
    let query = InboxQuery::newest(2);
    assert_eq!(entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()), [sent[3], sent[2]]);
    let query = InboxQuery::newest(0);
    assert_eq!(store.inbox(team.agent("bob"), &query).await.unwrap(), []);
}

pub async fn pages_of_the_inbox_meet_without_gap_or_repeat(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(5).await;
    let page = async |before| {
        let query = InboxQuery { before: Some(before), ..InboxQuery::newest(2) };
        entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap())
    };
    assert_eq!(page(sent[4]).await, [sent[3], sent[2]]);
    assert_eq!(page(sent[2]).await, [sent[1], sent[0]]);
    assert_eq!(page(sent[0]).await, []);
    assert_eq!(page(MessageId(i64::MAX)).await, [sent[4], sent[3]]);
}

pub async fn an_entry_holds_the_whole_message_and_the_own_delivery(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).cc(&["carol"]).bcc(&["alice"]).thread("T").wants_ack()).await;
    for (name, role) in [("bob", Role::To), ("carol", Role::Cc), ("alice", Role::Bcc)] {
        let inbox = team.inbox(name).await;
        assert_eq!(inbox.len(), 1);
        assert_eq!((&inbox[0].message, inbox[0].role), (&team.message(id).await, role));
        assert_eq!(inbox[0].state, DeliveryState::default());
    }
    let read = store.mark(team.agent("bob"), id, &Mark::Read, at("16:05:00")).await.unwrap();
    assert_eq!(Some(team.inbox("bob").await[0].state.clone()), read);
    assert_eq!(team.inbox("carol").await[0].state, DeliveryState::default());
}

pub async fn an_inbox_holds_only_what_was_sent_to_its_agent(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(draft("alice", &["bob"])).await;
    assert_eq!(shop.inbox("alice").await, [], "what one sent is not in one's inbox");
    assert_eq!(shop.inbox("carol").await, []);
    assert_eq!(bank.inbox("bob").await, [], "another project's agent has the same name");
    assert_eq!(store.inbox(AgentId(i64::MAX), &InboxQuery::newest(PLENTY)).await.unwrap(), []);
}

pub async fn unread_only_leaves_out_what_was_read(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(3).await;
    store.mark(team.agent("bob"), sent[1], &Mark::Read, at("16:05:00")).await.unwrap();
    team.take("bob", PLENTY, at("16:05:00")).await;
    let query = InboxQuery { unread_only: true, ..InboxQuery::newest(PLENTY) };
    assert_eq!(
        entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()),
        [sent[2], sent[0]],
        "being shown is not being read"
    );
    let query = InboxQuery { limit: 2, ..query };
    assert_eq!(
        entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()),
        [sent[2], sent[0]],
        "a limit counts what is returned"
    );
}

pub async fn ack_required_only_keeps_what_was_acknowledged_too(store: &Shared) {
    let team = team(store).await;
    let wanted = team.send(draft("alice", &["bob"]).wants_ack()).await;
    let given = team.send(draft("alice", &["bob"]).wants_ack()).await;
    let plain = team.send(draft("alice", &["bob"])).await;
    let ack = Mark::Acknowledged { note: String::new() };
    store.mark(team.agent("bob"), given, &ack, at("16:05:00")).await.unwrap();
    store.mark(team.agent("bob"), plain, &ack, at("16:05:00")).await.unwrap();
    let query = InboxQuery { ack_required_only: true, ..InboxQuery::newest(PLENTY) };
    assert_eq!(entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()), [given, wanted]);
}

pub async fn an_inbox_can_be_narrowed_to_one_thread(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).thread("FEAT-1")).await;
    let second = team.send(draft("carol", &["bob"]).thread("FEAT-1")).await;
    team.send(draft("alice", &["carol"]).thread("FEAT-1")).await;
    team.send(draft("alice", &["bob"]).thread("feat-1")).await;
    team.send(draft("alice", &["bob"]).thread("FEAT-10")).await;
    let alone = team.send(draft("alice", &["bob"])).await;
    let found = async |thread: &str| {
        let thread = Some(thread.to_owned());
        let query = InboxQuery { thread, ..InboxQuery::newest(PLENTY) };
        entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap())
    };
    assert_eq!(found("FEAT-1").await, [second, first]);
    assert_eq!(found(&alone.to_string()).await, [alone]);
    assert_eq!(found("FEAT-2").await, []);
}

pub async fn all_conditions_of_an_inbox_hold_together(store: &Shared) {
    let team = team(store).await;
    let wanted = draft("alice", &["bob"]).thread("T").wants_ack();
    let oldest = team.send(wanted.clone()).await;
    let read = team.send(wanted.clone()).await;
    team.send(draft("alice", &["bob"]).thread("T")).await;
    team.send(draft("alice", &["bob"]).thread("U").wants_ack()).await;
    let newer = team.send(wanted.clone()).await;
    let newest = team.send(wanted).await;
    store.mark(team.agent("bob"), read, &Mark::Read, at("16:05:00")).await.unwrap();
    let query = InboxQuery {
        unread_only: true,
        ack_required_only: true,
        thread: Some("T".into()),
        about: About::default(),
        before: Some(newest),
        limit: PLENTY,
        with_bodies: true,
    };
    assert_eq!(entry_ids(&store.inbox(team.agent("bob"), &query).await.unwrap()), [newer, oldest]);
}

pub async fn without_bodies_an_inbox_tells_all_but_the_body(store: &Shared) {
    let team = team(store).await;
    team.send(draft("alice", &["bob"]).cc(&["carol"]).subject("Plan").body("Long text")).await;
    let mut expected = team.inbox("bob").await;
    assert_eq!(expected[0].message.body, "Long text");
    expected[0].message.body.clear();
    let query = InboxQuery { with_bodies: false, ..InboxQuery::newest(PLENTY) };
    assert_eq!(store.inbox(team.agent("bob"), &query).await.unwrap(), expected);
}

pub async fn looking_at_mail_changes_nothing(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    let before = (team.events().await, store.deliveries(id).await.unwrap());
    team.inbox("bob").await;
    store.outbox(team.agent("alice"), None, PLENTY, true).await.unwrap();
    team.message(id).await;
    assert_eq!((team.events().await, store.deliveries(id).await.unwrap()), before);
    assert_eq!(team.take("bob", PLENTY, at("16:05:00")).await, [id]);
}

pub async fn the_outbox_is_newest_first_and_a_limit_keeps_the_newest(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    let alice = team.agent("alice");
    let newest_first = [sent[3], sent[2], sent[1], sent[0]];
    assert_eq!(ids(&store.outbox(alice, None, PLENTY, true).await.unwrap()), newest_first);
    assert_eq!(ids(&store.outbox(alice, None, 3, true).await.unwrap()), newest_first[..3]);
    assert_eq!(ids(&store.outbox(alice, Some(sent[2]), 1, true).await.unwrap()), [sent[1]]);
    assert_eq!(ids(&store.outbox(alice, Some(sent[0]), 1, true).await.unwrap()), []);
    assert_eq!(store.outbox(alice, None, 0, true).await.unwrap(), []);
}

pub async fn the_outbox_holds_only_what_its_agent_sent(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let blind = shop.sent(draft("alice", &[]).bcc(&["carol"])).await;
    shop.send(draft("bob", &["alice"])).await;
    bank.send(draft("alice", &["bob"])).await;
    assert_eq!(store.outbox(shop.agent("alice"), None, PLENTY, true).await.unwrap(), [blind]);
    assert_eq!(store.outbox(shop.agent("carol"), None, PLENTY, true).await.unwrap(), []);
}

pub async fn without_bodies_an_outbox_tells_all_but_the_body(store: &Shared) {
    let team = team(store).await;
    let mut sent = team.sent(draft("alice", &["bob"]).cc(&["carol"]).body("Long text")).await;
    assert_eq!(store.outbox(team.agent("alice"), None, PLENTY, true).await.unwrap(), [sent.clone()]);
    sent.body.clear();
    assert_eq!(store.outbox(team.agent("alice"), None, PLENTY, false).await.unwrap(), [sent]);
}

pub async fn unseen_mail_is_taken_oldest_first_and_a_limit_keeps_the_oldest(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    let bob = team.agent("bob");
    assert_eq!(store.take_unseen(bob, None, 0, at("16:05:00"), None).await.unwrap(), []);
    let mut taken = store.take_unseen(bob, None, 1, at("16:05:00"), None).await.unwrap();
    assert_eq!(entry_ids(&taken), sent[..1]);
    taken.extend(store.take_unseen(bob, None, PLENTY, at("16:05:00"), None).await.unwrap());
    let mut inbox = team.inbox("bob").await;
    inbox.reverse();
    assert_eq!(taken, inbox, "the same entries, with bodies, as they are now that they were shown");
    assert_eq!(store.take_unseen(team.agent("alice"), None, PLENTY, at("16:05:00"), None).await.unwrap(), []);
}

pub async fn what_was_read_or_shown_is_not_unseen(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    let bob = team.agent("bob");
    assert_eq!(team.take("bob", 1, at("16:05:00")).await, sent[..1]);
    store.mark(bob, sent[1], &Mark::Read, at("16:05:00")).await.unwrap();
    store.mark(bob, sent[2], &Mark::Acknowledged { note: String::new() }, at("16:05:00")).await.unwrap();
    assert_eq!(team.take("bob", PLENTY, at("16:05:00")).await, [sent[3]]);
}

pub async fn after_a_number_unread_mail_is_told_whether_shown_or_not(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(5).await;
    let bob = team.agent("bob");
    assert_eq!(team.take("bob", 3, at("16:05:00")).await, sent[..3]);
    store.mark(bob, sent[3], &Mark::Read, at("16:05:00")).await.unwrap();
    let after =
        async |id, limit| entry_ids(&store.take_unseen(bob, Some(id), limit, at("16:06:00"), None).await.unwrap());
    assert_eq!(after(sent[0], 2).await, [sent[1], sent[2]]);
    assert_eq!(after(sent[0], PLENTY).await, [sent[1], sent[2], sent[4]]);
    assert_eq!(after(sent[1], PLENTY).await, [sent[2], sent[4]]);
    assert_eq!(after(MessageId(0), PLENTY).await, [sent[0], sent[1], sent[2], sent[4]]);
    assert_eq!(after(sent[4], PLENTY).await, []);
    assert_eq!(team.take("bob", PLENTY, at("16:07:00")).await, [], "what was told after a number was shown");
}

pub async fn of_many_who_take_at_once_each_message_goes_to_one(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(40).await;
    let mut takers = JoinSet::new();
    for _ in 0..8 {
        let (store, bob) = (store.clone(), team.agent("bob"));
        takers.spawn(async move {
            let mut taken = Vec::new();
            loop {
                let some = store.take_unseen(bob, None, 3, at("16:05:00"), None).await.unwrap();
                if some.is_empty() {
                    return taken;
                }
                taken.extend(entry_ids(&some));
            }
        });
    }
    let mut taken: Vec<_> = takers.join_all().await.into_iter().flatten().collect();
    taken.sort();
    assert_eq!(taken, sent);
}

/// At whatever moment the caller goes away: before the job, after the commit, or with the answer on its way.
pub async fn what_is_taken_for_a_caller_that_went_away_is_told_to_the_next(store: &Shared) {
    let team = team(store).await;
    let bob = team.agent("bob");
    for round in 0..60 {
        let sent = team.send_many(1).await[0];
        let taken = polled(store.take_unseen(bob, None, 1, at("16:05:00"), None), round).await;
        let told = match taken {
            Some(taken) => entry_ids(&taken.unwrap()),
            None => until_some(async || team.take("bob", 1, at("16:06:00")).await).await,
        };
        assert_eq!(told, [sent]);
    }
    assert_eq!(team.take("bob", PLENTY, at("16:07:00")).await, [], "once");
}

pub async fn what_is_given_back_is_unseen_again_and_nothing_else_is(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    let bob = team.agent("bob");
    let (first, second) = (at("16:05:00"), at("16:06:00"));
    assert_eq!(team.take("bob", 2, first).await, sent[..2]);
    assert_eq!(team.take("bob", 1, second).await, sent[2..3]);
    assert!(!store.give_back(bob, &[], first).await.unwrap());
    assert!(store.give_back(bob, &[sent[0], sent[2], sent[2], sent[3], MessageId(1_000)], first).await.unwrap());
    assert!(!store.give_back(team.agent("alice"), &sent, second).await.unwrap(), "it is not hers");
    assert_eq!(team.take("bob", PLENTY, at("16:07:00")).await, [sent[0], sent[3]]);
    store.give_back(bob, &[sent[0]], first).await.unwrap();
    assert_eq!(team.take("bob", PLENTY, at("16:08:00")).await, [], "somebody showed it since");
}

pub async fn what_is_given_back_stays_read_and_archived(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(2).await;
    let bob = team.agent("bob");
    team.take("bob", PLENTY, at("16:05:00")).await;
    store.mark(bob, sent[0], &Mark::Read, at("16:06:00")).await.unwrap();
    store.archive(bob, sent[1], bob, at("16:06:00")).await.unwrap();
    store.give_back(bob, &sent, at("16:05:00")).await.unwrap();
    assert_eq!(team.take("bob", PLENTY, at("16:07:00")).await, []);
}

pub async fn what_was_not_seen_is_counted_up_to_a_limit(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(4).await;
    let bob = team.agent("bob");
    let count = async |most| store.count_unseen(bob, most).await.unwrap();
    assert_eq!((count(3).await, count(PLENTY).await, count(0).await), (3, 4, 0));
    team.take("bob", 1, at("16:05:00")).await;
    store.mark(bob, sent[1], &Mark::Read, at("16:05:00")).await.unwrap();
    assert_eq!(count(PLENTY).await, 2);
    assert_eq!(store.count_unseen(team.agent("alice"), PLENTY).await.unwrap(), 0);
}

pub async fn taking_nothing_writes_nothing(store: &Shared) {
    let team = team(store).await;
    team.send_many(2).await;
    team.take("bob", PLENTY, at("16:05:00")).await;
    let before = stamp(store).await;
    assert_eq!(team.take("bob", PLENTY, at("16:06:00")).await, []);
    assert_eq!(team.take("carol", PLENTY, at("16:06:00")).await, []);
    assert_eq!(stamp(store).await, before);
}
