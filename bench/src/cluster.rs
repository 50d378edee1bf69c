//! A PostgreSQL of the bench's own: Debian's, private, reached by a socket in a temporary folder.
//!
//! It waits for the disk as it does when it is installed (`fsync` and `synchronous_commit` are on) unless a caller says
//! otherwise. PostgreSQL refuses to run as root, so that it runs as the user `postgres` then. Dropping it stops it and
//! removes all that it kept.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::types::{FromSqlOwned, ToSql};
use tokio_postgres::{Client, NoTls};

/// What a statement is given.
pub type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// A cluster in a folder.
pub struct Cluster {
    /// The socket and the log. The path of a socket must be short, so this is never inside a target folder.
    folder: TempDir,
    data: PathBuf,
    programs: PathBuf,
}

/// The folder of PostgreSQL's programs: the newest that Debian installed.
pub fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path().join("bin"));
    versions.filter(|bin| bin.join("postgres").exists() && bin.join("pgbench").exists()).max()
}

impl Cluster {
    /// Makes a cluster, and does not start it. Its data lies in a new folder below `place`, or with the socket.
    pub fn make(programs: PathBuf, place: Option<&Path>) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("postrider-pg-").tempdir()?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        let data = match place {
            Some(place) => tempfile::Builder::new().prefix("postrider-pg-").tempdir_in(place)?.keep(),
            None => folder.path().join("data"),
        };
        fs::create_dir_all(&data)?;
        let cluster = Self { folder, data, programs };
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&cluster.data).arg(cluster.folder.path()))?;
        }
        let mut initdb = cluster.as_postgres("initdb");
        run(initdb
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale", "C.UTF-8", "-D"])
            .arg(&cluster.data))?;
        Ok(cluster)
    }

    /// Starts it with these settings beside its own, each as `name=value`.
    pub fn start(&self, settings: &[&str]) -> anyhow::Result<()> {
        let folder = self.folder.path().display();
        let mut options = format!("-c listen_addresses= -c unix_socket_directories={folder}");
        for setting in settings {
            options.push_str(&format!(" -c {setting}"));
        }
        let mut start = self.as_postgres("pg_ctl");
        start.arg("-D").arg(&self.data).arg("-l").arg(self.folder.path().join("log"));
        run(start.args(["-w", "-s", "-t", "600", "-o", &options, "start"]))
    }

    /// Stops it in good order: all that it kept is in its files.
    pub fn stop(&self) -> anyhow::Result<()> {
        let mut stop = self.as_postgres("pg_ctl");
        run(stop.arg("-D").arg(&self.data).args(["-w", "-s", "-t", "1200", "-m", "fast", "stop"]))
    }

    /// Where a database of it is reached.
    pub fn url(&self, database: &str) -> String {
        let host = self.folder.path().display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}/{database}")
    }

    /// One of PostgreSQL's clients, told where the cluster is.
    pub fn client(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.arg("-h").arg(self.folder.path()).args(["-U", "postgres"]).stdin(Stdio::null());
        command
    }

    /// A folder for files that its clients read.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn as_postgres(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut runuser = Command::new("runuser");
            runuser.args(["-u", "postgres", "--"]).arg(program);
            runuser
        } else {
            Command::new(program)
        };
        command.current_dir("/").stdin(Stdio::null());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // One that does not run cannot be stopped, which is as good.
        let mut stop = self.as_postgres("pg_ctl");
        stop.arg("-D").arg(&self.data).args(["-w", "-s", "-m", "immediate", "stop"]);
        let _ = stop.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let _ = fs::remove_dir_all(&self.data);
    }
}

/// A connection that blocks.
pub struct Session {
    runtime: Runtime,
    client: Client,
}

impl Session {
    /// Connects.
    pub fn open(url: &str) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (client, connection) =
            runtime.block_on(tokio_postgres::connect(url, NoTls)).context("cannot connect to PostgreSQL")?;
        runtime.spawn(connection);
        Ok(Self { runtime, client })
    }

    /// Runs statements that take nothing and return nothing.
    pub fn run(&self, sql: &str) -> anyhow::Result<()> {
        self.runtime.block_on(self.client.batch_execute(sql)).with_context(|| format!("cannot run '{}'", shown(sql)))
    }

    /// Runs one statement, and tells how many rows it wrote.
    pub fn write(&self, sql: &str, values: Values<'_>) -> anyhow::Result<u64> {
        let wrote = self.runtime.block_on(self.client.execute(sql, values));
        wrote.with_context(|| format!("cannot run '{}'", shown(sql)))
    }

    /// The only value of the only row.
    pub fn value<T: FromSqlOwned>(&self, sql: &str) -> anyhow::Result<T> {
        let row = self.runtime.block_on(self.client.query_one(sql, &[]));
        Ok(row.with_context(|| format!("cannot ask '{}'", shown(sql)))?.try_get(0)?)
    }

    /// All rows of a question of which every column is text.
    pub fn texts(&self, sql: &str) -> anyhow::Result<Vec<Vec<String>>> {
        let rows = self.runtime.block_on(self.client.query(sql, &[]));
        let rows = rows.with_context(|| format!("cannot ask '{}'", shown(sql)))?;
        let row_of = |row: &tokio_postgres::Row| (0..row.len()).map(|column| Ok(row.try_get(column)?)).collect();
        rows.iter().map(row_of).collect()
    }
}

fn shown(sql: &str) -> String {
    sql.split_whitespace().take(12).collect::<Vec<_>>().join(" ")
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let done = command.stdout(Stdio::null()).status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(done.success(), "{command:?} ended with {done}");
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A cluster that runs; `None`, said loudly, where there is no PostgreSQL.
    pub fn started(settings: &[&str]) -> Option<Cluster> {
        let Some(programs) = programs() else {
            let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
            assert!(!is_ci, "PostgreSQL is not installed: run `cargo xtask test`, which installs it");
            // Written past the capture of the test runner: what was not tried must be seen.
            let said = b"NOT RUN: PostgreSQL is not installed; `cargo xtask test` installs it\n";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), said);
            return None;
        };
        let cluster = Cluster::make(programs, None).unwrap();
        cluster.start(settings).unwrap();
        Some(cluster)
    }

    #[test]
    fn a_cluster_waits_for_the_disk_and_leaves_nothing_behind() {
        let Some(cluster) = started(&[]) else { return };
        let folder = cluster.folder().to_owned();
        let session = Session::open(&cluster.url("postgres")).unwrap();
        let waits = "SELECT current_setting('fsync') || current_setting('synchronous_commit')";
        assert_eq!(session.value::<String>(waits).unwrap(), "onon");
        session.run("CREATE TABLE kept (n) AS SELECT 7").unwrap();
        drop(session);
        cluster.stop().unwrap();
        cluster.start(&[]).unwrap();
        assert_eq!(Session::open(&cluster.url("postgres")).unwrap().value::<i32>("SELECT n FROM kept").unwrap(), 7);
        drop(cluster);
        assert!(!folder.exists());
    }
}
