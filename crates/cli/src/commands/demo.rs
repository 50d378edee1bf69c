//! `postrider demo`: a sample mailbox in a home of its own, served, with agents that go on working in it.
//!
//! It shows what there is to see before any agent is connected. No model is behind it: agents do what the files of this
//! folder say, and all that they do goes through the office, as it does for real ones. The mail and the settings of
//! whoever runs it are left alone: neither a settings file nor the environment counts here, and a home that holds other
//! mail is refused.

mod home;
mod members;
mod play;
mod sample;
mod step;

use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::SignalKind;

use crate::commands::serve::{DEFAULT_PORT, Listening, asked_to_stop};
use crate::config::{Config, Global, SettingsFile};
use crate::logging;
use crate::output;
use home::Home;
use play::Play;
use sample::Sample;

/// What is to be said of the options that all commands have.
const ABOUT_HOME: &str = "Without --home the mail is in a temporary folder that is removed at the end. A folder that holds other \
    mail is refused.\nSettings files and the environment do not count here, POSTRIDER_HOME included.";

/// See it all move.
#[derive(Args, Debug)]
#[command(after_help = ABOUT_HOME)]
pub(crate) struct Demo {
    /// The port to listen on [default: 8765, or any other if that is taken]
    #[arg(long)]
    port: Option<u16>,
    /// Nobody moves: the same mail every time, for a quiet look or a screenshot
    #[arg(long)]
    still: bool,
}

impl Demo {
    /// Serves the sample until a signal says stop.
    pub(crate) fn run(self, global: &Global) -> anyhow::Result<ExitCode> {
        let home = Home::choose(global.home.as_deref().filter(|_| global.names_home))?;
        let file = SettingsFile { port: Some(self.free_port()), ..SettingsFile::default() };
        let config = Config { home: home.path.clone(), source: None, file };
        logging::start(&config)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let served = runtime.block_on(self.serve(&config, &home, global.json));
        // Whoever did not finish in time is not waited for any longer.
        runtime.shutdown_background();
        home.leave()?;
        served.map(|()| ExitCode::SUCCESS)
    }

    /// The port that was asked for, else the usual one, else any: 0.
    fn free_port(&self) -> u16 {
        self.port.unwrap_or_else(|| {
            let is_free = TcpListener::bind((Ipv4Addr::LOCALHOST, DEFAULT_PORT)).is_ok();
            if is_free { DEFAULT_PORT } else { 0 }
        })
    }

    async fn serve(&self, config: &Config, home: &Home, as_json: bool) -> anyhow::Result<()> {
        // Whoever stops it while the mailbox is filled, or closes the terminal, does not leave a folder behind.
        let asked_to_stop = asked_to_stop(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]);
        let mut server = Listening::open(config, None, None).await?;
        let sample = Sample::read()?;
        let members = sample.members();
        let (office, wake_ups) = (server.local.office.clone(), server.local.wake_ups.clone());
        if home.is_new {
            sample.fill(&server.local).await?;
            home.mark()?;
        } else {
            home.check_projects(&office, &members).await?;
        }
        sample.stand_in_line(&office).await?;
        server.relays.spawn(members::keep_awake(office.clone(), wake_ups.clone(), members.clone()));
        if !self.still {
            let play = Play::begin(office, members, home.is_new).await?;
            server.relays.spawn(play.go_on(wake_ups));
        }
        self.tell(&server, home, as_json);
        server.run(asked_to_stop).await;
        Ok(())
    }

    fn tell(&self, server: &Listening, home: &Home, as_json: bool) {
        let (page, url) = (format!("{}/", server.base_url()), server.url());
        let said = json!({ "url": url, "home": home.path, "mail": home.path, "page": page });
        output::answer(as_json, &said, || {
            let place = home.path.display();
            let fate = if home.is_kept() { "" } else { ", removed at the end" };
            let moves = match self.still {
                true => "Nobody moves, and so the mail is the same every time.",
                false => "Every second or two somebody does something; after two hours they rest.",
            };
            let elsewhere = match self.port.is_none() && server.address.port() != DEFAULT_PORT {
                true => format!("  (port {DEFAULT_PORT} is taken)"),
                false => String::new(),
            };
            format!(
                "Postrider {version}: a mailbox to look at, with sample mail of ten agents in two projects.\n\n\
                 \x20 page   {page}{elsewhere}\n  MCP    {url}\n  mail   in {place}{fate}\n\n\
                 See who is awake and at what, how their work stands, who waits for help, which files are\n\
                 reserved and by whom, and what they write to each other.\n\
                 {moves}\n\n\
                 At the terminal:  postrider --home {place} work --project {project} --watch\n\
                 To stop:          Ctrl-C",
                version = env!("CARGO_PKG_VERSION"),
                project = sample::MAIN,
            )
        });
    }
}
