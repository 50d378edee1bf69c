//! `postrider watch`: a watcher that answers for an agent by running a command.
//!
//! What is for the agent, when to stop, and what goes into a prompt is decided in `relay::watch`; that each message is
//! taken on once, in the office. Here stand the options, and the two commands about runs that failed.

pub mod amounts;
mod answering;
mod asking;
mod holder;
mod log;
mod put_off;
mod watching;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use api::{Actor, ListRuns, RetryRuns, RunAnswer};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use mail::projects::slug_of;
use mail::watches::RunState;
use relay::watch::{AnswerPath, DEFAULT_TEMPLATE, Invocation, Template};
use serde_json::json;
use tokio::signal::unix::SignalKind;

use super::mail::ago::ago;
use super::serve::asked_to_stop;
use crate::config::{Config, EVERYWHERE};
use crate::logging;
use crate::output::grid::{Cell, Layout};
use crate::output::{self, Screen};
use crate::post_office::{self, InProject, PostOffice};
use amounts::Since;
use log::Log;
use watching::{Plan, Watching};

const TABLE: Layout<4> = Layout {
    columns: [("ID", 24), ("WHERE", 24), ("WHEN", 12), ("WHY", 400)],
    // Who gives way where there is no room, and how far: the reason, and then the place.
    giving: &[(3, 20), (1, 8)],
};

const EXAMPLES: &str = "\
The command gets the prompt on standard input, and what it prints is posted as the answer; if it prints nothing, nothing is
posted. It is run without a shell, one message at a time.

Examples:
  postrider watch --agent claude --channel dev -- claude --print
  postrider watch --agent codex --channel dev --mailbox -- codex exec -
  postrider watch --agent qc-1 --mailbox --answer result -- claude --print --output-format json
  postrider watch failed --agent codex
  postrider watch retry --agent codex 17";

/// Answer for an agent: run a command for each message that calls it, and post what it prints.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, override_usage = "\
postrider watch --agent NAME [--channel NAME] [--mailbox] [OPTIONS] -- COMMAND…
       postrider watch failed|retry [OPTIONS]")]
pub struct Watch {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    who: For,
    /// The channel to watch
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Watch the agent's mailbox, too, or instead of a channel
    #[arg(long)]
    mailbox: bool,
    /// Who the agent is, in the prompt
    #[arg(long, value_name = "TEXT")]
    role: Option<String>,
    /// A template for the prompt [default: see --print-template]
    #[arg(long, value_name = "FILE")]
    template: Option<PathBuf>,
    /// Print the default template, and end
    #[arg(long)]
    print_template: bool,
    /// How many messages the prompt tells of that came before
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100))]
    context: u32,
    /// How long the command may take
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = amounts::duration)]
    timeout: Duration,
    /// How much the command may print
    #[arg(long, value_name = "SIZE", default_value = "256K", value_parser = amounts::size)]
    max_output: usize,
    /// Where the answer stands in JSON that the command prints: names with dots between them, or a JSON pointer
    #[arg(long, value_name = "PATH")]
    answer: Option<String>,
    /// How late new messages are noticed at most
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = amounts::duration)]
    poll: Duration,
    /// Where to begin if nobody ever watched here: now, start, or how long ago
    #[arg(long, value_name = "WHEN", default_value = "10m", value_parser = Since::parse)]
    since: Since,
    /// How many watchers may answer each other, one after the other
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    max_hops: u32,
    /// Answer what is there, and end
    #[arg(long)]
    once: bool,
    /// What answers, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// For whom, and in which project.
#[derive(Args, Debug)]
struct For {
    #[command(flatten)]
    project: InProject,
    /// The agent [default: `agent` in postrider.toml]
    #[arg(long, visible_alias = "as", global = true, env = "POSTRIDER_AGENT", value_name = "NAME")]
    agent: Option<String>,
    /// The registration token of that name, where names have to be proved
    #[arg(long, global = true, value_name = "TOKEN", env = "POSTRIDER_REGISTRATION_TOKEN", hide_env_values = true,
          help_heading = EVERYWHERE, display_order = 102)]
    token: Option<String>,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// List the messages that could not be answered, and why
    Failed,
    /// Have messages that failed taken on again, by the watcher that runs or by the next
    Retry {
        /// The messages [default: all that failed]
        #[arg(value_name = "ID", value_parser = clap::value_parser!(i64).range(1..))]
        ids: Vec<i64>,
    },
}

impl For {
    fn actor(&self, config: &Config) -> anyhow::Result<Actor> {
        let given = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        let name = given(&self.agent).or_else(|| given(&config.file.agent));
        let name = name
            .context("nobody said for whom; pass --agent NAME, set POSTRIDER_AGENT, or set agent in postrider.toml")?;
        Ok(Actor { project_key: self.project.key()?, agent_name: name, registration_token: given(&self.token) })
    }
}

