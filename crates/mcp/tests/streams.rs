//! Notices over HTTP: who hears of a change, how a stream begins, and what ends it.

use std::time::Duration;

use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt, StreamExt};
use http::HeaderMap;
use mcp::Reply;
use serde_json::{Value, json};

use crate::toy::{COUNTER, Toy, events_of, header, headers, json_of, legacy, message_of, modern, modern_headers, toy};

fn session(id: &str) -> HeaderMap {
    headers(&[("accept", "text/event-stream"), ("mcp-session-id", id)])
}

async fn subscribe(toy: &Toy, method: &str, id: Option<&str>, uri: &str) -> Value {
    let headers = id.map_or_else(HeaderMap::new, |id| headers(&[("mcp-session-id", id)]));
    json_of(&toy.post(&headers, &legacy(json!(1), method, json!({ "uri": uri }))).await)
}

async fn listen(toy: &Toy, id: Value, notifications: Value) -> Reply {
    let body = modern(id, "subscriptions/listen", json!({ "notifications": notifications }));
    toy.post(&modern_headers("subscriptions/listen", None), &body).await
}

async fn next(events: &mut BoxStream<'static, Bytes>) -> Value {
    message_of(&events.next().await.expect("the stream goes on"))
}

/// Whether nothing is to be read now. A stream must be looked at once for it to follow its session.
fn is_silent(events: &mut BoxStream<'static, Bytes>) -> bool {
    events.next().now_or_never().is_none()
}

#[tokio::test]
async fn get_is_not_allowed_without_a_session_that_wants_events() {
    let toy = toy();
    let refused = [
        HeaderMap::new(),
        headers(&[("accept", "text/event-stream")]),
        headers(&[("mcp-session-id", "s")]),
        headers(&[("mcp-session-id", "s"), ("accept", "application/json")]),
    ];
    for headers in refused {
        let reply = toy.endpoint.get(&headers);
        assert_eq!((reply.status.as_u16(), header(&reply, "allow")), (405, Some("POST")));
    }
    let reply = toy.endpoint.get(&session("s"));
    assert_eq!((reply.status.as_u16(), header(&reply, "content-type")), (200, Some("text/event-stream")));
    assert_eq!(header(&reply, "x-accel-buffering"), Some("no"));
}

#[tokio::test]
async fn a_session_hears_of_what_it_subscribed_to_before_and_after_its_stream_opened() {
    for subscribes_first in [true, false] {
        let toy = toy();
        if subscribes_first {
            subscribe(&toy, "resources/subscribe", Some("s"), COUNTER).await;
        }
        let mut events = events_of(toy.endpoint.get(&session("s")));
        if !subscribes_first {
            assert!(is_silent(&mut events));
            assert_eq!(subscribe(&toy, "resources/subscribe", Some("s"), COUNTER).await["result"], json!({}));
        }
        let notice = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": COUNTER}});
        assert_eq!(next(&mut events).await, notice, "the first tells of what may have changed meanwhile");
        assert!(is_silent(&mut events));
        toy.counter.send_replace(1);
        assert_eq!(next(&mut events).await, notice);
    }
}

#[tokio::test]
async fn a_session_that_unsubscribed_hears_no_more() {
    let toy = toy();
    subscribe(&toy, "resources/subscribe", Some("s"), COUNTER).await;
    let mut events = events_of(toy.endpoint.get(&session("s")));
    assert_eq!(next(&mut events).await["params"]["uri"], COUNTER);
    assert_eq!(subscribe(&toy, "resources/unsubscribe", Some("s"), COUNTER).await["result"], json!({}));
    assert!(is_silent(&mut events));
    toy.counter.send_replace(1);
    assert!(is_silent(&mut events));
}

#[tokio::test]
async fn another_session_hears_nothing() {
    let toy = toy();
    subscribe(&toy, "resources/subscribe", Some("s"), COUNTER).await;
    let mut events = events_of(toy.endpoint.get(&session("other")));
    assert!(is_silent(&mut events));
    toy.counter.send_replace(1);
    assert!(is_silent(&mut events));
}

#[tokio::test]
async fn subscribing_succeeds_without_a_session_and_for_what_is_not_there() {
    let toy = toy();
    assert_eq!(subscribe(&toy, "resources/subscribe", None, COUNTER).await["result"], json!({}));
    assert_eq!(subscribe(&toy, "resources/subscribe", Some("s"), "test://watched").await["result"], json!({}));
    assert_eq!(subscribe(&toy, "resources/unsubscribe", None, COUNTER).await["result"], json!({}));
    let nameless = toy.bare("resources/subscribe", json!({})).await;
    assert_eq!(nameless["error"]["code"], -32602);
}

