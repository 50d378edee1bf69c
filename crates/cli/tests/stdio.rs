//! `postrider stdio`, as clients see it: with a server, without one, and while one comes and goes.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::driven::{Client, DEADLINE, Home, PROJECT, Server, message, subjects};

/// Runs a test in both modes: on the database itself, and joined to a server.
fn in_both_modes(test: impl Fn(&Home)) {
    test(&Home::new());
    let home = Home::new();
    let _server = home.serve(&[], &[]);
    test(&home);
}

fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    params
}

fn tools(client: &mut Client) -> usize {
    client.ask("tools/list", json!({}))["result"]["tools"].as_array().expect("tools").len()
}

/// A wait that takes longer than any test may.
fn wait_for(name: &str) -> Value {
    json!({ "project_key": PROJECT, "agent_name": name, "timeout_seconds": 50 })
}

fn inbox_uri(name: &str) -> String {
    format!("resource://inbox/{name}?project={}", PROJECT.replace('/', "%2F"))
}

/// Sends to `to`, and returns the notice that `watcher` has of it.
fn notice_of_mail(sender: &mut Client, from: &str, to: &str, watcher: &mut Client) -> Value {
    sender.send(from, to, "news");
    let is_notice = |message: &Value| {
        message["method"] == "notifications/resources/updated" && message["params"]["uri"] == inbox_uri(to)
    };
    watcher.next_within(DEADLINE, is_notice).expect("a notice")
}

#[test]
fn a_client_has_all_of_the_mail_in_both_modes() {
    in_both_modes(|home| {
        let mut client = home.client();
        let hello = client.initialize();
        assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
        assert_eq!(hello["result"]["serverInfo"]["name"], "postrider");
        assert!(tools(&mut client) > 9);
        client.register("Anna");
        client.register("Bert");
        client.send("Anna", "Bert", "hello");
        assert_eq!(client.inbox("Bert"), ["hello"]);
        assert!(client.inbox("Anna").is_empty());
        assert!(client.leave().is_empty(), "every line was an answer");
    });
}

#[test]
fn clients_that_join_a_server_see_its_tools_and_each_others_mail() {
    let home = Home::new();
    let _server = home.serve(&["--tools", "lean"], &[]);
    let (mut anna, mut bert) = (home.client(), home.client());
    assert_eq!(tools(&mut anna), 9, "the server decides what is listed");
    anna.register("Anna");
    bert.register("Bert");
    anna.send("Anna", "Bert", "over there");
    assert_eq!(bert.inbox("Bert"), ["over there"]);
}

#[test]
fn a_server_elsewhere_is_joined_by_its_address() {
    let (here, there) = (Home::new(), Home::new());
    let server = there.serve(&[], &[]);
    let base = server.url.trim_end_matches("/mcp");
    let mut client = here.client_with(&[], &[("POSTRIDER_URL", base)]);
    client.register("Anna");
    assert!(!here.has_database());
    let mut other = there.client();
    other.register("Bert");
    other.send("Bert", "Anna", "hello");
    assert_eq!(client.inbox("Anna"), ["hello"]);
}

#[test]
fn ten_clients_at_once_on_one_database_lose_nothing() {
    let home = Home::new();
    let names: Vec<String> = (0..10).map(|number| format!("Agent{number}")).collect();
    let mut clients: Vec<Client> = names.iter().map(|_| home.client()).collect();
    let each = |clients: &mut Vec<Client>, begin: &dyn Fn(&mut Client, &str) -> Vec<u64>| {
        let begun: Vec<Vec<u64>> = clients.iter_mut().zip(&names).map(|(client, name)| begin(client, name)).collect();
        for (client, ids) in clients.iter_mut().zip(begun) {
            ids.into_iter().for_each(|id| drop(client.called(id)));
        }
    };
    each(&mut clients, &|client, _| vec![client.begin_call("ensure_project", json!({ "human_key": PROJECT }))]);
    each(&mut clients, &|client, name| {
        vec![client.begin_call("register_agent", json!({ "project_key": PROJECT, "name": name }))]
    });
    each(&mut clients, &|client, name| {
        let others = names.iter().filter(|other| *other != name);
        others.map(|other| client.begin_call("send_message", message(name, other, name))).collect()
    });
    for (client, name) in clients.iter_mut().zip(&names) {
        let mut senders = client.inbox(name);
        senders.sort();
        let others: Vec<String> = names.iter().filter(|other| *other != name).cloned().collect();
        assert_eq!(senders, others);
    }
}

