//! An answer that has to come in time or not at all, to a client that nothing may break.
//!
//! A thread does the work, and the main thread prints what came before the deadline and tells the worker whether it was
//! printed. Whatever goes wrong is one line on standard error, and the process ends with exit code 0. A worker that took
//! something which could not be printed gets a little longer to give it back.

use std::future::Future;
use std::panic;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tokio::runtime::Runtime;
use tokio::time::timeout_at;

use crate::output::{self, text};

/// How long an answer may take unless somebody says otherwise.
pub const MILLISECONDS: u64 = 900;

/// How much earlier than its deadline the work is given up, so that a program which was asked for mail is ended with it.
const TIME_TO_TIDY_UP: Duration = Duration::from_millis(50);
/// How long after the deadline something may be given back that was taken and not printed.
const TIME_TO_GIVE_BACK: Duration = Duration::from_secs(1);

/// The line that answers a client, if there is anything to say.
pub type HookAnswer = anyhow::Result<Option<String>>;

/// Where a worker says its answer.
pub struct Speaker {
    saying: Sender<(HookAnswer, Sender<bool>)>,
    holds: Arc<AtomicBool>,
}

impl Speaker {
    /// Says the answer. Returns, once that is known, whether all of it was printed in time.
    pub fn say(&self, answer: HookAnswer) -> bool {
        let (telling, told) = mpsc::channel();
        // Nobody listens after the deadline, or to a second answer.
        self.saying.send((answer, telling)).is_ok() && told.recv().unwrap_or(false)
    }

    /// Notes whether the worker holds something that it has to give back unless it is printed.
    pub fn set_holding(&self, is_holding: bool) {
        self.holds.store(is_holding, Ordering::SeqCst);
    }

    fn is_holding(&self) -> bool {
        self.holds.load(Ordering::SeqCst)
    }
}

/// A thread that works on an answer.
struct Worker {
    said: Receiver<(HookAnswer, Sender<bool>)>,
    /// Hangs up when the worker is done.
    done: Receiver<()>,
    holds: Arc<AtomicBool>,
}

/// Begins to work on an answer.
fn begin(work: impl FnOnce(&Speaker) + Send + 'static) -> Worker {
    let (saying, said) = mpsc::channel();
    let (working, done) = mpsc::channel();
    let holds = Arc::new(AtomicBool::new(false));
    let speaker = Speaker { saying, holds: holds.clone() };
    // A thread that cannot be had hangs up as well.
    let _ = thread::Builder::new().spawn(move || {
        let _working: Sender<()> = working;
        work(&speaker);
    });
    Worker { said, done, holds }
}

impl Worker {
    /// The answer, if there is one before the deadline, and who wants to know whether it was printed. What is said later is said
    /// to nobody.
    fn answer(self, deadline: Instant) -> (HookAnswer, Option<Sender<bool>>, Waiting) {
        let waiting = Waiting { done: self.done, holds: self.holds };
        match self.said.recv_timeout(left(deadline)) {
            Ok((answer, telling)) => (answer, Some(telling), waiting),
            Err(RecvTimeoutError::Timeout) => (Err(too_late()), None, waiting),
            Err(RecvTimeoutError::Disconnected) => {
                (Err(anyhow!("it broke, so nothing is told; please report its input")), None, waiting)
            }
        }
    }
}

/// What is left of a worker that was heard.
struct Waiting {
    done: Receiver<()>,
    holds: Arc<AtomicBool>,
}