#[tokio::test]
async fn a_second_stream_of_one_session_takes_the_place_of_the_first() {
    let toy = toy();
    subscribe(&toy, "resources/subscribe", Some("s"), COUNTER).await;
    let mut first = events_of(toy.endpoint.get(&session("s")));
    assert_eq!(next(&mut first).await["params"]["uri"], COUNTER);
    let mut second = events_of(toy.endpoint.get(&session("s")));
    assert_eq!(first.next().await, None);
    assert_eq!(next(&mut second).await["params"]["uri"], COUNTER);
    assert!(is_silent(&mut second));
    toy.counter.send_replace(1);
    assert_eq!(next(&mut second).await["params"]["uri"], COUNTER);
}

#[tokio::test]
async fn a_session_that_was_deleted_is_over_for_every_method() {
    let toy = toy();
    let mut events = events_of(toy.endpoint.get(&session("s")));
    assert!(is_silent(&mut events));
    assert_eq!(toy.endpoint.delete(&session("s")).status.as_u16(), 204);
    assert_eq!(events.next().await, None);
    assert_eq!(toy.endpoint.get(&session("s")).status.as_u16(), 404);
    let reply = toy.post(&session("s"), &legacy(json!(1), "ping", json!({}))).await;
    assert_eq!((reply.status.as_u16(), &json_of(&reply)["id"]), (404, &json!(1)));
    let note = toy.post(&session("s"), &json!({"jsonrpc": "2.0", "method": "notifications/x"})).await;
    assert_eq!(note.status.as_u16(), 404);
    assert_eq!(toy.endpoint.delete(&HeaderMap::new()).status.as_u16(), 405);
}

#[tokio::test]
async fn a_session_nobody_heard_of_is_served_like_any_other() {
    let reply = toy()
        .post(&headers(&[("mcp-session-id", "from-before-the-restart")]), &legacy(json!(1), "ping", json!({})))
        .await;
    assert_eq!(reply.status.as_u16(), 200);
}

#[tokio::test]
async fn listening_is_acknowledged_first_with_what_can_be_honoured() {
    let toy = toy();
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": [COUNTER, "toy://gone"]});
    let reply = listen(&toy, json!("sub-1"), wanted).await;
    assert_eq!(header(&reply, "content-type"), Some("text/event-stream"));
    let mut events = events_of(reply);
    let meta = json!({"io.modelcontextprotocol/subscriptionId": "sub-1"});
    let params = json!({"_meta": meta, "notifications": {"resourceSubscriptions": [COUNTER]}});
    let acknowledged =
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params});
    assert_eq!(next(&mut events).await, acknowledged);
    toy.counter.send_replace(1);
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"_meta": meta, "uri": COUNTER}});
    assert_eq!(next(&mut events).await, updated);
    assert!(is_silent(&mut events));
}

#[tokio::test]
async fn listening_for_lists_alone_is_acknowledged_with_nothing() {
    let mut events = events_of(listen(&toy(), json!(7), json!({"promptsListChanged": true})).await);
    let first = next(&mut events).await;
    assert_eq!(first["params"]["notifications"], json!({}));
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
}

#[tokio::test]
async fn listening_without_saying_for_what_is_refused() {
    for wrong in [Value::Null, json!([]), json!({"resourceSubscriptions": "toy://counter"})] {
        let reply = listen(&toy(), json!(1), wrong).await;
        assert_eq!(json_of(&reply)["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn closing_says_farewell_to_listeners_and_ends_every_stream() {
    let toy = toy();
    let mut listening = events_of(listen(&toy, json!(5), json!({})).await);
    let mut session = events_of(toy.endpoint.get(&session("s")));
    next(&mut listening).await;
    toy.endpoint.close();
    let farewell = next(&mut listening).await;
    assert_eq!((&farewell["id"], &farewell["result"]["resultType"]), (&json!(5), &json!("complete")));
    assert_eq!(farewell["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 5);
    assert_eq!((listening.next().await, session.next().await), (None, None));
    assert_eq!(toy.bare("ping", json!({})).await["result"], json!({}), "requests are still answered");
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_says_every_fifteen_seconds_that_it_lives() {
    let toy = toy();
    let mut listening = events_of(listen(&toy, json!(5), json!({})).await);
    next(&mut listening).await;
    let mut session = events_of(toy.endpoint.get(&session("s")));
    for events in [&mut listening, &mut session] {
        let before = tokio::time::Instant::now();
        assert_eq!(events.next().await.as_deref(), Some(&b": keep-alive\n\n"[..]));
        assert!(before.elapsed() <= Duration::from_secs(16));
    }
}

#[tokio::test]
async fn only_so_many_can_listen_and_a_dropped_stream_frees_its_place() {
    let toy = toy();
    let mut open = Vec::new();
    for _ in 0..1_000 {
        open.push(events_of(listen(&toy, json!(1), json!({})).await));
    }
    let refused = listen(&toy, json!(1), json!({})).await;
    assert_eq!((refused.status.as_u16(), json_of(&refused)["error"]["code"].as_i64()), (503, Some(-32603)));
    open.pop();
    let _open = events_of(listen(&toy, json!(1), json!({})).await);
}
