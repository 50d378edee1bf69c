//! `postrider stdio` keeps to the settings of its home, and to those of the server that it joins.
//!
//! What a server would refuse is refused without one too; each limit is tested from both sides.

use serde_json::{Value, json};

use crate::driven::{Client, DEADLINE, Home, PROJECT, message};

/// Runs a test in both modes under these settings: on the database itself, and joined to a server.
fn in_both_modes(settings: &str, test: impl Fn(&Home)) {
    test(&Home::with_settings(settings));
    let home = Home::with_settings(settings);
    let _server = home.serve(&[], &[]);
    test(&home);
}

/// The code of the refusal of a call.
fn refused(client: &mut Client, tool: &str, arguments: Value) -> String {
    let id = client.begin_call(tool, arguments);
    let answer = client.answer(id);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    answer["result"]["structuredContent"]["error"]["code"].as_str().expect("a code").to_owned()
}

fn tools(client: &mut Client) -> usize {
    client.ask("tools/list", json!({}))["result"]["tools"].as_array().expect("tools").len()
}

#[test]
fn where_the_home_wants_names_proved_they_are_proved_with_and_without_a_server() {
    in_both_modes("identity = \"strict\"", |home| {
        let mut client = home.client();
        client.call("ensure_project", json!({ "human_key": PROJECT }));
        let register = |name| json!({ "project_key": PROJECT, "name": name });
        let anna = client.call("register_agent", register("Anna"));
        client.call("register_agent", register("Bert"));
        let mut message = message("Anna", "Bert", "it is me");
        let without = refused(&mut client, "send_message", message.clone());
        message["registration_token"] = "wrong".into();
        let wrong = refused(&mut client, "send_message", message.clone());
        assert_eq!((without.as_str(), wrong.as_str()), ("IDENTITY_REQUIRED", "IDENTITY_REQUIRED"));
        message["registration_token"] = anna["registration_token"].clone();
        client.call("send_message", message);
    });
}

#[test]
fn without_a_server_the_home_decides_what_is_listed_and_the_flag_beats_it() {
    let home = Home::with_settings("tools = \"lean\"");
    assert_eq!(tools(&mut home.client()), 9);
    assert!(tools(&mut home.client_with(&["--tools", "full"], &[])) > 9);
}

#[test]
fn a_line_may_be_as_long_as_the_largest_request_and_no_longer() {
    in_both_modes("max_body_bytes = 1000", |home| {
        let mut client = home.client();
        let limit = 6 * 1000 + (1 << 20);
        let ping = |size: usize| {
            let mut line = br#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#.to_vec();
            line.resize(size, b' ');
            line
        };
        client.send_line(&ping(limit));
        let is_answer = |message: &Value| message["id"] == "p";
        assert_eq!(client.next_within(DEADLINE, is_answer).expect("an answer")["result"], json!({}));
        client.send_line(&ping(limit + 1));
        let refused = client.nameless();
        assert_eq!(refused["error"]["code"], -32600);
        assert!(refused["error"]["message"].as_str().expect("words").contains(&limit.to_string()), "{refused}");
        assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
    });
}

#[test]
fn a_body_at_its_limit_is_taken_however_it_is_written() {
    in_both_modes("max_body_bytes = 300000", |home| {
        let mut client = home.client();
        client.register("Anna");
        client.register("Bert");
        let mut large = message("Anna", "Bert", "large");
        large["body_md"] = "\u{1}".repeat(300_000).into();
        assert!(large.to_string().len() > 1_800_000);
        client.call("send_message", large.clone());
        large["body_md"] = "x".repeat(300_001).into();
        assert_eq!(refused(&mut client, "send_message", large), "TOO_LARGE");
    });
}

#[test]
fn a_message_that_the_server_finds_too_large_is_refused() {
    let (here, there) = (Home::new(), Home::with_settings("max_body_bytes = 1000"));
    let server = there.serve(&[], &[]);
    let mut client = here.client_with(&[], &[("POSTRIDER_URL", &server.url)]);
    let mut large = message("Anna", "Bert", "large");
    large["body_md"] = "x".repeat(12 << 20).into();
    assert_eq!(refused(&mut client, "send_message", large), "TOO_LARGE");
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

#[test]
fn what_the_door_refuses_is_a_refusal_and_the_right_token_is_let_in() {
    let home = Home::new();
    let _server = home.serve(&[], &[("AGENT_MAIL_BEARER_TOKEN", "s3cret")]);
    let mut stranger = home.client();
    let id = stranger.begin_call("health_check", json!({}));
    let refused = stranger.answer(id);
    assert_eq!(refused["result"]["isError"], true);
    assert_eq!(refused["result"]["structuredContent"]["error"]["code"], "UNAUTHORIZED");
    assert_eq!(stranger.ask("tools/list", json!({}))["error"]["code"], -32603);
    let mut friend = home.client_with(&[], &[("AGENT_MAIL_BEARER_TOKEN", "s3cret")]);
    assert_eq!(friend.call("health_check", json!({}))["status"], "ready");
}
