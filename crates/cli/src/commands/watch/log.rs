//! What a watcher tells of its doings: lines for people on standard error, or JSON lines for programs, and the same lines
//! in the log of the channel's folder, if there is one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use mail::clock::{Clock, SystemClock, rfc3339};
use serde_json::{Value, json};

use crate::output::{self, text};

/// Where doings are told.
pub struct Log {
    as_json: bool,
    agent: String,
    /// The folder of the project's channels, and what the log is called there.
    file: Option<(PathBuf, String)>,
    /// Whether the file failed: that is told once.
    is_broken: AtomicBool,
}

impl Log {
    /// A log for the watcher of `agent`, in `folder` too if there is one.
    pub fn new(as_json: bool, agent: &str, folder: Option<PathBuf>) -> Self {
        let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let name: String = agent.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
        let file = folder.map(|folder| (folder, format!("{name}-watcher")));
        Self { as_json, agent: agent.to_owned(), file, is_broken: AtomicBool::new(false) }
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
        if let Some((folder, name)) = &self.file
            && let Err(error) = append(folder, name, &lines(&rfc3339(now), &words, complaint))
            && !self.is_broken.swap(true, Ordering::Relaxed)
        {
            output::note(&text::lines(&format!("postrider: {error:#}; going on without a log")));
        }
    }
}

/// A line, and below it the lines of the complaint.
fn lines(time: &str, words: &str, complaint: &str) -> String {
    let complaint = text::lines(complaint.trim_end());
    let quoted: String = complaint.lines().map(|line| format!("\n  | {line}")).collect();
    format!("{time} {words}{quoted}")
}

/// Written in one piece, because several watchers may share a folder; everybody can write there, so no link is followed,
/// and a folder that is away is not made.
fn append(folder: &Path, name: &str, lines: &str) -> anyhow::Result<()> {
    let cannot = || format!("the log '{name}' in '{}' cannot be written", folder.display());
    let mut file = relay::files::open_log(folder, name).with_context(cannot)?;
    file.write_all(format!("{lines}\n").as_bytes()).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doings_are_appended_to_the_log_of_the_agent_one_line_each() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::new(true, "rig/qc 1", Some(folder.path().to_owned()));
        log.tell("failed", json!({ "message_id": 7 }), "failed 7:\nit\u{1b} ended", "one\n\u{1b}two\n");
        log.tell("ended", json!({}), "ended", "");
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
        std::fs::create_dir(folder.path().join("logs")).unwrap();
        std::os::unix::fs::symlink(&target, folder.path().join("logs/codex-watcher.log")).unwrap();
        Log::new(true, "codex", Some(folder.path().to_owned())).tell("ended", json!({}), "ended", "");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "");
    }
}
