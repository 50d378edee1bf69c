//! What a watcher tells of its doings: lines for people on standard error, or JSON lines for programs, and the same lines
//! in the log of the channel's folder, if there is one.
//!
//! That folder may be on a disk that does not answer: a thread of its own writes there, and nobody waits for it but for a
//! moment at the end.

use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use mail::clock::{Clock, SystemClock, rfc3339};
use serde_json::{Value, json};

use crate::output::{self, text};

/// How many doings may wait to be written.
const MOST_WAITING: usize = 1_000;
/// How long what waits may take to be written at the end.
const LONGEST_END: Duration = Duration::from_secs(2);

/// Where doings are told.
pub struct Log {
    as_json: bool,
    agent: String,
    file: Option<LogWriter>,
}

/// Who writes lines, elsewhere.
struct LogWriter {
    lines: Option<SyncSender<String>>,
    /// Tells nothing but that all is written.
    ended: Receiver<()>,
    /// Whether lines were left out: that is told once.
    is_behind: Cell<bool>,
}

impl Log {
    /// A log for the watcher of `agent`, in `folder` too if there is one.
    pub fn new(as_json: bool, agent: &str, folder: Option<PathBuf>) -> Self {
        let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let name: String = agent.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
        let file = folder.map(|folder| LogWriter::new(into_folder(folder, format!("{name}-watcher"))));
        Self { as_json, agent: agent.to_owned(), file }
    }

    /// Tells one thing: `event` and `facts` for programs, `words` for people, and what a command complained of.
    pub fn tell(&self, event: &str, facts: Value, words: &str, complaint: &str) {
        let now = SystemClock.now();
        let words = text::unbroken(words);
        if self.as_json {
            let mut line = json!({ "at": rfc3339(now), "event": event, "agent": self.agent });
            if let (Some(line), Value::Object(facts)) = (line.as_object_mut(), facts) {
                line.extend(facts);
                line.extend((!complaint.is_empty()).then(|| ("stderr".to_owned(), json!(complaint))));
            }
            output::answer(true, &line, String::new);
        } else {
            output::note(&lines(&now.strftime("%H:%M:%SZ").to_string(), &words, complaint));
        }
        if let Some(file) = &self.file {
            file.write(lines(&rfc3339(now), &words, complaint));
        }
    }
}

impl LogWriter {
    fn new(mut write: impl FnMut(&str) + Send + 'static) -> Self {
        let (lines, waiting) = sync_channel::<String>(MOST_WAITING);
        let (ending, ended) = sync_channel(0);
        std::thread::spawn(move || {
            let _ending = ending;
            waiting.into_iter().for_each(|lines| write(&lines));
        });
        Self { lines: Some(lines), ended, is_behind: Cell::new(false) }
    }

    fn write(&self, lines: String) {
        let is_taken = self.lines.as_ref().is_some_and(|waiting| waiting.try_send(lines).is_ok());
        if !is_taken && !self.is_behind.replace(true) {
            output::note("postrider: the folder of the log does not answer; some lines are left out");
        }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.lines = None;
        if self.ended.recv_timeout(LONGEST_END) == Err(RecvTimeoutError::Timeout) {
            output::note("postrider: the folder of the log does not answer; its last lines may be missing");
        }
    }
}

/// Appends to a log in the folder of the project's channels. That it failed is told once.
///
/// Written in one piece, because several watchers may share a folder; everybody can write there, so no link is followed,
/// and a folder that is away is not made.
fn into_folder(folder: PathBuf, name: String) -> impl FnMut(&str) + Send {
    let mut is_broken = false;
    move |lines| {
        let opened = relay::files::open_log(&folder, &name);
        if let Err(error) = opened.and_then(|mut file| file.write_all(format!("{lines}\n").as_bytes()))
            && !std::mem::replace(&mut is_broken, true)
        {
            let cannot = format!("the log '{name}' in '{}' cannot be written", folder.display());
            output::note(&text::lines(&format!("postrider: {cannot}: {error}; going on without a log")));
        }
    }
}

/// A line, and below it the lines of the complaint.
fn lines(time: &str, words: &str, complaint: &str) -> String {
    let complaint = text::lines(complaint.trim_end());
    let quoted: String = complaint.lines().map(|line| format!("\n  | {line}")).collect();
    format!("{time} {words}{quoted}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doings_are_appended_to_the_log_of_the_agent_one_line_each() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("channels")).unwrap();
        let log = Log::new(true, "rig/qc 1", Some(folder.path().to_owned()));
        log.tell("failed", json!({ "message_id": 7 }), "failed 7:\nit\u{1b} ended", "one\n\u{1b}two\n");
        log.tell("ended", json!({}), "ended", "");
        drop(log);
        let kept = std::fs::read_to_string(folder.path().join("logs/rig_qc_1-watcher.log")).unwrap();
        let lines: Vec<&str> = kept.lines().collect();
        assert_eq!(lines.len(), 4, "{kept}");
        assert!(lines[0].ends_with("Z failed 7: it� ended"), "{kept}");
        assert_eq!((lines[1], lines[2]), ("  | one", "  | �two"));
    }

    #[test]
    fn a_folder_that_is_away_is_not_made_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let away = folder.path().join("away");
        Log::new(true, "codex", Some(away.clone())).tell("ended", json!({}), "ended", "");
        assert!(!away.exists());
        let target = folder.path().join("target");
        std::fs::write(&target, "").unwrap();
        Log::new(true, "codex", Some(folder.path().to_owned())).tell("ended", json!({}), "ended", "");
        assert!(!folder.path().join("logs").exists(), "nothing is mounted there");
        for made in ["channels", "logs"] {
            std::fs::create_dir(folder.path().join(made)).unwrap();
        }
        std::os::unix::fs::symlink(&target, folder.path().join("logs/codex-watcher.log")).unwrap();
        Log::new(true, "codex", Some(folder.path().to_owned())).tell("ended", json!({}), "ended", "");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "");
    }

    #[test]
    fn a_folder_that_never_answers_holds_up_nobody() {
        let (hold, held) = sync_channel::<()>(0);
        let writer = LogWriter::new(move |_| _ = held.recv());
        for _ in 0..MOST_WAITING + 2 {
            writer.write("a line".to_owned());
        }
        assert!(writer.is_behind.get());
        drop(writer);
        drop(hold);
    }
}
