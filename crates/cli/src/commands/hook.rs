//! `postrider hook`: what the clients of agents run at certain moments, to tell the agent of its mail.
//!
//! Reads the client's JSON and prints the JSON that this client wants, or nothing. It never breaks the agent: whatever
//! goes wrong is one line on standard error and exit code 0, and after the deadline the process ends, whatever a database
//! or a server is still waiting for, and whether or not anybody reads what it prints. It sends no mail; what it tells the office of
//! sessions comes after the answer.

pub mod checkpoint;
pub mod deadline;
pub mod digest;
mod events;
mod head;
mod input;
pub mod inquiry;
mod life;
mod marks;
pub mod memory;
mod naming;
pub mod new_mail;
mod objection;
mod paths;
mod session;
mod telling;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mail::clock::{Clock, SystemClock};
use relay::sessions::ancestors;

use super::called;
use super::nudge::sessions;
use crate::clients::{self, Client, Event, HookReply};
use crate::config::{Config, Global, Identity, set};
use crate::identity::Acting;
use crate::mailbox::Mailbox;
use crate::on_demand;
use crate::outbox;
use crate::outbox::collecting::{Collector, Doer};
use deadline::Speaker;
use events::Happening;
use input::{Input, Said};
use marks::Marks;
pub use naming::Names;
pub use paths::within;
pub use session::Kept;
use session::Session;
use telling::Saying;

/// What is said below the help of the options.
fn manual() -> String {
    format!(
        "\
Events, as each client calls them:
{}

The client gives its event as JSON on standard input. Whatever goes wrong, the exit code is 0 and nothing is printed but
a line on standard error. The agent is the one of --as or POSTRIDER_AGENT, or is given a name when its session begins:
with --names per-session one of its own, with --names fixed that of the client, else also the name of an earlier session
in this place that has ended. With 'auto' the client is told by its input, else by its environment, so that one folder of
hooks serves several.

Example:
  echo '{{\"session_id\":\"1\",\"cwd\":\"/data/projects/app\"}}' | postrider hook claude SessionStart",
        clients::list_of_events()
    )
}

