//! `postrider doctor`: looks at everything and changes nothing.

mod clients;
mod postgres;
mod provider;
mod sandboxes;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use mail::clock::{Clock, SystemClock};
use mail::events::Cursor;
use mail::projects::ProjectKey;
use mail::transfer::Counts;
use relay::files::{self, FolderFinding};
use serde::Serialize;
use serde_json::{Value, json};
use store::ownership::{Owner, current_owner};
use store::postgres_upkeep::Condition;
use store::{Engine, Location, upkeep};

use super::guard::record::{self, GuardRecord};
use super::{small_runtime, within};
use crate::client::Client;
use crate::config::{Config, endpoint_of};
use crate::local_socket;
use crate::nats;
use crate::output;
use sandboxes::{Sandboxed, Socket};

/// A consumer of the event log that is so many events behind is worth a word.
const FAR_BEHIND: i64 = 1_000;
/// How long the server may take to say anything at all.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long a folder that is shared may take. A disk on another machine may not answer at all.
const LONGEST_LOOK: Duration = Duration::from_secs(20);

/// Look at the post office and say what is wrong.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Leave out the integrity check, which reads the whole database
    #[arg(long)]
    quick: bool,
    /// Only ask whether the server answers, as the health check of a container does
    #[arg(long, conflicts_with = "quick")]
    server: bool,
}

/// Something that is not as it should be, and what to do about it.
#[derive(Serialize)]
struct Finding {
    #[serde(rename = "problem")]
    what: String,
    todo: &'static str,
}

/// What there is to say about the database.
#[derive(Default)]
struct Examined {
    schema: Option<i64>,
    bytes: u64,
    /// What only PostgreSQL has to say.
    condition: Option<Condition>,
    owner: Option<Owner>,
    counts: Option<Counts>,
    cursors: Vec<Cursor>,
    findings: Vec<Finding>,
    /// The socket of the server that runs.
    socket: Option<Socket>,
    /// How commands in the sandboxes of clients reach the mail.
    sandboxes: Vec<Sandboxed>,
}

impl Doctor {
    /// Prints what was found; exit code 1 when something is wrong.
    pub fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        if self.server {
            return ask_server(config, as_json);
        }
        let examined = self.examine(config)?;
        let report = report(config, &examined, !self.quick);
        output::answer(as_json, &report, || text(config, &examined, !self.quick));
        Ok(if examined.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn examine(&self, config: &Config) -> anyhow::Result<Examined> {
        let database = config.database();
        let location = config.location();
        let (bytes, owner) = (size_of(&database), current_owner(&database));
        let mut examined = Examined { bytes, owner, ..Examined::default() };
        examined.look_for_server(config)?;
        examined.look_at_provider(config);
        if let Some(complaint) = config.programs_complaint() {
            examined.find(complaint, "Until then mail is kept and sessions are woken as if it were not there.");
        }
        examined.look_at_guards(config);
        examined.look_at_reach(config)?;
        let is_there = match &location {
            Location::File(file) => examined.look_at_file(file),
            Location::Postgres(url) => examined.look_at_database(url)?,
        };
        if !is_there {
            // A home without mail is not ill: the first server or send makes it.
            return Ok(examined);
        }
        examined.count(&location)?;
        examined.look_at_folders(config)?;
        if let Some((what, todo)) = small_runtime()?.block_on(nats::complaint(config))? {
            examined.find(what, todo);
        }
        if !self.quick && matches!(location, Location::File(_)) {
            match upkeep::integrity_check(&database) {
                Ok(problems) => problems.into_iter().for_each(|problem| {
                    examined.find(problem, "Stop the server, keep a copy of the file, and restore a backup.");
                }),
                Err(error) => examined.find(error.to_string(), "Check the disk, then restore a backup."),
            }
        }
        Ok(examined)
    }
}

impl Examined {
    fn find(&mut self, what: String, todo: &'static str) {
        self.findings.push(Finding { what, todo });
    }

    /// Whether there is a file whose integrity could be checked.
    fn is_file_with_mail(&self) -> bool {
        self.schema.is_some() && self.condition.is_none()
    }

    /// Looks at the file itself; whether it is there.
    fn look_at_file(&mut self, database: &Path) -> bool {
        if !database.is_file() {
            return false;
        }
        match upkeep::schema_version(database) {
            Ok(version) => self.schema = Some(version),
            Err(error) => self.find(error.to_string(), "Check that the file is a Postrider database and readable."),
        }
        if let Ok(file) = std::fs::metadata(database)
            && file.permissions().mode() & 0o077 != 0
        {
            let what = format!("'{}' can be read by other users of this machine", database.display());
            self.find(what, "Run chmod 600 on it.");
        }
        true
    }

