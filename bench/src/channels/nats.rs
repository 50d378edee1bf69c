//! A NATS server of the bench's own, and a client that says what it must and nothing else, as the ceiling.
//!
//! Not a client for anybody else: no reconnecting, one thread.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::folder::foreign;
use super::home::{Running, until};
use crate::mailboxes::messages;
use crate::samples::Samples;
use crate::setting::Setting;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// For how long a stream knows what it was sent, as for ours.
const REMEMBERED_NANOS: u64 = 3_600_000_000_000;

/// A server that keeps streams.
pub struct Nats {
    port: u16,
    _process: Running,
}

impl Nats {
    /// Starts one; `None` if there is no such program.
    pub fn start(setting: &Setting) -> anyhow::Result<Option<Self>> {
        let store = setting.fresh_folder()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        // Debian puts it where only the superuser looks.
        for program in ["nats-server", "/usr/sbin/nats-server"] {
            let mut command = Command::new(program);
            command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"]).arg(&store);
            let Ok(child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else { continue };
            let nats = Self { port, _process: Running(child) };
            until("nats-server listens", || Ok(nats.client().is_ok()))?;
            return Ok(Some(nats));
        }
        Ok(None)
    }

    /// The settings of an office that speaks to it.
    pub fn settings(&self, prefix: &str) -> String {
        format!("[nats]\nurl = \"nats://127.0.0.1:{}\"\nprefix = \"{prefix}\"\n", self.port)
    }

    /// A new connection.
    pub fn client(&self) -> anyhow::Result<Client> {
        Client::connect(self.port)
    }

    /// A ceiling: how long a plain publication takes to whoever has subscribed, without any stream.
    pub fn round_trips(&self, count: usize) -> anyhow::Result<Samples> {
        let (mut publisher, mut subscriber) = (self.client()?, self.client()?);
        subscriber.subscribe("ceiling.core")?;
        let mut durations = Vec::with_capacity(count);
        for (number, message) in messages(count, count).enumerate() {
            let document = foreign(number, &message.body)?.1;
            let begun = Instant::now();
            publisher.publish("ceiling.core", &document)?;
            ensure!(subscriber.next()?.len() == document.len(), "another publication came");
            durations.push(begun.elapsed());
        }
        Ok(durations.into_iter().collect())
    }

    /// A ceiling: how many publications in a second a stream takes when each is confirmed before the next.
    pub fn bare_stream(&self, name: &str, count: usize) -> anyhow::Result<f64> {
        let mut client = self.client()?;
        let config = json!({
            "name": name, "subjects": [format!("{name}.>")], "retention": "limits", "storage": "file",
            "duplicate_window": REMEMBERED_NANOS,
        });
        let made = client.request(&format!("$JS.API.STREAM.CREATE.{name}"), "", &config.to_string())?;
        ensure!(made["error"].is_null(), "no stream: {made}");
        let subject = format!("{name}.project.channel.dev");
        let mut documents = Vec::with_capacity(count);
        for (number, message) in messages(count, count).enumerate() {
            documents.push(foreign(number, &message.body)?.1);
        }
        let begun = Instant::now();
        for (number, document) in documents.iter().enumerate() {
            let headers = format!("NATS/1.0\r\nNats-Msg-Id: project:{number}:0123456789abcdef\r\n\r\n");
            let kept = client.request(&subject, &headers, document)?;
            ensure!(kept["seq"].as_u64() == Some(number as u64 + 1), "not kept: {kept}");
        }
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }
}

/// A connection.
pub struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    inbox: String,
    subscriptions: usize,
}

impl Client {
    fn connect(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let inbox = format!("_INBOX.{}", stream.local_addr()?.port());
        let reader = BufReader::new(stream.try_clone()?);
        let mut client = Self { stream, reader, inbox, subscriptions: 0 };
        client.stream.write_all(b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true}\r\n")?;
        client.subscribe(&client.inbox.clone())?;
        Ok(client)
    }

    /// Subscribes, and comes back when the server knows.
    fn subscribe(&mut self, subject: &str) -> anyhow::Result<()> {
        self.subscriptions += 1;
        self.stream.write_all(format!("SUB {subject} {}\r\nPING\r\n", self.subscriptions).as_bytes())?;
        while self.line()? != "PONG" {}
        Ok(())
    }

    fn publish(&mut self, subject: &str, payload: &str) -> anyhow::Result<()> {
        Ok(self.stream.write_all(format!("PUB {subject} {}\r\n{payload}\r\n", payload.len()).as_bytes())?)
    }

    /// Publishes with a place for the answer, and waits for that.
    fn request(&mut self, subject: &str, headers: &str, payload: &str) -> anyhow::Result<Value> {
        let (inbox, head, all) = (&self.inbox, headers.len(), headers.len() + payload.len());
        let line = match head {
            0 => format!("PUB {subject} {inbox} {all}\r\n{payload}\r\n"),
            _ => format!("HPUB {subject} {inbox} {head} {all}\r\n{headers}{payload}\r\n"),
        };
        self.stream.write_all(line.as_bytes())?;
        serde_json::from_slice(&self.next()?).context("an answer that is no JSON")
    }

    /// How many publications a stream holds on a subject; zero while there is no such stream.
    pub fn held(&mut self, stream: &str, subject: &str) -> anyhow::Result<usize> {
        let filter = json!({ "subjects_filter": subject }).to_string();
        let info = self.request(&format!("$JS.API.STREAM.INFO.{stream}"), "", &filter)?;
        Ok(info["state"]["subjects"][subject].as_u64().map_or(0, |held| held as usize))
    }

    /// The next publication that comes.
    fn next(&mut self) -> anyhow::Result<Vec<u8>> {
        loop {
            let line = self.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            let number = |from_end: usize| words.iter().rev().nth(from_end).and_then(|word| word.parse::<usize>().ok());
            let (head, all) = match words[0] {
                "MSG" => (0, number(0)),
                "HMSG" => (number(1).unwrap_or(0), number(0)),
                _ => continue,
            };
            let mut bytes = vec![0; all.context("a publication without a length")? + 2];
            self.reader.read_exact(&mut bytes)?;
            bytes.truncate(bytes.len() - 2);
            return Ok(bytes.split_off(head.min(bytes.len())));
        }
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        ensure!(self.reader.read_line(&mut line)? > 0, "the NATS server hung up");
        let line = line.trim_end();
        match line.split(' ').next() {
            Some("PING") => self.stream.write_all(b"PONG\r\n")?,
            Some("-ERR") => bail!("the NATS server said '{line}'"),
            _ => {}
        }
        Ok(line.to_owned())
    }
}
