//! A small server with one tool for each thing that can happen, and one resource that changes.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue};
use mcp::{
    Arguments, Endpoint, Hints, Output, Param, ParamKind, ReadError, Refusal, Registry, Reply, ReplyBody,
    ResourceEntry, ResourceTemplate, Resources, ServerInfo, Tool,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};

/// The picture of the toy, as it travels.
pub const ICON: &str = "data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%20viewBox='0%200%201%201'/%3E";
pub const COUNTER: &str = "toy://counter";

const TEXT: &[Param] = &[Param::required("text", ParamKind::Text, "What to say back.")];
const COUNT: &[Param] = &[
    Param::required("count", ParamKind::Number { min: 0, max: 1_000 }, ""),
    Param::optional("names", ParamKind::Names, "").mistaken_for(&["people"]),
    Param::optional("order", ParamKind::Choice(&["up", "down"]), ""),
];

/// The server, and the strings by which a test pulls it.
pub struct Toy {
    pub endpoint: Endpoint,
    pub counter: watch::Sender<u64>,
    /// Told when the tool `wait` has begun.
    pub waiting: Arc<Notify>,
    /// Told when a running `wait` was dropped.
    pub dropped: Arc<Notify>,
}

pub struct Counter(watch::Sender<u64>);

#[async_trait]
impl Resources for Counter {
    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate { uri_template: "toy://{name}", name: "toys", description: "Any toy." }]
    }

    async fn list(&self, cursor: Option<&str>) -> Result<(Vec<ResourceEntry>, Option<String>), Refusal> {
        match cursor {
            None => Ok((vec![entry(COUNTER)], Some("2".into()))),
            Some("2") => Ok((vec![entry("toy://other")], None)),
            Some(cursor) => {
                Err(Refusal::new("BAD_CURSOR", format!("Cursor '{cursor}' is unknown")).hint("Start again."))
            }
        }
    }

    async fn read(&self, uri: &str) -> Result<String, ReadError> {
        match uri {
            COUNTER => Ok(json!({ "count": *self.0.borrow() }).to_string()),
            "toy://locked" => Err(ReadError::Refused(Refusal::new("LOCKED", "It is locked").hint("Ask."))),
            "toy://crash" => panic!("on purpose"),
            _ => Err(ReadError::NotFound(Refusal::new("NOT_FOUND", format!("Resource '{uri}' not found")))),
        }
    }

    async fn watch(&self, uri: &str) -> Result<BoxStream<'static, ()>, ReadError> {
        if uri != COUNTER {
            return Err(ReadError::NotFound(Refusal::new("NOT_FOUND", format!("Resource '{uri}' not found"))));
        }
        let changes = stream::unfold(self.0.subscribe(), |mut counter| async move {
            counter.changed().await.ok()?;
            Some(((), counter))
        });
        Ok(changes.boxed())
    }
}

fn entry(uri: &str) -> ResourceEntry {
    ResourceEntry { uri: uri.into(), name: uri.into() }
}

pub fn toy() -> Toy {
    let counter = watch::Sender::new(0);
    let (waiting, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let info = ServerInfo {
        name: "toy".into(),
        title: "Toy \"server\"".into(),
        version: "1.2.3".into(),
        icon: "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>".into(),
        instructions: "Play nicely.".into(),
    };
    let registry = Registry::new(info, tools(&waiting, &dropped), Arc::new(Counter(counter.clone())));
    Toy { endpoint: Endpoint::new(registry), counter, waiting, dropped }
}

fn tools(waiting: &Arc<Notify>, dropped: &Arc<Notify>) -> Vec<Tool> {
    let (waiting, dropped) = (Arc::clone(waiting), Arc::clone(dropped));
    vec![
        Tool::new("echo", "Say a text back.", TEXT, Hints::READS, |arguments: Arguments| async move {
            Ok(Output::json(&json!({ "text": arguments["text"] })))
        }),
        Tool::new("numbers", "Count.", COUNT, Hints::WRITES, |arguments: Arguments| async move {
            let count = arguments["count"].as_i64().unwrap_or_default();
            Ok(Output::json(&(0..count).collect::<Vec<_>>()))
        }),
        Tool::new("refuse", "Refuse.", &[], Hints::REPEATABLE, |_| async {
            let data = [("tomorrow".to_owned(), json!(true))].into_iter().collect();
            Err(Refusal { data, ..Refusal::new("NO", "Not today").hint("Ask tomorrow.") })
        }),
        Tool::new("crash", "Crash.", &[], Hints::WRITES, |_| async { panic!("on purpose") }),
        Tool::new("who", "Tell who calls.", &[], Hints::READS, |_| async { Ok(Output::json(&json!({}))) }),
        Tool::new("wait", "Wait for ever.", &[], Hints::READS, move |_| {
            let (waiting, guard) = (Arc::clone(&waiting), Told(Arc::clone(&dropped)));
            async move {
                let _guard = guard;
                waiting.notify_one();
                std::future::pending().await
            }
        }),
    ]
}

/// Tells when it is dropped.
struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

pub fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let header = |(name, value): &(&'static str, &str)| {
        (HeaderName::from_static(name), HeaderValue::from_bytes(value.as_bytes()).expect("a header value"))
    };
    pairs.iter().map(header).collect()
}

/// The headers that a client of 2026-07-28 sends with `method`.
pub fn modern_headers(method: &str, name: Option<&str>) -> HeaderMap {
    let mut all = headers(&[
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", method),
    ]);
    if let Some(name) = name {
        all.extend(headers(&[("mcp-name", name)]));
    }
    all
}

/// A request of 2026-07-28.
pub fn modern(id: Value, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// A request of the old era.
pub fn legacy(id: Value, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

impl Toy {
    pub async fn post(&self, headers: &HeaderMap, body: &Value) -> Reply {
        self.endpoint.post(headers, Bytes::from(body.to_string())).await
    }

    /// Posts as a client that sends no header worth mentioning.
    pub async fn bare(&self, method: &str, params: Value) -> Value {
        json_of(&self.post(&HeaderMap::new(), &legacy(json!(1), method, params)).await)
    }

    /// Posts as a client of 2026-07-28 with all headers in order.
    pub async fn modern(&self, method: &str, params: Value) -> (u16, Value) {
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let reply = self.post(&modern_headers(method, name.as_deref()), &modern(json!(1), method, params)).await;
        (reply.status.as_u16(), json_of(&reply))
    }
}

pub fn json_of(reply: &Reply) -> Value {
    match &reply.body {
        ReplyBody::Json(json) => serde_json::from_str(json).expect("the body is JSON"),
        _ => panic!("the body is no JSON"),
    }
}

pub fn events_of(reply: Reply) -> BoxStream<'static, Bytes> {
    match reply.body {
        ReplyBody::EventStream(events) => events,
        _ => panic!("the body is no event stream"),
    }
}

/// The message of one server-sent event.
pub fn message_of(event: &[u8]) -> Value {
    let text = std::str::from_utf8(event).expect("events are UTF-8");
    let data = text.strip_prefix("event: message\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
    serde_json::from_str(data.unwrap_or_else(|| panic!("{text:?} is one message event"))).expect("JSON")
}

pub fn header<'a>(reply: &'a Reply, name: &str) -> Option<&'a str> {
    reply.headers.iter().find(|(header, _)| header == name).and_then(|(_, value)| value.to_str().ok())
}
