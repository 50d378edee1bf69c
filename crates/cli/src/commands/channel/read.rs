//! `postrider channel read`: what was said, and the questions that reading and following ask.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use super::advised;
use super::page::{Page, Post};
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
            let (json, has_more) = asked.map_err(|refused| advised(refused.into(), &self.acting.project))?;
            let posts = posts_of(&json)?;
            if posts.is_empty() && !as_json {
                output::note(if self.since.is_some() { "Nothing since then." } else { "Nothing was said there yet." });
                return Ok(ExitCode::SUCCESS);
            }
            output::answer(as_json, &json, || Page::new(reader).text(&posts, &Screen::of_stdout()));
            if let (true, false, Some(last)) = (has_more, as_json, posts.last()) {
                output::note(&format!("There is more: --since {} goes on.", last.id));
            }
            Ok(ExitCode::SUCCESS)
        })
    }

    /// `{"project", "channel", "messages", "newest"}`, and whether there is more behind that.
    async fn ask(&self, post_office: &PostOffice, question: &Question) -> Result<(Value, bool), Refused> {
        let (Some(since), None) = (&self.since, self.limit) else {
            let limit = self.limit.unwrap_or(USUAL).to_string();
            let mut answer = post_office.read(&question.address(self.since.as_deref(), &limit)).await?;
            let next = answer.as_object_mut().and_then(|answer| answer.remove("next"));
            return Ok((answer, self.since.is_some() && next.is_some_and(|next| !next.is_null())));
        };
        let all = pages::read(post_office, question.address(Some(since), pages::PAGE), "messages").await?;
        let last = all.last;
        let json = json!({
            "project": last["project"], "channel": last["channel"], "messages": all.entries, "newest": last["newest"],
        });
        Ok((json, all.has_more))
    }
}

impl Question {
    /// The address of the messages after `since`, or else of the newest.
    pub fn address(&self, since: Option<&str>, limit: &str) -> String {
        let keys = [
            ("project", Some(self.project.as_str())),
            ("since", since),
            ("limit", Some(limit)),
            ("thread_id", self.thread.as_deref()),
        ];
        resource("channel", &self.channel, &keys)
    }
}

/// The messages of an answer.
pub fn posts_of(answer: &Value) -> anyhow::Result<Vec<Post>> {
    Vec::deserialize(&answer["messages"]).context("the messages cannot be read")
}
