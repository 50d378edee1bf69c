//! What every store promises of messages: how they are kept, numbered, timed and addressed, and sent but once.
//!
//! Finding mail is told in `mailboxes`, what recipients do with it in `marks`.

use formats::{Kind, markdown};
use tokio::task::JoinSet;

use super::Shared;
use super::fixtures::{Draft, PLENTY, at, draft, team, team_at};
use crate::ids::{AgentId, MessageId};
use crate::messages::{Appended, DeliveryState, Importance, Message, Role, Vouched};

pub async fn a_message_is_kept_as_it_was_sent(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("bob", &["alice"])).await;
    let full = Draft {
        thread: Some("FEAT-1".into()),
        reply_to: Some(first),
        importance: Importance::High,
        ack_required: true,
        kind: Some(Kind::Markdown(markdown::Kind::HelpRequest)),
        work_id: Some("bd-42".into()),
        door: "channel",
        vouched: Vouched::Verified,
        ..draft("alice", &["carol", "bob"]).cc(&["alice"]).subject("Stuck").body("I **need** help.")
    };
    let taken = at("16:00:00.123456");
    let Appended::New { id, created_at } = team.append(full.taken(taken)).await else { panic!("it is new") };
    let expected = Message {
        id,
        project: team.id(),
        from: "alice".into(),
        to: vec!["carol".into(), "bob".into()],
        cc: vec!["alice".into()],
        subject: "Stuck".into(),
        body: "I **need** help.".into(),
        thread: "FEAT-1".into(),
        reply_to: Some(first),
        importance: Importance::High,
        ack_required: true,
        kind: Some(Kind::Markdown(markdown::Kind::HelpRequest)),
        work_id: Some("bd-42".into()),
        door: "channel".into(),
        vouched: Vouched::Verified,
        created_at: taken,
        problems: Vec::new(),
    };
    assert_eq!(created_at, taken);
    assert_eq!(team.message(id).await, expected);
}

pub async fn what_a_message_does_not_say_is_kept_as_not_said(store: &Shared) {
    let team = team(store).await;
    let plain = team.sent(draft("alice", &["bob"])).await;
    assert_eq!((plain.reply_to, plain.kind, plain.work_id), (None, None, None));
    assert_eq!(plain.cc, Vec::<String>::new());
}

pub async fn every_kind_importance_and_vouched_is_read_back(store: &Shared) {
    let team = team(store).await;
    for kind in Kind::all() {
        let sent = team.sent(Draft { kind: Some(kind), ..draft("alice", &["bob"]) }).await;
        assert_eq!(sent.kind, Some(kind));
    }
    for importance in [Importance::Low, Importance::Normal, Importance::High, Importance::Urgent] {
        assert_eq!(team.sent(Draft { importance, ..draft("alice", &["bob"]) }).await.importance, importance);
    }
    for vouched in [Vouched::Claimed, Vouched::Verified, Vouched::Human] {
        assert_eq!(team.sent(Draft { vouched, ..draft("alice", &["bob"]) }).await.vouched, vouched);
    }
}

pub async fn a_message_without_a_thread_starts_one_named_after_its_number(store: &Shared) {
    let team = team(store).await;
    for id in team.send_many(2).await {
        assert_eq!(team.message(id).await.thread, id.to_string());
    }
    assert_eq!(team.sent(draft("alice", &["bob"]).thread("7")).await.thread, "7", "a name that was given is kept");
}

pub async fn a_message_of_another_project_is_not_found(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let id = shop.send(draft("alice", &["bob"])).await;
    assert_eq!(store.message(bank.id(), id).await.unwrap(), None);
    assert!(store.message(shop.id(), id).await.unwrap().is_some());
    for unknown in [i64::MIN, -1, 0, id.0 + 1, i64::MAX] {
        assert_eq!(store.message(shop.id(), MessageId(unknown)).await.unwrap(), None, "{unknown}");
    }
}

pub async fn numbers_rise_over_all_projects(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let mut numbers = Vec::new();
    for team in [&shop, &bank, &bank, &shop] {
        numbers.push(team.send(draft("alice", &["bob"])).await);
    }
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    assert!(numbers[0].0 > 0);
}

