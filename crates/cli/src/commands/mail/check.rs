//! Whether there is unread mail: as an exit code, and as a reminder for a model. Nothing is marked.
//!
//! A reminder is for hooks that run at every prompt: it says whatever is unread, each time, and fails at nothing.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::super::hook::new_mail::{self, Door, NewMail};
use super::lists::{self, envelope};
use super::{Visit, delivery};
use crate::clients::{self, Client, Event, HookReply};
use crate::output::{self, text};

/// What says that there is no mail.
const NO_MAIL: u8 = 3;

/// What stands below the help.
const EXAMPLES: &str = "\
Exit codes: 0 there is unread mail, 3 there is none (and nothing is printed), 1 it could not be found out. With NAME, as in
Gas City: 1 there is none. With --inject and --hook-format: always 0.

Examples:
  postrider mail check && postrider mail inbox
  postrider mail check --inject";

/// Say whether there is unread mail.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Check {
    /// Whose mail [default: yours]
    #[arg(id = "mailbox", value_name = "NAME")]
    pub name: Option<String>,
    /// Print a reminder for a prompt hook: what is unread, marked as data; nothing if nothing is
    #[arg(long)]
    inject: bool,
    /// The same as JSON, as the hooks of claude, codex or gemini want it
    #[arg(long, value_name = "CLIENT", hide_possible_values = true, value_parser = clients::parser(|client| client.product))]
    hook_format: Option<&'static Client>,
}

impl Check {
    /// Whether a hook asks, which nothing may break.
    pub fn is_for_hook(&self) -> bool {
        self.inject || self.hook_format.is_some()
    }

    /// Prints how much is unread; nothing at all if nothing is.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        if self.is_for_hook() {
            return self.remind(visit).await;
        }
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

    async fn remind(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let unread = visit.provider().check(&visit.who.name).await?;
        let unread: Vec<NewMail> = unread.into_iter().map(NewMail::from).collect();
        if let Some(reminder) = new_mail::reminder(&unread, Door::Shell) {
            let printed = match self.hook_format {
                None => reminder,
                Some(client) => {
                    let reply = HookReply::Context(reminder);
                    text::json_line(&(client.reply)(&reply, client.event_name(Event::Prompt)))
                }
            };
            // Nobody reads it any more if it cannot be printed.
            let _ = output::print(&printed);
        }
        Ok(ExitCode::SUCCESS)
    }
}
