//! One client that blocks: for setting things up, and for what is measured one call at a time.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::wire::{self, Request};

/// Longer than any answer takes, those that wait for mail included.
const PATIENCE: Duration = Duration::from_secs(90);

/// A connection that is kept.
pub struct Caller {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Caller {
    /// Connects.
    pub fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![0; 256 * 1024] })
    }

    /// Sends a request and returns the body of its answer, which is what the request says it must be.
    pub fn ask(&mut self, request: &Request) -> anyhow::Result<&[u8]> {
        self.stream.write_all(&request.bytes).context("cannot send")?;
        let mut filled = 0;
        let mut frame = None;
        loop {
            match self.stream.read(&mut self.buffer[filled..]).context("cannot receive")? {
                0 => bail!("the server hung up in the middle of an answer"),
                more => filled += more,
            }
            if frame.is_none() {
                frame = wire::frame(&self.buffer[..filled])?;
            }
            let Some(frame) = &frame else { continue };
            if frame.body.end > self.buffer.len() {
                self.buffer.resize(frame.body.end, 0);
            }
            if filled >= frame.body.end {
                let body = &self.buffer[frame.body.start..filled];
                request.check(frame.status, body)?;
                return Ok(body);
            }
        }
    }

    /// Calls a tool and returns what it answers as a value.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<Value> {
        let answer = self.ask(&Request::call(tool, arguments)).with_context(|| format!("calling {tool}"))?;
        let mut answer: Value = serde_json::from_slice(answer)?;
        Ok(answer["result"]["structuredContent"].take())
    }

    /// Makes the project, and registers agents in it.
    pub fn move_in(&mut self, project: &str, agents: &[String]) -> anyhow::Result<()> {
        self.call("ensure_project", &json!({ "human_key": project }))?;
        for name in agents {
            self.call("register_agent", &json!({ "project_key": project, "name": name, "program": "bench" }))?;
        }
        Ok(())
    }
}
