//! What agents do all day, over HTTP with the real binary: the workflow of the contract, then each tool by itself.
//!
//! Refusals of bad input are in `bad_input`, waiting in `waiting`, reservations in `reservations`.

use std::thread;

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::{PROJECT, as_agent, message, with};

fn ids(messages: &Value) -> Vec<i64> {
    messages
        .as_array()
        .expect("a list of messages")
        .iter()
        .map(|message| message["id"].as_i64().expect("a message has a number"))
        .collect()
}

fn inbox(server: &Server, name: &str, more: Value) -> Value {
    server.call("fetch_inbox", as_agent(name, more))
}

#[test]
fn the_typical_workflow_goes_through_in_eight_steps() {
    let server = Server::start();
    assert_eq!(server.call("health_check", json!({}))["status"], "ready");
    let project = server.call("ensure_project", json!({ "human_key": PROJECT }));
    assert_eq!((&project["slug"], &project["human_key"]), (&json!("data-projects-app"), &json!(PROJECT)));
    assert!(project["created_at"].is_string());
    for name in ["GreenDog", "BlueMountain"] {
        let profile = json!({
            "project_key": PROJECT, "name": name, "program": "claude-code", "model": "opus-4.5",
            "task_description": "Protocol kernel development",
        });
        let agent = server.call("register_agent", profile);
        assert_eq!((&agent["name"], &agent["program"]), (&json!(name), &json!("claude-code")));
        assert!(agent["id"].is_i64() && agent["registration_token"].is_string());
    }
    let paths = json!({ "paths": ["apps/web/src/**"], "ttl_seconds": 3600, "exclusive": true });
    let reserved = server.call("file_reservation_paths", as_agent("GreenDog", paths));
    assert_eq!(reserved["granted"][0]["path_pattern"], "apps/web/src/**");
    let kickoff = json!({ "thread_id": "RS-20251230-cell-fate", "ack_required": true });
    let sent = server.call("send_message", with(message("GreenDog", "BlueMountain", "KICKOFF: Cell fate"), kickoff));
    let received = inbox(&server, "BlueMountain", json!({ "limit": 20, "unread_only": true }));
    assert_eq!(ids(&received), [sent["id"].as_i64().unwrap()]);
    assert_eq!(received[0]["ack_required"], true);
    let acknowledgement = json!({ "message_id": sent["id"], "ack_body": "Received and understood" });
    let marked = server.call("acknowledge_message", as_agent("BlueMountain", acknowledgement));
    assert_eq!((&marked["read"], &marked["acknowledged"]), (&json!(true), &json!(true)));
    let released = server.call("release_file_reservations", as_agent("GreenDog", json!({})));
    assert_eq!(released["paths"], json!(["apps/web/src/**"]));
    server.stop();
}

#[test]
fn an_agent_without_a_name_is_given_one_of_its_own() {
    let server = Server::start();
    server.register(&[]);
    let first = server.call("register_agent", json!({ "project_key": PROJECT }));
    let second = server.call("register_agent", json!({ "project_key": PROJECT }));
    assert_ne!(first["name"], second["name"]);
    assert!(first["name"].as_str().unwrap().chars().all(char::is_alphanumeric));
}

#[test]
fn registering_again_keeps_the_identity_and_what_is_not_said_anew() {
    let server = Server::start();
    server.register(&[]);
    let asked = json!({ "project_key": PROJECT, "name": "GreenDog", "program": "codex-cli", "model": "gpt-5.2" });
    let first = server.call("register_agent", asked);
    let again = json!({ "project_key": PROJECT, "name": "GreenDog", "task_description": "Parser" });
    let second = server.call("register_agent", again);
    assert_eq!((&first["id"], &first["registered_ts"]), (&second["id"], &second["registered_ts"]));
    let known = server.call("whois", as_agent("GreenDog", json!({})));
    assert_eq!(
        (&known["program"], &known["model"], &known["task_description"]),
        (&json!("codex-cli"), &json!("gpt-5.2"), &json!("Parser"))
    );
    assert_eq!(known.get("registration_token"), None, "a token is told to its owner alone");
}