    /// Looks whether the guards that were installed are still there.
    fn look_at_guards(&mut self, config: &Config) {
        for (what, todo) in record::all(&config.home).iter().filter_map(GuardRecord::complaint) {
            self.find(what, todo);
        }
    }

    fn count(&mut self, location: &Location) -> anyhow::Result<()> {
        let runtime = small_runtime()?;
        let store = match runtime.block_on(Engine::open_read_only(location)) {
            Ok(engine) => engine.store(),
            Err(error) => {
                let what = error.to_string();
                let todo = match what.contains("postrider migrate") {
                    true => "Run that: it goes on where it stopped, if the source was not used since.",
                    false => "Use the Postrider version that last wrote it, or a newer one.",
                };
                self.find(what, todo);
                return Ok(());
            }
        };
        let (counts, cursors) =
            runtime.block_on(async { (store.counts(SystemClock.now()).await, store.cursors().await) });
        self.counts = counts.ok();
        self.cursors = cursors.unwrap_or_default();
        for Cursor { sink, project, seq, newest } in self.cursors.clone() {
            if newest - seq > FAR_BEHIND {
                let what = format!("'{sink}' is {} events behind in '{project}'", newest - seq);
                self.find(what, "Check that its target can be reached; it catches up by itself.");
            }
        }
        Ok(())
    }

    /// Looks whether the server elsewhere answers that commands are to use.
    fn look_for_server(&mut self, config: &Config) -> anyhow::Result<()> {
        let Some(url) = config.url() else { return Ok(()) };
        let client = Client::new(&url, None)?;
        if !small_runtime()?.block_on(client.is_reachable()) {
            let what = format!("nobody answers at '{url}', whose mail the commands use");
            self.find(what, "Start that server, or take `url` (POSTRIDER_URL) out to use the mail here.");
        }
        Ok(())
    }

    /// Looks at the folders that projects share with others.
    fn look_at_folders(&mut self, config: &Config) -> anyhow::Result<()> {
        let mut folders: Vec<_> = config.file.channels.clone().into_iter().collect();
        folders.sort();
        for (path, root) in folders {
            let (location, longest, folder) = (config.location(), config.largest_request(), root.clone());
            let looked = within(LONGEST_LOOK, move || -> anyhow::Result<Vec<FolderFinding>> {
                Ok(small_runtime()?.block_on(async {
                    // That the database cannot be opened was said.
                    let Ok(engine) = Engine::open_read_only(&location).await else { return Ok(Vec::new()) };
                    let store = engine.store();
                    let project = store.project(&ProjectKey::parse_path(&path)?).await?;
                    files::examine(&*store, project.as_ref(), &folder, longest).await
                })?)
            });
            let Ok(complaints) = looked else {
                let what = format!("the folder '{}' does not answer within {LONGEST_LOOK:?}", root.display());
                self.find(what, "Check that what is mounted there can be reached.");
                continue;
            };
            for FolderFinding { what, todo } in complaints? {
                self.find(what, todo);
            }
        }
        Ok(())
    }
}

/// The size of the database, with the part of it that is still in its write-ahead log.
fn size_of(database: &Path) -> u64 {
    let log = database.with_extension("db-wal");
    [database, &log].into_iter().filter_map(|path| std::fs::metadata(path).ok()).map(|file| file.len()).sum()
}

/// Asks the server that the settings name, or the one that has the mail of this home, whether it answers, and nothing else: a
/// health check may cost nothing. What the server can do just now is not looked at. One that waits for its database is not ill, and
/// to start it again would help nobody.
fn ask_server(config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
    let owner = current_owner(&config.database()).map(|owner| endpoint_of(&owner.address));
    let client = match (config.url(), owner) {
        (Some(url), _) => Client::new(&url, None)?,
        (None, Some(url)) => Client::new(&url, None)?.through(local_socket::path(&config.home)),
        (None, None) => {
            bail!("no server has the mail in '{}'; start one with `postrider serve`", config.home.display())
        }
    };
    let url = client.url().to_owned();
    // Any answer will do: one that asks for a token is an answer.
    let answers = small_runtime()?.block_on(async {
        let asked = tokio::time::timeout(ANSWERS_WITHIN, client.get(Default::default())).await;
        asked.is_ok_and(|answer| answer.is_ok())
    });
    if !answers {
        bail!("nobody answers at '{url}'; start that server, or correct `url` (POSTRIDER_URL)");
    }
    output::done(as_json, &json!({ "server": url, "ok": true }), || format!("The server at {url} answers."))
}

fn report(config: &Config, examined: &Examined, checked: bool) -> Value {
    let counts = examined.counts.map(|counts| {
        json!({
            "projects": counts.projects, "agents": counts.agents, "messages": counts.messages,
            "deliveries": counts.deliveries, "active_leases": counts.reservations, "events": counts.events,
        })
    });
    let consumer = |Cursor { sink, project, seq, newest }: &Cursor| json!({ "sink": sink, "project": project, "seq": seq, "newest": newest });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "home": config.home,
        "settings": config.source,
        "database": match config.location() {
            Location::File(path) => json!({ "path": path, "bytes": examined.bytes, "schema": examined.schema }),
            database => postgres::report(&database.to_string(), examined),
        },
        "url": config.url(),
        "hooks": clients::installed(),
        "socket": examined.socket,
        "sandboxes": examined.sandboxes,
        "server": examined.owner.as_ref().map(|owner| json!({ "address": owner.address, "pid": owner.pid })),
        "counts": counts,
        "consumers": examined.cursors.iter().map(consumer).collect::<Vec<_>>(),
        "integrity_checked": checked && examined.is_file_with_mail(),
        "problems": examined.findings,
        "ok": examined.findings.is_empty(),
    })
}

