//! What the post office does because of messages in JSON: files are reserved, faults are told to both sides and reported.

use mail::Error;
use mail::agents::{AgentName, AgentStore, Profile, Taking, TokenHash};
use mail::messages::{InboxEntry, InboxQuery, Message};
use mail::office::{Draft, Identity, ReplyDraft, Rules, Sent};
use mail::reservations::ReservationStore;
use mail::responses::{FilesOutcome, OFFICE_AGENT};
use serde_json::{Value, json};

use crate::shop::{PROJECT, Shop, draft, named, shop};
use crate::team::at;

const ID: &str = "msg-623e4567-e89b-12d3-a456-426614174005";

/// A valid message of that type, with these fields more or instead.
fn message(kind: &str, fields: Value) -> String {
    let mut message = json!({
        "version": "1.0.0", "timestamp": "2025-12-25T18:00:00Z", "sender_id": "agent-0", "message_id": ID, "type": kind,
        "task_id": "bd-42",
    });
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    message.to_string()
}

fn asking(request: Value, alternatives: Value) -> String {
    message("file_reservation", json!({ "reservation_request": request, "alternatives": alternatives }))
}

fn exclusive(patterns: &[&str]) -> Value {
    json!({ "mode": "exclusive", "file_patterns": patterns, "duration_minutes": 120, "reason": "the login form" })
}

fn update(fields: Value) -> String {
    let rest = json!({ "update_type": "progress", "status_summary": "s", "blockers": [] });
    let mut all = rest.as_object().unwrap().clone();
    all.extend(fields.as_object().unwrap().clone());
    message("status_update", Value::Object(all))
}

async fn sent(shop: &Shop, from: &str, body: &str) -> Sent {
    shop.office.send(Draft { body, subject: "x", ..draft(from, None) }).await.unwrap()
}

async fn inbox(shop: &Shop, agent: usize) -> Vec<InboxEntry> {
    shop.office.inbox(PROJECT, draft(&format!("agent-{agent}"), None).from, &InboxQuery::newest(99)).await.unwrap()
}

/// What the office wrote to the first agent, oldest first.
async fn told(shop: &Shop) -> Vec<Message> {
    let mut told: Vec<Message> = inbox(shop, 0).await.into_iter().map(|entry| entry.message).collect();
    told.retain(|message| message.from == OFFICE_AGENT);
    told.reverse();
    told
}

async fn held(shop: &Shop) -> Vec<(String, String, bool)> {
    let held = shop.store.reservations(shop.team.project, None, 99, at(0)).await.unwrap();
    held.into_iter().map(|one| (one.holder_name, one.pattern.as_str().to_owned(), one.exclusive)).collect()
}

fn paths(sent: &Sent) -> Vec<&str> {
    sent.notes.problems.iter().map(|problem| problem.path.as_str()).collect()
}

#[tokio::test]
async fn a_request_for_files_reserves_them_in_the_name_of_its_sender() {
    let shop = shop(Rules::default()).await;
    let body = asking(exclusive(&["src/**/*.ts", "/projects/shop/docs/a.md"]), json!([]));
    let asked = sent(&shop, "agent-0", &body).await;
    let of = |pattern: &str| ("agent-0".to_owned(), pattern.to_owned(), true);
    assert_eq!(held(&shop).await, [of("src/**/*.ts"), of("docs/a.md")]);
    let reservation = shop.store.reservations(shop.team.project, None, 1, at(0)).await.unwrap().remove(0);
    assert_eq!((reservation.ends_at, reservation.reason.as_str()), (at(7_200_000_000), "the login form"));
    let told = told(&shop).await;
    assert_eq!(asked.reservation.as_ref(), told.first());
    assert_eq!((told.len(), told[0].work_id.as_deref(), told[0].thread.as_str()), (1, Some("bd-42"), "bd-42"));
    assert_eq!(FilesOutcome::read(&told[0].body).unwrap().granted[0].expires_ts, "2023-11-15T00:13:20.000000Z");
    assert_eq!(asked.notes.problems, []);
    for mode in ["shared_read", "shared_write"] {
        let body = asking(json!({ "mode": mode, "file_patterns": [mode] }), json!(null));
        sent(&shop, "agent-0", &body.replace("4005", if mode == "shared_read" { "4006" } else { "4007" })).await;
    }
    let shared: Vec<bool> = held(&shop).await.iter().skip(2).map(|(.., exclusive)| *exclusive).collect();
    assert_eq!(shared, [false, false]);
}

