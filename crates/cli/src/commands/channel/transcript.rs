//! `postrider channel list`, `read` and `tail`: which channels there are, what was said last, and then whatever is said.
//!
//! The office wakes whoever watches when something is said. What comes from a folder may come without a wake-up, so
//! `tail` looks every other second as well. Each message is shown once.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use api::answers::ChannelAnswer;
use api::{ChannelPageAnswer, ListChannels, ReadChannel};
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde_json::json;
use tokio::time::timeout;

use super::super::mail::ago::ago;
use super::super::watching::{Complaint, until_closed};
use super::page::Page;
use crate::config::Config;
use crate::identity::Acting;
use crate::output::grid::{Cell, Layout};
use crate::output::{self, Screen, text};
use crate::post_office::{InProject, PostOffice, Refused, pages, resource};

const CHANNELS: Layout<3> = Layout {
    columns: [("CHANNEL", 64), ("MESSAGES", 12), ("LAST", 12)],
    // Who gives way where there is no room, and how far.
    giving: &[(0, 12)],
};

const NO_CHANNELS: &str = "No channels yet. One begins with its first message: postrider channel post NAME TEXT";

/// List the channels of the project.
#[derive(Args, Debug)]
pub struct List {
    #[command(flatten)]
    project: InProject,
}

impl List {
    /// Prints the list.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        self.project.visit(config, async |post_office, key| {
            post_office.settle_channels().await;
            let answer = post_office.ask(ListChannels { project_key: key.to_owned() }).await?;
            Ok(output::answer_or(as_json, answer.channels.is_empty().then_some(NO_CHANNELS), &json!(answer), || {
                let now = SystemClock.now();
                CHANNELS.text(answer.channels.iter().map(|channel| row(channel, now)), &Screen::of_stdout())
            }))
        })
    }
}

fn row(channel: &ChannelAnswer, now: Timestamp) -> [Cell; 3] {
    let last = channel.last_ts.map(|last| ago(last.0, now)).unwrap_or_default();
    [channel.name.clone().into(), channel.posts.to_string().into(), last.into()]
}

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

impl Read {
    /// Prints the messages.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let reader = self.acting.opt_who(&config).map(|who| who.name);
        self.acting.project.visit(config, async |post_office, key| {
            post_office.settle_channels().await;
            let ChannelPageAnswer { project, channel, messages, newest, next } = self.ask(post_office, key).await?;
            let nothing = if self.since.is_some() { "Nothing since then." } else { "Nothing was said there yet." };
            let json = json!({ "project": project, "channel": channel, "messages": messages, "newest": newest });
            let code = output::answer_or(as_json, messages.is_empty().then_some(nothing), &json, || {
                Page::new(reader).text(&messages, &Screen::of_stdout())
            });
            if let (Some(last), false, true) = (next, as_json, self.since.is_some()) {
                output::note(&format!("There is more: --since {last} goes on."));
            }
            Ok(code)
        })
    }

    /// What was said last; with `since` all that was said after it, if no limit is given.
    async fn ask(&self, post_office: &PostOffice, key: &str) -> Result<ChannelPageAnswer, Refused> {
        let request = ReadChannel {
            project_key: key.to_owned(),
            channel: self.channel.clone(),
            since: self.since.clone(),
            thread_id: self.thread.clone(),
            limit: Some(self.limit.unwrap_or(USUAL)),
            ..ReadChannel::default()
        };
        if self.since.is_none() || self.limit.is_some() {
            return post_office.ask(request).await;
        }
        let request = ReadChannel { limit: Some(pages::MOST_AT_ONCE), ..request };
        let turn = |request: &mut ReadChannel, next: i64| request.since = Some(next.to_string());
        let (page, _) = pages::all(post_office, request, turn, |page| (&mut page.messages, page.next)).await?;
        Ok(page)
    }
}

/// How late a look is at most that no wake-up brought about.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Show what was said last and whatever is said from now on.
#[derive(Args, Debug)]
pub struct Tail {
    #[command(flatten)]
    acting: Acting,
    /// The channel
    channel: String,
    /// How much of what was said before
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(0..=1000))]
    before: u32,
    /// Only this conversation
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
}

impl Tail {
    /// Prints until Ctrl-C, or until nobody reads it any more.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let reader = self.acting.opt_who(&config).map(|who| who.name);
        self.acting.project.visit(config, async |post_office, key| {
            let request = ReadChannel {
                project_key: key.to_owned(),
                channel: self.channel.clone(),
                thread_id: self.thread.clone(),
                ..ReadChannel::default()
            };
            let complaint = Complaint::default();
            let mut following = Following { request, page: Page::new(reader), as_json, newest: 0, complaint };
            until_closed(following.go_on(post_office, self.before)).await
        })
    }
}

/// How far the reader has come.
struct Following {
    request: ReadChannel,
    page: Page,
    as_json: bool,
    /// The last message that was shown.
    newest: i64,
    complaint: Complaint,
}

impl Following {
    async fn go_on(&mut self, post_office: &PostOffice, before: u32) -> anyhow::Result<()> {
        post_office.settle_channels().await;
        let first = post_office.ask(ReadChannel { limit: Some(before.max(1)), ..self.request.clone() }).await?;
        let ReadChannel { channel, project_key, .. } = &self.request;
        let watch = post_office.watch([resource("channel", channel, &[("project", Some(project_key))])]);
        self.newest = first.newest.unwrap_or(0);
        if before > 0 {
            self.show(&first)?;
        }
        loop {
            if !self.look(post_office).await? {
                let _ = timeout(LOOK_AGAIN, watch.changed()).await;
            }
        }
    }

    /// Shows a page of what came since the last look. Returns whether there may be more now.
    async fn look(&mut self, post_office: &PostOffice) -> anyhow::Result<bool> {
        post_office.settle_channels().await;
        let (since, limit) = (Some(self.newest.to_string()), Some(pages::MOST_AT_ONCE));
        match post_office.ask(ReadChannel { since, limit, ..self.request.clone() }).await {
            Ok(page) => {
                self.complaint.is_over();
                self.newest = page.newest.unwrap_or(self.newest);
                self.show(&page)?;
                Ok(page.next.is_some())
            }
            // A server that is being started again comes back.
            Err(refused) if refused.is_passing() => {
                self.complaint.tell(refused, "What is said is shown as soon as there is an answer.");
                Ok(false)
            }
            Err(refused) => Err(refused.into()),
        }
    }

    fn show(&mut self, page: &ChannelPageAnswer) -> io::Result<()> {
        let text = if self.as_json {
            page.messages.iter().map(|post| text::json_line(&json!(post))).collect::<Vec<_>>().join("\n")
        } else {
            self.page.text(&page.messages, &Screen::of_stdout())
        };
        if text.is_empty() { Ok(()) } else { output::print(&text) }
    }
}