#[test]
fn a_project_goes_by_its_path_and_by_its_slug() {
    let server = Server::start();
    server.register(&["GreenDog"]);
    let by_slug = json!({ "project_key": "data-projects-app", "agent_name": "GreenDog" });
    assert_eq!(server.call("whois", by_slug)["name"], "GreenDog");
    let by_path = json!({ "project_key": format!("{PROJECT}/"), "agent_name": "GreenDog" });
    assert_eq!(server.call("whois", by_path)["name"], "GreenDog");
    let twin = server.call("ensure_project", json!({ "human_key": "/data/projects_app" }));
    assert_ne!(twin["slug"], "data-projects-app", "a taken slug is not given twice");
}

#[test]
fn a_reply_goes_to_the_writer_and_stays_in_the_thread() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let first = server.call("send_message", message("GreenDog", "BlueLake", "Who takes the parser?"));
    let answer =
        json!({ "project_key": PROJECT, "message_id": first["id"], "sender_name": "BlueLake", "body_md": "I." });
    let reply = server.call("reply_message", answer);
    assert_eq!(reply["to"], json!(["GreenDog"]));
    assert_eq!(reply["subject"], "Re: Who takes the parser?");
    assert_eq!((&reply["thread_id"], &reply["reply_to"]), (&first["thread_id"], &first["id"]));
    let more =
        json!({ "project_key": PROJECT, "message_id": reply["id"], "sender_name": "BlueLake", "body_md": "Soon." });
    let afterthought = server.call("reply_message", more);
    assert_eq!(afterthought["to"], json!(["GreenDog"]), "who answers oneself writes to the same people");
    assert_eq!(afterthought["subject"], "Re: Who takes the parser?", "one 'Re:' is enough");
}

#[test]
fn a_blind_copy_is_seen_by_its_reader_and_its_writer_alone() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox", "GreyOwl"]);
    let copies = json!({ "cc": ["RedFox"], "bcc": ["GreyOwl"] });
    let sent = server.call("send_message", with(message("GreenDog", "BlueLake", "Plan"), copies));
    assert_eq!((&sent["bcc"], &sent["count"]), (&json!(["GreyOwl"]), &json!(3)));
    for (name, role) in [("BlueLake", None), ("RedFox", Some("cc")), ("GreyOwl", Some("bcc"))] {
        let received = inbox(&server, name, json!({}));
        assert_eq!(received[0]["role"].as_str(), role);
        let others = received[0].to_string().replace("\"bcc\"", "");
        assert!(!others.contains("GreyOwl"), "{name} must not learn of the blind copy: {received}");
    }
    let query = json!({ "project_key": PROJECT, "query": "Plan" });
    assert!(!server.call("search_messages", query).to_string().contains("GreyOwl"));
}

#[test]
fn a_message_to_all_reaches_everybody_but_its_writer() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    let sent = server.call("send_message", message("GreenDog", "all", "Stand-up"));
    assert_eq!(sent["to"], json!(["BlueLake", "RedFox"]));
    assert_eq!(inbox(&server, "GreenDog", json!({})), json!([]));
    assert_eq!(ids(&inbox(&server, "RedFox", json!({}))), [sent["id"].as_i64().unwrap()]);
}

#[test]
fn who_is_named_twice_gets_one_delivery() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let names = json!({ "to": ["BlueLake", "BlueLake"], "cc": ["BlueLake"], "bcc": ["all"] });
    let sent = server.call("send_message", with(message("GreenDog", "BlueLake", "Once"), names));
    assert_eq!((&sent["to"], &sent["count"]), (&json!(["BlueLake"]), &json!(1)));
    assert_eq!(ids(&inbox(&server, "BlueLake", json!({}))).len(), 1);
}