#[tokio::test]
async fn files_that_another_holds_are_refused_by_name_and_an_alternative_is_granted() {
    let shop = shop(Rules::default()).await;
    let other = asking(exclusive(&["src/**"]), json!([])).replace("\"agent-0\"", "\"agent-1\"");
    sent(&shop, "agent-1", &other).await;
    let body = asking(exclusive(&["free.md", "src/a.rs"]), json!([])).replace("4005", "4006");
    let refused = sent(&shop, "agent-0", &body).await.reservation.unwrap();
    let report: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(report["error"]["code"], "FILE_RESERVATION_CONFLICT");
    assert_eq!((&report["task_id"], &report["type"]), (&json!("bd-42"), &json!("error_report")));
    let outcome = FilesOutcome::read(&refused.body).unwrap();
    assert_eq!((outcome.granted, outcome.conflicts[0].holder.as_str()), (vec![], "agent-1"));
    let alternatives = json!(["prose", { "pattern": "src/b.rs" }, { "pattern": "docs/**", "mode": "shared" }]);
    let body = asking(exclusive(&["src/a.rs"]), alternatives).replace("4005", "4007");
    let granted = sent(&shop, "agent-0", &body).await.reservation.unwrap();
    assert!(granted.subject.starts_with("Reserved, as alternative 3: 'docs/**' (shared)"), "{}", granted.subject);
    assert_eq!(held(&shop).await.len(), 2);
    let body = asking(exclusive(&["src/a.rs"]), json!(["prose"])).replace("4005", "4008");
    let refused = sent(&shop, "agent-0", &body).await.reservation.unwrap();
    assert!(refused.body.contains("Not tried: alternative 1"), "{}", refused.body);
}

#[tokio::test]
async fn a_request_that_is_malformed_reserves_nothing_and_says_why() {
    let shop = shop(Rules::default()).await;
    let odd = |field: &str, value: Value| {
        let mut request = exclusive(&["src/**"]);
        request[field] = value;
        asking(request, json!([{ "pattern": "docs/**", "mode": "shared" }]))
    };
    let cases = [
        (odd("mode", json!("shared")), "reservation_request.mode"),
        (odd("file_patterns", json!([])), "reservation_request.file_patterns"),
        (odd("file_patterns", json!(["a", "/etc/passwd"])), "reservation_request.file_patterns"),
        (odd("file_patterns", json!(["a\u{0}b"])), "reservation_request.file_patterns"),
        (odd("duration_minutes", json!(0)), "reservation_request.duration_minutes"),
        (odd("duration_minutes", json!(10_081)), "reservation_request.duration_minutes"),
        (odd("duration_minutes", json!(1e300)), "reservation_request.duration_minutes"),
        (odd("reason", json!("x".repeat(5_000))), "reservation_request.reason"),
        (odd("reason", json!("\u{0}")), "reservation_request.reason"),
        (odd("mode", json!("exclusive")).replace("\"agent-0\"", "\"another\""), "sender_id"),
        (odd("mode", json!("exclusive")).replace("\"task_id\"", "\"task\""), "task_id"),
    ];
    for (count, (body, path)) in cases.iter().enumerate() {
        let body = body.replace("4005", &format!("41{count:02}"));
        let asked = sent(&shop, "agent-0", &body).await;
        assert_eq!(paths(&asked), [*path], "{body}");
        let told = told(&shop).await;
        assert_eq!((told.len(), asked.reservation.as_ref()), (count + 1, told.last()), "{path}");
        assert!(told[count].subject.starts_with("Not reserved: "), "{}", told[count].subject);
        assert!(told[count].body.contains(path), "{}", told[count].body);
        let strict = Draft { body: &body, subject: "x", strict: true, ..draft("agent-0", None) };
        let refused = shop.office.send(strict).await.unwrap_err();
        assert!(matches!(refused, Error::Malformed { rejection: Some(_), .. }), "{refused:?}");
    }
    assert_eq!(held(&shop).await, []);
    assert_eq!(inbox(&shop, 1).await.len(), cases.len(), "the messages themselves arrive, but for the strict ones");
}

