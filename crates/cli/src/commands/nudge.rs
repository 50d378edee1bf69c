//! `postrider nudge`: a word to an agent's running session, so that it looks for its mail.
//!
//! Off unless the settings say how an agent is reached. Nothing is stored and nothing is tried twice. Whether it is still
//! wanted is decided when it would be delivered: mail that was read meanwhile needs no nudge, and an agent inside a tool
//! call is not interrupted. Words of a mail are never put before a session; only names and numbers are.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::provider::ProviderError;
use relay::nudge::{Busy, NudgeError, Pace, Turn, Way};
use serde_json::json;

use crate::config::{Config, Nudge as Settings};
use crate::identity::Acting;
use crate::mailbox::{self, Mailbox};
use crate::output;

/// How long it is from one nudge of an agent to the next, at least.
const BETWEEN_NUDGES: Duration = Duration::from_secs(30);
/// How often an agent that is inside a tool call is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// How long a nudge for mail waits for the end of a tool call, and for its turn.
const PATIENCE_WITH_CALLS: u64 = 600;

/// Put a word before an agent's running session
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub struct Nudge {
    /// Whom to nudge
    agent: String,
    /// What to say [default: that there is unread mail, if there is]
    text: Vec<String>,
    /// How long to wait for the end of a tool call that the agent is in
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,
    /// Only if this letter is still unread
    #[arg(long, value_name = "ID", hide = true)]
    unread: Option<String>,
    #[command(flatten)]
    acting: Acting,
}