#[test]
fn an_inbox_is_newest_first_and_can_be_filtered_and_paged() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let plain = server.mail("GreenDog", "BlueLake", "plain");
    let urgent = with(message("GreenDog", "BlueLake", "urgent"), json!({ "ack_required": true, "thread_id": "T-1" }));
    let urgent = server.call("send_message", urgent)["id"].as_i64().unwrap();
    let last = server.mail("GreenDog", "BlueLake", "last");
    server.call("mark_message_read", as_agent("BlueLake", json!({ "message_id": last })));
    let found = |more| ids(&inbox(&server, "BlueLake", more));
    assert_eq!(found(json!({})), [last, urgent, plain]);
    assert_eq!(found(json!({ "limit": 2 })), [last, urgent]);
    assert_eq!(found(json!({ "limit": 2, "before_id": urgent })), [plain]);
    assert_eq!(found(json!({ "unread_only": true })), [urgent, plain]);
    assert_eq!(found(json!({ "urgent_only": true })), [urgent]);
    assert_eq!(found(json!({ "thread_id": "T-1" })), [urgent]);
    let without = inbox(&server, "BlueLake", json!({ "include_bodies": false }));
    assert!(without.as_array().unwrap().iter().all(|message| message.get("body_md").is_none()));
}

#[test]
fn without_a_limit_twenty_come_back() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    for number in 0..21 {
        server.mail("GreenDog", "BlueLake", &format!("number {number}"));
    }
    let searched = server.call("search_messages", json!({ "project_key": PROJECT, "query": "number" }));
    let waited = server.call("wait_for_mail", as_agent("BlueLake", json!({})));
    for found in [inbox(&server, "BlueLake", json!({})), searched, waited] {
        assert_eq!(ids(&found).len(), 20);
    }
    assert_eq!(ids(&inbox(&server, "BlueLake", json!({ "limit": 1000 }))).len(), 21);
}

#[test]
fn a_typed_subject_is_understood_and_never_required() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let asked = server.call("send_message", message("GreenDog", "BlueLake", "[bd-12] HELP_REQUEST: stuck"));
    assert_eq!(asked["kind"], "HELP_REQUEST");
    assert_eq!((&asked["work_id"], &asked["thread_id"]), (&json!("bd-12"), &json!("bd-12")));
    assert_eq!(asked["ack_required"], true, "somebody waits for an answer");
    let said = with(message("GreenDog", "BlueLake", "[bd-12] HELP_REQUEST: stuck"), json!({ "ack_required": false }));
    assert_eq!(server.call("send_message", said)["ack_required"], false, "what the sender says counts");
    let plain = server.call("send_message", message("GreenDog", "BlueLake", "lunch?"));
    assert_eq!((&plain["kind"], &plain["ack_required"]), (&Value::Null, &json!(false)));
}

#[test]
fn search_understands_its_language_and_answers_newest_first() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let slate = server.mail("GreenDog", "BlueLake", "hypothesis slate ready");
    let other = server.mail("BlueLake", "GreenDog", "slate hypothesis, the other way round");
    let third = server.mail("BlueLake", "GreenDog", "unrelated parsing");
    let found = |query: &str| ids(&server.call("search_messages", json!({ "project_key": PROJECT, "query": query })));
    assert_eq!(found("hypothesis slate"), [other, slate]);
    assert_eq!(found("\"hypothesis slate\""), [slate]);
    assert_eq!(found("hypothesis AND NOT round"), [slate]);
    assert_eq!(found("pars* OR ready"), [third, slate]);
    assert_eq!(found("from:BlueLake"), [third, other]);
    assert_eq!(found("subject:slate (ready OR round)"), [other, slate]);
    assert_eq!(found("nothing-like-it"), Vec::<i64>::new());
    let page = json!({ "project_key": PROJECT, "query": "slate", "limit": 1, "before_id": other });
    assert_eq!(ids(&server.call("search_messages", page)), [slate]);
}

#[test]
fn a_thread_is_summed_up_the_same_way_twice() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let body =
        "Decision: we use the lexer.\n\n- [ ] BlueLake: write the tests\n- [x] read the paper\n\nWho reviews it?";
    let said = with(message("GreenDog", "BlueLake", "Parser"), json!({ "body_md": body, "thread_id": "T-1" }));
    let sent = server.call("send_message", said);
    let summary = || server.call("summarize_thread", json!({ "project_key": PROJECT, "thread_id": "T-1" }));
    let first = summary();
    assert_eq!(first, summary());
    assert_eq!(first["participants"], json!([{ "name": "GreenDog", "messages": 1 }]));
    assert_eq!(first["total_messages"], 1);
    assert_eq!(first["action_items"].as_array().unwrap().len(), 2, "{first}");
    assert_eq!(first["open_questions"][0]["text"], "Who reviews it?");
    let by_message = json!({ "project_key": PROJECT, "thread_id": sent["id"].to_string() });
    assert_eq!(server.call("summarize_thread", by_message), first, "a message's number names its thread");
}

