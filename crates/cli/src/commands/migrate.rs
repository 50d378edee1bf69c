//! `postrider migrate`: all mail from a file to PostgreSQL, or back, compared at the end.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use store::Location;
use store::moving::{Compared, MoveProgress, move_mail};

use super::small_runtime;
use crate::config::Config;
use crate::output::{self, Milestones};
use crate::post_office::Refused;

/// A table with fewer rows is moved before anybody has read that it is being moved.
const WORTH_TELLING: u64 = 10_000;
const DIFFERS: &str = "MIGRATION_DIFFERS";
const BEGIN_ANEW: &str = "Was the source used since the migration began? Empty the target (dropdb and createdb, or delete the \
    file), then run the command again.";

const EXAMPLES: &str = "\
Everything is copied under its own number, and both stores are compared at the end. Nobody may use them meanwhile: stop the
servers first. A migration that was cut short goes on when it is run again, if the source was not used since; until every
table was found equal, no server starts on the target. The source keeps all its mail.

Examples:
  postrider migrate --from sqlite: --to postgres://postrider@db.example/mail
  postrider migrate --from postgres: --to sqlite:copy.db";

/// Move all mail to another store: from a file to PostgreSQL, or back.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Migrate {
    /// Where the mail is: sqlite:PATH or postgres://… (sqlite: and postgres: alone mean those of the settings)
    #[arg(long, value_name = "STORE")]
    from: String,
    /// Where it is to go: a file that is not there yet, or an empty database
    #[arg(long, value_name = "STORE")]
    to: String,
}

impl Migrate {
    /// Moves, compares, and says what was found; exit code 1 when the stores differ.
    pub fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        let from = location_of("--from", &self.from, config)?;
        let to = location_of("--to", &self.to, config)?;
        let mut progress = Milestones::new(as_json, ("", 0, false));
        let tell = |MoveProgress { table, done, all, is_comparing }: MoveProgress| {
            let percent = done * 100 / all.max(1);
            if all >= WORTH_TELLING {
                let what = if is_comparing { "being compared" } else { "moved" };
                progress
                    .tell((table, percent / 10, is_comparing), || format!("{table}: {percent} % of {all} rows {what}"));
            }
        };
        let moved = small_runtime()?.block_on(move_mail(&from, &to, tell));
        let compared = moved.map_err(|error| Refused::new(error.code(), &error.to_string(), error.hint()))?;
        let different: Vec<&str> = compared.iter().filter(|one| !one.is_equal()).map(|one| one.table).collect();
        let told = format!("'{to}' differs from '{from}' in: {}", different.join(", "));
        output::answer(as_json, &report(&from, &to, &compared, &different, &told), || text(&to, &compared, &different));
        if different.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        if !as_json {
            output::note(&format!("postrider: {told}. {BEGIN_ANEW} [{DIFFERS}]"));
        }
        Ok(ExitCode::FAILURE)
    }
}

/// The store that an option names. What it says is not shown, for it may hold a password.
fn location_of(option: &str, named: &str, config: &Config) -> anyhow::Result<Location> {
    let wrong = |fact: String, hint: &str| Err(Refused::new("MIGRATION_UNKNOWN_STORE", &fact, hint).into());
    match named.split_once(':') {
        Some(("sqlite", "")) => Ok(Location::File(config.database())),
        Some(("sqlite", path)) => Ok(Location::File(PathBuf::from(path))),
        Some(("postgres" | "postgresql", "")) => match config.location() {
            Location::File(_) => wrong(
                format!("{option} is 'postgres:', and no database is set"),
                "Set `database` or POSTRIDER_DATABASE, or give the whole URL.",
            ),
            database => Ok(database),
        },
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => Ok(Location::Postgres(named.to_owned())),
        _ => wrong(format!("{option} names no store"), "Say sqlite:PATH or postgres://USER@HOST/DATABASE."),
    }
}

fn report(from: &Location, to: &Location, compared: &[Compared], different: &[&str], told: &str) -> Value {
    let tables: Vec<Value> = compared
        .iter()
        .map(|one| {
            json!({
                "table": one.table, "rows": one.source.rows, "rows_in_target": one.target.rows,
                "checksum": one.source.checksum, "checksum_in_target": one.target.checksum, "equal": one.is_equal(),
            })
        })
        .collect();
    let (from, to, verified) = (from.to_string(), to.to_string(), different.is_empty());
    let mut report = json!({ "from": from, "to": to, "tables": tables, "verified": verified });
    if !verified {
        report["error"] = json!({ "code": DIFFERS, "message": told, "hint": BEGIN_ANEW });
    }
    report
}

fn text(to: &Location, compared: &[Compared], different: &[&str]) -> String {
    let rows = compared.iter().map(|one| {
        let rows = match one.source.rows == one.target.rows {
            true => one.source.rows.to_string(),
            false => format!("{} of {}", one.target.rows, one.source.rows),
        };
        vec![one.table.to_owned(), rows, if one.is_equal() { "equal" } else { "DIFFERENT" }.to_owned()]
    });
    let table = output::table(&["table", "rows", "checksum"], rows);
    let next = match to {
        _ if !different.is_empty() => return table,
        Location::File(_) => "",
        Location::Postgres(_) => " Set `database` to its URL before you start the servers.",
    };
    format!("{table}\n\nAll mail is in '{to}', and equal in every table.{next}")
}
