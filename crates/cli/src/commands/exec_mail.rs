//! `postrider exec-mail <op> [arg]`: our post office as the mail program that somebody else's tool runs.
//!
//! The caller runs one program word, an operation and at most one argument, and owns its names: whoever writes or is
//! written to gets a mailbox. Arguments are taken as they are, without options, because a name may begin with a dash.
//! Only a first word that asks for help or the version is taken for that. Exit code 2 says that an operation is
//! unknown, which callers take for success, so nothing else exits with it. What was archived is not found here; it is kept,
//! and shown at every other door. What a person would like to see is `postrider mail`.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use api::answers::ReceivedAnswer;
use clap::{Args, CommandFactory};
use mail::provider::hiding::Hiding;
use mail::provider::{Provider, ProviderDelivery, ProviderError, Words};
use serde::Deserialize;

use super::Cli;
use crate::config::{Config, Global, set};
use crate::identity;
use crate::mailbox::{Caller, Deliveries};
use crate::output;
use crate::post_office::{self, InProject, Refused};

/// What a program is called that does nothing but this.
const OWN_NAME: &str = "postrider-exec-mail";
const COMMAND: &str = "exec-mail";
/// How callers are told that an operation is unknown.
const UNKNOWN_OPERATION: u8 = 2;
/// What somebody may do who archived a delivery twice.
const STILL_THERE: &str = "Nothing is left to do: 'postrider mail peek' still shows it.";
/// The words by which callers know an id that is not there.
const NOT_FOUND: &str = "gc-mail-error:not-found";

const ABOUT: &str = "\
Words behind the operation are taken as they are, so other options stand before 'exec-mail' or in the environment. GC_CITY
names the project; GC_SESSION_ID, GC_ALIAS or GC_AGENT who calls. Exit codes: 0 done, 1 failed, 2 the operation is unknown.

Examples:
  echo '{\"from\":\"mayor\",\"subject\":\"Hello\",\"body\":\"How are you?\"}' | postrider exec-mail send deputy
  postrider exec-mail inbox deputy
  ln -s \"$(command -v postrider)\" ~/bin/postrider-exec-mail";

/// The operation and its argument, if this process was started for one.
pub fn called() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os();
    let program = words.next()?;
    if Path::new(&program).file_name().is_some_and(|name| name == OWN_NAME) {
        return Some(words.collect());
    }
    (words.next()? == COMMAND).then(|| words.collect())
}

/// Does what the caller wants, and says so in the way that callers expect.
pub fn run(words: &[OsString], global: &Global) -> ExitCode {
    let operation = words.first().and_then(|word| word.to_str()).unwrap_or_default();
    let is_known = |name: &str| OPERATIONS.split(", ").any(|known| known == name);
    let answered = match about(words) {
        Some(about) => Ok(Some(about)),
        None if operation.is_empty() || is_known(operation) => answer(words, global),
        None => {
            let name = mail::error::shown(operation);
            output::note(&format!("postrider: '{name}' is no operation; there are: {OPERATIONS}"));
            return ExitCode::from(UNKNOWN_OPERATION);
        }
    };
    match answered {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(said)) => output::answer(false, &serde_json::Value::Null, || said),
        Err(error) => {
            output::note(&told(error));
            ExitCode::FAILURE
        }
    }
}

/// What a person is told who asks what this is; none if the first word asks for something else.
fn about(words: &[OsString]) -> Option<String> {
    match words.first()?.to_str()? {
        "--help" | "-h" => Some(Cli::help_of(COMMAND)),
        "--version" | "-V" => Some(Cli::command().render_version().trim_end().to_owned()),
        _ => None,
    }
}

/// The operation, when options stood before the command. Without them `called` takes the words as they are.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_help = ABOUT)]
pub struct ExecMail {
    /// ensure-running, send, reply, inbox, check, all, thread, get, read, mark-read, mark-unread, archive, delete or count,
    /// and its argument
    #[arg(value_name = "OP [ARG]", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<OsString>,
}

/// All operations, as a caller is told of them.
const OPERATIONS: &str = "ensure-running, send, reply, inbox, check, all, thread, get, read, mark-read, mark-unread, \
                          archive, delete, count";

