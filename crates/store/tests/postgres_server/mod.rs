//! A real PostgreSQL for tests: Debian's, private, in a temporary folder, reached by a socket there.
//!
//! Making a cluster takes longer than most tests, and tests are processes of their own. So those of one target folder share
//! a cluster, each in a schema of its own: whoever comes first starts it, and it is stopped a few seconds after the last has
//! gone. It does not wait for the disk. What needs a server that can be killed, or that does wait, makes one of its own.

// Each test file uses what it needs of it.
#![allow(dead_code)]

use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The URL of an empty schema in the shared cluster; `None`, said loudly, where there is no PostgreSQL.
pub fn fresh_url() -> Option<String> {
    static SHARED: OnceLock<Option<Shared>> = OnceLock::new();
    let shared = SHARED.get_or_init(Shared::join).as_ref()?;
    let schema = format!("t{:016x}", fastrand());
    shared.cluster.psql(&format!("CREATE SCHEMA {schema}"));
    Some(format!("{}?options=-c%20search_path%3D{schema}", shared.cluster.url()))
}

/// The folder of PostgreSQL's programs: the newest that Debian installed.
pub fn programs() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> =
        fs::read_dir("/usr/lib/postgresql").ok()?.flatten().map(|entry| entry.path().join("bin")).collect();
    versions.sort();
    versions.pop().filter(|bin| bin.join("postgres").exists())
}

/// Says that a test was not run, or fails where nothing may be left out.
fn missing() {
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true" || ci == "1");
    assert!(!is_ci, "PostgreSQL is not installed: run `cargo xtask test`, which installs it");
    // Written past the capture of the test runner: what was not tried must be seen.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        b"NOT RUN: PostgreSQL is not installed; `cargo xtask test` installs it\n",
    );
}

fn fastrand() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

/// The cluster that tests share, for as long as this process lives.
struct Shared {
    cluster: Cluster,
    /// Locked by everybody who uses the cluster; whoever has it alone may stop it.
    _users: File,
}

impl Shared {
    fn join() -> Option<Self> {
        let Some(programs) = programs() else {
            missing();
            return None;
        };
        let name = blake3::hash(env!("CARGO_TARGET_TMPDIR").as_bytes()).to_hex();
        let folder = std::env::temp_dir().join(format!("postrider-pg-{}", &name[..12]));
        let users = lock_file(&folder.with_extension("users"));
        users.lock_shared().expect("a lock of a file in the temporary folder");
        let starting = lock_file(&folder.with_extension("start"));
        starting.lock().expect("a lock of a file in the temporary folder");
        let cluster = Cluster { folder, programs, port: USUAL_PORT };
        if !cluster.answers() {
            cluster.make();
            cluster.start("-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400");
            cluster.stop_when_unused();
        }
        Some(Self { cluster, _users: users })
    }
}

fn lock_file(path: &Path) -> File {
    File::options().create(true).append(true).open(path).expect("a file in the temporary folder can be made")
}

/// A cluster in a folder, as the user `postgres`: PostgreSQL refuses to run as root.
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
}

/// A cluster of a test's own, which waits for the disk and can be killed.
pub struct Private {
    cluster: Cluster,
    settings: String,
}

impl Private {
    /// Starts one; `None`, said loudly, where there is no PostgreSQL.
    pub fn start() -> Option<Self> {
        Self::start_with(USUAL_PORT, |_| String::new())
    }

    /// Starts one with settings that `prepare` makes out of its folder, in which the cluster is `data`.
    pub fn start_with(port: u16, prepare: impl FnOnce(&Path) -> String) -> Option<Self> {
        let Some(programs) = programs() else {
            missing();
            return None;
        };
        let folder = std::env::temp_dir().join(format!("postrider-pg-{:016x}", fastrand()));
        let cluster = Cluster { folder, programs, port };
        cluster.make();
        let settings = format!("{PRIVATE} {}", prepare(&cluster.folder));
        cluster.start(&settings);
        Some(Self { cluster, settings })
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        self.cluster.url()
    }

    /// Where it keeps everything.
    pub fn folder(&self) -> &Path {
        &self.cluster.folder
    }

    /// Stops it without a goodbye to anybody, as a crash would.
    pub fn crash(&self) {
        self.cluster.stop();
    }

    /// Starts it again.
    pub fn recover(&self) {
        self.cluster.start(&self.settings);
    }

    /// Runs SQL that is expected to succeed.
    pub fn psql(&self, sql: &str) {
        self.cluster.psql(sql);
    }

