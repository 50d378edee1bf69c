//! A ceiling: the same HTTP stack with nothing behind it.
//!
//! It reads the JSON of a request and answers with a few bytes, in a process of its own, with the server's allocator
//! and runtime. What a real answer takes beyond this is the cost of mail.

use std::net::Ipv4Addr;

use axum::routing::post;
use axum::serve::ListenerExt;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How every answer ends.
pub const ENDING: &[u8] = b"\"result\":{\"ok\":true}}";

/// Answers requests until it is killed; says where it listens in the first line of its output.
pub fn serve(port: u16) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        println!("{}", json!({ "url": format!("http://{}/mcp", listener.local_addr()?) }));
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, Router::new().route("/mcp", post(answer))).await?;
        Ok(())
    })
}

async fn answer(Json(request): Json<Value>) -> Json<Value> {
    Json(json!({ "id": request["id"], "jsonrpc": "2.0", "result": { "ok": true } }))
}
