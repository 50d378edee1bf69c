//! `postrider channel tail`: what was said last, and then whatever is said.
//!
//! The office rings when something is said. What comes from a folder may come without a ring, so there is a look every
//! other second as well. Each message is shown once.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use api::ChannelPageAnswer;
use clap::Args;
use serde_json::json;
use tokio::time::timeout;

use super::advised;
use super::page::Page;
use super::read::Question;
use crate::config::Config;
use crate::identity::Acting;
use crate::output::{self, Screen, text};
use crate::post_office::{self, PostOffice, Refused, pages};

/// How late a look is at most that no ring brought about.
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
        let question = Question { project: self.acting.project.key()?, channel: self.channel, thread: self.thread };
        let project = question.project.clone();
        post_office::visit(config, &project, async |post_office: &PostOffice| {
            let mut following = Following { question, page: Page::new(reader), as_json, newest: 0, complaint: None };
            let ended = tokio::select! {
                ended = following.go_on(post_office, self.before) => ended,
                pressed = tokio::signal::ctrl_c() => Ok(pressed?),
            };
            ended.map_err(|error| advised(error, &self.acting.project)).map(|()| ExitCode::SUCCESS)
        })
    }
}

/// How far the reader has come.
struct Following {
    question: Question,
    page: Page,
    as_json: bool,
    /// The last message that was shown.
    newest: i64,
    /// What was complained of since the last look that succeeded.
    complaint: Option<String>,
}

impl Following {
    async fn go_on(&mut self, post_office: &PostOffice, before: u32) -> anyhow::Result<()> {
        post_office.settle_channels().await;
        let first = post_office.ask(self.question.request(None, before.max(1))).await?;
        let watch = post_office.watch(&self.question.watched());
        self.newest = first.newest.unwrap_or(0);
        if before > 0 && self.show(&first)?.is_closed() {
            return Ok(());
        }
        loop {
            match self.look(post_office).await? {
                Shown::Closed => return Ok(()),
                Shown::Full => {}
                Shown::Done => {
                    let _ = timeout(LOOK_AGAIN, watch.changed()).await;
                }
            }
        }
    }

    /// Shows a page of what came since the last look.
    async fn look(&mut self, post_office: &PostOffice) -> anyhow::Result<Shown> {
        post_office.settle_channels().await;
        let since = self.newest.to_string();
        match post_office.ask(self.question.request(Some(since), pages::MOST_AT_ONCE)).await {
            Ok(page) => {
                self.complaint = None;
                self.newest = page.newest.unwrap_or(self.newest);
                self.show(&page)
            }
            // A server that is being started again comes back.
            Err(refused) if refused.is_passing() => {
                self.complain(refused);
                Ok(Shown::Done)
            }
            Err(refused) => Err(refused.into()),
        }
    }

    fn show(&mut self, page: &ChannelPageAnswer) -> anyhow::Result<Shown> {
        let text = if self.as_json {
            page.messages.iter().map(|post| text::json_line(&json!(post))).collect::<Vec<_>>().join("\n")
        } else {
            self.page.text(&page.messages, &Screen::of_stdout())
        };
        if !text.is_empty() {
            match output::print(&text) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Shown::Closed),
                printed => printed?,
            }
        }
        Ok(if page.next.is_none() { Shown::Done } else { Shown::Full })
    }

    fn complain(&mut self, refused: Refused) {
        let complaint = refused.hinted("What is said is shown as soon as there is an answer.").to_string();
        if self.complaint.as_ref() != Some(&complaint) {
            output::note(&text::lines(&format!("postrider: {complaint}")));
            self.complaint = Some(complaint);
        }
    }
}

/// What became of a page.
enum Shown {
    /// All of it was shown, and there is no more now.
    Done,
    /// It was shown, and there may be more.
    Full,
    /// Nobody reads it any more.
    Closed,
}

impl Shown {
    fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }
}