/// What is printed, if anything is.
fn answer<'a>(words: &'a [OsString], global: &Global) -> anyhow::Result<Option<String>> {
    let text = |word: &'a OsString| word.to_str().with_context(|| format!("'{}' is not Unicode text", word.display()));
    let given: Vec<&str> = words.iter().map(text).collect::<anyhow::Result<_>>()?;
    let Some((operation, rest)) = given.split_first().filter(|(operation, _)| !operation.is_empty()) else {
        bail!("no operation is named; there are: {OPERATIONS}");
    };
    if *operation == "ensure-running" {
        return Ok(None);
    }
    let [argument] = rest else {
        bail!("'{operation}' takes one argument, and {} were given", rest.len());
    };
    let config = Config::load(global)?;
    let written = match *operation {
        "send" | "reply" => Some(ExecInput::read(config.largest_request())?),
        _ => None,
    };
    let project = InProject::of(set("GC_CITY").or_else(|| set("POSTRIDER_PROJECT"))).key()?;
    let who = identity::of_session().map(|name| Caller { name, token: set("POSTRIDER_REGISTRATION_TOKEN") });
    post_office::run(async {
        let deliveries = Hiding(Deliveries::open(config, project, who.clone()).await?.for_any_name());
        let done = perform(&deliveries, operation, argument, written.as_ref(), who.as_ref()).await;
        deliveries.0.post_office.write_out().await;
        deliveries.0.post_office.close().await;
        done
    })
}

async fn perform(
    deliveries: &impl Provider,
    operation: &str,
    argument: &str,
    written: Option<&ExecInput>,
    who: Option<&Caller>,
) -> anyhow::Result<Option<String>> {
    let words = || written.context("there is nothing to send")?.words(who);
    match operation {
        "inbox" | "check" => listed(deliveries.inbox(argument).await?),
        "all" => listed(deliveries.all(argument).await?),
        "thread" => listed(deliveries.thread(argument).await?),
        "get" => one(deliveries.get(argument).await?),
        "read" => one(deliveries.read(argument).await?),
        "count" => {
            let count = deliveries.count(argument).await?;
            Ok(Some(format!(r#"{{"total":{},"unread":{}}}"#, count.total, count.unread)))
        }
        "send" => one(deliveries.send(argument, words()?).await?),
        "reply" => one(deliveries.reply(argument, words()?).await?),
        "mark-read" => Ok(deliveries.mark_read(argument).await.map(|()| None)?),
        "mark-unread" => Ok(deliveries.mark_unread(argument).await.map(|()| None)?),
        "archive" => Ok(deliveries.archive(argument).await.map(|()| None)?),
        "delete" => Ok(deliveries.delete(argument).await.map(|()| None)?),
        _ => bail!("'{operation}' is no operation"),
    }
}

/// What comes on standard input.
#[derive(Deserialize)]
struct ExecInput {
    #[serde(default)]
    from: String,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    body: String,
}

impl ExecInput {
    fn read(most: usize) -> anyhow::Result<Self> {
        let (mut text, limit) = (Vec::new(), most as u64);
        let mut input = io::stdin().lock().take(limit.saturating_add(1));
        input.read_to_end(&mut text).context("cannot read standard input")?;
        if text.len() as u64 > limit {
            bail!("standard input is longer than {limit} bytes");
        }
        // A list of texts would be read as the fields in their order.
        let is_object = text.trim_ascii_start().starts_with(b"{");
        let read = if is_object { serde_json::from_slice(&text).ok() } else { None };
        read.context("standard input is not a JSON object with from, subject and body")
    }

    fn words<'a>(&'a self, who: Option<&'a Caller>) -> anyhow::Result<Words<'a>> {
        let from = Some(self.from.as_str()).filter(|from| !from.is_empty()).or(who.map(|who| who.name.as_str()));
        let from = from.context("nobody is named as the sender; give 'from', or set GC_AGENT")?;
        Ok(Words { from, subject: &self.subject, body: &self.body })
    }
}

/// A delivery on this wire, which knows fewer members than an answer.
fn shown(delivery: ProviderDelivery) -> ReceivedAnswer {
    ReceivedAnswer { awaits_ack: false, addressed: Vec::new(), archived: false, ..ReceivedAnswer::new(delivery) }
}

fn one(delivery: ProviderDelivery) -> anyhow::Result<Option<String>> {
    Ok(Some(serde_json::to_string(&shown(delivery))?))
}

/// An empty list is no output at all.
fn listed(deliveries: Vec<ProviderDelivery>) -> anyhow::Result<Option<String>> {
    let shown: Vec<ReceivedAnswer> = deliveries.into_iter().map(shown).collect();
    Ok(if shown.is_empty() { None } else { Some(serde_json::to_string(&shown)?) })
}

/// What went wrong, in the words that callers look for.
fn told(error: anyhow::Error) -> String {
    match error.downcast::<ProviderError>() {
        Ok(error) if error.code() == "MESSAGE_NOT_FOUND" => format!("{NOT_FOUND} {error}"),
        Ok(error) if error.code() == "ALREADY_ARCHIVED" => {
            format!("postrider: {}", Refused::from(error).hinted(STILL_THERE))
        }
        Ok(error) => format!("postrider: {}", Refused::from(error)),
        Err(error) => format!("postrider: {error:#}"),
    }
}
