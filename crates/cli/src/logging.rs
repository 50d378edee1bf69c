//! The log: what is written to standard error, and in which form.
//!
//! Standard output is never touched: it belongs to answers, and to the protocol. What libraries write with the crate `log` is left
//! out: tokio-postgres would write all that it is given, mail and what tokens are known by.

use std::io::{self, IsTerminal};

use anyhow::Context;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::prelude::*;

use crate::config::{Config, LogFormat};

/// What is logged unless the environment or the settings file say otherwise.
///
/// What happens to the connections with NATS and PostgreSQL is told by us, once, and not by the libraries for each try.
const DEFAULT_FILTER: &str = "warn,async_nats=off,deadpool.postgres=off";

/// Starts the log of this process. To be called once.
pub fn start(config: &Config) -> anyhow::Result<()> {
    let filter = std::env::var("POSTRIDER_LOG").ok().or_else(|| config.file.log.clone());
    let filter = filter.as_deref().unwrap_or(DEFAULT_FILTER);
    let filter: Targets = filter.parse().with_context(|| format!("log filter '{filter}'"))?;
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let log = tracing_subscriber::registry().with(filter);
    match config.file.log_format.unwrap_or_default() {
        LogFormat::Text => log.with(lines).init(),
        LogFormat::Json => log.with(lines.json()).init(),
    }
    Ok(())
}
