//! The protocol over a pair of byte streams.

mod toy;

use std::time::Duration;

use mcp::{DEFAULT_MAX_LINE, StdioPeer, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toy::{COUNTER, Toy, legacy, modern, toy};

/// A client whose server runs beside it.
struct Client {
    toy: Toy,
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Client {
    fn start(max_line: usize) -> Client {
        let toy = toy();
        let (near, far) = tokio::io::duplex(1 << 16);
        let (reading, writing) = tokio::io::split(far);
        let server = tokio::spawn(serve(toy.endpoint.clone(), BufReader::new(reading), writing, max_line));
        let (reading, input) = tokio::io::split(near);
        Client { toy, input, output: BufReader::new(reading).lines(), server }
    }

    async fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes()).await;
    }

    async fn send_raw(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).await.expect("the server reads");
    }

    async fn receive(&mut self) -> Value {
        let line = self.output.next_line().await.expect("the server writes").expect("the server is there");
        serde_json::from_str(&line).expect("a line is one JSON message")
    }

    async fn ask(&mut self, message: &Value) -> Value {
        self.send(message).await;
        self.receive().await
    }

    /// Closes the input and returns what the server still says before it ends.
    async fn leave(mut self) -> Vec<String> {
        self.input.shutdown().await.expect("the input closes");
        soon(async {
            let mut rest = Vec::new();
            while let Some(line) = self.output.next_line().await.expect("the server writes") {
                rest.push(line);
            }
            self.server.await.expect("no panic").expect("no error");
            rest
        })
        .await
    }
}

/// Fails instead of hanging when what is awaited never comes.
async fn soon<F: Future>(awaited: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(10), awaited).await.expect("it comes soon")
}

fn tool(id: u64, name: &str) -> Value {
    legacy(json!(id), "tools/call", json!({"name": name, "arguments": {}}))
}

#[tokio::test]
async fn both_eras_are_served_and_the_client_is_remembered() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    let params = json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "old", "version": "1"}});
    let hello = client.ask(&legacy(json!(1), "initialize", params)).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let who = client.ask(&tool(2, "who")).await;
    assert_eq!(who["result"]["structuredContent"], json!({"client": "old", "session": null, "agent": null}));
    let discovered = client.ask(&modern(json!(3), "server/discover", json!({}))).await;
    assert_eq!(discovered["result"]["resultType"], "complete");
    let who = client.ask(&modern(json!(4), "tools/call", json!({"name": "who"}))).await;
    assert_eq!(who["result"]["structuredContent"]["client"], "tester");
    let bare = client.ask(&legacy(json!(5), "server/discover", json!({}))).await;
    assert_eq!(bare["error"]["code"], -32602);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_the_next_line_is_served() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    for (line, code) in [("[]", -32600), ("{", -32700), ("\"x\"", -32600)] {
        client.send_raw(format!("{line}\n").as_bytes()).await;
        assert_eq!(client.receive().await["error"]["code"], code);
    }
    client.send_raw(b"\xff\n\r\n   \n").await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    assert_eq!(client.ask(&legacy(json!(1), "ping", json!({}))).await["id"], 1);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_the_limit_itself_is_not() {
    let ping = legacy(json!(1), "ping", json!({})).to_string();
    let mut client = Client::start(ping.len());
    client.send_raw(format!("{}\n{ping}\n", "x".repeat(1 << 20)).as_bytes()).await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    assert_eq!(client.receive().await["id"], 1);
    client.send_raw(format!(" {ping}\n").as_bytes()).await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
}

#[tokio::test]
async fn a_call_that_waits_holds_up_no_other() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    client.send(&tool(1, "wait")).await;
    client.toy.waiting.notified().await;
    assert_eq!(client.ask(&legacy(json!(2), "ping", json!({}))).await["id"], 2);
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_never_answered() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    client.send(&tool(1, "wait")).await;
    client.toy.waiting.notified().await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    soon(client.toy.dropped.notified()).await;
    assert_eq!(client.ask(&legacy(json!(2), "ping", json!({}))).await["id"], 2);
    assert!(client.leave().await.is_empty());
}