#[test]
fn a_session_starts_in_one_call_even_when_files_are_taken() {
    let server = Server::start();
    let start = |name: &str, paths: &[&str]| {
        let asked =
            json!({ "project_key": PROJECT, "agent_name": name, "program": "codex-cli", "reserve_paths": paths });
        server.call("macro_start_session", asked)
    };
    let first = start("GreenDog", &["src/**"]);
    assert_eq!((&first["project"]["human_key"], &first["agent"]["name"]), (&json!(PROJECT), &json!("GreenDog")));
    assert_eq!(first["file_reservations"]["granted"][0]["exclusive"], true);
    assert_eq!(first["inbox"], json!([]));
    server.register(&["BlueLake"]);
    let id = server.mail("GreenDog", "BlueLake", "Welcome");
    let second = start("BlueLake", &["src/lib.rs"]);
    assert_eq!(second["file_reservations"]["granted"], json!([]));
    assert_eq!(second["file_reservations"]["conflicts"][0]["holder"], "GreenDog");
    assert_eq!(ids(&second["inbox"]), [id]);
}

#[test]
fn joining_a_thread_registers_and_sums_up() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let said = with(message("GreenDog", "BlueLake", "Parser"), json!({ "thread_id": "T-1" }));
    server.call("send_message", said);
    let joined = server.call("macro_prepare_thread", as_agent("RedFox", json!({ "thread_id": "T-1" })));
    assert_eq!((&joined["agent"]["name"], &joined["thread"]["total_messages"]), (&json!("RedFox"), &json!(1)));
    assert_eq!(joined["inbox"], json!([]), "RedFox got none of it");
}

#[test]
fn the_same_idempotency_key_sends_once_even_over_a_restart() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let keyed = |subject: &str| with(message("GreenDog", "BlueLake", subject), json!({ "idempotency_key": "key-1" }));
    let first = server.call("send_message", keyed("Once"));
    assert_eq!(server.call("send_message", keyed("Once")), first, "the first answer again");
    let place = server.place.clone();
    server.stop();
    let server = place.serve();
    assert_eq!(server.call("send_message", keyed("Once")), first, "the first answer again, after a restart");
    let refused = server.refused("send_message", keyed("Twice"));
    assert_eq!(refused.code, "IDEMPOTENCY_CONFLICT");
    assert!(refused.message.contains("'key-1'") && refused.message.contains(&first["id"].to_string()), "{refused:?}");
    assert_eq!(ids(&inbox(&server, "BlueLake", json!({}))).len(), 1);
    let other = with(message("BlueLake", "GreenDog", "Mine"), json!({ "idempotency_key": "key-1" }));
    assert_ne!(server.call("send_message", other)["id"], first["id"], "a key belongs to its sender");
}

#[test]
fn a_reply_under_a_key_is_sent_once_however_many_send_it() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let asked = server.mail("GreenDog", "BlueLake", "Question");
    let reply = json!({
        "project_key": PROJECT, "message_id": asked, "sender_name": "BlueLake", "body_md": "Answer",
        "idempotency_key": "reply-1",
    });
    let answers: Vec<Value> = thread::scope(|scope| {
        let senders: Vec<_> = (0..8).map(|_| scope.spawn(|| server.call("reply_message", reply.clone()))).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(ids(&inbox(&server, "GreenDog", json!({}))).len(), 1);
    let other = with(reply, json!({ "body_md": "Another answer" }));
    assert_eq!(server.refused("reply_message", other).code, "IDEMPOTENCY_CONFLICT");
}

#[test]
fn everything_accepted_is_there_after_a_kill() {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    let id = server.mail("GreenDog", "BlueLake", "Kept");
    let before = server.place.kept();
    let place = server.place.clone();
    server.kill();
    assert_eq!(place.kept(), before);
    let server = place.serve();
    assert_eq!(ids(&inbox(&server, "BlueLake", json!({}))), [id]);
    server.stop();
}
