//! `postrider export` and `postrider import`: all mail as JSON lines, and back.
//!
//! One message a line, with its deliveries. Both work on the database itself, whether or not a server runs on it.

mod record;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use mail::Store;
use mail::clock::{Clock, SystemClock};
use mail::ids::MessageId;
use mail::transfer::{Imported, Record};
use serde_json::json;
use store::{Engine, Location};

use super::given::open;
use super::small_runtime;
use crate::config::Config;
use crate::output::{self, Milestones};
use crate::wiring;
use record::ExportLine;

/// How many messages go in one step.
const STEP: usize = 500;
/// After how many messages a person is told of them.
const BETWEEN_STEPS: u64 = 20_000;
/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 256 * 1024 * 1024;

/// Write all mail as JSON lines.
#[derive(Args, Debug)]
pub struct Export {
    /// The file to write; it must not exist. Without one, or with `-`, standard output
    file: Option<PathBuf>,
}

/// Read mail that was exported.
///
/// Messages keep their ids and times. What is there already is passed over, so that an import that was cut off can be
/// run again. Mail cannot be mixed into a database whose own messages have the same ids.
#[derive(Args, Debug)]
pub struct Import {
    /// The file to read; `-` for standard input
    file: PathBuf,
}

impl Export {
    /// The file to write; none for standard output.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| *file != Path::new("-"))
    }

    /// Writes everything, oldest first.
    pub fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let (location, runtime) = (config.location(), small_runtime()?);
        let opened = runtime.block_on(Engine::open_read_only(&location));
        let store = opened.with_context(|| elsewhere(config, &location))?.store();
        let Some(path) = self.path() else {
            let written = runtime.block_on(export(&*store, &mut BufWriter::new(io::stdout().lock())))?;
            output::note(&format!("{written} messages exported"));
            return Ok(ExitCode::SUCCESS);
        };
        let mut writer = BufWriter::new(private_file(path)?);
        let written = runtime.block_on(export(&*store, &mut writer))?;
        writer.into_inner().context("cannot write")?.sync_all()?;
        Ok(output::answer(as_json, &json!({ "exported": written, "file": path }), || {
            format!("{written} messages exported to {}", path.display())
        }))
    }
}

/// Why there may be no mail here, and what to do.
fn elsewhere(config: &Config, location: &Location) -> String {
    match (config.url(), location) {
        (Some(_), Location::File(_)) => {
            format!("cannot read '{location}': the commands ask a server elsewhere; run this where that keeps its mail")
        }
        (None, Location::File(_)) => format!("cannot read '{location}'; is --home right?"),
        (_, Location::Postgres(_)) => format!("cannot read '{location}'"),
    }
}

/// A new file that only its owner can read: it holds all mail.
fn private_file(path: &Path) -> anyhow::Result<File> {
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    made.with_context(|| format!("cannot make '{}'", path.display()))
}

async fn export(store: &dyn Store, writer: &mut impl Write) -> anyhow::Result<u64> {
    let mut progress = Milestones::new(false, 0);
    let (mut last, mut written) = (None, 0);
    loop {
        let records = store.export(last, STEP).await?;
        let Some(newest) = records.last() else { break };
        last = Some(newest.message.id);
        written += records.len() as u64;
        for record in records {
            serde_json::to_writer(&mut *writer, &ExportLine::from(record)).context("cannot write")?;
            writer.write_all(b"\n").context("cannot write")?;
        }
        progress.tell(written / BETWEEN_STEPS, || format!("{written} messages exported …"));
    }
    writer.flush().context("cannot write")?;
    Ok(written)
}

impl Import {
    /// Reads everything; stops at the first line that does not fit, with everything before it kept.
    pub fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let runtime = small_runtime()?;
        let engine = runtime.block_on(wiring::open_engine(&config.location()))?;
        let reader = BufReader::new(open(Some(&self.file))?);
        let result = runtime.block_on(async {
            let result = import(&*engine.store(), reader).await;
            engine.close().await;
            result
        });
        let (added, there) = result?;
        Ok(output::answer(as_json, &json!({ "imported": added, "already_there": there }), || {
            format!("{added} messages imported, {there} were there already")
        }))
    }
}

async fn import(store: &dyn Store, mut reader: impl BufRead) -> anyhow::Result<(u64, u64)> {
    let mut progress = Milestones::new(false, 0);
    let (mut added, mut there, mut number) = (0, 0, 0);
    let mut lines = std::iter::from_fn(|| next_record(&mut reader, &mut number).transpose());
    loop {
        let mut problem = None;
        let sound = |read: anyhow::Result<Record>| read.map_err(|error| problem = Some(error)).ok();
        let records: Vec<Record> = lines.by_ref().take(STEP).map_while(sound).collect();
        if records.is_empty() && problem.is_none() {
            return Ok((added, there));
        }
        let fates = store.import(&records, SystemClock.now()).await?;
        if let Some(place) = fates.iter().position(|fate| *fate == Imported::Clash) {
            let id: MessageId = records[place].message.id;
            bail!(
                "message '{id}' does not fit: this database has another message of that id, or a later one. \
                 Import into an empty home, or an empty database; {added} messages were imported before"
            );
        }
        added += fates.iter().filter(|fate| **fate == Imported::New).count() as u64;
        there += fates.iter().filter(|fate| **fate == Imported::AlreadyThere).count() as u64;
        let read = added + there;
        progress.tell(read / BETWEEN_STEPS, || format!("{read} messages read …"));
        if let Some(problem) = problem {
            bail!("{problem:#}; {added} messages were imported before it");
        }
    }
}

fn next_record(reader: &mut impl BufRead, number: &mut u64) -> anyhow::Result<Option<Record>> {
    loop {
        let mut line = Vec::new();
        *number += 1;
        let read = io::Read::take(&mut *reader, LONGEST_LINE).read_until(b'\n', &mut line).context("cannot read")?;
        if read == 0 {
            return Ok(None);
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let record: ExportLine =
            serde_json::from_slice(&line).with_context(|| format!("line {number} is not a message"))?;
        return record.try_into().map(Some).with_context(|| format!("line {number} is not a message"));
    }
}
