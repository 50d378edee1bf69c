//! `bench scale`: how sending, reading, searching and waking change as a PostgreSQL database grows.
//!
//! The database is filled by PostgreSQL itself, step by step, and measured at each size through one server. All figures go to
//! one JSON file, from which the curves of `docs/scale.md` are drawn. Nothing is compared with a ceiling here: that is what the
//! part `servers` is for.

mod curves;
mod figures;
mod filling;
mod questions;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Session, programs};
use crate::process::Server;
use crate::servers::town;
use crate::setting::{Setting, progress};
use filling::Filling;

/// Fills a PostgreSQL database to several sizes and measures it at each.
#[derive(Args)]
pub struct Scale {
    /// A folder on the disk that PostgreSQL keeps its data on; the temporary folder without it
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// How many messages to fill in before each measurement, rising, in tens of thousands
    #[arg(long, value_delimiter = ',', default_value = "10000,1000000,10000000")]
    sizes: Vec<u64>,
    /// Where figures.json and the curves go
    #[arg(long, value_name = "FOLDER", default_value = "docs/scale")]
    out: PathBuf,
    /// Only draw the curves again from figures.json
    #[arg(long)]
    draw: bool,
}

/// While it is filled: nothing waits for the disk, and what could be made again is not written twice.
const WHILE_FILLING: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    "max_wal_size=2GB",
    "checkpoint_timeout=30min",
    "autovacuum=off",
    "shared_buffers=2GB",
    "maintenance_work_mem=2GB",
    "max_parallel_maintenance_workers=0",
];
/// While it is measured: as it is installed, but for the memory that anybody with so much mail would give it.
const WHILE_SERVING: &[&str] = &["shared_buffers=2GB", "max_wal_size=4GB"];
const DATABASE: &str = "scale";
const FIGURES: &str = "figures.json";

/// Does what was asked for.
pub fn run(scale: &Scale, seconds: u64, quick: bool) -> anyhow::Result<()> {
    let file = scale.out.join(FIGURES);
    if !scale.draw {
        measure(scale, &Setting::prepare(seconds, quick, None)?, &file)?;
    }
    let figures: Value =
        serde_json::from_slice(&std::fs::read(&file).with_context(|| format!("no '{}'", file.display()))?)?;
    curves::draw(&figures, &scale.out)
}

fn measure(scale: &Scale, setting: &Setting, file: &Path) -> anyhow::Result<()> {
    ensure!(
        scale.sizes.is_sorted() && scale.sizes.iter().all(|size| size % 10_000 == 0 && *size > 0),
        "the sizes have to rise, in tens of thousands"
    );
    let programs = programs().context("PostgreSQL is not installed")?;
    std::fs::create_dir_all(&scale.out)?;
    let cluster = Cluster::make(programs, scale.data.as_deref())?;
    let url = cluster.url(DATABASE);
    let mut filling = Filling::of(scale.sizes.last().copied().unwrap_or(1));
    let mut all = Vec::new();
    for size in &scale.sizes {
        cluster.start(WHILE_FILLING)?;
        if all.is_empty() {
            Session::open(&cluster.url("postgres"))?.run(&format!("CREATE DATABASE {DATABASE}"))?;
            filling.prepare(&url)?;
        }
        let filled = filling.fill(&url, *size)?;
        cluster.stop()?;
        // What was filled in did not wait for the disk.
        std::process::Command::new("sync").status().context("cannot run sync")?;
        cluster.start(WHILE_SERVING)?;
        let mut figures = serve(setting, &url, *size)?;
        figures["filling"] = filled;
        all.push(figures);
        cluster.stop()?;
        std::fs::write(file, serde_json::to_vec_pretty(&json!({ "sizes": all }))?)?;
    }
    Ok(())
}

/// Measures one size. Reading comes first: sending adds messages.
fn serve(setting: &Setting, url: &str, size: u64) -> anyhow::Result<Value> {
    progress(format!("scale: measuring at {size} messages"));
    let session = Session::open(url)?;
    let messages: i64 = session.value("SELECT count(*) FROM message")?;
    let server = Server::start_over(setting, url)?;
    let mut figures = json!({ "size": size, "messages": messages, "tables": figures::tables(&session)? });
    for (name, asked) in questions::all(&session, size)? {
        figures[name] = figures::latencies(setting, &server, &asked)?;
        progress(format!("scale: {name}: {}", figures[name]));
    }
    let woken = crate::wake_ups::woken(setting, server.caller()?, server.caller()?)?;
    figures["wake_up"] = figures::percentiles(&woken);
    // In the first live project nobody sends: those who wait there wait for the measured mail alone.
    let wal: i64 = session.value(figures::WAL)?;
    let (sent, processor) = server.load(&town::sends(1..town::PROJECTS), figures::CLIENTS, setting.pace)?;
    figures["sends"] = figures::percentiles(&sent.latencies);
    figures["sends"]["per_second"] = json!(sent.per_second);
    figures["sends"]["server_cpu_us"] = json!(crate::samples::micros(processor));
    let wal_after: i64 = session.value(figures::WAL)?;
    figures["sends"]["wal_bytes_each"] = json!((wal_after - wal) / i64::try_from(sent.answered.max(1))?);
    progress(format!("scale: sends: {}", figures["sends"]));
    figures["memory"] = json!(server.memory()?);
    server.stop()?;
    Ok(figures)
}
