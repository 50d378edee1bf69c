//! Asking the post office who holds what, within a time that a commit can wait.
//!
//! What speaks against a commit is decided elsewhere; here is only the asking.

use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::bail;
use api::ConflictAnswer;

use crate::commands::conflicts;
use crate::config::Config;
use crate::post_office;

/// How long a commit waits for the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The paths of a project that others than `agent` hold.
///
/// On a thread of its own, since opening a database that is locked holds up its thread. Whoever is too slow is left
/// behind, and ends with the process.
pub fn find_conflicts(
    config: Config,
    project: String,
    paths: Vec<String>,
    agent: Option<String>,
) -> anyhow::Result<Vec<ConflictAnswer>> {
    // Where there is no mail there are no reservations, and looking makes nothing.
    if config.url().is_none() && !config.database().exists() {
        return Ok(Vec::new());
    }
    let (answer, answered) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut found = Vec::new();
        let visited = post_office::visit(config, &project, async |post_office| {
            found = conflicts::find(post_office, &project, agent.as_deref(), &paths).await?;
            Ok(ExitCode::SUCCESS)
        });
        // Nobody takes an answer that is too late.
        let _ = answer.send(visited.map(|_| found));
    });
    match answered.recv_timeout(PATIENCE) {
        Ok(found) => found,
        Err(RecvTimeoutError::Timeout) => bail!("the post office took more than {} seconds", PATIENCE.as_secs()),
        Err(RecvTimeoutError::Disconnected) => bail!("the post office could not be asked"),
    }
}
