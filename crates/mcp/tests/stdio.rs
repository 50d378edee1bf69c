//! The protocol over a pair of byte streams: what is read, what a line is answered with, what is written.

use std::io;
use std::time::Duration;

use mcp::{Endpoint, Line, StdioPeer, next_line, write_lines};
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, BufReader};
use tokio::sync::mpsc;

use crate::toy::{COUNTER, Toy, legacy, modern, toy};

/// A client that asks by lines.
struct Client {
    toy: Toy,
    peer: StdioPeer,
    notices: mpsc::Receiver<String>,
}

impl Client {
    fn new() -> Client {
        let (outgoing, notices) = mpsc::channel(16);
        Client { toy: toy(), peer: StdioPeer::new(outgoing), notices }
    }

    async fn ask(&self, message: &Value) -> Value {
        ask(&self.toy.endpoint, &self.peer, message).await
    }

    async fn notice(&mut self) -> Value {
        let notice = soon(self.notices.recv()).await.expect("the peer is there");
        serde_json::from_str(&notice).expect("a notice is JSON")
    }

    /// What was said and not taken. Nobody can say more afterwards.
    fn rest(mut self) -> Vec<String> {
        drop((self.peer, self.toy));
        std::iter::from_fn(|| self.notices.try_recv().ok()).collect()
    }
}

async fn ask(endpoint: &Endpoint, peer: &StdioPeer, message: &Value) -> Value {
    let answer = endpoint.line(&message.to_string(), peer).await.expect("a request is answered");
    assert!(!answer.contains('\n'));
    serde_json::from_str(&answer).expect("an answer is JSON")
}

/// Fails instead of hanging when what is awaited never comes.
async fn soon<F: Future>(awaited: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(10), awaited).await.expect("it comes soon")
}

fn tool(id: u64, name: &str) -> Value {
    legacy(json!(id), "tools/call", json!({"name": name, "arguments": {}}))
}

fn listen(id: Value) -> Value {
    modern(id, "subscriptions/listen", json!({"notifications": {"resourceSubscriptions": [COUNTER]}}))
}

/// All lines of `input`; `None` stands for one that is too long.
async fn lines(mut input: impl AsyncBufRead + Unpin, max: usize) -> Vec<Option<String>> {
    let mut lines = Vec::new();
    loop {
        match next_line(&mut input, max).await.expect("memory can be read") {
            Line::Whole(line) => lines.push(Some(String::from_utf8(line).expect("text"))),
            Line::TooLong => lines.push(None),
            Line::End => return lines,
        }
    }
}