const AFTER_HELP: &str = "\
Nudges are off until the settings say how an agent is reached, in one of three ways:

  [nudge.BlueLake]
  tmux = \"work:1.0\"                  the text is pasted into this pane, and Enter pressed
  command = [\"notify-send\", \"mail\"]  this is run without a shell, with the text on its standard input
  file = \"/run/user/1000/mail\"       this file is written

Examples:
  postrider nudge BlueLake                          tell it of its unread mail
  postrider nudge BlueLake look at the failing test
  postrider mail send BlueLake -s Hi -m … --notify  send, and nudge unless it is read first";

impl Nudge {
    /// Nudges, or says why not.
    pub fn run(self, config: Config, json: bool) -> anyhow::Result<ExitCode> {
        let way = way_to(&config, &self.agent)?;
        let (project, who) = (self.acting.project.key()?, self.acting.opt_who(&config));
        let home = config.home.clone();
        mailbox::visit(config, project.clone(), who, async |mailbox| {
            let told = self.nudge(mailbox, &way, &home, &project).await?;
            let answer = json!({ "agent": self.agent, "nudged": told.is_none(), "reason": told });
            output::done(json, &answer, || match &told {
                None => format!("Nudged {}.", output::text::unbroken(&self.agent)),
                Some(reason) => format!("Not nudged: {}.", output::text::unbroken(reason)),
            })
        })
    }

    /// Why the agent was not nudged; nothing if it was.
    async fn nudge(&self, mailbox: &Mailbox, way: &Way, home: &Path, project: &str) -> anyhow::Result<Option<String>> {
        let (folder, who) = (sessions(home), key(project, &self.agent));
        let (busy, pace) = (Busy::new(folder.clone()), Pace::new(folder, BETWEEN_NUDGES));
        let patience_ends = Instant::now() + Duration::from_secs(self.patience);
        loop {
            if busy.is_busy(&who, way, SystemClock.now()) {
                if Instant::now() >= patience_ends {
                    return Ok(Some(format!("{} is inside a tool call", self.agent)));
                }
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            // Asked after every wait: what was read meanwhile needs no nudge.
            let text = match self.text(mailbox).await? {
                Ok(text) => text,
                Err(reason) => return Ok(Some(reason)),
            };
            let now = SystemClock.now();
            match pace.take_turn(&who, now).context("cannot note the nudge")? {
                Turn::Now => {
                    let nudged = relay::nudge::nudge(way, &text).await;
                    return nudged.map(|()| None).map_err(|error| failed(&error, &pace, &who, now));
                }
                // A message is worth waiting for; a person who nudges is told at once.
                Turn::Later(left) if self.unread.is_some() && Instant::now() + left <= patience_ends => {
                    tokio::time::sleep(left).await;
                }
                Turn::Later(left) => {
                    let seconds = left.as_secs() + 1;
                    return Ok(Some(format!("{} was nudged a moment ago; the next is due in {seconds} s", self.agent)));
                }
            }
        }
    }

    /// What to say, or why nothing needs to be said.
    async fn text(&self, mailbox: &Mailbox) -> Result<Result<String, String>, ProviderError> {
        const READ_IT: &str = "Read it with fetch_inbox, or run: postrider mail inbox";
        if let Some(id) = &self.unread {
            return Ok(match mailbox.provider().get(id).await?.read {
                true => Err(format!("'{id}' was read")),
                false => Ok(format!("You have new mail. {READ_IT}")),
            });
        }
        if !self.text.is_empty() {
            return Ok(Ok(self.text.join(" ")));
        }
        Ok(match mailbox.provider().count(&self.agent).await?.unread {
            0 => Err(format!("{} has no unread mail", self.agent)),
            unread => Ok(format!("You have unread mail ({unread}). {READ_IT}")),
        })
    }
}

/// What went wrong with a nudge, whose turn is given back: the next need not wait for one that reached nobody.
fn failed(error: &NudgeError, pace: &Pace, who: &str, taken: Timestamp) -> anyhow::Error {
    let again = if pace.give_back(who, taken).is_ok() { " It may be tried again at once." } else { "" };
    anyhow::anyhow!("{error}. {}{again} [{}]", error.hint(), error.code())
}

/// Nudges those who got a message, each in a process of its own that nobody waits for.
pub struct Notifier {
    home: PathBuf,
    source: Option<PathBuf>,
    reached: Vec<String>,
}

impl Notifier {
    /// What the settings say about whom to nudge.
    pub fn new(config: &Config) -> Self {
        let reached = ways(config).into_keys().collect();
        Self { home: config.home.clone(), source: config.source.clone(), reached }
    }

    /// Begins to nudge an agent, unless it reads the message first; `false` if nobody said how it is reached.
    pub fn nudge(&self, project: &str, agent: &str, id: &str) -> anyhow::Result<bool> {
        if !self.reached.iter().any(|name| name == agent) {
            return Ok(false);
        }
        let mut command = Command::new(std::env::current_exe().context("this program cannot be found again")?);
        command.arg("--home").arg(&self.home);
        if let Some(source) = &self.source {
            command.arg("--config").arg(source);
        }
        command.args(["nudge", "--project", project, "--unread", id]);
        command.args(["--patience", &PATIENCE_WITH_CALLS.to_string(), "--", agent]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It outlives the terminal that it was started from.
        command.process_group(0).spawn().with_context(|| format!("'{agent}' cannot be nudged"))?;
        Ok(true)
    }
}

/// How an agent is reached.
fn way_to(config: &Config, agent: &str) -> anyhow::Result<Way> {
    let settings = config.file.nudge.as_ref().and_then(|all| all.get(agent)).with_context(|| {
        format!(
            "nobody said how '{agent}' is reached; add [nudge.{agent}] with tmux, command or file to postrider.toml"
        )
    })?;
    match settings {
        Settings { tmux: Some(pane), command: None, file: None } => Ok(Way::Tmux { pane: pane.clone(), socket: None }),
        Settings { tmux: None, command: Some(words), file: None } => match words.split_first() {
            Some((program, arguments)) => Ok(Way::Command { program: program.clone(), arguments: arguments.to_vec() }),
            None => bail!("[nudge.{agent}] in postrider.toml names a command without a program"),
        },
        Settings { tmux: None, command: None, file: Some(path) } => Ok(Way::File { path: path.clone() }),
        _ => bail!("[nudge.{agent}] in postrider.toml has to name one way: tmux, command or file"),
    }
}

/// The ways that the settings name, by the names of agents.
pub fn ways(config: &Config) -> HashMap<String, Way> {
    let named = config.file.nudge.iter().flat_map(HashMap::keys);
    named.filter_map(|agent| Some((agent.clone(), way_to(config, agent).ok()?))).collect()
}

/// Where it is noted what agents are doing, and when they were nudged.
pub fn sessions(home: &Path) -> PathBuf {
    home.join("sessions")
}

/// What an agent is called in notes: its name alone does not tell agents of several projects apart.
pub fn key(project: &str, agent: &str) -> String {
    format!("{project}\n{agent}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SettingsFile;

    fn way(settings: &str) -> anyhow::Result<Way> {
        let file: SettingsFile = toml::from_str(settings).unwrap();
        way_to(&Config { home: PathBuf::new(), source: None, file }, "bob")
    }

    #[test]
    fn an_agent_is_reached_in_one_way_and_in_none_unless_it_is_said() {
        let tmux = Way::Tmux { pane: "work:1.0".to_owned(), socket: None };
        assert_eq!(way("[nudge.bob]\ntmux = 'work:1.0'").unwrap(), tmux);
        let command = Way::Command { program: "say".to_owned(), arguments: vec!["mail".to_owned()] };
        assert_eq!(way("[nudge.bob]\ncommand = ['say', 'mail']").unwrap(), command);
        assert_eq!(way("[nudge.bob]\nfile = '/tmp/x'").unwrap(), Way::File { path: "/tmp/x".into() });
        for (settings, wrong) in [
            ("", "nobody said how 'bob'"),
            ("[nudge.alice]\nfile = '/tmp/x'", "nobody said how 'bob'"),
            ("[nudge.bob]", "one way"),
            ("[nudge.bob]\ntmux = 'a'\nfile = '/tmp/x'", "one way"),
            ("[nudge.bob]\ncommand = []", "without a program"),
        ] {
            let error = way(settings).unwrap_err().to_string();
            assert!(error.contains(wrong), "{settings}: {error}");
        }
    }
}
