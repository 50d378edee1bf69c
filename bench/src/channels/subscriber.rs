//! Whoever stands for a watcher: listens to a channel over the server's event stream, and reads what is new at each notice.
//!
//! It asks what `postrider watch` asks, over a connection that it keeps.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::CHANNEL;
use crate::caller::Caller;
use crate::mailboxes::PROJECT;
use crate::process::Server;
use crate::wire::Request;

/// The revision of MCP that has no sessions.
const REVISION: &str = "2026-07-28";
/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who listens.
pub struct Subscriber {
    came: Receiver<(Instant, Value)>,
    listening: JoinHandle<anyhow::Result<()>>,
}

impl Subscriber {
    /// Begins to listen; comes back when the server has said that it will tell.
    pub fn begin(server: &Server) -> anyhow::Result<Self> {
        let mut notices = open_stream(server)?;
        until_told(&mut notices, "acknowledged")?;
        let (tell, came) = channel();
        let mut reader = server.caller()?;
        let listening = std::thread::spawn(move || listen(&mut notices, &mut reader, &tell));
        Ok(Self { came, listening })
    }

    /// The next message, and when all of it was there.
    pub fn next(&self) -> anyhow::Result<(Instant, Value)> {
        self.came.recv_timeout(PATIENCE).context("the subscriber got nothing")
    }

    /// Ends, once the server has.
    pub fn end(self) -> anyhow::Result<()> {
        self.listening.join().map_err(|_| anyhow::anyhow!("the subscriber panicked"))?
    }
}

fn address() -> String {
    format!("resource://channel/{CHANNEL}?project={}", PROJECT.replace('/', "%2F"))
}

fn open_stream(server: &Server) -> anyhow::Result<BufReader<TcpStream>> {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": {
            "notifications": { "resourceSubscriptions": [address()] },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": REVISION,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            },
        },
    })
    .to_string();
    let mut stream = TcpStream::connect(server.address)?;
    stream.set_nodelay(true)?;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nMCP-Protocol-Version: {REVISION}\r\n\
         Mcp-Method: subscriptions/listen\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    let mut notices = BufReader::new(stream);
    let mut status = String::new();
    notices.read_line(&mut status)?;
    ensure!(status.starts_with("HTTP/1.1 200"), "no stream: {status}");
    Ok(notices)
}

/// Reads up to an event that says this; whether there was one before the stream ended. An event is one line of data here,
/// and what HTTP puts between them is none.
fn until_told(notices: &mut impl BufRead, what: &str) -> anyhow::Result<bool> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if notices.read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        let text = String::from_utf8_lossy(&line);
        if text.starts_with("data:") && text.contains(what) {
            return Ok(true);
        }
    }
}

fn listen(notices: &mut impl BufRead, reader: &mut Caller, tell: &Sender<(Instant, Value)>) -> anyhow::Result<()> {
    let mut since = newest(reader)?;
    while until_told(notices, "notifications/resources/updated")? {
        let page = read(reader, &format!("{}&since={since}&limit=50", address()))?;
        let read_at = Instant::now();
        for message in page["messages"].as_array().context("a channel without messages")? {
            since = message["id"].as_i64().context("a message without a number")?;
            // Who began this may have gone before all was told.
            let _ = tell.send((read_at, message.clone()));
        }
    }
    Ok(())
}

fn newest(reader: &mut Caller) -> anyhow::Result<i64> {
    Ok(read(reader, &format!("{}&limit=1", address()))?["newest"].as_i64().unwrap_or(0))
}

fn read(reader: &mut Caller, uri: &str) -> anyhow::Result<Value> {
    let ask = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": uri } });
    let answer: Value = serde_json::from_slice(reader.ask(&Request::post(&ask.to_string(), b"}"))?)?;
    let text = answer["result"]["contents"][0]["text"].as_str();
    Ok(serde_json::from_str(text.with_context(|| format!("'{uri}' was not read: {answer}"))?)?)
}