#[tokio::test]
async fn a_request_under_a_key_reserves_and_is_told_of_once() {
    let shop = shop(Rules::default()).await;
    let body = asking(exclusive(&["src/**"]), json!([]));
    let keyed = || Draft { body: &body, subject: "x", idempotency_key: Some("k"), ..draft("agent-0", None) };
    let first = shop.office.send(keyed()).await.unwrap();
    let again = shop.office.send(keyed()).await.unwrap();
    assert_eq!((again.is_new, &again.reservation), (false, &first.reservation));
    assert!(first.reservation.is_some() && again.notes.problems.is_empty());
    assert_eq!((told(&shop).await.len(), held(&shop).await.len()), (1, 1));
}

#[tokio::test]
async fn an_id_that_was_used_for_something_else_is_told_and_the_same_once_more_is_not() {
    let shop = shop(Rules::default()).await;
    assert_eq!(paths(&sent(&shop, "agent-0", &update(json!({}))).await), [""; 0]);
    assert_eq!(paths(&sent(&shop, "agent-0", &update(json!({}))).await), [""; 0], "a retry without a key");
    let other = update(json!({ "status_summary": "other" }));
    let reused = sent(&shop, "agent-0", &other).await;
    assert_eq!(paths(&reused), ["message_id"]);
    let wanted = &reused.notes.problems[0].wanted;
    assert!(wanted.contains("message 1 has this one"), "{wanted}");
    let bare = other.replace("msg-623E", "623e").replace("\"agent-0\"", "\"agent-1\"");
    assert_eq!(paths(&sent(&shop, "agent-1", &bare).await), ["message_id"], "another's counts too");
    shop.office.register(named(Some("agent-2"), None)).await.unwrap();
    let stranger = bare.replace("\"agent-1\"", "\"agent-2\"");
    let stranger = sent(&shop, "agent-2", &stranger).await;
    let wanted = &stranger.notes.problems[0].wanted;
    assert!(wanted.contains("another message has this one"), "a stranger's message has no number: {wanted}");
    let strict = Draft { body: &other, subject: "x", strict: true, ..draft("agent-0", None) };
    let refused = shop.office.send(strict).await.unwrap_err();
    assert!(matches!(&refused, Error::Malformed { rejection: Some(one), .. } if one.message_id.as_deref() == Some(ID)));
}

#[tokio::test]
async fn a_sender_that_calls_itself_otherwise_is_told() {
    let shop = shop(Rules::default()).await;
    let body = update(json!({ "sender_id": "orchestrator" }));
    let other = sent(&shop, "agent-0", &body).await;
    let told: Vec<String> = other.notes.problems.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["sender_id: found 'orchestrator', wanted 'agent-0', the name of who sends it"]);
    let strict = Draft { body: &body, subject: "x", strict: true, ..draft("agent-0", None) };
    assert!(matches!(shop.office.send(strict).await.unwrap_err(), Error::Malformed { .. }));
}

#[tokio::test]
async fn whoever_receives_a_malformed_message_sees_what_is_wrong_with_or_without_its_body() {
    let shop = shop(Rules::default()).await;
    let odd = sent(&shop, "agent-0", &update(json!({ "update_type": "status", "sender_id": "x" }))).await;
    sent(&shop, "agent-0", "Hello").await;
    assert_eq!(paths(&odd), ["update_type", "sender_id"]);
    for with_bodies in [true, false] {
        let query = InboxQuery { with_bodies, ..InboxQuery::newest(9) };
        let inbox = shop.office.inbox(PROJECT, draft("agent-1", None).from, &query).await.unwrap();
        assert_eq!(inbox[1].message.problems, odd.notes.problems);
        assert_eq!(inbox[0].message.problems, []);
    }
    assert_eq!(told(&shop).await, [], "whoever has an answer needs no report");
}

#[tokio::test]
async fn what_no_receiver_can_read_is_reported_to_its_sender() {
    let shop = shop(Rules::default()).await;
    for (number, (body, code)) in [
        (message("chat", json!({})), "unknown_type"),
        (message("", json!({})), "unknown_type"),
        (message("chat", json!({ "sender_id": "somebody" })), "unknown_type"),
        (update(json!({ "version": "2.0.0" })), "version_mismatch"),
    ]
    .into_iter()
    .enumerate()
    {
        sent(&shop, "agent-0", &body.replace("4005", &(4200 + number).to_string())).await;
        let told = told(&shop).await;
        let report: Value = serde_json::from_str(&told[number].body).unwrap();
        assert_eq!((told.len(), &report["error"]["code"]), (number + 1, &json!(code)));
        let id = format!("msg-623e4567-e89b-12d3-a456-42661417{:04}", 4200 + number);
        assert_eq!(report["error"]["context"]["message_id"], id);
        assert_eq!(told[number].kind.map(formats::Kind::as_str), Some("error_report"));
    }
    for no_message in ["{\"type\":\"object\",\"properties\":{}}", "{\"a\":1}", "Hello"] {
        assert_eq!(paths(&sent(&shop, "agent-0", no_message).await), [""; 0], "{no_message}");
    }
    assert_eq!(told(&shop).await.len(), 4);
}