impl Watch {
    /// Watches until it is asked to stop, or does what its verb says.
    pub fn run(mut self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        if self.print_template {
            let json = json!({ "template": DEFAULT_TEMPLATE });
            return output::done(as_json, &json, || DEFAULT_TEMPLATE.trim_end().to_owned());
        }
        let actor = self.who.actor(&config)?;
        let project = actor.project_key.clone();
        if let Some(verb) = self.verb.take() {
            return post_office::visit(config, &project, async |post_office| match verb {
                Verb::Failed => list_failed(post_office, actor, as_json).await,
                Verb::Retry { ids } => retry(&ids, post_office, actor, as_json).await,
            });
        }
        let plan = self.plan(actor, &config, as_json)?;
        logging::start(&config)?;
        post_office::run(async {
            // Before anybody is told that we run: who starts us may stop us at once.
            let stop = asked_to_stop(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]);
            let post_office = if plan.options.once {
                let post_office = PostOffice::open(config.about(&project)).await?;
                post_office.settle_channels().await;
                post_office
            } else {
                PostOffice::open_to_stay(config).await?
            };
            let ended = Watching::new(&post_office, &plan).run(stop).await;
            post_office.write_out().await;
            post_office.close().await;
            ended
        })
    }

    fn plan(mut self, actor: Actor, config: &Config, as_json: bool) -> anyhow::Result<Plan> {
        let channel = self.channel.as_deref().map(|name| name.strip_prefix('#').unwrap_or(name).to_owned());
        let channels: Vec<String> = channel.into_iter().chain(self.mailbox.then(String::new)).collect();
        if channels.is_empty() {
            bail!("nobody said where to watch; pass --channel NAME, --mailbox, or both");
        }
        let mut words = std::mem::take(&mut self.command).into_iter();
        let program = words.next().context("nobody said what answers; name a command behind '--'")?;
        let answer_path = |path: &String| {
            AnswerPath::parse(path).with_context(|| {
                format!("'{path}' is no place in JSON; write names with dots between them, or a JSON pointer")
            })
        };
        let (template, named) = match &self.template {
            Some(path) => (super::given::text_of(Some(path))?, format!("'{}'", path.display())),
            None => (DEFAULT_TEMPLATE.to_owned(), "the template".to_owned()),
        };
        Ok(Plan {
            template: Template::parse(&template).with_context(|| format!("{named} cannot be used"))?,
            invocation: Invocation {
                program,
                arguments: words.collect(),
                time: self.timeout,
                most_output: self.max_output,
                answer: self.answer.as_ref().map(answer_path).transpose()?,
            },
            log: Log::new(as_json, &actor.agent_name, log_folder(config, &actor.project_key)),
            actor,
            channels,
            options: self,
        })
    }
}

/// Where the project's channels keep their logs, if they have a folder.
fn log_folder(config: &Config, project: &str) -> Option<PathBuf> {
    let is_called = |path: &&String| path.as_str() == project || slug_of(path) == project;
    let path = config.file.channels.keys().find(is_called)?;
    config.channels_folder(path).map(Path::to_owned)
}

/// Prints the messages that could not be answered.
async fn list_failed(post_office: &PostOffice, actor: Actor, as_json: bool) -> anyhow::Result<ExitCode> {
    let state = Some(RunState::Failed.as_str().into());
    let runs = post_office.ask(ListRuns { actor, state, ..ListRuns::default() }).await?;
    if runs.is_empty() && !as_json {
        output::note("Nothing failed.");
        return Ok(ExitCode::SUCCESS);
    }
    output::done(as_json, &json!(runs), || {
        let now = SystemClock.now();
        TABLE.text(runs.iter().map(|run| row(run, now)), &Screen::of_stdout())
    })
}

fn row(run: &RunAnswer, now: Timestamp) -> [Cell; 4] {
    let place = if run.channel.is_empty() { "mailbox".to_owned() } else { format!("#{}", run.channel) };
    [run.message_id.to_string().into(), place.into(), ago(run.at.0, now).into(), run.note.clone().into()]
}

/// Gives the runs back, and says which they are.
async fn retry(ids: &[i64], post_office: &PostOffice, actor: Actor, as_json: bool) -> anyhow::Result<ExitCode> {
    let message_ids = ids.iter().map(ToString::to_string).collect();
    let again = post_office.ask(RetryRuns { actor, message_ids }).await?;
    output::answer(as_json, &json!({ "message_ids": again }), || {
        let named: Vec<String> = again.iter().map(ToString::to_string).collect();
        match again.len() {
            0 => "Nothing is tried again.".to_owned(),
            _ => format!("Tried again by the watcher: {}", named.join(", ")),
        }
    });
    let missed: Vec<String> = ids.iter().filter(|id| !again.contains(id)).map(ToString::to_string).collect();
    if missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    output::note(&format!("Not among those that failed: {}. See: postrider watch failed", missed.join(", ")));
    Ok(ExitCode::FAILURE)
}
