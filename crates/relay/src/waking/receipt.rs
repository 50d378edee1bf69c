//! What a client answers to a message on its socket: a line on a socket of ours that the message names.
//!
//! It is there for as long as the answer is waited for. Where none can be made, the client counts as silent.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mail::wake_ups::WakeOutcome;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::UnixListener;
use tokio::time::timeout;

use super::Protocol;
use crate::feed;

/// How long an answer is waited for: of one who always answers, and of one who may.
const LONGEST_SILENCE: Duration = Duration::from_secs(3);
const SHORT_SILENCE: Duration = Duration::from_millis(300);
/// The longest answer, in bytes.
const LONGEST: u64 = 64 * 1024;
/// The longest path of a socket.
const LONGEST_PATH: usize = 100;

/// A socket that receipts come to.
pub struct Receipts {
    path: PathBuf,
    listener: Option<UnixListener>,
}

impl Receipts {
    /// Listens in a folder, which only this user may read.
    pub fn listen(folder: &Path) -> Self {
        let path = folder.join(format!("{}.sock", &feed::own_name()[..8]));
        let is_short = path.as_os_str().len() <= LONGEST_PATH;
        // Without one nobody tells what became of the message, and it is sent all the same.
        let listener = is_short.then(|| UnixListener::bind(&path).ok()).flatten();
        // The folder is this user's; what cannot be narrowed further can say of a message only what became of it.
        let _ = std::fs::set_permissions(&path, Permissions::from_mode(0o600));
        Self { path, listener }
    }

    /// What the message says that it is from.
    pub fn address(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// What became of the message.
    pub async fn outcome(&self, protocol: Protocol) -> WakeOutcome {
        let (silence, silent) = match protocol {
            // It drops what it does not believe without a word.
            Protocol::Qwen => (LONGEST_SILENCE, WakeOutcome::Refused),
            _ => (SHORT_SILENCE, WakeOutcome::Delivered),
        };
        let Some(listener) = &self.listener else { return silent };
        let heard = async {
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let mut lines = BufReader::new(stream.take(LONGEST)).lines();
                // Whoever has said it may keep the connection open. Who does not say anything useful is followed by another.
                while let Ok(Some(line)) = lines.next_line().await {
                    if let Some(outcome) = read(&line) {
                        return outcome;
                    }
                }
            }
        };
        timeout(silence, heard).await.unwrap_or(silent)
    }
}

impl Drop for Receipts {
    fn drop(&mut self) {
        if self.listener.is_some() {
            // What cannot be removed is in nobody's way.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What a line says of a message.
fn read(line: &str) -> Option<WakeOutcome> {
    let said: Value = serde_json::from_str(line).ok()?;
    Some(match said["status"].as_str()? {
        "delivered" => WakeOutcome::Delivered,
        "held" => WakeOutcome::Held,
        "misaddressed" => WakeOutcome::Gone,
        _ => WakeOutcome::Refused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receipts_that_were_recorded_are_understood_and_every_other_word_is_no() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/waking/qwen.json")).unwrap();
        let mut lines = recorded["receipt_on_from"].as_array().unwrap().iter().map(Value::to_string);
        assert_eq!(lines.find_map(|line| read(&line)), Some(WakeOutcome::Delivered));
        let status = |status: &str| read(&format!("{{\"status\":\"{status}\"}}"));
        assert_eq!((status("held"), status("misaddressed")), (Some(WakeOutcome::Held), Some(WakeOutcome::Gone)));
        for word in ["denied", "refused", "expired", "dropped", "new"] {
            assert_eq!(status(word), Some(WakeOutcome::Refused), "{word}");
        }
        assert_eq!((read(""), read("[]"), read("{"), read(r#"{"type":"auth"}"#)), (None, None, None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn who_always_answers_and_does_not_has_refused() {
        let folder = tempfile::tempdir().unwrap();
        let receipts = Receipts::listen(folder.path());
        assert_eq!(receipts.outcome(Protocol::Qwen).await, WakeOutcome::Refused);
        assert_eq!(receipts.outcome(Protocol::Claude).await, WakeOutcome::Delivered);
        let path = receipts.address();
        drop(receipts);
        assert!(!Path::new(&path).exists());
        let deaf = Receipts::listen(&folder.path().join("none"));
        assert_eq!(deaf.outcome(Protocol::Qwen).await, WakeOutcome::Refused, "nobody listened");
        assert_eq!(deaf.outcome(Protocol::Claude).await, WakeOutcome::Delivered);
    }

    #[tokio::test(start_paused = true)]
    async fn a_receipt_counts_when_its_line_has_come_whatever_the_client_does_then() {
        let folder = tempfile::tempdir().unwrap();
        let receipts = Receipts::listen(folder.path());
        let mut client = tokio::net::UnixStream::connect(receipts.address()).await.unwrap();
        let said = b"{\"type\":\"auth\"}\n{\"status\":\"held\"}\n{\"status\":\"delivered\"}\n";
        tokio::io::AsyncWriteExt::write_all(&mut client, said).await.unwrap();
        assert_eq!(receipts.outcome(Protocol::Qwen).await, WakeOutcome::Held);
        drop(client);
    }
}
