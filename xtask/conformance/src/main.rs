//! The server that the MCP conformance suite judges: Postrider's own door and protocol, with fixtures beside its tools.
//!
//! `cargo xtask conformance` starts it as it would start `postrider`, with `serve --port N` and a home in `POSTRIDER_HOME`.
//! No setting is read beside these, and nothing but HTTP is served.

mod asking;
mod content;
mod inputs;
mod prompts;
mod resources;
mod suite;
mod tools;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use mail::Office;
use mail::office::{Chance, Rules};
use relay::wake::WakeUps;
use server::{Door, Listeners, Metrics, Profile, Settings, Trust};
use store::{Engine, Location};
use tokio::net::TcpListener;

use suite::Suite;

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, _, _, port] = &words[..] else { anyhow::bail!("usage: conformance-server serve --port N") };
    let port = port.parse().with_context(|| format!("'{port}' is no port"))?;
    let home = std::env::var_os("POSTRIDER_HOME").map(PathBuf::from).context("POSTRIDER_HOME is not set")?;

    let engine = Engine::open(&Location::File(home.join("postrider.db"))).await?;
    let wake = Arc::new(WakeUps::new());
    let office = Office::new(engine.store(), engine.clock(), wake, Arc::new(NoChance), Rules::default());
    let (office, metrics) = (Arc::new(office), Arc::new(Metrics::default()));
    let endpoint = server::endpoint(&office, &metrics, Profile::Full).with_fixtures(Arc::new(Suite::default()));
    let door = Door::new(office, endpoint, metrics, settings(), engine.pace());
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    door.serve(Listeners { tcp, local: None }, std::future::pending()).await;
    Ok(())
}

/// Those of a server without settings.
fn settings() -> Settings {
    let trust = Trust { token: None, page_token: None, hosts: vec!["127.0.0.1".to_owned()], origins: Vec::new() };
    Settings { trust, largest_request: 1024 * 1024, most_in_flight: 1024, rate_limit: None, person: "human".to_owned() }
}

/// The suite registers nobody, so that no secret is made.
struct NoChance;

impl Chance for NoChance {
    fn token(&self) -> String {
        "a-token-that-proves-nothing".to_owned()
    }

    fn seed(&self) -> u64 {
        7
    }
}