#[tokio::test]
async fn both_eras_are_served() {
    let client = Client::new();
    let params = json!({"protocolVersion": "2025-06-18", "clientInfo": {"name": "old", "version": "1"}});
    let hello = client.ask(&legacy(json!(1), "initialize", params)).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-06-18");
    let discovered = client.ask(&modern(json!(3), "server/discover", json!({}))).await;
    assert_eq!(discovered["result"]["resultType"], "complete");
    let bare = client.ask(&legacy(json!(5), "server/discover", json!({}))).await;
    assert_eq!(bare["error"]["code"], -32602);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_what_wants_no_answer_gets_none() {
    let client = Client::new();
    for (line, code) in [("[]", -32600), ("{", -32700), ("\"x\"", -32600)] {
        let refused = client.toy.endpoint.line(line, &client.peer).await.expect("a refusal");
        assert!(refused.contains(&code.to_string()), "{refused}");
    }
    for line in [r#"{"method":"notifications/initialized"}"#, r#"{"id":1,"result":{}}"#] {
        assert_eq!(client.toy.endpoint.line(line, &client.peer).await, None);
    }
}

#[tokio::test]
async fn a_call_that_waits_holds_up_no_other_and_is_dropped_with_its_line() {
    let client = Client::new();
    let call = tool(1, "wait").to_string();
    {
        let waiting = client.toy.endpoint.line(&call, &client.peer);
        tokio::select! {
            answer = waiting => panic!("{answer:?}"),
            () = client.toy.waiting.notified() => {}
        }
    }
    soon(client.toy.dropped.notified()).await;
    assert_eq!(client.ask(&legacy(json!(2), "ping", json!({}))).await["id"], 2);
}

#[tokio::test]
async fn a_subscribed_client_hears_of_changes_until_it_unsubscribes() {
    let mut client = Client::new();
    for _ in 0..2 {
        let done = client.ask(&legacy(json!(1), "resources/subscribe", json!({"uri": COUNTER}))).await;
        assert_eq!(done["result"], json!({}));
    }
    client.toy.counter.send_replace(1);
    let notice = client.notice().await;
    assert_eq!(notice["method"], "notifications/resources/updated");
    assert_eq!(notice["params"], json!({"uri": COUNTER}));
    client.ask(&legacy(json!(2), "resources/unsubscribe", json!({"uri": COUNTER}))).await;
    client.toy.counter.send_replace(2);
    assert_eq!(client.ask(&legacy(json!(3), "ping", json!({}))).await["id"], 3);
    assert!(client.rest().is_empty());
}

#[tokio::test]
async fn a_listener_is_acknowledged_told_and_said_farewell_when_the_endpoint_closes() {
    let Client { toy, peer, mut notices } = Client::new();
    let request = listen(json!("l"));
    let listening = ask(&toy.endpoint, &peer, &request);
    let told = async {
        let acknowledged = notices.recv().await.expect("a notice");
        assert!(acknowledged.contains("notifications/subscriptions/acknowledged"), "{acknowledged}");
        toy.counter.send_replace(1);
        let notice: Value = serde_json::from_str(&notices.recv().await.expect("a notice")).expect("JSON");
        assert_eq!(notice["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "l");
        toy.endpoint.close();
    };
    let (farewell, ()) = soon(async { tokio::join!(listening, told) }).await;
    assert_eq!(farewell["id"], "l");
    assert!(farewell["result"].is_object(), "{farewell}");
    assert!(notices.try_recv().is_err());
}

#[tokio::test]
async fn a_listener_that_was_dropped_hears_no_more() {
    let mut client = Client::new();
    let request = listen(json!(1)).to_string();
    tokio::select! {
        answer = client.toy.endpoint.line(&request, &client.peer) => panic!("{answer:?}"),
        acknowledged = client.notices.recv() => assert!(acknowledged.is_some()),
    }
    client.toy.counter.send_replace(1);
    assert_eq!(client.ask(&legacy(json!(2), "ping", json!({}))).await["id"], 2);
    assert!(client.rest().is_empty());
}

#[tokio::test]
async fn lines_are_read_without_blank_ones_and_the_last_needs_no_end() {
    let input = "one\n\r\n   \ntwo\n\nthree";
    for buffer in [1, 2, 3, 64] {
        let read = lines(BufReader::with_capacity(buffer, input.as_bytes()), 100).await;
        assert_eq!(read, ["one", "two", "three"].map(|line| Some(line.to_owned())), "read by {buffer}");
    }
    assert!(lines(&b""[..], 100).await.is_empty());
    assert!(lines(&b"\n \n"[..], 100).await.is_empty());
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_one_at_the_limit_is_not() {
    let long = "x".repeat(1 << 20);
    let input = format!("12345\n{long}\n123456\n1\n{long}");
    for buffer in [1, 7, 1 << 16] {
        let read = lines(BufReader::with_capacity(buffer, input.as_bytes()), 5).await;
        assert_eq!(read, [Some("12345".to_owned()), None, None, Some("1".to_owned()), None], "read by {buffer}");
    }
}

#[tokio::test]
async fn each_message_is_written_as_a_line_until_nobody_sends_any() -> io::Result<()> {
    let (outgoing, messages) = mpsc::channel(2);
    let mut written = Vec::new();
    let said = async {
        for message in ["{}", "[]", "1"] {
            outgoing.send(message.to_owned()).await.expect("somebody writes");
        }
        drop(outgoing);
        Ok(())
    };
    tokio::try_join!(write_lines(&mut written, messages), said)?;
    assert_eq!(written, b"{}\n[]\n1\n");
    Ok(())
}
