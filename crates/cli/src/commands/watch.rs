//! `postrider watch`: a watcher that answers for an agent by running a command.
//!
//! What is for the agent, when to stop, and what goes into a prompt is decided in `relay::watch`; that each message is
//! taken on once, in the office. Here stand the options, and the two commands about runs that failed.

mod amounts;
mod answering;
mod asking;

mod failures;
mod holder;
mod log;
mod put_off;
mod source;
mod watching;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use api::Actor;
use clap::{Args, Subcommand};
use mail::projects::slug_of;
use relay::watch::{AnswerPath, DEFAULT_TEMPLATE, Invocation, Template};
use serde_json::json;

use crate::config::{Config, EVERYWHERE};
use crate::post_office::{self, InProject, PostOffice};
use crate::{logging, output};
use amounts::Since;
use watching::Watching;

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
    Failed(failures::Failed),
    /// Have messages that failed taken on again, by the watcher that runs or by the next
    Retry(failures::Retry),
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
            output::answer(as_json, &json, || DEFAULT_TEMPLATE.trim_end().to_owned());
            return Ok(ExitCode::SUCCESS);
        }
        let actor = self.who.actor(&config)?;
        let project = actor.project_key.clone();
        if let Some(verb) = self.verb.take() {
            return post_office::visit(config, &project, async |post_office| match verb {
                Verb::Failed(failed) => failed.run(post_office, actor, as_json).await,
                Verb::Retry(retry) => retry.run(post_office, actor, as_json).await,
            });
        }
        let plan = self.plan(actor, &config, as_json)?;
        logging::start(&config)?;
        post_office::run(async {
            // Before anybody is told that we run: who starts us may stop us at once.
            let stop = watching::asked_to_stop();
            let post_office = if plan.once {
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

    fn plan(self, actor: Actor, config: &Config, as_json: bool) -> anyhow::Result<watching::Plan> {
        let channel = self.channel.as_deref().map(|name| name.strip_prefix('#').unwrap_or(name).to_owned());
        let mut places: Vec<String> = channel.into_iter().collect();
        places.extend(self.mailbox.then(String::new));
        if places.is_empty() {
            bail!("nobody said where to watch; pass --channel NAME, --mailbox, or both");
        }
        let mut words = self.command.into_iter();
        let program = words.next().context("nobody said what answers; name a command behind '--'")?;
        let answer = match &self.answer {
            Some(path) => Some(AnswerPath::parse(path).with_context(|| {
                format!("'{path}' is no place in JSON; write names with dots between them, or a JSON pointer")
            })?),
            None => None,
        };
        let template = match &self.template {
            Some(path) => super::given::text_of(Some(path))?,
            None => DEFAULT_TEMPLATE.to_owned(),
        };
        let named = self.template.as_ref().map_or("the template".to_owned(), |path| format!("'{}'", path.display()));
        Ok(watching::Plan {
            template: Template::parse(&template).with_context(|| format!("{named} cannot be used"))?,
            invocation: Invocation {
                program,
                arguments: words.collect(),
                time: self.timeout,
                most_output: self.max_output,
                answer,
            },
            log: log::Log::new(as_json, &actor.agent_name, log_folder(config, &actor.project_key)),
            actor,
            places,
            role: self.role,
            context: self.context,
            poll: self.poll,
            since: self.since,
            max_hops: self.max_hops,
            once: self.once,
        })
    }
}

/// Where the project's channels keep their logs, if they have a folder.
fn log_folder(config: &Config, project: &str) -> Option<PathBuf> {
    let is_called = |path: &&String| path.as_str() == project || slug_of(path) == project;
    let path = config.file.channels.keys().find(is_called)?;
    config.channels_folder(path).map(Path::to_owned)
}
