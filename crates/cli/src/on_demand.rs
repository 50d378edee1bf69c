//! A server that nobody started by hand: hooks and `stdio` begin one when none runs, and it ends by itself when nobody needs it.
//!
//! Whoever begins one does not wait for it: the database can be opened beside a server. Of two that begin at once the one that gets
//! the database stays. It keeps nothing of the session that it was begun in.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use relay::sessions::Sessions;
use rustix::fs::OFlags;
use server::Metrics;
use store::ownership::current_owner;

use crate::clients;
use crate::commands::nudge::sessions;
use crate::config::{Config, ServerStart};
use crate::identity::VARIABLE;

/// What the server that was begun last has logged.
const LOG: &str = "server.log";
/// How soon another one is begun after one that did not come to anything.
const NOT_AGAIN_FOR: Duration = Duration::from_secs(10);
/// How often it is looked whether anybody needs a server, at most.
const LOOKS_EVERY: Duration = Duration::from_secs(30);
/// Variables of whoever begins it that are no affair of a server.
const OF_CALLERS: [&str; 3] = [VARIABLE, "POSTRIDER_PROJECT", "POSTRIDER_REGISTRATION_TOKEN"];

/// Begins a server if the settings say so and none has the mail.
pub fn start_if_wanted(config: &Config) {
    if config.file.server.start != ServerStart::OnDemand
        || config.url().is_some()
        || current_owner(&config.database()).is_some()
    {
        return;
    }
    // Nobody is there to read it; the log of the server says more.
    if let Err(error) = start(config) {
        tracing::debug!(%error, "no server was begun");
    }
}

fn start(config: &Config) -> io::Result<()> {
    let home = std::path::absolute(&config.home)?;
    let log = home.join(LOG);
    if was_touched(&log) {
        return Ok(());
    }
    let mut options = File::options();
    // A link that somebody put there is not followed: what is behind it would be lost.
    options.create(true).write(true).truncate(true).mode(0o600).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let log = options.open(log)?;
    // Truncating an empty file changes nothing.
    log.set_modified(SystemTime::now())?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--home").arg(&home);
    if let Some(settings) = &config.source {
        command.arg("--config").arg(std::path::absolute(settings)?);
    }
    command.args(["serve", "--on-demand"]).current_dir(&home);
    for variable in of_sessions() {
        command.env_remove(variable);
    }
    let mut server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
    // Who stays is told when it ends, and who goes leaves that to others.
    thread::spawn(move || server.wait());
    Ok(())
}

/// The variables that whoever begins a server has of its own session: which it is, its socket, and where its client keeps its files.
fn of_sessions() -> impl Iterator<Item = &'static str> {
    let of_clients = clients::ALL.into_iter().flat_map(|client| {
        let sockets = client.socket_variables.into_iter().flatten();
        client.session_variables.iter().copied().chain(sockets).chain([client.moved_by])
    });
    OF_CALLERS.into_iter().chain(of_clients)
}

fn was_touched(log: &Path) -> bool {
    let age = log.metadata().and_then(|log| log.modified()).map(|at| at.elapsed());
    matches!(age, Ok(Ok(age)) if age < NOT_AGAIN_FOR)
}

/// Leaves the terminal and the group of processes of whoever began this server.
pub fn detach() {
    // It fails for one who leads a group already, and then nothing has to be left.
    let _ = rustix::process::setsid();
}

/// Comes back when no session was open on this machine, and nothing was asked, for so long.
pub async fn idle(home: &Path, metrics: &Arc<Metrics>, longest: Duration) {
    let sessions = Sessions::new(sessions(home));
    let (mut asked, mut since) = (metrics.admitted(), Instant::now());
    while since.elapsed() < longest {
        tokio::time::sleep(LOOKS_EVERY.min(longest / 4)).await;
        let is_needed = metrics.in_flight.get() > 0
            || std::mem::replace(&mut asked, metrics.admitted()) != metrics.admitted()
            || sessions.all().iter().any(|session| session.is_here() && session.is_open());
        if is_needed {
            since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_inherits_nothing_of_the_session_that_began_it() {
        let variables: Vec<&str> = of_sessions().collect();
        for variable in [
            VARIABLE,
            "POSTRIDER_REGISTRATION_TOKEN",
            "CLAUDE_CODE_MESSAGING_SOCKET",
            "CLAUDE_CODE_MESSAGING_TOKEN",
            "QWEN_CODE_MESSAGING_TOKEN",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
        ] {
            assert!(variables.contains(&variable), "{variable}");
        }
    }

    #[test]
    fn a_server_that_did_not_come_to_anything_is_not_begun_again_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join(LOG);
        assert!(!was_touched(&log));
        let file = File::create(&log).unwrap();
        assert!(was_touched(&log));
        file.set_modified(SystemTime::now() - NOT_AGAIN_FOR).unwrap();
        assert!(!was_touched(&log));
    }
}
