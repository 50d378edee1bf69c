//! What the lab has seen, kept in `docs/clients.json` between its runs.
//!
//! A run that tries a part replaces that part alone. What was seen of another version of a client is dropped: nobody saw it
//! of this one.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// What came of a promise with a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is kept; what was seen.
    Seen(String),
    /// The client has no way to keep it; what is missing.
    NotOffered(String),
    /// It is not kept; why.
    Fails(String),
}

impl Verdict {
    /// The word of the matrix.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Seen(_) => "seen",
            Self::NotOffered(_) => "not offered",
            Self::Fails(_) => "fails",
        }
    }

    /// What was seen, or why not.
    pub fn sentence(&self) -> &str {
        match self {
            Self::Seen(sentence) | Self::NotOffered(sentence) | Self::Fails(sentence) => sentence,
        }
    }

    fn read(value: &Value) -> Option<Self> {
        let sentence = value["sentence"].as_str()?.to_owned();
        match value["verdict"].as_str()? {
            "seen" => Some(Self::Seen(sentence)),
            "not offered" => Some(Self::NotOffered(sentence)),
            "fails" => Some(Self::Fails(sentence)),
            _ => None,
        }
    }
}

/// How long an idle client takes from a send to the first question of its turn, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speed {
    /// How often it was measured.
    pub rounds: u64,
    /// Half of them took no longer.
    pub p50: u64,
    /// 99 of 100 took no longer.
    pub p99: u64,
}

/// Everything that was seen.
pub struct Results {
    path: PathBuf,
    clients: Value,
}

impl Results {
    /// Reads what earlier runs saw; nothing, if there was none.
    pub fn open(root: &Path) -> Result<Self> {
        let path = root.join("docs/clients.json");
        let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".to_owned());
        let clients = serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?;
        Ok(Self { path, clients })
    }

    /// The version of a client that was tried.
    pub fn version(&self, client: &str) -> Option<&str> {
        self.clients[client]["version"].as_str()
    }

    /// Says which version of a client is tried now.
    pub fn set_version(&mut self, client: &str, version: &str) {
        if self.version(client) != Some(version) {
            self.clients[client] = json!({ "version": version });
        }
    }

    /// What came of a promise.
    pub fn verdict(&self, client: &str, promise: &str) -> Option<Verdict> {
        Verdict::read(&self.clients[client]["promises"][promise])
    }

    /// Notes what came of a promise.
    pub fn note(&mut self, client: &str, promise: &str, verdict: &Verdict) {
        self.clients[client]["promises"][promise] =
            json!({ "verdict": verdict.word(), "sentence": verdict.sentence() });
    }

    /// How fast a client is woken.
    pub fn speed(&self, client: &str) -> Option<Speed> {
        let speed = &self.clients[client]["speed"];
        let number = |name: &str| speed[name].as_u64();
        Some(Speed { rounds: number("rounds")?, p50: number("p50_ms")?, p99: number("p99_ms")? })
    }

    /// Notes how fast a client is woken.
    pub fn note_speed(&mut self, client: &str, speed: &Speed) {
        let Speed { rounds, p50, p99 } = speed;
        self.clients[client]["speed"] = json!({ "rounds": rounds, "p50_ms": p50, "p99_ms": p99 });
    }

    /// Writes it down.
    pub fn keep(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.clients)? + "\n";
        fs::write(&self.path, text).with_context(|| format!("writing {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_kept_until_another_version_is_tried() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        let verdicts = [
            ("stop", Verdict::Seen("it goes on".to_owned())),
            ("idle", Verdict::NotOffered("nothing listens".to_owned())),
            ("turn", Verdict::Fails("twice".to_owned())),
        ];
        let speed = Speed { rounds: 50, p50: 12, p99: 90 };
        let mut results = Results::open(root.path()).unwrap();
        results.set_version("claude", "1.2.3");
        verdicts.iter().for_each(|(promise, verdict)| results.note("claude", promise, verdict));
        results.note_speed("claude", &speed);
        results.keep().unwrap();

        let mut results = Results::open(root.path()).unwrap();
        results.set_version("claude", "1.2.3");
        for (promise, verdict) in &verdicts {
            assert_eq!(results.verdict("claude", promise).as_ref(), Some(verdict));
        }
        assert_eq!(results.speed("claude"), Some(speed));
        assert_eq!((results.verdict("claude", "name"), results.verdict("codex", "stop")), (None, None));
        results.set_version("claude", "1.2.4");
        assert_eq!((results.verdict("claude", "stop"), results.speed("claude")), (None, None));
    }
}