#[tokio::test]
async fn a_report_is_never_reported_on_nor_is_an_answer_to_one() {
    let shop = shop(Rules::default()).await;
    for fields in [json!({}), json!({ "version": "2.0.0" }), json!({ "severity": "x", "sender_id": "y" })] {
        sent(&shop, "agent-0", &message("error_report", fields)).await;
    }
    assert_eq!(told(&shop).await, []);
    sent(&shop, "agent-0", &message("chat", json!({})).replace("4005", "4301")).await;
    let report = told(&shop).await.remove(0);
    for kind in ["chat", "file_reservation"] {
        let body = message(kind, json!({})).replace("4005", "4302");
        let answer = Draft { to: vec![], body: &body, ..draft("agent-0", None) };
        shop.office.reply(ReplyDraft { reply_to: report.id, subject: None, draft: answer }).await.unwrap();
    }
    assert_eq!(told(&shop).await.len(), 1);
    for (to, number) in [(vec![OFFICE_AGENT], 1), (vec![OFFICE_AGENT, "agent-1"], 2)] {
        let body = message("chat", json!({})).replace("4005", &format!("430{}", number + 2));
        let to = to.into_iter().map(str::to_owned).collect();
        shop.office.send(Draft { to, body: &body, subject: "x", ..draft("agent-0", None) }).await.unwrap();
        assert_eq!(told(&shop).await.len(), number, "said to the office alone, it is not reported on");
    }
}

#[tokio::test]
async fn files_are_reserved_whatever_the_message_answers() {
    let shop = shop(Rules::default()).await;
    sent(&shop, "agent-0", &message("chat", json!({}))).await;
    let report = told(&shop).await.remove(0);
    let body = asking(exclusive(&["src/**"]), json!([])).replace("4005", "4006");
    let answer = Draft { to: vec![], body: &body, ..draft("agent-0", None) };
    let sent = shop.office.reply(ReplyDraft { reply_to: report.id, subject: None, draft: answer }).await.unwrap();
    assert!(sent.reservation.is_some());
    assert_eq!(held(&shop).await.len(), 1);
}

#[tokio::test]
async fn nobody_else_speaks_as_the_office() {
    for identity in [Identity::Claimed, Identity::Strict] {
        let shop = shop(Rules { identity, ..Rules::default() }).await;
        let (token, hash) = ("old", TokenHash::of("old"));
        let (name, taking) = (AgentName::parse(OFFICE_AGENT).unwrap(), Taking::NewOnly);
        let old = shop.store.register(shop.team.project, &name, &Profile::default(), Some(hash), taking, at(0)).await;
        let old = old.unwrap().unwrap();
        for name in [OFFICE_AGENT, "PostRider", " postrider ", "@postrider"] {
            let refused = shop.office.register(named(Some(name), Some(token))).await.unwrap_err();
            assert_eq!(refused.code(), "NAME_TAKEN", "{name}");
            assert_eq!(shop.office.welcome_person(PROJECT, name).await.unwrap_err().code(), "NAME_TAKEN", "{name}");
        }
        let claim = draft(OFFICE_AGENT, Some(token));
        for office in [&*shop.office, &shop.office.for_person()] {
            assert_eq!(office.send(claim.clone()).await.unwrap_err().code(), "NAME_TAKEN");
        }
        let looked = shop.office.inbox(PROJECT, claim.from, &InboxQuery::newest(9)).await;
        assert_eq!(looked.unwrap_err().code(), "NAME_TAKEN");
        let agent = shop.office.register(named(Some("Ann"), None)).await.unwrap();
        let body = message("chat", json!({}));
        for to in [OFFICE_AGENT, "agent-1"] {
            let to = vec![to.to_owned()];
            let from = draft("Ann", Some(&agent.token));
            shop.office.send(Draft { to, body: &body, subject: "x", ..from }).await.unwrap();
        }
        let hashes = shop.store.token_hashes(old.id).await.unwrap();
        assert!(hashes.len() == 1 && !hashes.contains(&hash), "the office took its name over");
    }
}