pub async fn created_at_rises_while_the_clock_stands_still(store: &Shared) {
    let team = team(store).await;
    let first = team.sent(draft("alice", &["bob"])).await;
    let second = team.sent(draft("bob", &["alice"])).await;
    let third = team.sent(draft("carol", &["alice"])).await;
    assert_eq!(first.created_at, at("16:00:00"));
    assert!(first.created_at < second.created_at && second.created_at < third.created_at);
    assert!(third.created_at < at("16:00:01"), "it moves on as little as it has to");
}

pub async fn created_at_rises_when_the_clock_goes_back(store: &Shared) {
    let team = team(store).await;
    let first = team.sent(draft("alice", &["bob"]).taken(at("17:00:00"))).await;
    let second = team.sent(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    assert!(first.created_at < second.created_at && second.created_at < at("17:00:01"));
    let third = team.sent(draft("alice", &["bob"]).taken(at("18:00:00"))).await;
    assert_eq!(third.created_at, at("18:00:00"), "a clock that is right again is believed again");
}

pub async fn the_time_of_one_project_does_not_move_another(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    shop.send(draft("alice", &["bob"]).taken(at("17:00:00"))).await;
    let other = bank.sent(draft("alice", &["bob"]).taken(at("16:00:00"))).await;
    assert_eq!(other.created_at, at("16:00:00"));
}

pub async fn deliveries_are_told_by_role_and_then_in_the_senders_order(store: &Shared) {
    let mut team = team(store).await;
    for name in ["dave", "erin", "frank"] {
        team.join(name).await;
    }
    let mixed = draft("alice", &[]).bcc(&["frank"]).cc(&["erin"]).to(&["dave"]);
    let id = team.send(mixed.bcc(&["alice"]).to(&["bob"]).cc(&["carol"])).await;
    let deliveries = store.deliveries(id).await.unwrap();
    let told: Vec<_> = deliveries.iter().map(|delivery| (delivery.role, delivery.recipient.as_str())).collect();
    let (to, cc, bcc) = (Role::To, Role::Cc, Role::Bcc);
    assert_eq!(told, [(to, "dave"), (to, "bob"), (cc, "erin"), (cc, "carol"), (bcc, "frank"), (bcc, "alice")]);
    assert!(deliveries.iter().all(|delivery| delivery.state == DeliveryState::default()), "nobody did anything yet");
    let message = team.message(id).await;
    assert_eq!((message.to, message.cc), (names(&["dave", "bob"]), names(&["erin", "carol"])));
}

pub async fn blind_recipients_are_not_told_in_the_message(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"]).bcc(&["carol"])).await;
    let message = team.message(id).await;
    assert_eq!((message.to, message.cc), (names(&["bob"]), names(&[])));
    assert_eq!(team.delivery(id, "carol").await.role, Role::Bcc);
    for name in ["bob", "carol"] {
        let entry = &team.inbox(name).await[0];
        assert_eq!((&entry.message.to, &entry.message.cc), (&names(&["bob"]), &names(&[])), "{name}");
    }
    let only_blind = team.sent(draft("alice", &[]).bcc(&["carol"])).await;
    assert_eq!((only_blind.to, only_blind.cc), (names(&[]), names(&[])));
}

pub async fn one_may_write_to_oneself(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["alice"])).await;
    assert_eq!(team.inbox("alice").await[0].message, team.message(id).await);
}

pub async fn an_unknown_message_has_no_deliveries(store: &Shared) {
    let team = team(store).await;
    let id = team.send(draft("alice", &["bob"])).await;
    assert_eq!(store.deliveries(MessageId(id.0 + 1)).await.unwrap(), []);
}

pub async fn hundreds_of_recipients_each_get_a_delivery_in_order(store: &Shared) {
    let mut team = team(store).await;
    // Falling names, so that neither sorting nor registration order can pass for the sender's order.
    let everyone: Vec<String> = (0..300).map(|number| format!("agent-{number:03}")).collect();
    for name in &everyone {
        team.join(name).await;
    }
    let everyone: Vec<&str> = everyone.iter().rev().map(String::as_str).collect();
    let id = team.send(draft("alice", &everyone)).await;
    assert_eq!(team.message(id).await.to, everyone);
    let deliveries = store.deliveries(id).await.unwrap();
    assert!(deliveries.iter().map(|delivery| delivery.recipient.as_str()).eq(everyone));
    assert_eq!(team.inbox("agent-123").await.len(), 1);
}

