//! What clients read by address and subscribe to: every kind of resource, paging, and notices of change.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Server;
use crate::harness::mcp::{PROJECT, as_agent, inbox_of, message, request, with};

const ENCODED: &str = "%2Fdata%2Fprojects%2Fapp";

fn office() -> Server {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    server
}

fn ids(messages: &Value) -> Vec<i64> {
    messages
        .as_array()
        .expect("a list of messages")
        .iter()
        .map(|message| message["id"].as_i64().expect("a message has a number"))
        .collect()
}

/// Every entry of a paged resource under `member`, and how many pages it took.
fn pages(server: &Server, uri: &str, member: &str) -> (Vec<Value>, usize) {
    let (mut entries, mut count) = (Vec::new(), 0);
    let mut next = Some(uri.to_owned());
    while let Some(uri) = next {
        let page = server.read(&uri);
        entries.extend(page[member].as_array().expect("a page has its list").iter().cloned());
        next = page["next"].as_str().map(str::to_owned);
        count += 1;
    }
    (entries, count)
}

#[test]
fn projects_and_agents_are_read_by_slug_and_by_path() {
    let server = office();
    assert_eq!(server.read("resource://projects")["projects"][0]["human_key"], PROJECT);
    for name in ["data-projects-app", ENCODED] {
        let agents = server.read(&format!("resource://agents/{name}"));
        let names: Vec<_> = agents["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
        assert_eq!(names, ["GreenDog", "BlueLake", "RedFox"]);
        assert!(!agents.to_string().contains("token"), "{agents}");
    }
}

#[test]
fn an_inbox_reads_like_the_tool() {
    let server = office();
    let plain = server.mail("GreenDog", "BlueLake", "plain");
    let urgent = with(message("GreenDog", "BlueLake", "urgent"), json!({ "ack_required": true, "thread_id": "T 1/x" }));
    let urgent = server.call("send_message", urgent)["id"].as_i64().unwrap();
    server.call("mark_message_read", as_agent("BlueLake", json!({ "message_id": plain })));
    let inbox = server.read(&inbox_of("BlueLake"));
    assert_eq!(inbox["messages"], server.call("fetch_inbox", as_agent("BlueLake", json!({}))));
    assert_eq!((&inbox["agent"], &inbox["count"], &inbox["next"]), (&json!("BlueLake"), &json!(2), &Value::Null));
    let found = |query: &str| ids(&server.read(&format!("{}&{query}", inbox_of("BlueLake")))["messages"]);
    assert_eq!(found("limit=1"), [urgent]);
    assert_eq!(found("unread_only=true"), [urgent]);
    assert_eq!(found("urgent_only=1"), [urgent]);
    assert_eq!(found("thread_id=T%201%2Fx"), [urgent]);
    assert_eq!(found(&format!("before={urgent}")), [plain]);
    let bare = server.read(&format!("{}&include_bodies=false", inbox_of("BlueLake")));
    assert_eq!(bare["messages"][0].get("body_md"), None);
}

#[test]
fn names_and_projects_with_odd_characters_are_reached_by_encoding_them() {
    let server = Server::start();
    let project = "/home/user/my project/ü?&#%";
    let slug = server.call("ensure_project", json!({ "human_key": project }))["slug"].as_str().unwrap().to_owned();
    for name in ["rig/polecat-3", "Grün & Co?"] {
        server.call("register_agent", json!({ "project_key": project, "name": name }));
    }
    let mail = json!({
        "project_key": project, "sender_name": "rig/polecat-3", "to": ["Grün & Co?"], "subject": "s", "body_md": "b",
    });
    server.call("send_message", mail);
    let encoded = "%2Fhome%2Fuser%2Fmy%20project%2F%C3%BC%3F%26%23%25";
    let inbox = server.read(&format!("resource://inbox/Gr%C3%BCn%20%26%20Co%3F?project={encoded}"));
    assert_eq!((&inbox["agent"], &inbox["count"]), (&json!("Grün & Co?"), &json!(1)));
    assert_eq!(server.read(&format!("resource://outbox/rig%2Fpolecat-3?project={slug}"))["count"], 1);
    let listed = server.rpc("resources/list", json!({}))["result"]["resources"].clone();
    for entry in listed.as_array().unwrap() {
        server.read(entry["uri"].as_str().unwrap());
    }
    assert_eq!(listed.as_array().unwrap().len(), 7, "of the project four, and two inboxes: {listed}");
}

#[test]
fn threads_messages_and_outboxes_show_who_did_what() {
    let server = office();
    let asked = with(message("GreenDog", "BlueLake", "Question"), json!({ "bcc": ["RedFox"], "thread_id": "T-1" }));
    let first = server.call("send_message", asked)["id"].as_i64().unwrap();
    let reply = json!({ "project_key": PROJECT, "message_id": first, "sender_name": "BlueLake", "body_md": "Answer" });
    let second = server.call("reply_message", reply)["id"].as_i64().unwrap();
    server.call("acknowledge_message", as_agent("BlueLake", json!({ "message_id": first, "ack_body": "Got it" })));
    let thread = server.read(&format!("resource://thread/T-1?project={ENCODED}&include_bodies=true"));
    assert_eq!((ids(&thread["messages"]), &thread["total"]), (vec![first, second], &json!(2)), "oldest first");
    assert_eq!(thread["messages"][1]["body_md"], "Answer");
    let by_number = server.read(&format!("resource://thread/{second}?project={ENCODED}"));
    assert_eq!((&by_number["thread_id"], by_number["messages"][0].get("body_md")), (&json!("T-1"), None));
    let message = server.read(&format!("resource://message/{first}?project={ENCODED}"));
    assert_eq!(message["recipients"].as_array().unwrap().len(), 1, "the blind copy is not shown: {message}");
    assert_eq!(message["recipients"][0]["ack_body"], "Got it");
    let outbox = server.read(&inbox_of("GreenDog").replace("inbox", "outbox"));
    let roles: Vec<_> =
        outbox["messages"][0]["recipients"].as_array().unwrap().iter().map(|recipient| &recipient["role"]).collect();
    assert_eq!(roles, ["to", "bcc"], "the sender sees whom it wrote to");
}

#[test]
fn every_list_is_paged_without_gaps_or_repeats() {
    let server = Server::start();
    let names: Vec<String> = (0..7).map(|number| format!("agent-{number}")).collect();
    server.register(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for number in 0..7 {
        let more = json!({ "thread_id": "T" });
        server.call("send_message", with(message("agent-0", "agent-1", &format!("m{number}")), more));
        let paths = json!({ "paths": [format!("src/{number}.rs")] });
        server.call("file_reservation_paths", as_agent("agent-0", paths));
        server.call("ensure_project", json!({ "human_key": format!("/other/{number}") }));
    }
    let lists = [
        ("resource://projects?limit=3".to_owned(), "projects", "human_key", 8),
        ("resource://agents/data-projects-app?limit=3".to_owned(), "agents", "id", 7),
        (format!("resource://inbox/agent-1?project={ENCODED}&limit=3"), "messages", "id", 7),
        (format!("resource://outbox/agent-0?project={ENCODED}&limit=3"), "messages", "id", 7),
        (format!("resource://thread/T?project={ENCODED}&limit=3"), "messages", "id", 7),
        ("resource://reservations/data-projects-app?limit=3".to_owned(), "reservations", "id", 7),
    ];
    for (uri, member, key, total) in lists {
        let (entries, count) = pages(&server, &uri, member);
        let mut seen: Vec<String> = entries.iter().map(|entry| entry[key].to_string()).collect();
        seen.sort();
        seen.dedup();
        assert_eq!((entries.len(), seen.len(), count), (total, total, 3), "{uri}");
    }
}

#[test]
fn a_page_of_long_bodies_ends_early_and_names_the_next() {
    let server = office();
    let body = json!({ "body_md": "x".repeat(4 * 1024 * 1024), "thread_id": "T" });
    for _ in 0..6 {
        server.call("send_message", with(message("GreenDog", "BlueLake", "long"), body.clone()));
    }
    let thread = format!("resource://thread/T?project={ENCODED}&include_bodies=true");
    for uri in [inbox_of("BlueLake"), inbox_of("GreenDog").replace("inbox", "outbox"), thread] {
        let (entries, count) = pages(&server, &uri, "messages");
        assert_eq!((entries.len(), count), (6, 2), "{uri}");
        assert_eq!(server.read(&format!("{uri}&limit=4"))["messages"].as_array().unwrap().len(), 4);
    }
}

#[test]
fn the_list_of_resources_is_paged_and_names_every_inbox() {
    let server = Server::start();
    let names: Vec<String> = (0..130).map(|number| format!("agent-{number}")).collect();
    server.register(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut uris, mut cursor) = (Vec::new(), None);
    loop {
        let params = cursor.map_or(json!({}), |cursor: Value| json!({ "cursor": cursor }));
        let result = server.rpc("resources/list", params)["result"].clone();
        uris.extend(result["resources"].as_array().unwrap().iter().map(|entry| entry["uri"].clone()));
        cursor = result.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(uris.len(), 1 + 4 + names.len());
    assert!(names.iter().all(|name| uris.contains(&json!(inbox_of(name)))));
    let wrong = server.rpc("resources/list", json!({ "cursor": "nonsense" }));
    assert_eq!(wrong["error"]["code"], -32602);
}

#[test]
fn what_is_not_there_or_misspelt_is_refused_with_help() {
    let server = office();
    for (uri, code, help) in [
        (inbox_of("GreenDig"), -32002, "GreenDog"),
        ("resource://agents/data-projects-ap".to_owned(), -32002, "data-projects-app"),
        (format!("resource://thread/none?project={ENCODED}"), -32002, "thread_id"),
        (format!("resource://thread/none?project={ENCODED}&after=1&before=9"), -32602, "without after"),
        (format!("resource://message/999?project={ENCODED}"), -32002, "'999'"),
        ("resource://nothing".to_owned(), -32002, "resources/templates/list"),
        ("resource://inbox/GreenDog".to_owned(), -32602, "names no project"),
        (format!("{}&limt=3", inbox_of("GreenDog")), -32602, "limt"),
        (format!("{}&limit=0", inbox_of("GreenDog")), -32602, "1 to 1000"),
        (format!("{}&unread_only=perhaps", inbox_of("GreenDog")), -32602, "true or false"),
        (format!("{}&before=x", inbox_of("GreenDog")), -32602, "a whole number"),
    ] {
        let answer = server.rpc("resources/read", json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
        assert!(answer["error"].to_string().contains(help), "{uri}: {answer}");
    }
}

#[test]
fn a_session_hears_of_mail_in_an_inbox_it_subscribed_to() {
    let server = office();
    let (session, _) = server.initialize("2025-11-25");
    let headers = [("Mcp-Session-Id", session.as_str()), ("Accept", "text/event-stream")];
    let mut stream = server.listen("GET", &headers, "");
    let subscribe = request("resources/subscribe", &json!({ "uri": inbox_of("BlueLake") }));
    let answer = server.send("POST", "/mcp", &headers[..1], subscribe);
    assert_eq!(answer.json()["result"], json!({}), "{answer:?}");
    let (told, told_me) = mpsc::channel();
    thread::spawn(move || {
        while let Some(event) = stream.event() {
            told.send(event).unwrap();
        }
    });
    // The stream begins to watch soon after the answer, so the first change may come too early for it.
    let event = (0..30).find_map(|_| {
        server.mail("GreenDog", "RedFox", "not for us");
        server.mail("GreenDog", "BlueLake", "for us");
        told_me.recv_timeout(Duration::from_secs(1)).ok()
    });
    let event = event.expect("a change is told");
    assert_eq!(event["method"], "notifications/resources/updated");
    assert_eq!(event["params"]["uri"], inbox_of("BlueLake"));
    assert_eq!(server.send("DELETE", "/mcp", &headers[..1], "").status, 204);
    let ended = told_me.into_iter().all(|event| event["params"]["uri"] == inbox_of("BlueLake"));
    assert!(ended, "the stream ends with its session, and told of nothing else before");
}

#[test]
fn a_modern_subscription_is_acknowledged_and_then_notified() {
    let server = office();
    let reservations = "resource://reservations/data-projects-app";
    let inbox = inbox_of("BlueLake");
    let mut stream = server.subscribe(&[&inbox, reservations, "resource://projects"]);
    let first = stream.event().unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    let honoured = &first["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*honoured, json!([inbox, reservations]), "only what can be watched is promised");
    let mut told = |change: &dyn Fn()| {
        change();
        let event = stream.event().unwrap();
        assert_eq!(event["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1, "{event}");
        event["params"]["uri"].as_str().unwrap().to_owned()
    };
    let mail = || {
        server.mail("GreenDog", "BlueLake", "Hello");
    };
    let reserve = || {
        server.call("file_reservation_paths", as_agent("RedFox", json!({ "paths": ["a.rs"] })));
    };
    let release = || {
        server.call("release_file_reservations", as_agent("RedFox", json!({})));
    };
    assert_eq!(told(&mail), inbox);
    assert_eq!(told(&reserve), reservations);
    assert_eq!(told(&mail), inbox);
    assert_eq!(told(&release), reservations);
}
