//! A stand-in for a vendor's model: HTTP on a free port of this machine. It notes every question and answers as told.
//!
//! Its threads end with the process. What is no question to the model gets 404, which every client lives with.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::speech::{Answer, Call, Speech};
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

impl From<Call> for Step {
    fn from(call: Call) -> Self {
        Self { meanwhile: None, call }
    }
}

/// A question of a client to its model.
#[derive(Clone, Debug)]
pub struct Question {
    /// As it was sent.
    pub text: String,
    /// When it came.
    pub at: SystemTime,
}

/// A model that listens.
pub struct Model {
    address: SocketAddr,
    talk: Arc<Talk>,
}

/// What was asked, and what is still to be said.
struct Talk {
    speech: Speech,
    state: Mutex<State>,
    is_asked: Condvar,
}

#[derive(Default)]
struct State {
    questions: Vec<Question>,
    steps: VecDeque<Step>,
    problem: Option<anyhow::Error>,
}

impl Model {
    /// Begins to listen.
    pub fn start(speech: Speech) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        let address = listener.local_addr()?;
        let talk = Arc::new(Talk { speech, state: Mutex::default(), is_asked: Condvar::new() });
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

    /// Forgets what it was asked, and takes these steps next.
    pub fn script(&self, steps: Vec<Step>) {
        *self.talk.lock() = State { steps: steps.into(), ..State::default() };
    }

    /// Every question so far, oldest first.
    pub fn questions(&self) -> Result<Vec<Question>> {
        let mut state = self.talk.lock();
        if let Some(problem) = state.problem.take() {
            return Err(problem.context("the stand-in for the model"));
        }
        Ok(state.questions.clone())
    }