pub async fn text_is_kept_byte_for_byte(store: &Shared) {
    let team = team(store).await;
    let texts = [
        "",
        "  spaces on both sides  ",
        "line one\nline two\r\nline three\rend\n",
        "tab\tbell\u{7}escape\u{1b}[31m",
        "Ärger 漢字 🦀👩‍👩‍👧 مرحبا \u{202e}right to left",
        "e\u{301} is not \u{e9}",
        "it's \"quoted\" \\ 100% _ {} $1 ?1 :name --",
        "\u{feff}mark of order\u{fffd}\u{10ffff}",
    ];
    for text in texts {
        let sent = team.sent(draft("alice", &["bob"]).subject(text).body(text)).await;
        assert_eq!((sent.subject.as_str(), sent.body.as_str()), (text, text));
    }
}

/// All words differ, because an index of words may have a limit that a repeated word never meets.
pub async fn a_body_of_a_mebibyte_is_kept(store: &Shared) {
    let team = team(store).await;
    let mut words = String::with_capacity(1 << 20);
    for number in 0u32.. {
        if words.len() >= 1 << 20 {
            break;
        }
        words.push_str(&format!("{} ", &blake3::hash(&number.to_le_bytes()).to_hex()[..15]));
    }
    let id = team.send(draft("alice", &["bob"]).body(&words)).await;
    assert!(team.message(id).await.body == words, "not printed, because it is long");
    assert!(team.inbox("bob").await[0].message.body == words);
}

pub async fn a_word_of_four_mebibytes_is_kept(store: &Shared) {
    let team = team(store).await;
    let word = "x".repeat(4 << 20);
    let id = team.send(draft("alice", &["bob"]).body(&word)).await;
    assert!(team.message(id).await.body == word, "not printed, because it is long");
}

pub async fn an_append_that_fails_leaves_nothing_behind(store: &Shared) {
    let team = team(store).await;
    let before = (team.events().await, store.counts(at("16:00:00")).await.unwrap());
    let mut broken = team.new_message(draft("alice", &["bob"]).key("k1", 1));
    broken.recipients.push((AgentId(i64::MAX), "nobody".into(), Role::To));
    assert!(store.append(&broken).await.is_err(), "there is no such recipient");
    assert_eq!((team.events().await, store.counts(at("16:00:00")).await.unwrap()), before);
    assert_eq!(team.inbox("bob").await, []);
    team.send(draft("alice", &["bob"]).key("k1", 1)).await;
}

/// Writes that are committed together stand and fall each for itself.
pub async fn an_append_that_fails_harms_no_other(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for number in 0..40 {
        let (store, mut message) = (store.clone(), team.new_message(draft("alice", &["bob"])));
        let broken = number % 2 == 0;
        if broken {
            message.recipients.push((AgentId(i64::MAX), "nobody".into(), Role::To));
        }
        tasks.spawn(async move { store.append(&message).await.is_err() == broken });
    }
    assert!(tasks.join_all().await.into_iter().all(|as_expected| as_expected));
    assert_eq!(team.inbox("bob").await.len(), 20);
    let seqs: Vec<i64> = team.events().await.iter().map(|event| event.seq).collect();
    assert!(seqs.iter().copied().eq(1..=23), "three agents and twenty messages, without gaps: {seqs:?}");
}

