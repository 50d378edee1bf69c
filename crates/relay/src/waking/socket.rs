//! What is written to the socket of a session, and how.
//!
//! A socket that is not a socket of this user is left alone. Where a process died without a word its socket stays, and nobody listens.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::time::Duration;

use mail::wake_ups::WakeOutcome;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Who it is from, as people see it.
const NAME: &str = "postrider";
/// What a sender is that can do nothing without its user.
const MODE: &str = "prompting";
/// How long a write may take.
const LONGEST_WRITE: Duration = Duration::from_secs(5);

/// The lines for Claude Code. It shows one line of text that is wrapped as its own messages are.
pub fn claude(text: &str, token: Option<&str>, from: &str, id: &str) -> String {
    let from = format!("uds:{from}");
    let content = format!(
        "<cross-session-message from=\"{}\" from-name=\"{NAME}\" from-mode=\"{MODE}\">\n{text}\n</cross-session-message>",
        from.replace(['"', '<', '>', '&'], "_")
    );
    let message = json!({
        "msgV": 1, "msg_id": id, "type": "user", "message": { "role": "user", "content": content }, "priority": "next",
        "from": from,
    });
    let auth = token.map(|token| format!("{}\n", json!({ "type": "auth", "token": token }))).unwrap_or_default();
    format!("{auth}{message}\n")
}

/// The lines for Qwen Code.
pub fn qwen(text: &str, token: Option<&str>, session_id: &str, from: &str, id: &str) -> String {
    let message = json!({
        "msgV": 1, "msgId": id, "type": "user", "from": from, "fromName": NAME, "fromMode": MODE,
        "toSessionId": session_id, "priority": "next", "message": { "role": "user", "content": text },
    });
    let auth = token.map(|token| format!("{}\n", json!({ "msgV": 1, "type": "auth", "token": token })));
    format!("{}{message}\n", auth.unwrap_or_default())
}

/// Writes lines in one go, and says that no more come.
pub async fn write(path: &Path, lines: &str) -> Result<(), WakeOutcome> {
    let writing = async {
        let mut stream = connect(path).await?;
        stream.write_all(lines.as_bytes()).await?;
        stream.shutdown().await
    };
    match timeout(LONGEST_WRITE, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(outcome_of(&error)),
        // Whoever listens does not read.
        Err(_) => Err(WakeOutcome::Refused),
    }
}

async fn connect(path: &Path) -> io::Result<UnixStream> {
    let about = path.symlink_metadata()?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = about.file_type().is_socket() && about.uid() == me;
    let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "it is no socket of this user");
    if !is_ours {
        return Err(refused());
    }
    let stream = UnixStream::connect(path).await?;
    // The name may lead to another socket by now.
    if stream.peer_cred()?.uid() == me { Ok(stream) } else { Err(refused()) }
}

fn outcome_of(error: &io::Error) -> WakeOutcome {
    use io::ErrorKind::{BrokenPipe, ConnectionRefused, ConnectionReset, NotFound};
    match error.kind() {
        NotFound | ConnectionRefused | ConnectionReset | BrokenPipe => WakeOutcome::Gone,
        _ => WakeOutcome::Refused,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn lines(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What is true of every member that both have, and which ours lacks.
    fn compare(ours: &Value, recorded: &Value) -> Vec<String> {
        let members = recorded.as_object().unwrap();
        members
            .iter()
            .filter(|(name, value)| ours[*name].is_null() || !same_kind(&ours[*name], value))
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn same_kind(one: &Value, other: &Value) -> bool {
        std::mem::discriminant(one) == std::mem::discriminant(other)
    }

    #[test]
    fn claude_gets_the_lines_that_were_recorded() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/waking/claude.json")).unwrap();
        let told = lines(&claude("mail", Some("EXAMPLE"), "/run/x.sock", "1"));
        assert_eq!(told[0], recorded["lines"][0]);
        assert_eq!(compare(&told[1], &recorded["line_with_sender"]), [""; 0]);
        let wrapped = recorded["line_with_sender"]["message"]["content"].as_str().unwrap();
        let shape = |text: &str| text.split('"').step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let (ours, theirs) = (shape(told[1]["message"]["content"].as_str().unwrap()), shape(wrapped));
        assert_eq!(ours[..3], theirs[..3]);
        assert_eq!(ours[3], ">\nmail\n</cross-session-message>");
        assert_eq!(lines(&claude("mail", None, "/x", "1")).len(), 1, "without a token nothing is claimed");
    }

    #[test]
    fn qwen_gets_the_lines_that_were_recorded() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/waking/qwen.json")).unwrap();
        let told = lines(&qwen("mail", Some("EXAMPLE"), "s", "/run/x.sock", "1"));
        assert_eq!(told[0], recorded["lines"][0]);
        // Who answers on our socket shows us nothing.
        assert_eq!(compare(&told[1], &recorded["lines"][1]), ["replyToken"]);
        assert_eq!(told[1]["message"], json!({ "role": "user", "content": "mail" }));
    }

    #[tokio::test]
    async fn what_is_no_socket_is_left_alone_and_one_that_nobody_listens_at_is_gone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("s");
        assert_eq!(write(&path, "x\n").await, Err(WakeOutcome::Gone));
        std::fs::write(&path, "").unwrap();
        assert_eq!(write(&path, "x\n").await, Err(WakeOutcome::Refused));
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        std::fs::remove_file(&path).unwrap();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert_eq!(write(&path, "x\n").await, Err(WakeOutcome::Gone), "its process died");
    }
}