#[tokio::test]
async fn one_message_tries_no_more_than_one_budget_allows() {
    let shop = shop(Rules::default()).await;
    let other = asking(exclusive(&["src/**"]), json!([])).replace("\"agent-0\"", "\"agent-1\"");
    sent(&shop, "agent-1", &other).await;
    let files = |count: usize| -> Vec<String> { (0..count).map(|at| format!("src/{at}")).collect() };
    for (number, count, refused) in [(1, 923, false), (2, 924, true)] {
        let request = json!({ "mode": "exclusive", "file_patterns": files(100) });
        let alternatives = json!([{ "file_patterns": files(count) }, { "pattern": "{src/x,free}" }]);
        let mut body = asking(request, alternatives.clone()).replace("4005", &format!("450{number}"));
        if !refused {
            body = body.replace("{src/x,free}", "free");
        }
        let told = sent(&shop, "agent-0", &body).await.reservation.unwrap();
        assert_eq!(told.body.contains("Not tried: alternative 2"), refused, "{}", told.subject);
        assert_eq!(held(&shop).await.len(), 2);
    }
    for (number, count, last) in [(3, 9, true), (4, 10, false)] {
        let mut alternatives = vec![json!({ "pattern": "src/a" }); count - 1];
        alternatives.push(json!({ "pattern": format!("free/{count}") }));
        let body = asking(exclusive(&["src/a"]), json!(alternatives)).replace("4005", &format!("450{number}"));
        let told = sent(&shop, "agent-0", &body).await.reservation.unwrap();
        let outcome = FilesOutcome::read(&told.body).unwrap();
        assert_eq!((outcome.granted.len() == 1, outcome.conflicts.len()), (last, 1), "a conflict is told once");
        assert_eq!(told.body.matches("'src/a' is reserved").count(), 1, "{}", told.body);
    }
}

#[tokio::test]
async fn mail_to_all_does_not_go_to_the_office() {
    let shop = shop(Rules::default()).await;
    sent(&shop, "agent-0", &message("chat", json!({}))).await;
    let to_all = Draft { to: vec!["all".to_owned()], ..draft("agent-0", None) };
    assert_eq!(shop.office.send(to_all).await.unwrap().message.to, ["agent-1"]);
}

#[tokio::test]
async fn a_secret_in_a_message_is_in_no_report_on_it() {
    let shop = shop(Rules::default()).await;
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0".repeat(2).get(..36).unwrap());
    for field in ["type", "message_id", "task_id", "sender_id", "version"] {
        let body = message("chat", json!({ field: secret }));
        sent(&shop, "agent-0", &body).await;
    }
    for field in ["task_id", "reservation_request"] {
        let mut request = exclusive(&["src/**"]);
        request["file_patterns"] = json!([secret]);
        let value = if field == "task_id" { json!(secret) } else { request };
        let mut body: Value = serde_json::from_str(&asking(exclusive(&["src/**"]), json!([]))).unwrap();
        body[field] = value;
        body["message_id"] = json!(ID.replace("4005", &format!("46{:02}", field.len())));
        let asked = sent(&shop, "agent-0", &body.to_string()).await;
        assert!(asked.notes.problems[0].wanted.contains("send it without"), "{:?}", asked.notes.problems);
        assert!(asked.reservation.is_some(), "its sender is told that nothing was reserved");
    }
    assert_eq!(held(&shop).await, []);
    for told in told(&shop).await {
        assert!(!format!("{} {}", told.subject, told.body).contains(&secret[4..20]), "{told:?}");
    }
}

#[tokio::test]
async fn what_comes_by_a_folder_reserves_nothing() {
    let shop = shop(Rules::default()).await;
    let body = asking(exclusive(&["src/**"]), json!([]));
    let found = Draft { body: &body, subject: "x", door: "folder", ..draft("agent-0", None) };
    let found = shop.office.send(found).await.unwrap();
    assert_eq!((found.reservation, held(&shop).await, told(&shop).await), (None, vec![], vec![]));
}

#[tokio::test]
async fn at_a_door_without_room_for_problems_they_are_reported() {
    let shop = shop(Rules::default()).await;
    let body = update(json!({ "update_type": "status" }));
    shop.office.send(Draft { body: &body, subject: "x", door: "exec", ..draft("agent-0", None) }).await.unwrap();
    let report: Value = serde_json::from_str(&told(&shop).await[0].body).unwrap();
    assert_eq!(report["error"]["code"], "invalid_format");
}