pub async fn appending_at_once_loses_nothing_and_keeps_the_order(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for writer in 0..8 {
        let (store, message) = (store.clone(), team.new_message(draft("alice", &["bob"]).body(&writer.to_string())));
        tasks.spawn(async move {
            let mut sent = Vec::new();
            for _ in 0..25 {
                let Appended::New { id, created_at } = store.append(&message).await.unwrap() else {
                    panic!("every message is new");
                };
                sent.push((id, created_at));
            }
            assert!(sent.is_sorted_by(|one, next| one < next), "a writer's own messages keep their order");
            sent
        });
    }
    let mut sent = tasks.join_all().await.concat();
    sent.sort_unstable();
    assert!(sent.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1), "times rise with numbers");
    let kept = store.outbox(team.agent("alice"), None, PLENTY, true).await.unwrap();
    assert!(kept.iter().rev().map(|message| (message.id, message.created_at)).eq(sent.iter().copied()));
    assert_eq!(team.inbox("bob").await.len(), 200);
    for writer in 0..8 {
        assert_eq!(kept.iter().filter(|message| message.body == writer.to_string()).count(), 25);
    }
}

pub async fn appending_twice_with_one_key_keeps_one(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    let again = team.append(draft("alice", &["bob"]).key("k1", 1).taken(at("17:00:00"))).await;
    assert_eq!(again, Appended::Repeated(first));
    assert_eq!(team.inbox("bob").await.len(), 1);
}

pub async fn a_key_used_for_other_content_is_taken(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    let other = draft("alice", &["carol"]).body("Something else").key("k1", 2);
    assert_eq!(team.append(other).await, Appended::KeyTaken(first));
    assert_eq!(team.inbox("carol").await, []);
    let again = team.append(draft("alice", &["bob"]).key("k1", 1)).await;
    assert_eq!(again, Appended::Repeated(first), "the key still stands for the first message");
}

pub async fn a_repeated_key_adds_nothing(store: &Shared) {
    let team = team(store).await;
    team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    let before = (team.events().await, store.counts(at("16:00:00")).await.unwrap());
    team.append(draft("alice", &["bob"]).key("k1", 1)).await;
    team.append(draft("alice", &["bob", "carol"]).key("k1", 2)).await;
    assert_eq!((team.events().await, store.counts(at("16:00:00")).await.unwrap()), before);
}

pub async fn a_key_counts_within_its_sender(store: &Shared) {
    let (shop, bank) = (team(store).await, team_at(store, "/projects/bank").await);
    let first = shop.send(draft("alice", &["carol"]).key("k1", 1)).await;
    assert_ne!(shop.send(draft("bob", &["carol"]).key("k1", 1)).await, first);
    assert_ne!(bank.send(draft("alice", &["carol"]).key("k1", 1)).await, first);
    assert_eq!(shop.append(draft("alice", &["carol"]).key("k1", 1)).await, Appended::Repeated(first));
}

pub async fn keys_are_compared_exactly(store: &Shared) {
    let team = team(store).await;
    for key in ["k1", "K1", "k1 ", "k", "", "ḱ1", "k\u{301}1"] {
        team.send(draft("alice", &["bob"]).key(key, 1)).await;
    }
    assert_eq!(team.inbox("bob").await.len(), 7);
}

pub async fn a_key_is_remembered_after_much_other_mail(store: &Shared) {
    let team = team(store).await;
    let first = team.send(draft("alice", &["bob"]).key("k1", 1)).await;
    team.send_many(50).await;
    team.send(draft("alice", &["bob"]).key("k2", 1).taken(at("23:00:00"))).await;
    let again = draft("alice", &["bob"]).key("k1", 1).taken(at("23:59:59"));
    assert_eq!(team.append(again).await, Appended::Repeated(first));
}

pub async fn the_same_content_without_a_key_is_sent_twice(store: &Shared) {
    let team = team(store).await;
    let sent = team.send_many(2).await;
    assert_ne!(sent[0], sent[1]);
    assert_eq!(team.inbox("bob").await.len(), 2);
}

pub async fn appending_at_once_with_one_key_keeps_one(store: &Shared) {
    let team = team(store).await;
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (store, message) = (store.clone(), team.new_message(draft("alice", &["bob"]).key("k1", 1)));
        tasks.spawn(async move { store.append(&message).await.unwrap() });
    }
    let answers = tasks.join_all().await;
    let inbox = team.inbox("bob").await;
    assert_eq!(inbox.len(), 1);
    let repeated = Appended::Repeated(inbox[0].message.id);
    assert_eq!(answers.iter().filter(|answer| **answer == repeated).count(), 7, "{answers:?}");
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}