    /// The first value that SQL comes to.
    pub fn told(&self, sql: &str) -> String {
        let done = self.cluster.psql_command().args(["-At", "-c", sql]).output().expect("psql runs");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    }

    /// A session that has run `sql` in a transaction, which stays open until what is returned is dropped.
    pub fn holding(&self, sql: &str) -> Holding {
        let mut psql = self.cluster.psql_command();
        psql.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut session = psql.spawn().expect("psql runs");
        let mut lines = std::io::BufReader::new(session.stdout.take().expect("standard output is piped"));
        let input = session.stdin.as_mut().expect("standard input is piped");
        writeln!(input, "BEGIN; {sql}; \\echo held").expect("psql reads");
        let mut line = String::new();
        while !line.starts_with("held") {
            line.clear();
            assert!(lines.read_line(&mut line).expect("psql answers") > 0, "'{sql}' failed");
        }
        Holding(session)
    }

    /// Stops every process of it in the middle of whatever it does; its connections stay.
    pub fn freeze(&self) {
        self.signal("-STOP");
    }

    /// Lets all of them go on.
    pub fn thaw(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let Ok(noted) = fs::read_to_string(self.cluster.folder.join("data/postmaster.pid")) else { return };
        let first = noted.lines().next().expect("the first line is the process").to_owned();
        // The first one stops first: it makes no more of them.
        let _ = Command::new("kill").args([signal, &first]).status();
        let _ = Command::new("pkill").args([signal, "-P", &first]).status();
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.thaw();
        if self.cluster.answers() {
            self.cluster.stop();
        }
        let _ = fs::remove_dir_all(&self.cluster.folder);
    }
}

/// A session with an open transaction.
pub struct Holding(Child);

impl Drop for Holding {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const USUAL_PORT: u16 = 5432;
const PRIVATE: &str = "-c max_connections=200";

impl Cluster {
    /// Where it is reached.
    pub fn url(&self) -> String {
        let host: String = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:{}/postgres", self.port)
    }

    /// Runs SQL that is expected to succeed.
    pub fn psql(&self, sql: &str) {
        let done = self.psql_command().args(["-c", sql]).output().expect("psql runs");
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn psql_command(&self) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", "postgres"]);
        psql.arg("-h").arg(&self.folder).args(["-p", &self.port.to_string()]);
        psql
    }

    fn answers(&self) -> bool {
        let mut ready = Command::new(self.programs.join("pg_isready"));
        let ready = ready.arg("-q").arg("-h").arg(&self.folder).args(["-p", &self.port.to_string()]).status();
        ready.is_ok_and(|status| status.success())
    }

    fn make(&self) {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder).expect("a temporary folder can be made");
        self.give_to_postgres();
        let data = self.folder.join("data");
        let mut initdb = self.as_postgres("initdb");
        initdb
            .args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync", "-D"])
            .arg(data);
        run(&mut initdb);
    }

    fn start(&self, options: &str) {
        let mut start = self.as_postgres("pg_ctl");
        let (folder, port) = (self.folder.display(), self.port);
        let options = format!("-c listen_addresses= -c port={port} -c unix_socket_directories={folder} {options}");
        start.arg("-D").arg(self.folder.join("data")).arg("-l").arg(self.folder.join("log"));
        run(start.args(["-w", "-s", "-o", &options, "start"]));
    }

    fn stop(&self) {
        let mut stop = self.as_postgres("pg_ctl");
        run(stop.arg("-D").arg(self.folder.join("data")).args(["-w", "-s", "-m", "immediate", "stop"]));
    }

    /// Leaves a process behind that stops the cluster once nobody has had it in use for a few seconds.
    fn stop_when_unused(&self) {
        let users = self.folder.with_extension("users");
        let script = "exec 9>>\"$1\"; free=0; while [ $free -lt 3 ]; do sleep 2; \
             if flock -n -x 9; then free=$((free + 1)); [ $free -lt 3 ] && flock -u 9; else free=0; fi; done; \
             kill -QUIT $(head -1 \"$2/data/postmaster.pid\"); sleep 1; rm -rf \"$2\"";
        let mut keeper = Command::new("setsid");
        run(keeper.args(["--fork", "sh", "-c", script, "sh"]).arg(users).arg(&self.folder).stdin(Stdio::null()));
    }

    fn give_to_postgres(&self) {
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(&self.folder));
        }
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

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0)
}

fn run(command: &mut Command) {
    let done = command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("the program runs");
    assert!(done.success(), "{command:?} failed");
}
