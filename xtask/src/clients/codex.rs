//! Codex, which connects only when a program asks it to: `codex app-server`, JSON-RPC by lines on its pipes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Client, LIMIT};
use crate::process::Group;

/// Tells Codex of the server, and has it connect.
pub fn ask(client: &Client, url: &str) -> Result<String> {
    let home = client.home.path().join("codex");
    fs::create_dir_all(&home)?;
    fs::write(home.join("config.toml"), format!("[mcp_servers.postrider]\nurl = \"{url}\"\n"))?;
    let list = client.hear(&["mcp", "list"])?;
    if !list.contains(url) {
        bail!("the server is not in the list: {}", list.trim());
    }
    verdict(&status(client)?)
}

/// What the app server says about the servers that it knows.
fn status(client: &Client) -> Result<Value> {
    let mut command = client.command(&["app-server"]);
    let mut group = Group::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()))?;
    let mut input = group.child.stdin.take().context("the app server has no input")?;
    let answers = lines(group.child.stdout.take().context("the app server has no output")?);
    let about = json!({"clientInfo": {"name": "xtask", "version": env!("CARGO_PKG_VERSION")}});
    writeln!(input, "{}", json!({"id": 1, "method": "initialize", "params": about}))?;
    answer(&answers, 1)?;
    writeln!(input, "{}", json!({"method": "initialized"}))?;
    writeln!(input, "{}", json!({"id": 2, "method": "mcpServerStatus/list", "params": {}}))?;
    answer(&answers, 2)
}

fn lines(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Waits for the result of that request; notices in between are passed over.
fn answer(lines: &Receiver<String>, id: u64) -> Result<Value> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let line = lines
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
            .context("the app server did not answer")?;
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { continue };
        if message["id"] != json!(id) {
            continue;
        }
        if message["error"].is_null() {
            return Ok(message["result"].take());
        }
        bail!("the app server refused: {}", message["error"]);
    }
}

/// Connected means that our server named itself and its tools were read.
fn verdict(status: &Value) -> Result<String> {
    let servers = status["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let server = servers.iter().find(|server| server["name"] == "postrider").context("the server is not known")?;
    let tools = server["tools"].as_object().map_or(0, serde_json::Map::len);
    if server["serverInfo"].is_null() || !server["toolsError"].is_null() || tools == 0 {
        bail!("app-server: serverInfo {}, {tools} tools, toolsError {}", server["serverInfo"], server["toolsError"]);
    }
    let (name, version) = (&server["serverInfo"]["name"], &server["serverInfo"]["version"]);
    Ok(format!("app-server: connected to {name} {version}, {tools} tools"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Receiver<String> {
        lines(std::io::Cursor::new(text.to_owned()))
    }

    #[test]
    fn the_answer_is_found_between_notices() {
        let text = "noise\n{\"method\":\"warning\"}\n{\"id\":1,\"result\":{}}\n{\"id\":2,\"result\":{\"a\":3}}\n";
        assert_eq!(answer(&said(text), 2).unwrap(), json!({"a": 3}));
    }

    #[test]
    fn a_refusal_and_silence_are_errors() {
        let refused = answer(&said("{\"id\":2,\"error\":{\"message\":\"no\"}}\n"), 2).unwrap_err().to_string();
        assert!(refused.contains("no"));
        assert!(answer(&said(""), 2).is_err());
    }

    #[test]
    fn connected_means_a_name_and_tools() {
        let server = |info: Value, tools: Value, error: Value| {
            verdict(&json!({"data": [{"name": "postrider", "serverInfo": info, "tools": tools, "toolsError": error}]}))
        };
        let info = json!({"name": "postrider", "version": "1"});
        let tools = json!({"health_check": {}});
        assert!(server(info.clone(), tools.clone(), Value::Null).unwrap().contains("1 tools"));
        assert!(server(Value::Null, tools.clone(), Value::Null).is_err());
        assert!(server(info.clone(), json!({}), Value::Null).is_err());
        assert!(server(info, tools, json!("timed out")).is_err());
        assert!(verdict(&json!({"data": []})).is_err());
    }
}
