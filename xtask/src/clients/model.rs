//! A stand-in for a vendor's model: HTTP on a free port of this machine. It notes every question and answers as told.
//!
//! Its threads end with the process. What is no question to the model gets 404, which every client lives with.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::vendor::{Call, Vendor};
use crate::process::listen;

/// The longest question that is read, in bytes.
const LONGEST: u64 = 16 << 20;
/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

/// What the model asks for when it is its turn. After the last step it ends every turn.
pub struct Step {
    /// What happens in the world while it thinks.
    pub meanwhile: Option<Command>,
    /// The tool that it wants called.
    pub call: Call,
}

/// A model that listens.
pub struct Model {
    address: SocketAddr,
    talk: Arc<Mutex<Talk>>,
}

/// What was asked, and what is still to be said.
struct Talk {
    vendor: Vendor,
    questions: Vec<String>,
    steps: VecDeque<Step>,
    problem: Option<anyhow::Error>,
}

impl Model {
    /// Begins to listen.
    pub fn start(vendor: Vendor, steps: Vec<Step>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let address = listener.local_addr()?;
        let talk = Talk { vendor, questions: Vec::new(), steps: steps.into(), problem: None };
        let talk = Arc::new(Mutex::new(talk));
        let shared = Arc::clone(&talk);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let talk = Arc::clone(&shared);
                // A client that hangs up gets no answer; what it misses shows in its words.
                thread::spawn(move || drop(serve(&stream, &talk)));
            }
        });
        Ok(Self { address, talk })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every question so far, oldest first, as it was sent.
    pub fn questions(&self) -> Result<Vec<String>> {
        let mut talk = locked(&self.talk);
        if let Some(problem) = talk.problem.take() {
            return Err(problem.context("the stand-in for the model"));
        }
        Ok(talk.questions.clone())
    }
}

impl Talk {
    /// Notes a question and says the answer.
    fn answer(&mut self, question: String) -> String {
        // Beside its work a client asks for titles and the like, and offers no tools for that.
        let offers_tools = serde_json::from_str(&question)
            .is_ok_and(|value: Value| value["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
        if !offers_tools {
            return self.vendor.answer(0, None);
        }
        self.questions.push(question);
        let step = self.steps.pop_front();
        let call = step.map(|step| {
            if let Some(mut command) = step.meanwhile {
                let done = listen(&mut command, LIMIT).and_then(|said| {
                    if said.status.success() { Ok(()) } else { bail!("{}: {}", said.status, said.text.trim()) }
                });
                self.problem = done.err();
            }
            step.call
        });
        self.vendor.answer(self.questions.len(), call.as_ref())
    }
}

fn locked(talk: &Mutex<Talk>) -> MutexGuard<'_, Talk> {
    talk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one request and hangs up.
fn serve(stream: &TcpStream, talk: &Mutex<Talk>) -> Result<()> {
    stream.set_read_timeout(Some(LIMIT))?;
    let (path, body) = read(BufReader::new(stream.take(LONGEST)))?;
    let mut talk = locked(talk);
    let (status, kind, answer) = if talk.vendor.is_question(&path) {
        ("200 OK", "text/event-stream", talk.answer(body))
    } else {
        ("404 Not Found", "application/json", "{}".to_owned())
    };
    drop(talk);
    let length = answer.len();
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n");
    let mut stream = stream;
    stream.write_all(format!("{head}\r\n{answer}").as_bytes())?;
    Ok(())
}

/// The path and the body of a request. No client here sends a body in pieces.
fn read(mut request: impl BufRead) -> Result<(String, String)> {
    let mut first = String::new();
    request.read_line(&mut first)?;
    let path = first.split(' ').nth(1).context("no request")?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().context("no length")?;
        }
    }
    let mut body = String::new();
    request.take(length).read_to_string(&mut body)?;
    Ok((path, body))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const QUESTION: &str = r#"{"tools":[{"name":"Read"}],"messages":["hello"]}"#;

    fn ask(model: &Model, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(model.address).unwrap();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nHost: x\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_asks_for_its_calls_in_order_and_then_ends_every_turn() {
        let folder = tempfile::tempdir().unwrap();
        let mut meanwhile = Command::new("touch");
        meanwhile.arg(folder.path().join("happened"));
        let call = Vendor::Anthropic.look(Path::new("/made/up"));
        let model = Model::start(Vendor::Anthropic, vec![Step { meanwhile: Some(meanwhile), call }]).unwrap();
        let said: Vec<String> = (0..3).map(|_| ask(&model, "/v1/messages?beta=true", QUESTION)).collect();
        assert!(said[0].contains("tool_use") && said[0].starts_with("HTTP/1.1 200"), "{}", said[0]);
        assert!(folder.path().join("happened").exists());
        assert!(said[1..].iter().all(|answer| answer.contains("end_turn")), "{said:?}");
        assert_eq!(model.questions().unwrap(), [QUESTION; 3]);
    }

    #[test]
    fn what_is_no_work_is_answered_and_not_counted() {
        let model = Model::start(Vendor::OpenAi, Vec::new()).unwrap();
        assert!(ask(&model, "/v1/models", "").starts_with("HTTP/1.1 404"));
        assert!(ask(&model, "/v1/responses", "{}").starts_with("HTTP/1.1 200"));
        assert!(model.questions().unwrap().is_empty());
    }

    #[test]
    fn what_fails_meanwhile_is_told() {
        let call = Vendor::Google.look(Path::new("/made/up"));
        let steps = vec![Step { meanwhile: Some(Command::new("false")), call }];
        let model = Model::start(Vendor::Google, steps).unwrap();
        ask(&model, "/v1beta/models/x:streamGenerateContent", QUESTION);
        assert!(model.questions().is_err());
    }
}
