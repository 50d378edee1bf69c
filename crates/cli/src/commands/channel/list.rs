//! `postrider channel list`: which channels there are.

use std::process::ExitCode;

use api::ListChannels;
use api::answers::ChannelAnswer;
use clap::Args;
use jiff::Timestamp;
use mail::clock::{Clock, SystemClock};
use serde_json::json;

use super::super::mail::ago::ago;
use super::advised;
use crate::config::Config;
use crate::output::grid::{self, Cell, Column};
use crate::output::{self, Screen};
use crate::post_office::{self, InProject, PostOffice};

const COLUMNS: [Column; 3] =
    [Column { head: "CHANNEL", most: 64 }, Column { head: "MESSAGES", most: 12 }, Column { head: "LAST", most: 12 }];
/// Who gives way where there is no room, and how far.
const GIVING: [(usize, usize); 1] = [(0, 12)];

/// List the channels of the project.
#[derive(Args, Debug)]
pub struct List {
    #[command(flatten)]
    project: InProject,
}

impl List {
    /// Prints the list.
    pub fn run(self, config: Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let key = self.project.key()?;
        post_office::visit(config, &key, async |post_office: &PostOffice| {
            post_office.settle_channels().await;
            let answer = post_office.ask(ListChannels { project_key: key.clone() }).await;
            let answer = answer.map_err(|refused| advised(refused.into(), &self.project))?;
            if answer.channels.is_empty() && !as_json {
                output::note("No channels yet. One begins with its first message: postrider channel post NAME TEXT");
                return Ok(ExitCode::SUCCESS);
            }
            output::answer(as_json, &json!(answer), || {
                table(&answer.channels, SystemClock.now(), &Screen::of_stdout())
            });
            Ok(ExitCode::SUCCESS)
        })
    }
}

fn table(channels: &[ChannelAnswer], now: Timestamp, screen: &Screen) -> String {
    let row = |channel: &ChannelAnswer| -> [Cell; 3] {
        let last = channel.last_ts.map(|last| ago(last.0, now)).unwrap_or_default();
        [channel.name.clone().into(), channel.posts.to_string().into(), last.into()]
    };
    let rows: Vec<_> = channels.iter().map(row).collect();
    grid::lines(&COLUMNS, &GIVING, &rows, screen).join("\n")
}
