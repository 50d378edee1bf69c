//! `postrider channel read`: what was said, and the questions that reading and following ask.

use std::mem;
use std::process::ExitCode;

use api::{ChannelPageAnswer, ReadChannel};
use clap::Args;
use serde_json::json;

use super::advised;
use super::page::Page;
use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, Screen};
use crate::post_office::{self, PostOffice, Refused, pages, resource};

const EXAMPLES: &str = "\
Examples:
  postrider channel read dev --limit 50
  postrider channel read dev --since 17
  postrider channel read dev --since 2026-01-11T16:00:00Z --json";

/// How many are shown when nobody says.
const USUAL: u32 = 20;

/// Show what was said last, the newest at the end.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Read {
    #[command(flatten)]
    acting: Acting,
    /// The channel
    channel: String,
    /// At most N [default: the newest 20; with --since all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: Option<u32>,
    /// Only what came after it: a message's number, its name in the channel, or a time
    #[arg(long, value_name = "WHAT")]
    since: Option<String>,
    /// Only this conversation
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
}

/// Which messages are asked for.
pub struct Question {
    /// The project.
    pub project: String,
    /// The channel.
    pub channel: String,
    /// Only this conversation.
    pub thread: Option<String>,
}

impl Read {
    /// Prints the messages.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let reader = self.acting.opt_who(&config).map(|who| who.name);
        let question = Question {
            project: self.acting.project.key()?,
            channel: self.channel.clone(),
            thread: self.thread.clone(),
        };
        post_office::visit(config, &question.project, async |post_office: &PostOffice| {
            post_office.settle_channels().await;
            let asked = self.ask(post_office, &question).await;
            let page = asked.map_err(|refused| advised(refused.into(), &self.acting.project))?;
            let ChannelPageAnswer { project, channel, messages, newest, next } = page;
            if messages.is_empty() && !as_json {
                output::note(if self.since.is_some() { "Nothing since then." } else { "Nothing was said there yet." });
                return Ok(ExitCode::SUCCESS);
            }
            let json = json!({ "project": project, "channel": channel, "messages": messages, "newest": newest });
            output::answer(as_json, &json, || Page::new(reader).text(&messages, &Screen::of_stdout()));
            if let (Some(last), false, true) = (next, as_json, self.since.is_some()) {
                output::note(&format!("There is more: --since {last} goes on."));
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    /// What was said last; with `since` all that was said after it, if no limit is given.
    async fn ask(&self, post_office: &PostOffice, question: &Question) -> Result<ChannelPageAnswer, Refused> {
        let (Some(since), None) = (&self.since, self.limit) else {
            let limit = self.limit.unwrap_or(USUAL);
            return post_office.ask(question.request(self.since.clone(), limit)).await;
        };
        let mut last = None;
        let read = pages::all(async |cursor| {
            let since = cursor.map_or_else(|| since.clone(), |cursor: i64| cursor.to_string());
            let mut page = post_office.ask(question.request(Some(since), pages::MOST_AT_ONCE)).await?;
            let (messages, next) = (mem::take(&mut page.messages), page.next);
            last = Some(page);
            Ok((messages, next))
        });
        let (messages, _) = read.await?;
        Ok(ChannelPageAnswer { messages, ..last.expect("at least one page was read") })
    }
}

impl Question {
    /// Asks for what was said after `since`, or else for the newest.
    pub fn request(&self, since: Option<String>, limit: u32) -> ReadChannel {
        ReadChannel {
            project_key: self.project.clone(),
            channel: self.channel.clone(),
            since,
            before_id: None,
            thread_id: self.thread.clone(),
            limit: Some(limit),
        }
    }

    /// The address of what changes when something is said.
    pub fn watched(&self) -> String {
        resource("channel", &self.channel, &[("project", Some(&self.project))])
    }
}
