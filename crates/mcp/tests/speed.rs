//! How long one call takes here. Run by hand, in release: `cargo test --release -p mcp -- --ignored --nocapture`.
//!
//! Nothing is asserted, because machines differ; the figure is written to standard error.

mod toy;

use std::io::Write;
use std::time::Instant;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};
use toy::{headers, legacy, modern, modern_headers, toy};

const CALLS: u32 = 100_000;

async fn measure(what: &str, headers: &HeaderMap, body: &Value) {
    let endpoint = toy().endpoint;
    let body = Bytes::from(body.to_string());
    let start = Instant::now();
    for _ in 0..CALLS {
        let reply = endpoint.post(headers, body.clone()).await;
        std::hint::black_box(&reply);
    }
    let each = start.elapsed() / CALLS;
    let _ = writeln!(std::io::stderr(), "{what}: {:.2} µs", each.as_secs_f64() * 1e6);
}

#[tokio::test]
#[ignore = "a measurement, not a promise"]
async fn calls_are_timed() {
    let call = json!({"name": "echo", "arguments": {"text": "hello"}});
    let usual = headers(&[
        ("host", "127.0.0.1:8765"),
        ("user-agent", "curl/8"),
        ("accept", "*/*"),
        ("content-type", "application/json"),
        ("content-length", "120"),
        ("authorization", "Bearer 0123456789abcdef"),
    ]);
    measure("bare tools/call, no headers", &HeaderMap::new(), &legacy(json!(1), "tools/call", call.clone())).await;
    measure("bare tools/call, six headers", &usual, &legacy(json!(1), "tools/call", call.clone())).await;
    measure("modern tools/call", &modern_headers("tools/call", Some("echo")), &modern(json!(1), "tools/call", call))
        .await;
    let page = "A line of Markdown that says \"something\" of about the usual length, and no more.\n".repeat(50);
    let large = json!({"name": "echo", "arguments": {"text": page}});
    measure("bare tools/call of 4 KB", &usual, &legacy(json!(1), "tools/call", large)).await;
    measure("tools/list", &usual, &legacy(json!(1), "tools/list", json!({}))).await;
    measure("ping", &usual, &legacy(json!(1), "ping", json!({}))).await;
}
