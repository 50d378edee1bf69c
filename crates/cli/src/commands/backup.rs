//! `postrider backup` and `postrider restore`: the whole database to a verified file, and back.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use mail::clock::{Clock, SystemClock};
use mail::error::rfc3339;
use serde_json::json;
use store::ownership::{NotOwned, Ownership};
use store::upkeep;

use crate::config::Config;
use crate::output::{self, Milestones};
use crate::post_office::Refused;

/// Copy all mail to a file.
#[derive(Args, Debug)]
pub struct Backup {
    /// The file to write; it must not exist [default: a name with the time, in the home folder's `backups`]
    file: Option<PathBuf>,
}

/// Put a backup in place of the present mail.
#[derive(Args, Debug)]
pub struct Restore {
    /// The backup to restore
    file: PathBuf,
}

impl Backup {
    /// Copies, checks the copy, and says where it is.
    pub fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        refuse_database(config, |url| {
            format!(
                "Run pg_dump --format=custom --file=FILE '{url}' (or pg_basebackup for the whole server), or stop the \
                 servers and run postrider migrate --from postgres: --to sqlite:FILE for one file that was compared."
            )
        })?;
        let database = config.database();
        if !database.is_file() {
            bail!("there is no mail in '{}'; is --home right?", config.home.display());
        }
        let to = match self.file {
            Some(file) => file,
            None => {
                let folder = config.home.join("backups");
                make_private(&folder).with_context(|| format!("cannot make '{}'", folder.display()))?;
                folder.join(format!("postrider-{}.db", stamp()))
            }
        };
        let mut progress = Milestones::new(as_json, 10);
        upkeep::backup(&database, &to, |left, total| {
            let percent = total.saturating_sub(left) * 100 / total.max(1);
            progress.tell(percent / 10, || format!("{percent} % copied"));
        })?;
        let bytes = std::fs::metadata(&to)?.len();
        Ok(output::answer(as_json, &json!({ "file": to, "bytes": bytes, "verified": true }), || {
            format!("{} written ({bytes} bytes) and checked", to.display())
        }))
    }
}

impl Restore {
    /// Checks the backup, keeps the present mail aside, and puts the backup in its place.
    pub fn run(self, config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
        refuse_database(config, |url| {
            format!(
                "Run pg_restore --dbname='{url}' FILE for what pg_dump wrote, or postrider migrate --from sqlite:FILE \
                 --to postgres: for a file; either into an empty database, with the servers stopped."
            )
        })?;
        let database = config.database();
        // Owning the database keeps a server from starting in the middle.
        let _ownership = match Ownership::take(&database, "restore") {
            Ok(ownership) => ownership,
            Err(NotOwned::Owned(owner)) => {
                bail!("a server runs on this mail, at {} (process {}); stop it first", owner.address, owner.pid)
            }
            Err(NotOwned::Failed(error)) => return Err(error).context("cannot take the database"),
        };
        let aside = upkeep::restore(&self.file, &database, &stamp())?;
        Ok(output::answer(as_json, &json!({ "restored": self.file, "kept_aside": aside }), || match &aside {
            Some(aside) => {
                format!("{} restored; what was there before is kept in {}", self.file.display(), aside.display())
            }
            None => format!("{} restored", self.file.display()),
        }))
    }
}

/// Mail in PostgreSQL is copied by PostgreSQL's own programs. A file that lies in the home folder may be years old.
fn refuse_database(config: &Config, hint: impl FnOnce(String) -> String) -> anyhow::Result<()> {
    let location = config.location();
    let Some(url) = location.url_without_password() else { return Ok(()) };
    let fact = format!("The mail is in PostgreSQL ('{location}'), not in a file that this command could copy");
    Err(Refused::new("MAIL_IN_POSTGRESQL", &fact, &hint(url)).into())
}

/// Makes a folder that nobody else can look into.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The time, as part of a file's name.
fn stamp() -> String {
    rfc3339(SystemClock.now()).chars().filter(char::is_ascii_digit).take(17).collect()
}
