//! `postrider hook`: what the clients of agents run at certain moments, to tell the agent of its mail.
//!
//! Reads the client's JSON and prints the JSON that this client wants, or nothing. It never breaks the agent: whatever
//! goes wrong is one line on standard error and exit code 0, and after the deadline the process ends, whatever a database
//! or a server is still waiting for, and whether or not anybody reads what it prints. It sends no mail and releases
//! nothing.

pub mod deadline;
mod digest;
mod events;
mod input;
mod inquiry;
mod marks;
mod naming;
pub mod new_mail;
mod objection;
mod paths;
mod session;

use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use mail::clock::{Clock, SystemClock};
use relay::sessions::{SessionRecord, ancestors};

use super::called;
use super::nudge::sessions;
use crate::clients::{self, Client, Event, HookReply};
use crate::config::{Config, Global, Identity};
use crate::identity::Acting;
use crate::mailbox::Mailbox;
use crate::output::text;
use deadline::HookAnswer;
use events::Happening;
use input::Input;
use marks::Marks;
use naming::Names;
pub use paths::within;
use session::{Kept, Session};

/// What is said below the help of the options.
fn manual() -> String {
    format!(
        "\
Events, as each client calls them:
{}

The client gives its event as JSON on standard input. Whatever goes wrong, the exit code is 0 and nothing is printed but
a line on standard error. The agent is POSTRIDER_AGENT, or is given a name when its session begins.

Example:
  echo '{{\"session_id\":\"1\",\"cwd\":\"/data/projects/app\"}}' | postrider hook claude SessionStart",
        clients::table_of_events()
    )
}

/// Answer a client's hook: tell its agent of mail and reserved files.
#[derive(Args, Debug)]
#[command(after_help = manual())]
pub struct Hook {
    /// Whose hook it is
    #[arg(value_parser = clients::parser(|client| client.product))]
    client: &'static Client,
    /// The event, as the client calls it
    event: String,
    /// How long an answer may take; after that nothing is said
    #[arg(long, value_name = "MILLISECONDS", default_value_t = deadline::MILLISECONDS, value_parser = clap::value_parser!(u64).range(..=60_000))]
    within: u64,
    /// How names are taken, as the server's option says
    #[arg(long, env = "POSTRIDER_IDENTITY", value_enum, hide = true)]
    identity: Option<Identity>,
    /// How a session that nobody named comes by its name
    #[arg(long, value_enum, default_value_t)]
    names: Names,
    #[command(flatten)]
    acting: Acting,
}

/// Whether a command line, without the name of the program, calls a hook: it must not fail, however wrong it is.
pub fn is_called(words: &[OsString]) -> bool {
    called(words, &["--home", "--config"]).is_some_and(|(command, _)| command == "hook")
}

impl Hook {
    /// Answers the event, and ends the process.
    pub fn run(self, global: Global) -> ! {
        let name = format!("postrider hook {} {}", self.client.name, self.event);
        let deadline = Instant::now() + Duration::from_millis(self.within);
        deadline::answer(&name, deadline, move |say| self.answer(&global, deadline, say))
    }

    fn answer(self, global: &Global, deadline: Instant, say: &dyn Fn(HookAnswer)) -> anyhow::Result<()> {
        let client = self.client;
        let event = client.event(&self.event).ok_or_else(|| self.unknown_event())?;
        let input = Input::read(io::stdin().lock())?;
        let config = Config::load(global)?;
        let folder = sessions(&config.home);
        let session = Session::of(&folder, client, &input.session_id);
        let (above, record) = (ancestors(), session.record());
        let kept = record.clone().filter(|record| !record.agent.is_empty()).map(Kept::from);
        let me = session::me(&self.acting, kept, &input.cwd, |name| naming::believes(&session, name, &above))?;
        let marks = Marks::of(&folder, &me, &input);
        if let Some(marks) = &marks {
            marks.note(event, SystemClock.now());
        }
        if let (Event::SessionEnd, Some(record)) = (event, record)
            && input.reason != naming::CLEARED
        {
            session.keep(SessionRecord { has_ended: true, ..record })?;
        }
        let reserved = config.file.hooks.reserved;
        let is_strict = self.identity.or(config.file.identity) == Some(Identity::Strict);
        let (input, session, names) = (&input, &session, self.names);
        let happening =
            Happening { client, event, input, session, marks, me, names, above, is_strict, reserved, deadline };
        if !happening.is_of_interest() {
            say(Ok(None));
            return Ok(());
        }
        let runtime = super::small_runtime()?;
        let operation = async {
            let mailbox = Mailbox::open(config, happening.me.project.clone(), happening.who()).await?;
            let reply = happening.reply(&mailbox).await;
            // No event tells that a call which was refused has ended.
            if let (Some(marks), Ok(Some(HookReply::Refuse(_)))) = (&happening.marks, &reply) {
                marks.end_call();
            }
            say(reply
                .map(|reply| reply.map(|reply| text::json_line(&(client.reply)(&reply, client.event_name(event))))));
            mailbox.close().await;
            Ok(())
        };
        deadline::run(runtime, deadline, operation)
    }

    fn unknown_event(&self) -> anyhow::Error {
        let known: Vec<&str> = self.client.events.iter().map(|(_, name)| *name).collect();
        anyhow!("there is no event '{}'; {} has {}", self.event, self.client.name, known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_known_in_the_wrongest_command_line_and_nothing_else_is_taken_for_one() {
        let is_hook = |line: &str| is_called(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in ["hook", "hook emacs Stop", "--json --home /x hook --nonsense", "--home=/x --config hook hook"] {
            assert!(is_hook(line), "{line}");
        }
        for line in ["", "mail send hook", "--home hook mail", "guard check", "--json"] {
            assert!(!is_hook(line), "{line}");
        }
    }
}
