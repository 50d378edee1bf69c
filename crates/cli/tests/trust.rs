//! Who may come in, who may speak in whose name, and what is never told.
//!
//! Each limit is tested from both sides: what is refused, and what is let through under the same settings.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, Refused, answer_of, as_agent, inbox_of, message, tool_call, with};
use crate::harness::{self, Place, Server};

const TOKEN: &str = "s3cret-of-the-house";

fn health() -> String {
    tool_call("health_check", &json!({}))
}

fn error_code(answer: &harness::http::Answer) -> String {
    let error = answer.json()["error"].clone();
    assert!(error["message"].is_string() && error["hint"].is_string(), "{answer:?}");
    error["code"].as_str().expect("a refusal has a code").to_owned()
}

fn strict() -> Server {
    Place::with_settings("identity = \"strict\"").serve()
}

fn token_of(server: &Server, name: &str) -> String {
    let agent = server.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
    agent["registration_token"].as_str().expect("registering returns a token").to_owned()
}

#[test]
fn with_a_token_every_call_needs_it_and_health_does_not() {
    let server = Place::new().serve_with(&[], &[("AGENT_MAIL_BEARER_TOKEN", TOKEN)]);
    let wrong = ["Bearer wrong", "Bearer", "", "Basic czNjcmV0", "s3cret-of-the-house", "Bearer s3cret-of-the-house2"];
    for headers in [vec![]].into_iter().chain(wrong.iter().map(|value| vec![("Authorization", *value)])) {
        for (method, path) in [("POST", "/mcp"), ("GET", "/mcp/"), ("DELETE", "/mcp"), ("GET", "/metrics")] {
            let answer = server.send(method, path, &headers, health());
            assert_eq!(
                (answer.status, error_code(&answer).as_str()),
                (401, "UNAUTHORIZED"),
                "{method} {path} {headers:?}"
            );
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    let right = server.send("POST", "/mcp", &[("Authorization", &format!("Bearer {TOKEN}"))], health());
    assert_eq!(answer_of(&right).unwrap()["status"], "ready");
    for path in ["/health", "/health/liveness", "/health/readiness"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
}

#[test]
fn a_token_in_the_settings_counts_and_the_environment_beats_it() {
    let place = Place::with_settings("token = \"from-the-file\"");
    let server = place.serve();
    assert_eq!(server.post(health()).status, 401);
    assert_eq!(server.send("POST", "/mcp", &[("Authorization", "Bearer from-the-file")], health()).status, 200);
    server.stop();
    let server = place.serve_with(&[], &[("AGENT_MAIL_BEARER_TOKEN", TOKEN)]);
    assert_eq!(server.send("POST", "/mcp", &[("Authorization", "Bearer from-the-file")], health()).status, 401);
}

#[test]
fn settings_in_the_current_folder_are_not_read() {
    let place = Place::new();
    // A repository that somebody cloned may hold anything.
    std::fs::write(place.file("postrider.toml"), "token = \"planted\"\nidentity = \"strict\"\nnonsense = 1").unwrap();
    let server = place.serve();
    assert_eq!(server.post(health()).status, 200, "no token is wanted");
    assert_eq!(place.json(&["doctor", "--quick"])["settings"], Value::Null);
    server.stop();
    let named = place.run(&["doctor", "--quick", "--config", "postrider.toml"]);
    assert!(named.code == Some(1) && named.stderr.contains("nonsense"), "who names it gets it: {}", named.stderr);
}

#[test]
fn beyond_loopback_a_server_does_not_start_without_a_token() {
    let place = Place::new();
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let ran = place.run(&["serve", "--host", host, "--port", "0"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains(host) && ran.stderr.contains("AGENT_MAIL_BEARER_TOKEN"), "{}", ran.stderr);
        assert!(!place.database().exists(), "nothing was made");
    }
    let server = place.serve_with(&["--host", "0.0.0.0"], &[("AGENT_MAIL_BEARER_TOKEN", TOKEN)]);
    assert_eq!(server.post(health()).status, 401);
    let empty = place.command(&["serve", "--port", "0"]).env("AGENT_MAIL_BEARER_TOKEN", " ").output().unwrap();
    assert_eq!(empty.status.code(), Some(1), "an empty token is a mistake, not 'none'");
}

#[test]
fn foreign_hosts_and_origins_are_kept_out() {
    let server = Server::start();
    for (header, value, code) in [
        ("Host", "evil.example", "HOST_NOT_ALLOWED"),
        ("Host", "127.0.0.1.evil.example:80", "HOST_NOT_ALLOWED"),
        ("Origin", "http://evil.example", "ORIGIN_NOT_ALLOWED"),
        ("Origin", "null", "ORIGIN_NOT_ALLOWED"),
    ] {
        let answer = server.send("POST", "/mcp", &[(header, value)], health());
        assert_eq!((answer.status, error_code(&answer).as_str()), (403, code), "{header}: {value}");
    }
    for (header, value) in [("Host", "localhost:1"), ("Host", "[::1]"), ("Origin", "http://localhost:3000")] {
        assert_eq!(server.send("POST", "/mcp", &[(header, value)], health()).status, 200, "{header}: {value}");
    }
}

#[test]
fn named_hosts_and_origins_are_let_in() {
    let settings = "allowed_hosts = [\"mail.example\"]\nallowed_origins = [\"https://desk.example\"]";
    let server = Place::with_settings(settings).serve();
    let headers = [("Host", "mail.example:8765"), ("Origin", "https://desk.example")];
    assert_eq!(server.send("POST", "/mcp", &headers, health()).status, 200);
    assert_eq!(server.send("POST", "/mcp", &[("Origin", "https://other.example")], health()).status, 403);
}

#[test]
fn a_request_over_the_limit_is_refused_and_one_below_is_not() {
    let server = Place::with_settings("max_body_bytes = 1000").serve();
    server.register(&["GreenDog", "BlueLake"]);
    let sized = |size: usize| with(message("GreenDog", "BlueLake", "Hello"), json!({ "body_md": "x".repeat(size) }));
    server.call("send_message", sized(1000));
    let refused = server.refused("send_message", sized(1001));
    assert_eq!(refused.code, "TOO_LARGE");
    assert!(refused.message.contains("1001") && refused.message.contains("1000"), "{refused:?}");
    let flood = server.send("POST", "/mcp", &[], "x".repeat(2 * 1024 * 1024));
    assert_eq!((flood.status, error_code(&flood).as_str()), (413, "TOO_LARGE"));
    // Without a length, the limit is met while reading.
    let chunked = [("Transfer-Encoding", "chunked")];
    let body = format!("{:x}\r\n{}\r\n0\r\n\r\n", 1_100_000, "x".repeat(1_100_000));
    let answer = send_chunked(&server, &chunked, &body);
    assert_eq!((answer.status, error_code(&answer).as_str()), (413, "TOO_LARGE"));
}

fn send_chunked(server: &Server, headers: &[(&str, &str)], body: &str) -> harness::http::Answer {
    use std::io::Write;
    let mut connection = server.connect().expect("the server listens");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(connection, "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", server.address)
        .expect("the server takes the head");
    // The server may answer before it has read all of it.
    let _ = connection.write_all(body.as_bytes());
    harness::http::read_answer(connection).expect("the server answers")
}

#[test]
fn a_rate_limit_stops_a_flood_and_says_when_to_come_back() {
    let server = Place::with_settings("rate_limit = 2").serve();
    let answers: Vec<_> = (0..20).map(|_| server.post(health())).collect();
    assert_eq!(answers[0].status, 200);
    let refused = answers.iter().find(|answer| answer.status != 200).expect("20 requests are more than 2 a second");
    assert_eq!((refused.status, error_code(refused).as_str()), (429, "RATE_LIMITED"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.get("/health").status, 200, "a monitor is never turned away");
}

#[test]
fn a_strict_server_wants_proof_for_everything_done_in_a_name() {
    let server = strict();
    server.register(&[]);
    let (green, blue) = (token_of(&server, "GreenDog"), token_of(&server, "BlueLake"));
    let proved = |arguments: Value, token: &str| with(arguments, json!({ "registration_token": token }));
    let hello = message("GreenDog", "BlueLake", "Hello");
    let id = server.call("send_message", proved(hello.clone(), &green))["id"].clone();
    let inbox = server.call("fetch_inbox", proved(as_agent("BlueLake", json!({})), &blue));
    assert_eq!(inbox[0]["vouched"], "verified");
    let reply = json!({ "project_key": PROJECT, "sender_name": "GreenDog", "message_id": id, "body_md": "Hi" });
    let as_green = |more| as_agent("GreenDog", more);
    let acts = [
        ("send_message", hello),
        ("reply_message", reply),
        ("fetch_inbox", as_green(json!({}))),
        ("wait_for_mail", as_green(json!({ "timeout_seconds": 0 }))),
        ("mark_message_read", as_green(json!({ "message_id": id }))),
        ("acknowledge_message", as_green(json!({ "message_id": id }))),
        ("file_reservation_paths", as_green(json!({ "paths": ["src/**"] }))),
        ("release_file_reservations", as_green(json!({}))),
        ("renew_file_reservations", as_green(json!({}))),
        ("register_agent", json!({ "project_key": PROJECT, "name": "GreenDog", "model": "mine" })),
        ("macro_start_session", as_green(json!({ "model": "mine" }))),
        ("macro_prepare_thread", as_green(json!({ "thread_id": id.to_string(), "model": "mine" }))),
    ];
    let before = server.place.kept();
    for (tool, arguments) in acts {
        let check = |refused: Refused, word: &str| {
            assert_eq!(refused.code, "IDENTITY_REQUIRED", "{tool}");
            assert!(refused.message.contains("'GreenDog'") && refused.message.contains(word), "{tool}: {refused:?}");
        };
        check(server.refused(tool, arguments.clone()), "missing");
        check(server.refused(tool, proved(arguments.clone(), &blue)), "wrong");
        check(server.refused(tool, proved(arguments, "")), "wrong");
    }
    assert_eq!(server.place.kept(), before, "nothing of it was done");
    let again = json!({ "project_key": PROJECT, "name": "GreenDog", "registration_token": green });
    assert_eq!(server.call("register_agent", again)["registration_token"], green.as_str());
}

#[test]
fn a_strict_server_wants_proof_for_mailboxes_read_as_resources() {
    let server = strict();
    server.register(&[]);
    let token = token_of(&server, "GreenDog");
    for kind in ["inbox", "outbox"] {
        let uri = inbox_of("GreenDog").replace("inbox", kind);
        let refused = server.rpc("resources/read", json!({ "uri": uri }));
        assert_eq!(refused["error"]["data"]["code"], "IDENTITY_REQUIRED", "{refused}");
        server.read(&format!("{uri}&registration_token={token}"));
    }
    let templates = server.rpc("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    for template in templates.as_array().unwrap() {
        let names_it = template["uriTemplate"].as_str().unwrap().contains("registration_token");
        assert_eq!(names_it, template["name"] == "inbox" || template["name"] == "outbox", "{template}");
    }
}

#[test]
fn without_strictness_a_name_is_believed_and_a_token_proves_nothing() {
    let server = Server::start();
    server.register(&["BlueLake"]);
    let token = token_of(&server, "GreenDog");
    let hello = message("GreenDog", "BlueLake", "Hello");
    assert_eq!(server.call("send_message", hello.clone()).get("vouched"), None, "only claimed");
    for token in [token.as_str(), "wrong"] {
        let shown = with(hello.clone(), json!({ "registration_token": token }));
        assert_eq!(server.call("send_message", shown).get("vouched"), None, "anybody can have a token made out");
    }
}

#[test]
fn no_secret_is_logged_or_repeated() {
    let place = Place::with_settings("identity = \"strict\"");
    let server = place.serve_with(&[], &[("AGENT_MAIL_BEARER_TOKEN", TOKEN), ("POSTRIDER_LOG", "trace")]);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("Authorization", bearer.as_str())];
    let call = |tool: &str, arguments: Value| server.send("POST", "/mcp", &headers, tool_call(tool, &arguments));
    answer_of(&call("ensure_project", json!({ "human_key": PROJECT }))).unwrap();
    let agent = answer_of(&call("register_agent", json!({ "project_key": PROJECT, "name": "GreenDog" }))).unwrap();
    let own = agent["registration_token"].as_str().unwrap();
    let inbox = as_agent("GreenDog", json!({ "registration_token": own }));
    answer_of(&call("fetch_inbox", inbox.clone())).unwrap();
    let wrong = call("fetch_inbox", with(inbox, json!({ "registration_token": "wr0ng-guess" })));
    let outside = server.send("POST", "/mcp", &[("Authorization", "Bearer wr0ng-guess")], health());
    let uri = format!("{}&registration_token={own}&nonsense=1", inbox_of("GreenDog"));
    let misread =
        server.send("POST", "/mcp", &headers, harness::mcp::request("resources/read", &json!({ "uri": uri })));
    for answer in [&wrong, &outside] {
        assert!(!answer.body.contains(TOKEN) && !answer.body.contains("wr0ng-guess"), "{answer:?}");
    }
    assert_eq!(misread.json()["error"]["code"], -32602);
    assert!(!misread.json()["error"]["message"].as_str().unwrap().contains(&own[..4]), "{misread:?}");
    watch_in_vain(&server, &headers, &uri);
    server.stop();
    let log = place.log();
    assert!(log.contains("cannot be watched"), "trace says something: {log}");
    for secret in [TOKEN, own, "wr0ng-guess"] {
        assert!(!log.contains(secret), "the log holds a secret");
    }
    let export = place.done(&["export"]);
    let doctor = place.done(&["doctor"]);
    assert!(!export.contains(own) && !doctor.contains(TOKEN));
}

/// Subscribes to a resource that cannot be watched, and comes back when the server has found that out.
fn watch_in_vain(server: &Server, headers: &[(&str, &str)], uri: &str) {
    let session = [headers, &[("Mcp-Session-Id", "s-1")]].concat();
    for uri in [uri, "resource://reservations/data-projects-app"] {
        let subscribe = harness::mcp::request("resources/subscribe", &json!({ "uri": uri }));
        assert_eq!(server.send("POST", "/mcp", &session, subscribe).status, 200);
    }
    let mut stream = server.listen("GET", &[&session[..], &[("Accept", "text/event-stream")]].concat(), "");
    // Resources are looked at in the order of their addresses, so this one comes after the one in question.
    let notice = stream.event().expect("the other resource can be watched");
    assert_eq!(notice["params"]["uri"], "resource://reservations/data-projects-app");
}

#[test]
fn a_second_server_on_the_same_mail_is_refused_with_the_address_of_the_first() {
    let server = Server::start();
    let second = server.place.run(&["serve", "--port", "0"]);
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains(&format!("http://{}", server.address)), "{}", second.stderr);
    assert_eq!(server.call("health_check", json!({}))["status"], "ready", "the first goes on");
    let place = server.place.clone();
    server.kill();
    place.serve().stop();
}

#[test]
fn a_port_that_is_taken_and_settings_that_are_wrong_are_clear_failures() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ran = Place::new().run(&["serve", "--port", &port]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(&port) && ran.stderr.contains("--port"), "{}", ran.stderr);
    for wrong in ["prot = 1", "port = \"x\"", "identity = \"lax\"", "max_body_bytes = -1", "not toml"] {
        let ran = Place::with_settings(wrong).run(&["serve", "--port", "0"]);
        assert_eq!(ran.code, Some(1), "{wrong}");
        assert!(ran.stderr.contains("postrider.toml"), "{wrong}: {}", ran.stderr);
    }
}