#[test]
fn a_client_that_waits_is_woken_by_another_process() {
    in_both_modes(|home| {
        let (mut anna, mut bert) = (home.client(), home.client());
        anna.register("Anna");
        bert.register("Bert");
        // It waits first, and mail comes.
        let waiting = bert.begin_call("wait_for_mail", wait_for("Bert"));
        anna.send("Anna", "Bert", "wake up");
        assert_eq!(subjects(&bert.called(waiting)), ["wake up"]);
        // Mail is there first, and it waits.
        bert.send("Bert", "Anna", "back to you");
        assert_eq!(subjects(&anna.call("wait_for_mail", wait_for("Anna"))), ["back to you"]);
    });
}

#[test]
fn a_call_that_waits_holds_up_no_other_and_a_cancelled_one_is_never_answered() {
    in_both_modes(|home| {
        let mut client = home.client();
        client.register("Anna");
        let waiting = client.begin_call("wait_for_mail", wait_for("Anna"));
        assert!(client.inbox("Anna").is_empty());
        client.notify("notifications/cancelled", json!({ "requestId": waiting }));
        // A cancellation right behind its request is not lost either.
        let hasty = client.begin_call("wait_for_mail", wait_for("Anna"));
        client.notify("notifications/cancelled", json!({ "requestId": hasty }));
        client.register("Bert");
        client.send("Bert", "Anna", "too late");
        assert_eq!(client.inbox("Anna"), ["too late"]);
        let rest = client.leave();
        assert!(rest.is_empty(), "{rest:?}");
    });
}

#[test]
fn the_end_of_input_waits_for_answers() {
    in_both_modes(|home| {
        let mut client = home.client();
        client.register("Anna");
        client.register("Bert");
        for number in 0..200 {
            client.begin_call("send_message", message("Anna", "Bert", &number.to_string()));
        }
        let rest = client.leave();
        assert_eq!(rest.len(), 200);
        assert!(rest.iter().all(|answer| answer["result"]["isError"] == false), "{rest:?}");
    });
}

#[test]
fn a_client_that_left_waits_no_more_and_mail_that_comes_then_is_for_the_next() {
    in_both_modes(|home| {
        let (mut anna, mut bert) = (home.client(), home.client());
        anna.register("Anna");
        bert.register("Bert");
        let reserve = |name, wait| {
            let paths = json!(["src/lib.rs"]);
            json!({ "project_key": PROJECT, "agent_name": name, "paths": paths, "wait_seconds": wait })
        };
        anna.call("file_reservation_paths", reserve("Anna", 0));
        let reserving = bert.begin_call("file_reservation_paths", reserve("Bert", 50));
        let waiting = bert.begin_call("wait_for_mail", wait_for("Bert"));
        // Both wait for longer than leaving may take.
        for answer in bert.leave() {
            assert!(answer["id"] == reserving || answer["id"] == waiting, "{answer}");
            assert!(!answer.to_string().contains("later"), "{answer}");
        }
        anna.send("Anna", "Bert", "later");
        let mut next = home.client();
        assert_eq!(subjects(&next.call("wait_for_mail", wait_for("Bert"))), ["later"]);
    });
}

#[test]
fn a_subscribed_client_is_told_of_mail() {
    in_both_modes(|home| {
        let (mut anna, mut bert) = (home.client(), home.client());
        anna.initialize();
        anna.register("Anna");
        bert.register("Bert");
        let uri = inbox_uri("Anna");
        assert_eq!(anna.ask("resources/subscribe", json!({ "uri": uri }))["result"], json!({}));
        for _ in 0..2 {
            let notice = notice_of_mail(&mut bert, "Bert", "Anna", &mut anna);
            assert_eq!(notice["params"], json!({ "uri": uri }));
        }
        assert!(anna.leave().is_empty(), "two messages are two notices");
    });
}

#[test]
fn a_modern_client_is_served_and_told_of_mail() {
    in_both_modes(|home| {
        let (mut anna, mut bert) = (home.client(), home.client());
        let discovered = anna.ask("server/discover", modern(json!({})));
        assert_eq!(discovered["result"]["resultType"], "complete", "{discovered}");
        bert.register("Anna");
        bert.register("Bert");
        let arguments = json!({ "project_key": PROJECT, "agent_name": "Anna" });
        let inbox = anna.ask("tools/call", modern(json!({ "name": "fetch_inbox", "arguments": arguments })));
        assert_eq!(inbox["result"]["structuredContent"]["result"], json!([]));
        let unknown = anna.ask("tools/call", modern(json!({ "name": "läuten", "arguments": {} })));
        assert_eq!(unknown["error"]["code"], -32602, "the header said the same as the body: {unknown}");
        let uri = inbox_uri("Anna");
        let wanted = json!({ "notifications": { "resourceSubscriptions": [uri] } });
        let listening = anna.begin("subscriptions/listen", modern(wanted));
        let first = anna.nameless();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged", "{first}");
        let notice = notice_of_mail(&mut bert, "Bert", "Anna", &mut anna);
        assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening);
        anna.notify("notifications/cancelled", json!({ "requestId": listening }));
        assert_eq!(anna.ask("tools/list", modern(json!({})))["result"]["resultType"], "complete");
        let rest = anna.leave();
        assert!(rest.iter().all(|message| message["id"] != listening), "{rest:?}");
    });
}