/// Answer a client's hook: tell its agent of mail and reserved files.
#[derive(Args, Debug)]
#[command(after_help = manual())]
pub struct Hook {
    /// Whose hook it is
    #[arg(value_parser = whose_parser())]
    client: Whose,
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

/// Whose hook is called, if that was said.
#[derive(Clone, Copy, Debug)]
struct Whose(Option<&'static Client>);

/// The word for a client that is to be told by what it says.
const AUTO: &str = "auto";

fn whose_parser() -> impl TypedValueParser<Value = Whose> {
    let names = clients::ALL.iter().map(|client| PossibleValue::new(client.name).help(client.product));
    let auto = PossibleValue::new(AUTO).help("Whichever of them calls");
    PossibleValuesParser::new(names.chain([auto])).map(|name| Whose(clients::of_name(&name)))
}

/// Whether a command line, without the name of the program, calls a hook: it must not fail, however wrong it is.
pub fn is_called(words: &[OsString]) -> bool {
    called(words, &["--home", "--config"]).is_some_and(|(command, _)| command == "hook")
}

impl Hook {
    /// Answers the event, and ends the process.
    pub fn run(self, global: Global) -> ! {
        let name = format!("postrider hook {} {}", self.client.0.map_or(AUTO, |client| client.name), self.event);
        let deadline = Instant::now() + Duration::from_millis(self.within);
        deadline::answer(&name, deadline, move |speaker| self.answer(&global, deadline, speaker))
    }

    fn answer(self, global: &Global, deadline: Instant, speaker: &Speaker) -> anyhow::Result<()> {
        let (client, (event, called), input) = self.happened()?;
        let config = Config::load(global)?;
        let folder = sessions(&config.home);
        let session = Session::of(&folder, client, &input.session_id);
        let above = ancestors();
        life::go_on(&session, event, &above);
        let kept = session.record().filter(|record| !record.agent.is_empty()).map(Kept::from);
        let said = session::said(&self.acting, |name| naming::believes(&session, name, &above));
        let is_said = said.is_some();
        let me = session::me(&self.acting, said, kept, &input.cwd)?;
        let marks = Marks::of(&folder, &me, &input);
        if let Some(marks) = &marks {
            marks.note(event, SystemClock.now());
        }
        life::note_call(&session, event, &input, &me.agent);
        if event == Event::SessionEnd && input.reason != client.clearing.reason {
            session.change(|record| record.has_ended = true)?;
        }
        let reserved = config.file.hooks.reserved;
        let is_strict = self.identity.or(config.file.identity) == Some(Identity::Strict);
        let (names, office) = (self.names, config.url());
        let (input, session) = (&input, &session);
        let happening = Happening {
            client,
            event,
            called,
            input,
            session,
            marks,
            me,
            is_said,
            names,
            above,
            office,
            is_strict,
            reserved,
            deadline,
        };
        respond(&happening, config, speaker)
    }

    /// Which client calls, what it tells of with which word, and what it says of that.
    fn happened(&self) -> anyhow::Result<(&'static Client, (Event, &'static str), Input)> {
        // What no client means needs no input.
        self.client.0.map(|client| self.event_of(client)).transpose()?;
        let text = input::read_all(io::stdin().lock())?;
        let said = Said::read(&text)?;
        let client = self.client.0.or_else(|| said.client(&self.event, set));
        let client = client.context("cannot tell which client calls; name it instead of 'auto'")?;
        let (event, called) = self.event_of(client)?;
        let input = said.input(client);
        let is_below = event == Event::SessionStart && input.is_of_subagent();
        Ok((client, (if is_below { Event::SubagentStart } else { event }, called), input))
    }

    /// What a client means by the event, and its own word for it.
    fn event_of(&self, client: &Client) -> anyhow::Result<(Event, &'static str)> {
        client.called(&self.event).ok_or_else(|| {
            let known: Vec<&str> = client.events.iter().map(|(_, name)| *name).collect();
            anyhow!("there is no event '{}'; {} has {}", self.event, client.name, known.join(", "))
        })
    }
}

/// Says what there is to say about an event, and takes in what a sandbox left in the workspace.
fn respond(happening: &Happening<'_>, config: Config, speaker: &Speaker) -> anyhow::Result<()> {
    if let Some(reply) = happening.reply_at_once() {
        happening.marks.iter().for_each(Marks::end_call);
        speaker.say(Ok(Some(line(happening, &reply))));
        return Ok(());
    }
    let cwd = &happening.input.cwd;
    let workspace = outbox::workspace_of(if cwd.is_absolute() { cwd } else { Path::new(".") });
    let is_of_interest = happening.is_of_interest();
    if !is_of_interest {
        speaker.say(Ok(None));
    }
    let collector = Collector::new(&config);
    if !is_of_interest && !collector.waits(&workspace) {
        return Ok(());
    }
    let runtime = super::small_runtime()?;
    let operation = async {
        // Who only comes to end a session needs none.
        if matches!(happening.event, Event::SessionStart | Event::Prompt) {
            on_demand::start_if_wanted(&config);
        }
        let mailbox = Mailbox::open(config, happening.me.project.clone(), happening.who()).await?;
        let done = if is_of_interest { tell(happening, &mailbox, speaker).await } else { Ok(()) };
        // What is still there when our time is over is for the next who passes by.
        if let Some(post_office) = mailbox.post_office() {
            collector.collect(&workspace, &Doer::Connection(post_office)).await;
        }
        mailbox.close().await;
        done
    };
    deadline::run(runtime, happening.deadline, speaker, operation)
}

/// Answers the event, and tells the office what came of that.
async fn tell(happening: &Happening<'_>, mailbox: &Mailbox, speaker: &Speaker) -> anyhow::Result<()> {
    let Saying { reply, tells } = happening.reply(mailbox, speaker).await?;
    // No event tells that a call which was refused has ended.
    if let (Some(marks), Some(HookReply::Refuse(_))) = (&happening.marks, &reply) {
        marks.end_call();
    }
    speaker.set_holding(!tells.is_nothing());
    let is_printed = speaker.say(Ok(reply.as_ref().map(|reply| line(happening, reply))));
    let settled = happening.settle(mailbox, tells, is_printed).await;
    speaker.set_holding(false);
    if let Some(post_office) = mailbox.post_office() {
        happening.tell_of_asking(post_office, reply.as_ref()).await;
        happening.tell_of_life(post_office, reply.as_ref()).await;
    }
    settled
}

/// A reply as the client reads it.
fn line(happening: &Happening<'_>, reply: &HookReply) -> String {
    (happening.client.reply)(reply, happening.called)
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
