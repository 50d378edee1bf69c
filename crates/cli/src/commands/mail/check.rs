//! Whether there is unread mail: as an exit code, and as a reminder for a model. Nothing is marked.
//!
//! A reminder is for hooks that run at every prompt: it says whatever is unread, each time, fails at nothing, and is given
//! up at its deadline.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use mail::provider::ProviderDelivery;
use serde_json::json;

use super::super::hook::deadline;
use super::super::hook::new_mail::{self, Door, NewMail};
use super::super::{called, small_runtime};
use super::lists::{self, envelope};
use super::{Visit, advised, delivery};
use crate::clients::{self, Client, Event, HookReply};
use crate::config::Config;
use crate::identity::Acting;
use crate::mailbox::{Caller, Mailbox};
use crate::output;
use crate::post_office::Refused;

/// The command, as it is called.
pub const NAME: &str = "postrider mail check";

/// The options before the words of the command that have a value.
const WITH_VALUE: [&str; 5] = ["--home", "--config", "--project", "--as", "--token"];

/// What says that there is no mail.
const NO_MAIL: u8 = 3;

/// What stands below the help.
const EXAMPLES: &str = "\
Exit codes: 0 there is unread mail, 3 there is none (and nothing is printed), 1 it could not be found out. With NAME, as in
Gas City: 1 there is none. With --inject and --hook-format: always 0, and what is wrong is a line on standard error.

Examples:
  postrider mail check && postrider mail inbox
  postrider mail check --inject";

/// Say whether there is unread mail.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("reminder").args(["inject", "hook_format"]).multiple(true))]
pub struct Check {
    /// Whose mail [default: yours]
    #[arg(id = "mailbox", value_name = "NAME")]
    pub name: Option<String>,
    /// Print a reminder for a prompt hook: what is unread, marked as data; nothing if nothing is
    #[arg(long)]
    inject: bool,
    /// The same as JSON, as the hooks of this client want it
    #[arg(long, value_name = "CLIENT", hide_possible_values = true, value_parser = clients::parser(|client| client.product))]
    hook_format: Option<&'static Client>,
    /// How long a reminder may take; after that there is none [default: 900]
    #[arg(long, value_name = "MILLISECONDS", requires = "reminder", value_parser = clap::value_parser!(u64).range(..=60_000))]
    within: Option<u64>,
}

/// Whether a command line, without the name of the program, asks for a reminder: it must not fail, however wrong it is.
pub fn is_reminder_called(words: &[OsString]) -> bool {
    let verb = called(words, &WITH_VALUE).filter(|(command, _)| *command == "mail");
    let verb = verb.and_then(|(_, words)| called(words, &WITH_VALUE));
    let asks = |word: &OsString| {
        let option = word.as_encoded_bytes().split(|byte| *byte == b'=').next();
        option.is_some_and(|option| option == b"--inject" || option == b"--hook-format")
    };
    verb.is_some_and(|(verb, _)| verb == "check") && words.iter().any(asks)
}

impl Check {
    /// Whether a hook asks, which nothing may break.
    pub fn is_for_hook(&self) -> bool {
        self.inject || self.hook_format.is_some()
    }

    /// Prints how much is unread; nothing at all if nothing is.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        if self.name.is_some() && visit.as_json {
            let unread = visit.provider().check(&visit.who.name).await?;
            let messages: Vec<_> = unread.iter().map(delivery::to_value).collect();
            output::answer(true, &envelope(json!({ "messages": messages })), String::new);
            return Ok(if unread.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
        }
        let unread = lists::unread(visit).await?;
        if unread == 0 {
            return Ok(if self.name.is_some() { ExitCode::FAILURE } else { ExitCode::from(NO_MAIL) });
        }
        Ok(output::answer(visit.as_json, &json!({ "unread": unread }), || format!("{unread} unread")))
    }

    /// Prints a reminder if there is one in time, and ends the process.
    pub fn remind(self, who: anyhow::Result<Caller>, acting: Acting, config: Config) -> ! {
        let within = self.within.unwrap_or(deadline::MILLISECONDS);
        let deadline = Instant::now() + Duration::from_millis(within);
        deadline::answer(NAME, deadline, move |speaker| {
            let (who, project) = (who?, acting.project.key()?);
            let operation = async {
                let mailbox = Mailbox::open(config, project, Some(who.clone())).await?;
                if let Some(post_office) = mailbox.post_office() {
                    // Who is called in a shared folder has mail.
                    post_office.settle_channels().await;
                }
                let unread = mailbox.provider().check(&who.name).await;
                let told = unread.map(|unread| _ = speaker.say(Ok(self.reminder(unread))));
                if let Some(post_office) = mailbox.post_office() {
                    post_office.write_out().await;
                }
                mailbox.close().await;
                Ok(told.map_err(Refused::from)?)
            };
            let ended = deadline::run(small_runtime()?, deadline, speaker, operation);
            ended.map_err(|error| match error.downcast::<Refused>() {
                Ok(refused) => advised(refused, &who, &acting).into(),
                Err(error) => error,
            })
        })
    }

    fn reminder(&self, unread: Vec<ProviderDelivery>) -> Option<String> {
        let unread: Vec<NewMail> = unread.into_iter().map(NewMail::from).collect();
        let reminder = new_mail::reminder(&unread, Door::Shell)?;
        Some(match self.hook_format {
            None => reminder,
            Some(client) => {
                let reply = HookReply::Context(reminder);
                (client.reply)(&reply, client.event_name(Event::Prompt))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reminder_is_known_in_the_wrongest_command_line_and_nothing_else_is_taken_for_one() {
        let is_reminder = |line: &str| is_reminder_called(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in [
            "mail check --inject",
            "mail check --hook-format bogus",
            "--home /x mail --as check check a b --hook-format=",
            "mail --inject check",
        ] {
            assert!(is_reminder(line), "{line}");
        }
        for line in ["mail check --bogus", "mail send check --inject", "check --inject", "mail --as check --inject", ""]
        {
            assert!(!is_reminder(line), "{line}");
        }
    }
}