    /// Waits until a question that fits has come, behind the first `passed` ones.
    pub fn wait(&self, passed: usize, limit: Duration, fits: impl Fn(&str) -> bool) -> Option<Question> {
        let deadline = Instant::now() + limit;
        let mut state = self.talk.lock();
        loop {
            if let Some(question) = state.questions.iter().skip(passed).find(|question| fits(&question.text)) {
                return Some(question.clone());
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            let waited = self.talk.is_asked.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Talk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a question and says the answer.
    fn answer(&self, path: &str, text: String) -> Answer {
        let question: Value = serde_json::from_str(&text).unwrap_or_default();
        // Beside its work a client asks for titles and the like, and offers no tools for that.
        if question["tools"].as_array().is_none_or(Vec::is_empty) {
            return self.speech.answer(0, path, &question, None);
        }
        let (number, step) = {
            let mut state = self.lock();
            state.questions.push(Question { text, at: SystemTime::now() });
            (state.questions.len(), state.steps.pop_front())
        };
        self.is_asked.notify_all();
        let call = step.map(|step| {
            let done = step.meanwhile.map_or(Ok(()), happen);
            self.lock().problem = done.err();
            step.call
        });
        self.speech.answer(number, path, &question, call.as_ref())
    }
}

/// Runs what happens meanwhile.
fn happen(mut command: Command) -> Result<()> {
    let said = listen(&mut command, LIMIT)?;
    if said.status.success() { Ok(()) } else { bail!("{}: {}", said.status, said.text.trim()) }
}

/// Answers one request and hangs up.
fn serve(stream: &TcpStream, talk: &Talk) -> Result<()> {
    stream.set_read_timeout(Some(LIMIT))?;
    let (path, body) = read(BufReader::new(stream.take(LONGEST)))?;
    let (status, answer) = if talk.speech.is_question(&path) {
        ("200 OK", talk.answer(&path, body))
    } else {
        ("404 Not Found", Answer { kind: "application/json", body: "{}".to_owned() })
    };
    let (kind, length) = (answer.kind, answer.body.len());
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n");
    let mut stream = stream;
    stream.write_all(format!("{head}\r\n{}", answer.body).as_bytes())?;
    Ok(())
}

/// The path and the body of a request, which may come in pieces.
fn read(mut request: impl BufRead) -> Result<(String, String)> {
    let mut first = String::new();
    request.read_line(&mut first)?;
    let path = first.split(' ').nth(1).context("no request")?.to_owned();
    let (mut length, mut comes_in_pieces) = (0, false);
    loop {
        let mut line = String::new();
        request.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().context("no length")?;
        }
        comes_in_pieces |= name.eq_ignore_ascii_case("transfer-encoding") && value.trim() == "chunked";
    }
    let mut body = Vec::new();
    if comes_in_pieces {
        while read_piece(&mut request, &mut body)? {}
    } else {
        request.take(length).read_to_end(&mut body)?;
    }
    Ok((path, String::from_utf8_lossy(&body).into_owned()))
}

/// Reads one piece of a body; says whether another one follows.
fn read_piece(request: &mut impl BufRead, body: &mut Vec<u8>) -> Result<bool> {
    let mut line = String::new();
    request.read_line(&mut line)?;
    let length = u64::from_str_radix(line.trim(), 16).context("no length of a piece")?;
    request.take(length).read_to_end(body)?;
    request.read_line(&mut String::new())?;
    Ok(length > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const QUESTION: &str = r#"{"tools":[{"name":"Read"}],"messages":["hello"],"stream":true}"#;

    fn ask(model: &Model, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(model.address).unwrap();
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\nHost: x\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn call() -> Call {
        Call::new("Read", json!({ "file_path": "/made/up" }))
    }

    #[test]
    fn it_asks_for_its_calls_in_order_and_then_ends_every_turn() {
        let folder = tempfile::tempdir().unwrap();
        let mut meanwhile = Command::new("touch");
        meanwhile.arg(folder.path().join("happened"));
        let model = Model::start(Speech::Messages).unwrap();
        model.script(vec![Step { meanwhile: Some(meanwhile), call: call() }]);
        let said: Vec<String> = (0..3).map(|_| ask(&model, "/v1/messages?beta=true", QUESTION)).collect();
        assert!(said[0].contains("tool_use") && said[0].starts_with("HTTP/1.1 200"), "{}", said[0]);
        assert!(folder.path().join("happened").exists());
        assert!(said[1..].iter().all(|answer| answer.contains("end_turn")), "{said:?}");
        let asked: Vec<String> = model.questions().unwrap().into_iter().map(|question| question.text).collect();
        assert_eq!(asked, [QUESTION; 3]);
    }

    #[test]
    fn a_question_is_waited_for_and_those_before_it_are_passed_over() {
        let model = Model::start(Speech::Messages).unwrap();
        ask(&model, "/v1/messages", QUESTION);
        assert!(model.wait(0, LIMIT, |text| text.contains("hello")).is_some());
        assert!(model.wait(1, Duration::ZERO, |_| true).is_none());
        assert!(model.wait(0, Duration::ZERO, |text| text.contains("bye")).is_none());
        model.script(Vec::new());
        assert!(model.questions().unwrap().is_empty());
    }

    #[test]
    fn what_is_no_work_is_answered_and_not_counted() {
        let model = Model::start(Speech::Responses).unwrap();
        assert!(ask(&model, "/v1/models", "").starts_with("HTTP/1.1 404"));
        assert!(ask(&model, "/v1/responses", "{}").starts_with("HTTP/1.1 200"));
        assert!(model.questions().unwrap().is_empty());
    }

    #[test]
    fn a_body_in_pieces_is_read_whole() {
        let request = "POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(read(request.as_bytes()).unwrap(), ("/x".to_owned(), "abc0123456789".to_owned()));
    }

    #[test]
    fn what_fails_meanwhile_is_told() {
        let model = Model::start(Speech::Google).unwrap();
        model.script(vec![Step { meanwhile: Some(Command::new("false")), call: call() }]);
        ask(&model, "/v1beta/models/x:streamGenerateContent", QUESTION);
        assert!(model.questions().is_err());
    }
}