impl Waiting {
    /// Waits until the worker is done: until the deadline, and longer if it has something to give back.
    fn until_done(&self, deadline: Instant) {
        let is_holding = || self.holds.load(Ordering::SeqCst);
        if self.done.recv_timeout(left(deadline)) == Err(RecvTimeoutError::Timeout) && is_holding() {
            let _ = self.done.recv_timeout(left(deadline.max(Instant::now()) + TIME_TO_GIVE_BACK));
        }
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn too_late() -> anyhow::Error {
    anyhow!("there was no answer in time, so nothing is told")
}

/// Prints what `work` says before the deadline, and ends the process. `name` stands before what went wrong.
pub fn answer(name: &str, deadline: Instant, work: impl FnOnce(&Speaker) -> anyhow::Result<()> + Send + 'static) -> ! {
    // A panic would be told on lines of its own.
    panic::set_hook(Box::new(|_| {}));
    let worker = begin(move |speaker| {
        if let Err(error) = work(speaker) {
            speaker.say(Err(error));
        }
    });
    let (answer, telling, waiting) = worker.answer(deadline);
    // An answer that came in the last moment is printed all the same.
    let is_printed = print(name, answer, deadline.max(Instant::now() + TIME_TO_TIDY_UP));
    if let Some(telling) = telling {
        // A worker that broke does not listen.
        let _ = telling.send(is_printed);
    }
    waiting.until_done(deadline);
    std::process::exit(0)
}

/// Prints an answer, or what went wrong; whether all of it was taken before the deadline.
fn print(name: &str, answer: HookAnswer, deadline: Instant) -> bool {
    let name = name.to_owned();
    let (telling, told) = mpsc::channel();
    // On a thread of its own: nobody may read, and nothing ends a wait for that.
    let _ = thread::Builder::new().spawn(move || {
        let is_printed = match answer {
            Ok(Some(line)) => output::is_taken(&line),
            Ok(None) => true,
            Err(error) => {
                output::note(&text::unbroken(&format!("{name}: {error:#}")));
                false
            }
        };
        // Nobody waits for it after the deadline.
        let _ = telling.send(is_printed);
    });
    told.recv_timeout(left(deadline)).unwrap_or(false)
}

/// Runs an operation of the worker. What is not done in time is let go, and a program that was asked for mail is ended; but
/// an operation that holds something may go on to give it back.
pub fn run(
    runtime: Runtime,
    deadline: Instant,
    speaker: &Speaker,
    operation: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let done = runtime.block_on(async {
        let mut operation = pin!(operation);
        match timeout_at((deadline - TIME_TO_TIDY_UP).into(), &mut operation).await {
            Err(_) if speaker.is_holding() => timeout_at((deadline + TIME_TO_GIVE_BACK).into(), operation).await,
            done_or_late => done_or_late,
        }
    });
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
    fn an_answer_comes_before_the_worker_is_done_and_the_worker_hears_whether_it_was_printed() {
        for is_printed in [true, false] {
            let (reporting, reported) = mpsc::channel();
            let worker = begin(move |speaker| _ = reporting.send(speaker.say(Ok(Some("answer".to_owned())))));
            let (answer, telling, waiting) = worker.answer(soon());
            assert_eq!(answer.unwrap().as_deref(), Some("answer"));
            assert!(waiting.done.try_recv().is_err(), "it waits for a word");
            telling.expect("the worker asks").send(is_printed).unwrap();
            assert_eq!(reported.recv(), Ok(is_printed));
            waiting.until_done(soon());
        }
    }

    #[test]
    fn a_worker_that_breaks_or_is_late_is_a_failure_in_words() {
        let broken = begin(|_| panic!("made up"));
        assert!(broken.answer(soon()).0.unwrap_err().to_string().contains("broke"));
        let (stay, stays) = mpsc::channel::<()>();
        let late = begin(move |_| _ = stays.recv());
        assert!(late.answer(Instant::now()).0.unwrap_err().to_string().contains("in time"));
        drop(stay);
    }

    #[test]
    fn what_is_said_after_the_deadline_was_not_printed_and_whoever_holds_something_is_waited_for() {
        let (go_on, goes_on) = mpsc::channel::<()>();
        let (reporting, reported) = mpsc::channel();
        let worker = begin(move |speaker| {
            speaker.set_holding(true);
            let _ = goes_on.recv();
            let _ = reporting.send(speaker.say(Ok(Some("late".to_owned()))));
        });
        let (_, telling, waiting) = worker.answer(Instant::now());
        assert!(telling.is_none());
        drop(go_on);
        assert_eq!(reported.recv(), Ok(false));
        // The deadline has passed, and it comes back when the worker is done.
        waiting.until_done(Instant::now());
    }

    #[test]
    fn an_operation_that_holds_something_outlives_the_deadline_and_another_does_not() {
        for is_holding in [true, false] {
            let worker = begin(move |speaker| {
                speaker.set_holding(is_holding);
                let runtime = crate::commands::small_runtime().expect("a runtime");
                let (deadline, mut is_done) = (Instant::now() + TIME_TO_TIDY_UP, false);
                let operation = async {
                    tokio::time::sleep_until((deadline + TIME_TO_TIDY_UP).into()).await;
                    is_done = true;
                    Ok(())
                };
                let ended = run(runtime, deadline, speaker, operation);
                assert_eq!((is_done, ended.is_ok()), (is_holding, is_holding));
                speaker.say(Ok(None));
            });
            assert!(worker.answer(soon()).0.is_ok(), "holding: {is_holding}");
        }
    }
}
