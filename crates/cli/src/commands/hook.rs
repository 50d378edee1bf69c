//! `postrider hook`: what the clients of agents run at certain moments, to tell the agent of its mail.
//!
//! Reads the client's JSON and prints the JSON that this client wants, or nothing. It never breaks the agent: whatever
//! goes wrong is one line on standard error and exit code 0, and after the deadline the process ends, whatever a database
//! or a server is still waiting for, and whether or not anybody reads what it prints. It sends no mail and releases
//! nothing.

mod digest;
mod events;
mod input;
mod inquiry;
mod marks;
pub mod new_mail;
mod objection;
mod paths;
mod session;

use std::ffi::OsString;
use std::io;
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clap::Args;
use mail::clock::{Clock, SystemClock};

use super::nudge::sessions;
use crate::clients::{self, Client, HookReply};
use crate::config::{Config, Global, Identity};
use crate::identity::Acting;
use crate::mailbox::Mailbox;
use crate::output::{self, text};
use events::Happening;
use input::Input;
use marks::Marks;
pub use paths::real;
use session::Session;

/// How much earlier than its deadline the work is given up, so that a program which was asked for mail is ended with it.
const TIME_TO_TIDY_UP: Duration = Duration::from_millis(50);

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
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(..=60_000))]
    within: u64,
    /// How names are taken, as the server's option says
    #[arg(long, env = "POSTRIDER_IDENTITY", value_enum, hide = true)]
    identity: Option<Identity>,
    #[command(flatten)]
    acting: Acting,
}

/// Whether a command line, without the name of the program, calls a hook: it must not fail, however wrong it is.
pub fn is_called(mut words: impl Iterator<Item = OsString>) -> bool {
    while let Some(word) = words.next() {
        if word == "--home" || word == "--config" {
            words.next();
        } else if !word.as_encoded_bytes().starts_with(b"-") {
            return word == "hook";
        }
    }
    false
}

/// What is said of a command line that cannot be read: one line.
pub fn complaint(error: &clap::Error) -> String {
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    text::unbroken(&format!("postrider hook: {}", first.strip_prefix("error: ").unwrap_or(first)))
}

/// The line that answers a client, if there is anything to say.
type HookAnswer = anyhow::Result<Option<String>>;

/// Begins to work on an answer, which is said before the worker tidies up.
fn begin(work: impl FnOnce(&dyn Fn(HookAnswer)) + Send + 'static) -> Receiver<HookAnswer> {
    let (telling, told) = mpsc::channel();
    // A thread that cannot be had hangs up as well. Nobody listens after the deadline.
    let _ = thread::Builder::new().spawn(move || work(&|answer| drop(telling.send(answer))));
    told
}

/// The answer, if there is one before the deadline.
fn answer_of(told: &Receiver<HookAnswer>, deadline: Instant) -> HookAnswer {
    match told.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => Err(too_late()),
        Err(RecvTimeoutError::Disconnected) => Err(anyhow!("it broke, so nothing is told; please report its input")),
    }
}

fn too_late() -> anyhow::Error {
    anyhow!("there was no answer in time, so nothing is told")
}

impl Hook {
    /// Answers the event, and ends the process.
    pub fn run(self, global: Global) -> ! {
        // A panic would be told on lines of its own.
        panic::set_hook(Box::new(|_| {}));
        let name = format!("postrider hook {} {}", self.client.name, self.event);
        let deadline = Instant::now() + Duration::from_millis(self.within);
        let told = begin(move |say| {
            if let Err(error) = self.answer(&global, deadline, say) {
                say(Err(error));
            }
        });
        let answer = answer_of(&told, deadline);
        // Nobody reads it any more if it cannot be printed.
        let printed = begin(move |_| match answer {
            Ok(Some(line)) => drop(output::print(&line)),
            Ok(None) => {}
            Err(error) => output::note(&text::unbroken(&format!("{name}: {error:#}"))),
        });
        // An answer that came in the last moment is printed all the same.
        let deadline = deadline.max(Instant::now() + TIME_TO_TIDY_UP);
        let _ = answer_of(&printed, deadline);
        // The worker hangs up when its database is closed.
        let _ = answer_of(&told, deadline);
        std::process::exit(0)
    }

    fn answer(self, global: &Global, deadline: Instant, say: &dyn Fn(HookAnswer)) -> anyhow::Result<()> {
        let client = self.client;
        let event = client.event(&self.event).ok_or_else(|| self.unknown_event())?;
        let input = Input::read(io::stdin().lock())?;
        let config = Config::load(global)?;
        let folder = sessions(&config.home);
        let session = Session::of(&folder, client, &input.session_id);
        let me = session::me(&self.acting, session.kept(), &input.cwd)?;
        let marks = Marks::of(&folder, &me, &input);
        if let Some(marks) = &marks {
            marks.note(event, SystemClock.now());
        }
        let reserved = config.file.hooks.reserved;
        let is_strict = self.identity.or(config.file.identity) == Some(Identity::Strict);
        let happening =
            Happening { client, event, input: &input, session: &session, marks, me, is_strict, reserved, deadline };
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
        let time = (deadline - TIME_TO_TIDY_UP).saturating_duration_since(Instant::now());
        // What is not done by then is let go, and a program that was asked for mail is ended.
        let done = runtime.block_on(async { tokio::time::timeout(time, operation).await });
        runtime.shutdown_background();
        done.unwrap_or_else(|_| Err(too_late()))
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
        let is_hook = |line: &str| is_called(line.split(' ').map(OsString::from));
        for line in ["hook", "hook emacs Stop", "--json --home /x hook --nonsense", "--home=/x --config hook hook"] {
            assert!(is_hook(line), "{line}");
        }
        for line in ["", "mail send hook", "--home hook mail", "guard check", "--json"] {
            assert!(!is_hook(line), "{line}");
        }
    }

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