fn text(config: &Config, examined: &Examined, checked: bool) -> String {
    let server = examined.owner.as_ref().map_or("none is running with this home".to_owned(), |owner| {
        format!("running at {} (process {})", owner.address, owner.pid)
    });
    let database = match (config.location(), examined.schema) {
        (Location::File(path), Some(schema)) => {
            vec![("database", format!("{} ({} bytes, schema {schema})", path.display(), examined.bytes))]
        }
        (Location::File(path), None) => {
            let why = if examined.bytes == 0 { "not made yet" } else { "cannot be read" };
            vec![("database", format!("{} ({why})", path.display()))]
        }
        (database, _) => postgres::rows(&database.to_string(), examined),
    };
    let settings = config.source.as_ref().map_or("defaults".to_owned(), |path| path.display().to_string());
    let mut rows = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("home", config.home.display().to_string()),
        ("settings", settings),
    ];
    rows.extend(database);
    rows.push(("server", server));
    rows.extend(examined.socket.iter().map(|socket| ("socket", socket.text())));
    rows.extend(examined.sandboxes.iter().map(|sandboxed| ("sandbox", sandboxed.text())));
    rows.extend(config.url().map(|url| ("commands", format!("ask the server at {url}"))));
    rows.extend(provider::row(config));
    rows.extend(clients::installed().iter().map(|hooks| ("hooks", hooks.text())));
    if let Some(Counts { projects, agents, messages, deliveries, reservations, events }) = examined.counts {
        let mail = format!("{messages} messages, {deliveries} deliveries, {agents} agents in {projects} projects");
        rows.push(("mail", format!("{mail}, {reservations} active leases, {events} events")));
    }
    if examined.is_file_with_mail() {
        rows.push(("integrity", if checked { "checked" } else { "not checked (--quick)" }.to_owned()));
    } else if examined.condition.is_some() {
        rows.push(("integrity", "not checked: that is PostgreSQL's own (pg_amcheck)".to_owned()));
    }
    let mut text: String = rows.iter().map(|(name, value)| format!("{name:<10} {value}\n")).collect();
    if examined.cursors.is_empty() {
        text.push_str("consumers  none yet\n");
    } else {
        let rows = examined.cursors.iter().map(|cursor| {
            vec![cursor.sink.clone(), cursor.project.clone(), format!("{} of {}", cursor.seq, cursor.newest)]
        });
        text.push_str(&format!("\n{}\n", output::table(&["consumer", "project", "event"], rows)));
    }
    text.push('\n');
    if examined.findings.is_empty() {
        text.push_str("All is well.");
    }
    for finding in &examined.findings {
        text.push_str(&format!("PROBLEM  {}\n         {}\n", finding.what, finding.todo));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_answers_is_not_waited_for() {
        let (hold, held) = std::sync::mpsc::channel::<()>();
        assert!(within(Duration::from_millis(10), move || held.recv().is_ok()).is_err());
        drop(hold);
        assert_eq!(within(Duration::from_secs(60), || 7), Ok(7));
    }
}