#[tokio::test]
async fn a_cancellation_right_behind_its_request_is_not_lost() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
    let call = legacy(json!("a"), "tools/call", json!({"name": "wait"}));
    client.send_raw(format!("{call}\n{cancel}\n").as_bytes()).await;
    // Leaving waits for every request under way, so it would not come to an end if the call still ran.
    assert!(client.leave().await.is_empty());
}

#[tokio::test]
async fn more_requests_than_may_run_at_once_are_all_answered() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    let lines: String = (0..500).map(|id| format!("{}\n", legacy(json!(id), "ping", json!({})))).collect();
    client.send_raw(lines.as_bytes()).await;
    let mut answered: Vec<u64> = Vec::new();
    for _ in 0..500 {
        answered.push(client.receive().await["id"].as_u64().expect("an id"));
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_end_of_input_waits_for_answers_and_takes_a_last_line_without_an_end() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    let (first, last) = (legacy(json!(1), "ping", json!({})), legacy(json!(2), "ping", json!({})));
    client.send_raw(format!("{first}\n{last}").as_bytes()).await;
    assert_eq!(client.leave().await.len(), 2);
}

#[tokio::test]
async fn a_subscribed_client_hears_of_changes_until_it_unsubscribes() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    for _ in 0..2 {
        let done = client.ask(&legacy(json!(1), "resources/subscribe", json!({"uri": COUNTER}))).await;
        assert_eq!(done["result"], json!({}));
    }
    client.toy.counter.send_replace(1);
    let notice = client.receive().await;
    assert_eq!(notice["method"], "notifications/resources/updated");
    assert_eq!(notice["params"], json!({"uri": COUNTER}));
    client.ask(&legacy(json!(2), "resources/unsubscribe", json!({"uri": COUNTER}))).await;
    client.toy.counter.send_replace(2);
    assert_eq!(client.ask(&legacy(json!(3), "ping", json!({}))).await["id"], 3);
    assert!(client.leave().await.is_empty());
}

#[tokio::test]
async fn a_listener_is_acknowledged_told_and_said_farewell_when_the_client_leaves() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    let wanted = json!({"notifications": {"resourceSubscriptions": [COUNTER]}});
    let first = client.ask(&modern(json!("l"), "subscriptions/listen", wanted)).await;
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    client.toy.counter.send_replace(1);
    let notice = client.receive().await;
    assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l");
    assert_eq!(client.ask(&legacy(json!(2), "ping", json!({}))).await["id"], 2);
    let rest = client.leave().await;
    assert_eq!(rest.len(), 1);
    assert!(rest[0].contains("\"id\":\"l\"") && rest[0].contains("\"result\""));
}

#[tokio::test]
async fn a_cancelled_listener_hears_no_more() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    let wanted = json!({"notifications": {"resourceSubscriptions": [COUNTER]}});
    client.ask(&modern(json!(1), "subscriptions/listen", wanted)).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})).await;
    assert_eq!(client.ask(&legacy(json!(2), "ping", json!({}))).await["id"], 2);
    client.toy.counter.send_replace(1);
    assert!(client.leave().await.is_empty());
}

#[tokio::test]
async fn closing_the_endpoint_ends_the_service() {
    let mut client = Client::start(DEFAULT_MAX_LINE);
    client.ask(&modern(json!(1), "subscriptions/listen", json!({"notifications": {}}))).await;
    client.toy.endpoint.close();
    assert_eq!(client.receive().await["id"], 1);
    client.server.await.expect("no panic").expect("no error");
    let mut rest = Vec::new();
    client.output.into_inner().read_to_end(&mut rest).await.expect("the output is closed");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_line_by_itself_is_answered_and_its_notices_go_to_the_peer() {
    let toy = toy();
    let (outgoing, mut notices) = mpsc::channel(4);
    let peer = StdioPeer::new(outgoing);
    let subscribe = legacy(json!(1), "resources/subscribe", json!({"uri": COUNTER})).to_string();
    let answer = toy.endpoint.line(&subscribe, &peer).await;
    assert_eq!(answer.as_deref(), Some(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
    toy.counter.send_replace(1);
    assert!(notices.recv().await.expect("a notice").contains(COUNTER));
    assert_eq!(toy.endpoint.line(r#"{"method":"notifications/initialized"}"#, &peer).await, None);
}
