//! Waking sessions: how long after a sender has its answer the line is at the socket of an idle session.
//!
//! The sessions are stand-ins: the client's hook notes each, and one socket of ours takes the lines of all. An agent is not woken twice
//! within seconds, so each is woken once.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use crate::mailboxes::PROJECT;
use crate::process::Server;
use crate::report::{Line, Report, Unit};
use crate::samples::{Samples, millis};
use crate::setting::{Setting, progress};

/// How many sessions are woken.
const SESSIONS: usize = 50;
/// How long the server may take to notice a session, and to wake it.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const SENDER: &str = "Sender";

/// Measures, and adds a line to the report.
pub fn measure(setting: &Setting, report: &mut Report) -> anyhow::Result<()> {
    progress("waking sessions");
    let home = setting.fresh_folder()?;
    let server = Server::start(setting, &home, &[])?;
    let mut caller = server.caller()?;
    caller.move_in(PROJECT, &[SENDER.to_owned()])?;
    // The path of a socket is short.
    let place = tempfile::tempdir()?;
    let socket = place.path().join("s");
    let heard = listen(&socket)?;
    let names: Vec<String> =
        (0..setting.scaled(SESSIONS, SESSIONS / 10)).map(|number| format!("Idle{number}")).collect();
    for name in &names {
        begin(setting, &home, &socket, name)?;
    }
    // By then the server has noticed the last one too.
    std::thread::sleep(LONGEST_WAIT / 2);
    let mut durations = Vec::with_capacity(names.len());
    for name in &names {
        let arguments = json!({
            "project_key": PROJECT, "sender_name": SENDER, "to": [name], "subject": "s", "body_md": "b", "importance": "urgent",
        });
        caller.call("send_message", &arguments)?;
        let answered = Instant::now();
        let (at, line) = heard.recv_timeout(LONGEST_WAIT).with_context(|| format!("{name} is not woken"))?;
        ensure!(line.contains(name.as_str()), "{name} waits, and another is woken: {line}");
        durations.push(at.saturating_duration_since(answered));
    }
    server.stop()?;
    let woken: Samples = durations.into_iter().collect();
    let [p50, p99] = [0.5, 0.99].map(|share| millis(woken.percentile(share)));
    report.add(Line::new("wake-up of an idle session, p99", p99, Unit::Millis).more(format!("p50 {p50:.2} ms")));
    Ok(())
}

/// What comes to a socket, and when.
fn listen(socket: &Path) -> anyhow::Result<Receiver<(Instant, String)>> {
    let listener = UnixListener::bind(socket).context("a socket cannot be made")?;
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut text = String::new();
            let read = stream.read_to_string(&mut text);
            if read.is_err() || sender.send((Instant::now(), text)).is_err() {
                return;
            }
        }
    });
    Ok(heard)
}

/// Has a hook note a session that waits for its user.
fn begin(setting: &Setting, home: &Path, socket: &Path, name: &str) -> anyhow::Result<()> {
    let mut command = Command::new(&setting.binary);
    command.args(["hook", "claude", "SessionStart", "--within", "60000"]);
    command.env("POSTRIDER_HOME", home).env("POSTRIDER_AGENT", name).env("CLAUDE_CODE_MESSAGING_SOCKET", socket);
    let mut hook = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().context("a hook cannot be run")?;
    let input = json!({ "session_id": name, "cwd": PROJECT, "hook_event_name": "SessionStart", "source": "startup" });
    hook.stdin.take().context("the hook has an input")?.write_all(input.to_string().as_bytes())?;
    ensure!(hook.wait()?.success(), "a hook failed");
    Ok(())
}
