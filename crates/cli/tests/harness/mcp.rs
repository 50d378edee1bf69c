//! MCP as each kind of client speaks it: bare calls, sessions of the old era, and requests of 2026-07-28.
//!
//! `call` and `refused` check on every answer what holds for all of them: text and structure say the same.

use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Server;
use super::http::{Answer, Stream, read_answer};

/// The project that tests work in.
pub const PROJECT: &str = "/data/projects/app";
/// The revision without sessions.
pub const MODERN: &str = "2026-07-28";

/// Far less than the longest wait of a tool, and far more than anything else takes.
const SOON: Duration = Duration::from_secs(30);

/// A tool call under way. Dropping it is what a client does that goes away.
pub struct Pending {
    connection: TcpStream,
}

impl Pending {
    /// Waits for the answer.
    pub fn answer(self) -> Result<Value, Refused> {
        answer_of(&read_answer(self.connection).expect("the server answers before the deadline"))
    }
}

/// A tool call that was refused.
#[derive(Debug)]
pub struct Refused {
    /// The code for programs.
    pub code: String,
    /// The fact.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// The whole structured answer.
    pub structured: Value,
}

impl Server {
    /// Makes the project and registers agents in it.
    pub fn register(&self, names: &[&str]) {
        self.call("ensure_project", json!({ "human_key": PROJECT }));
        for name in names {
            self.call("register_agent", json!({ "project_key": PROJECT, "name": name }));
        }
    }

    /// Sends a plain message and returns its number.
    pub fn mail(&self, from: &str, to: &str, subject: &str) -> i64 {
        let sent = self.call("send_message", message(from, to, subject));
        sent["id"].as_i64().expect("a message has a number")
    }

    /// Calls a tool as a bare client does, and returns what the text of its answer says.
    pub fn call(&self, tool: &str, arguments: Value) -> Value {
        answer_of(&self.post(tool_call(tool, &arguments)))
            .unwrap_or_else(|refused| panic!("{tool} {arguments} was refused: {refused:?}"))
    }

    /// Calls a tool that must refuse.
    pub fn refused(&self, tool: &str, arguments: Value) -> Refused {
        match answer_of(&self.post(tool_call(tool, &arguments))) {
            Err(refused) => refused,
            Ok(answer) => panic!("{tool} {arguments} was not refused: {answer}"),
        }
    }

    /// Sends a bare request and returns the whole JSON-RPC answer.
    pub fn rpc(&self, method: &str, params: Value) -> Value {
        let answer = self.post(request(method, &params));
        assert!(answer.is("application/json"), "{answer:?}");
        answer.json()
    }

    /// Reads a resource, which must be there.
    pub fn read(&self, uri: &str) -> Value {
        let answer = self.rpc("resources/read", json!({ "uri": uri }));
        let content = &answer["result"]["contents"][0];
        assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("application/json")), "{answer}");
        serde_json::from_str(content["text"].as_str().expect("a resource is text")).expect("a resource is JSON")
    }

    /// Sends a request of 2026-07-28 with the headers that it needs.
    pub fn modern(&self, method: &str, params: Value) -> Answer {
        let (headers, body) = modern_request(method, params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.send("POST", "/mcp", &headers, body)
    }

    /// Opens a `subscriptions/listen` of 2026-07-28 on resources.
    pub fn subscribe(&self, uris: &[&str]) -> Stream {
        let params = json!({ "notifications": { "resourceSubscriptions": uris } });
        let (headers, body) = modern_request("subscriptions/listen", params);
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.listen("POST", &headers, &body)
    }

    /// Starts a tool call and returns at once; its answer is read later, or never.
    pub fn begin(&self, tool: &str, arguments: &Value) -> Pending {
        let body = tool_call(tool, arguments);
        let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        let mut connection = self.connect().expect("the server listens");
        let sent = write!(connection, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        sent.expect("the server takes the request");
        Pending { connection }
    }

    /// Looks at the server's own count of requests under way until it is `wanted`.
    pub fn until_under_way(&self, wanted: usize) {
        let line = format!("postrider_requests_in_flight {wanted}");
        let start = Instant::now();
        while !self.get("/metrics").body.lines().any(|known| known == line) {
            assert!(start.elapsed() < SOON, "there were never {wanted} requests under way");
            thread::yield_now();
        }
    }

    /// Opens a session of the old era and returns its id.
    pub fn initialize(&self, version: &str) -> (String, Value) {
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
        let answer = self.post(request("initialize", &params));
        let session = answer.header("mcp-session-id").expect("a session may be given").to_owned();
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
        let noted = self.send("POST", "/mcp", &[("Mcp-Session-Id", &session)], initialized);
        assert_eq!((noted.status, noted.body.as_str()), (202, ""));
        (session, answer.json()["result"].clone())
    }
}

/// The arguments of a plain message.
pub fn message(from: &str, to: &str, subject: &str) -> Value {
    let body = format!("{subject}, in more words.");
    json!({ "project_key": PROJECT, "sender_name": from, "to": [to], "subject": subject, "body_md": body })
}

/// The arguments of anything that an agent asks for itself, with more members.
pub fn as_agent(name: &str, more: Value) -> Value {
    with(json!({ "project_key": PROJECT, "agent_name": name }), more)
}

/// An object with the members of another added.
pub fn with(mut object: Value, more: Value) -> Value {
    let members = object.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    object
}

/// A JSON-RPC request.
pub fn request(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// A JSON-RPC request that calls a tool.
pub fn tool_call(tool: &str, arguments: &Value) -> String {
    request("tools/call", &json!({ "name": tool, "arguments": arguments }))
}

/// The address of an agent's inbox in the tests' project.
pub fn inbox_of(name: &str) -> String {
    format!("resource://inbox/{name}?project=%2Fdata%2Fprojects%2Fapp")
}

/// A request of 2026-07-28: its headers, and its body.
pub fn modern_request(method: &str, params: Value) -> (Vec<(&'static str, String)>, String) {
    let mut headers = vec![
        ("MCP-Protocol-Version", MODERN.to_owned()),
        ("Mcp-Method", method.to_owned()),
        ("Accept", "application/json, text/event-stream".to_owned()),
    ];
    if let Some(name) = params.get("name").or(params.get("uri")).and_then(Value::as_str) {
        headers.push(("Mcp-Name", name.to_owned()));
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    });
    (headers, request(method, &with(params, json!({ "_meta": meta }))))
}

/// What a tool call came to. Checks what holds for every answer.
pub fn answer_of(answer: &Answer) -> Result<Value, Refused> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.is("application/json"), "{answer:?}");
    let answer = answer.json();
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"));
    let structured = &result["structuredContent"];
    assert_eq!(result["content"].as_array().map(Vec::len), Some(1), "{answer}");
    if result["isError"] == true {
        let member = |name: &str| match &structured["error"][name] {
            Value::String(text) => text.clone(),
            _ => panic!("a refusal without {name}: {answer}"),
        };
        let (code, message, hint) = (member("code"), member("message"), member("hint"));
        assert!(!code.is_empty() && !message.is_empty(), "{answer}");
        assert!([&code, &message, &hint].iter().all(|part| text.contains(*part)), "the text says all of it: {answer}");
        return Err(Refused { code, message, hint, structured: structured.clone() });
    }
    assert_eq!(result["isError"], false, "{answer}");
    let told: Value = serde_json::from_str(text).expect("the text of an answer is JSON");
    let wrapped = if told.is_object() { told.clone() } else { json!({ "result": told }) };
    assert_eq!(*structured, wrapped, "text and structure hold the same");
    Ok(told)
}
