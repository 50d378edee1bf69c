//! `postrider hook`: what the clients of agents run at certain moments, to tell the agent of its mail.
//!
//! Reads the client's JSON and prints the JSON that this client wants, or nothing. It never breaks the agent: whatever
//! goes wrong is one line on standard error and exit code 0, and after the deadline the process ends, whatever a database
//! or a server is still waiting for. It sends no mail and releases nothing.

mod busy;
mod client;
mod digest;
mod events;
#[cfg(test)]
mod examples;
mod fence;
mod identity;
mod input;
mod inquiry;
mod leases;
mod news;
mod patch;
mod paths;
mod reply;
mod session;

use std::io;
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use mail::clock::{Clock, SystemClock};

use super::nudge::sessions;
use crate::config::{Config, Global};
use crate::identity::Acting;
use crate::mailbox::Mailbox;
use crate::output::{self, text};
use busy::Mark;
use client::Client;
use events::{Happening, Mail};
use input::Input;
use reply::Reply;
use session::Session;

const EVENTS: &str = "\
Events, as each client calls them:
  claude            codex             gemini
  SessionStart      SessionStart      SessionStart   registers the agent, tells who it is and what waits
  UserPromptSubmit  UserPromptSubmit  BeforeAgent    tells new mail, once
  PreToolUse        PreToolUse        BeforeTool     refuses a write to what another agent has reserved
  PostToolUse       PostToolUse       AfterTool      tells new mail, once
  Stop              Stop              AfterAgent     asks to see to urgent mail first, once
  SessionEnd                          SessionEnd     prints nothing

The client gives its event as JSON on standard input. Whatever goes wrong, the exit code is 0 and nothing is printed but
a line on standard error. The agent is POSTRIDER_AGENT, or is given a name when its session begins.

Example:
  echo '{\"session_id\":\"1\",\"cwd\":\"/data/projects/app\"}' | postrider hook claude SessionStart";

/// Answer a client's hook: tell its agent of mail and reserved files.
#[derive(Args, Debug)]
#[command(after_help = EVENTS)]
pub struct Hook {
    /// Whose hook it is
    #[arg(value_enum)]
    client: Client,
    /// The event, as the client calls it
    event: String,
    /// How long an answer may take; after that nothing is said
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(..=60_000))]
    within: u64,
    #[command(flatten)]
    acting: Acting,
}

/// The line that answers a client, if there is anything to say.
type Answer = anyhow::Result<Option<String>>;

/// Begins to work on an answer, which is said before the worker tidies up.
fn begin(work: impl FnOnce(&dyn Fn(Answer)) + Send + 'static) -> Receiver<Answer> {
    let (telling, told) = mpsc::channel();
    // A thread that cannot be had hangs up as well. Nobody listens after the deadline.
    let _ = thread::Builder::new().spawn(move || work(&|answer| drop(telling.send(answer))));
    told
}

/// The answer, if there is one before the deadline.
fn answer_of(told: &Receiver<Answer>, deadline: Instant) -> Answer {
    match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => Err(anyhow!("there was no answer in time, so nothing is told")),
        Err(RecvTimeoutError::Disconnected) => Err(anyhow!("it broke, so nothing is told; please report its input")),
    }
}

impl Hook {
    /// Answers the event, and ends the process.
    pub fn run(self, global: Global) -> ! {
        // A panic would be told on lines of its own.
        panic::set_hook(Box::new(|_| {}));
        let name = format!("postrider hook {} {}", self.client.name(), self.event);
        let deadline = Instant::now() + Duration::from_millis(self.within);
        let told = begin(move |say| {
            if let Err(error) = self.answer(&global, deadline, say) {
                say(Err(error));
            }
        });
        match answer_of(&told, deadline) {
            // Nobody reads it any more if it cannot be printed.
            Ok(Some(line)) => drop(output::print(&line)),
            Ok(None) => {}
            Err(error) => {
                let line = text::unbroken(&format!("{name}: {error:#}"));
                let _ = panic::catch_unwind(|| output::note(&line));
            }
        }
        // The worker hangs up when its database is closed.
        let _ = told.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        std::process::exit(0)
    }

    fn answer(self, global: &Global, deadline: Instant, say: &dyn Fn(Answer)) -> anyhow::Result<()> {
        let client = self.client;
        let event = client.event(&self.event).ok_or_else(|| self.unknown_event())?;
        let input = Input::read(io::stdin().lock())?;
        let config = Config::load(global)?;
        let folder = sessions(&config.home);
        let session = Session::of(&folder, client, &input.session_id);
        let me = identity::me(&self.acting, &config, session.kept(), &input.cwd)?;
        let mark = Mark::of(&folder, &me, &input);
        if let Some(mark) = &mark {
            mark.note(event, SystemClock.now());
        }
        let reserved = config.file.hooks.reserved;
        let happening = Happening { client, event, input: &input, session: &session, me, reserved, deadline };
        if !happening.is_of_interest() {
            say(Ok(None));
            return Ok(());
        }
        let runtime = super::small_runtime()?;
        let done = runtime.block_on(async {
            let mailbox = Mailbox::open(config, happening.me.project.clone(), happening.who()).await?;
            let mail = mailbox.postbox().map_or_else(|| Mail::Elsewhere(mailbox.provider()), Mail::Office);
            let reply = happening.reply(mail).await;
            // No event tells that a call which was refused has ended.
            if let (Some(mark), Ok(Some(Reply::Refuse(_)))) = (&mark, &reply) {
                mark.end();
            }
            say(reply.map(|reply| reply.map(|reply| text::json_line(&reply.json(client, event)))));
            mailbox.close();
            Ok(())
        });
        runtime.shutdown_background();
        done
    }

    fn unknown_event(&self) -> anyhow::Error {
        let known: Vec<&str> = self.client.events().map(|(_, name)| name).collect();
        anyhow!("there is no event '{}'; {} has {}", self.event, self.client.name(), known.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn an_answer_comes_before_the_worker_has_tidied_up() {
        let (stay, stays) = mpsc::channel::<()>();
        let told = begin(move |say| {
            say(Ok(Some("answer".to_owned())));
            let _ = stays.recv();
        });
        assert_eq!(answer_of(&told, soon()).unwrap().as_deref(), Some("answer"));
        drop(stay);
        assert!(told.recv_timeout(Duration::from_secs(60)).is_err(), "it hangs up when it is done");
    }

    #[test]
    fn a_worker_that_breaks_or_is_late_is_a_failure_in_words() {
        let broken = begin(|_| panic!("made up"));
        assert!(answer_of(&broken, soon()).unwrap_err().to_string().contains("broke"));
        let (stay, stays) = mpsc::channel::<()>();
        let late = begin(move |_| {
            let _ = stays.recv();
        });
        assert!(answer_of(&late, Instant::now()).unwrap_err().to_string().contains("in time"));
        drop(stay);
    }
}
