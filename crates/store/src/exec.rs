//! Mail that somebody else's script keeps: each verb is one run of `<program> <verb> [argument]`.
//!
//! The program is one word, started without a shell, so that names and ids reach it as they are. It is read leniently
//! ([`wire`]) and bounded in time and size (`process`); what it means by a failure is read in [`complaint`]. Nothing is
//! kept here between calls, and a call is never tried again: a message could be sent twice.

mod complaint;
mod wire;

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use mail::provider::{Count, Provider, ProviderDelivery, ProviderError, Words};
use process::{Limits, Trouble};
use tokio::process::Command;
use tokio::sync::OnceCell;

use complaint::{ScriptFailure, passed_on};

/// How long a call may take.
const LIMIT: Duration = Duration::from_secs(30);
/// The most that a program may print.
const MOST_OUTPUT: usize = 64 << 20;
/// How much of the beginning of its complaints is kept.
const MOST_COMPLAINT: usize = 64 << 10;

/// What a program that keeps mail may cost.
pub(crate) fn limits(time: Duration) -> Limits {
    Limits { time, output: MOST_OUTPUT, complaint: process::KeptStderr::Beginning(MOST_COMPLAINT) }
}

/// Why there is no answer of a `call`, which was to end within `limit`.
pub(crate) fn unanswered(call: &str, limit: Duration, trouble: &Trouble) -> String {
    match trouble {
        Trouble::NotStarted(cause) => format!("'{call}' cannot be started: {cause}"),
        Trouble::TooLate => format!("'{call}' did not end within {} s and was stopped", limit.as_secs_f64()),
        Trouble::TooMuch { .. } => format!("'{call}' printed more than {} MiB and was stopped", MOST_OUTPUT >> 20),
        Trouble::Lost(cause) => format!("'{call}' was lost sight of: {cause}"),
    }
}

/// A provider that runs a script.
pub struct Exec {
    program: PathBuf,
    environment: Vec<(String, String)>,
    limit: Duration,
    /// Set once the script was asked to start whatever it needs.
    asked_to_run: OnceCell<()>,
}

impl Exec {
    /// Mail that `program` keeps. A bare word is looked up in `PATH`; `environment` is added to our own.
    pub fn new(program: PathBuf, environment: Vec<(String, String)>) -> Self {
        Self { program, environment, limit: LIMIT, asked_to_run: OnceCell::new() }
    }

    /// The same with another limit for each call: for tests.
    #[doc(hidden)]
    pub fn with_limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(verb).envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Gives the script the chance to start a server, once. If it cannot, the call that follows will say why.
    async fn ensure_running(&self) {
        let mut command = self.command("ensure-running");
        // A server that it starts may keep its output.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        match process::run(&mut command, None, limits(self.limit)).await {
            Ok(ended) if ended.status.success() => {}
            failed => tracing::debug!(?failed, "the mail provider did not do 'ensure-running'"),
        }
    }

    /// Runs the script, and returns what it printed if it succeeded.
    async fn call(&self, call: Call<'_>) -> Result<Vec<u8>, ProviderError> {
        let (Call { verb, argument, .. }, input) = (call, call.words.map(wire::input));
        if argument.contains('\0') {
            let (value, wanted) = (passed_on(argument), "text without NUL characters".to_owned());
            return Err(mail::Error::Invalid { what: "argument", value, wanted }.into());
        }
        self.asked_to_run.get_or_init(|| self.ensure_running()).await;
        let mut command = self.command(verb);
        command.arg(argument).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = process::run(&mut command, input.as_deref(), limits(self.limit)).await;
        let ended = ended.map_err(|trouble| self.failed(call, trouble))?;
        if ended.status.success() {
            return Ok(ended.output);
        }
        let id = call.takes_id.then_some(argument);
        Err(ScriptFailure { verb, id, status: ended.status, stderr: &ended.complaint }.meaning(&self.shown(verb)))
    }

    /// Runs the script and reads what it printed.
    async fn ask<T>(
        &self,
        call: Call<'_>,
        read: impl FnOnce(&[u8]) -> Result<T, String> + Send,
    ) -> Result<T, ProviderError> {
        let answer = self.call(call).await?;
        read(&answer).map_err(|problem| {
            let shown = self.shown(call.verb);
            let fact = format!("the answer of '{shown}' cannot be read: {}", passed_on(&problem));
            ProviderError::Failed { cause: fact + call.advice() }
        })
    }

    fn failed(&self, call: Call<'_>, trouble: Trouble) -> ProviderError {
        let program = self.program.display();
        let cause = match trouble {
            Trouble::NotStarted(cause) => match cause.kind() {
                io::ErrorKind::NotFound => format!(
                    "the program '{program}' is not there; check its name, and the interpreter in the first line \
                     if it is a script"
                ),
                io::ErrorKind::PermissionDenied => {
                    format!("the program '{program}' may not be run; make it executable with chmod +x")
                }
                _ => format!("the program '{program}' cannot be started: {cause}"),
            },
            trouble => unanswered(&self.shown(call.verb), self.limit, &trouble) + call.advice(),
        };
        ProviderError::Failed { cause }
    }

    fn shown(&self, verb: &str) -> String {
        format!("{} {verb}", self.program.display())
    }
}

/// One run, as it is asked for.
#[derive(Clone, Copy)]
struct Call<'a> {
    verb: &'static str,
    argument: &'a str,
    takes_id: bool,
    words: Option<Words<'a>>,
}

impl<'a> Call<'a> {
    /// About the mail of one recipient, or of a thread.
    fn about(verb: &'static str, argument: &'a str) -> Self {
        Self { verb, argument, takes_id: false, words: None }
    }

    /// About one delivery, or a thread by its id.
    fn on(verb: &'static str, id: &'a str) -> Self {
        Self { takes_id: true, ..Self::about(verb, id) }
    }

    fn saying(self, words: Words<'a>) -> Self {
        Self { words: Some(words), ..self }
    }

    /// What to do after a call of which nobody knows whether it was done.
    fn advice(&self) -> &'static str {
        match self.words {
            Some(_) => "; look whether the letter arrived before you send it again",
            None => "; run it by hand to see what it does",
        }
    }
}

#[async_trait]
impl Provider for Exec {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.ask(Call::about("send", to).saying(words), wire::delivery).await
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.ask(Call::on("reply", id).saying(words), wire::delivery).await
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.ask(Call::about("inbox", recipient), wire::deliveries).await
    }

    async fn check(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.ask(Call::about("check", recipient), wire::deliveries).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.ask(Call::about("all", recipient), wire::deliveries).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        match self.ask(Call::on("thread", id), wire::deliveries).await {
            // Some scripts treat it like an unknown message; to everybody else an unknown thread is an empty one. A
            // script that fails for another reason has not said that there is none.
            Err(ProviderError::NotFound { .. }) => Ok(Vec::new()),
            answer => answer,
        }
    }

    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.ask(Call::on("get", id), wire::delivery).await
    }

    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.ask(Call::on("read", id), wire::delivery).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.call(Call::on("mark-read", id)).await.map(drop)
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.call(Call::on("mark-unread", id)).await.map(drop)
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        self.call(Call::on("archive", id)).await.map(drop)
    }

    async fn delete(&self, id: &str) -> Result<(), ProviderError> {
        self.call(Call::on("delete", id)).await.map(drop)
    }

    async fn count(&self, recipient: &str) -> Result<Count, ProviderError> {
        self.ask(Call::about("count", recipient), wire::count).await
    }
}