#[test]
fn what_cannot_be_read_is_refused_and_the_next_line_is_served() {
    in_both_modes(|home| {
        let mut client = home.client();
        for (line, code) in [(&b"[]"[..], -32600), (b"{", -32700), (b"\"x\"", -32600), (b"\xff", -32700)] {
            client.send_line(line);
            assert_eq!(client.nameless()["error"]["code"], code);
        }
        client.send_line(b"  \r");
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        assert!(client.leave().is_empty());
    });
}

#[test]
fn many_requests_at_once_are_all_answered() {
    in_both_modes(|home| {
        let mut client = home.client();
        let ids: Vec<u64> = (0..300).map(|_| client.begin("ping", json!({}))).collect();
        ids.into_iter().for_each(|id| assert_eq!(client.answer(id)["result"], json!({})));
    });
}

#[test]
fn a_server_that_stops_is_followed_by_the_database_and_subscriptions_go_on() {
    let home = Home::new();
    let server = home.serve(&["--tools", "lean"], &[]);
    let (mut anna, mut bert) = (home.client(), home.client());
    anna.initialize();
    anna.register("Anna");
    bert.register("Bert");
    let uri = inbox_uri("Anna");
    anna.ask("resources/subscribe", json!({ "uri": uri }));
    notice_of_mail(&mut bert, "Bert", "Anna", &mut anna);
    anna.ask("ping", json!({}));
    anna.forget_notices();
    server.stop();
    // Nobody watched for a moment, so it is told to look, though it has asked for nothing since.
    assert_eq!(anna.nameless()["params"]["uri"], uri.as_str());
    bert.send("Bert", "Anna", "after");
    assert_eq!(anna.inbox("Anna")[0], "after");
    assert!(tools(&mut anna) > 9, "it serves itself now");
    anna.forget_notices();
    notice_of_mail(&mut bert, "Bert", "Anna", &mut anna);
    anna.leave();
}

#[test]
fn a_server_that_is_replaced_is_joined_again() {
    let home = Home::new();
    let first: Server = home.serve(&[], &[]);
    let mut client = home.client();
    client.initialize();
    client.register("Anna");
    first.stop();
    let _second = home.serve(&["--tools", "lean"], &[]);
    assert_eq!(tools(&mut client), 9, "the new server decides what is listed");
    assert!(client.inbox("Anna").is_empty());
}

#[test]
fn a_killed_server_is_followed_by_the_database() {
    let home = Home::new();
    let server = home.serve(&[], &[]);
    let mut client = home.client();
    client.register("Anna");
    drop(server);
    client.register("Bert");
    client.send("Anna", "Bert", "still here");
    assert_eq!(client.inbox("Bert"), ["still here"]);
}

#[test]
fn a_server_elsewhere_that_is_not_there_is_said_so_and_never_replaced_by_our_own() {
    let home = Home::new();
    let nobody = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port");
    let mut client = home.client_with(&[], &[("POSTRIDER_URL", &format!("http://{nobody}"))]);
    let id = client.begin_call("health_check", json!({}));
    assert_eq!(client.answer(id)["result"]["structuredContent"]["error"]["code"], "UNREACHABLE");
    assert!(!home.has_database());
}

#[test]
fn a_connection_that_breaks_after_the_request_is_an_unknown_outcome() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let mut client = home.client_with(&[], &[("POSTRIDER_URL", &url)]);
    let hang_up = |answer: &[u8]| {
        let (mut stream, _) = listener.accept().expect("a connection");
        let read = stream.read(&mut [0; 4096]).expect("a request");
        assert!(read > 0);
        stream.write_all(answer).expect("an answer");
    };
    let half = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    for answer in [&b""[..], half] {
        let id = client.begin_call("send_message", json!({}));
        hang_up(answer);
        let lost = client.answer(id);
        assert_eq!(lost["result"]["isError"], true);
        let error = &lost["result"]["structuredContent"]["error"];
        assert_eq!(error["code"], "CONNECTION_LOST");
        assert!(error["hint"].as_str().expect("a hint").contains("idempotency_key"));
    }
    let id = client.begin("tools/list", json!({}));
    hang_up(b"");
    assert_eq!(client.answer(id)["error"]["code"], -32603);
}
