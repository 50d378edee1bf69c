//! An answer that has to come in time or not at all, to a client that nothing may break.
//!
//! A thread does the work, and the main thread prints what came before the deadline. Whatever goes wrong is one line on
//! standard error, and the process ends with exit code 0.

use std::future::Future;
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tokio::runtime::Runtime;

use crate::output::{self, text};

/// How long an answer may take unless somebody says otherwise.
pub const MILLISECONDS: u64 = 900;

/// How much earlier than its deadline the work is given up, so that a program which was asked for mail is ended with it.
const TIME_TO_TIDY_UP: Duration = Duration::from_millis(50);

/// The line that answers a client, if there is anything to say.
pub type HookAnswer = anyhow::Result<Option<String>>;

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

/// Prints what `work` says before the deadline, and ends the process. `name` stands before what went wrong.
pub fn answer(
    name: &str,
    deadline: Instant,
    work: impl FnOnce(&dyn Fn(HookAnswer)) -> anyhow::Result<()> + Send + 'static,
) -> ! {
    // A panic would be told on lines of its own.
    panic::set_hook(Box::new(|_| {}));
    let told = begin(move |say| {
        if let Err(error) = work(say) {
            say(Err(error));
        }
    });
    let answer = answer_of(&told, deadline);
    let name = name.to_owned();
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

/// Runs an operation of the worker. What is not done in time is let go, and a program that was asked for mail is ended.
pub fn run(
    runtime: Runtime,
    deadline: Instant,
    operation: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let time = (deadline - TIME_TO_TIDY_UP).saturating_duration_since(Instant::now());
    let done = runtime.block_on(async { tokio::time::timeout(time, operation).await });
    runtime.shutdown_background();
    done.unwrap_or_else(|_| Err(too_late()))
}

/// What is said of a command line that cannot be read: one line.
pub fn complaint(name: &str, error: &clap::Error) -> String {
    let said = error.to_string();
    let first = said.lines().next().unwrap_or_default();
    text::unbroken(&format!("{name}: {}", first.strip_prefix("error: ").unwrap_or(first)))
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
