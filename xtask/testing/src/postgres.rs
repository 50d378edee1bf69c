//! A real PostgreSQL for tests: Debian's, in a temporary folder, reached by a socket there.
//!
//! A cluster takes longer to make than most tests run, and under nextest each test is a process. So all tests of a run,
//! of whichever crate, share one cluster and get a schema each. The first test starts it. A process of its own stops and
//! removes it a few seconds after the last test ended, however that ended; the schemas go with it, because dropping each
//! costs more than making it. It does not wait for the disk. What has to kill or configure PostgreSQL starts a [`Private`].

use std::fs::{self, File};
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The URL of an empty schema in the shared cluster; `None`, said loudly, where there is no PostgreSQL.
pub fn fresh_url() -> Option<String> {
    static SHARED: OnceLock<Option<Shared>> = OnceLock::new();
    let shared = SHARED.get_or_init(Shared::join).as_ref()?;
    let schema = format!("t{:016x}", random());
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

/// The same, where tests cannot run without.
fn required_programs() -> Option<PathBuf> {
    let programs = programs();
    if programs.is_none() {
        crate::not_run("tests on PostgreSQL", "PostgreSQL is not installed");
    }
    programs
}

fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// The cluster that tests share, for as long as this process lives.
struct Shared {
    cluster: Cluster,
    _in_use: File,
}

impl Shared {
    fn join() -> Option<Self> {
        let programs = required_programs()?;
        // Another checkout has another one. The folder has a short name, for the path of a socket is bounded.
        let mut checkout = DefaultHasher::new();
        env!("CARGO_MANIFEST_DIR").hash(&mut checkout);
        let folder = std::env::temp_dir().join(format!("postrider-pg-{:016x}", checkout.finish()));
        let beside = |extension| lock_file(&folder.with_extension(extension));
        let (in_use, starting, stopper) = (beside("users"), beside("start"), beside("stopper"));
        in_use.lock_shared().expect(LOCKABLE);
        starting.lock().expect(LOCKABLE);
        let cluster = Cluster { folder, programs, port: USUAL_PORT };
        if !cluster.answers() {
            cluster.make();
            cluster.start("-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=400");
        }
        if stopper.try_lock().is_ok() {
            stopper.unlock().expect(LOCKABLE);
            cluster.stop_when_unused(&cluster.folder.with_extension("users"), "3");
        }
        Some(Self { cluster, _in_use: in_use })
    }
}

const LOCKABLE: &str = "a file in the temporary folder can be locked";

fn lock_file(path: &Path) -> File {
    File::options().create(true).append(true).open(path).expect("a file in the temporary folder can be made")
}

/// A cluster in a folder, as the user `postgres`: PostgreSQL refuses to run as root.
struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    port: u16,
}

/// A cluster of a test's own, which waits for the disk and can be killed.
pub struct Private {
    cluster: Cluster,
    settings: String,
    _in_use: File,
}

impl Private {
    /// Starts one; `None`, said loudly, where there is no PostgreSQL.
    pub fn start() -> Option<Self> {
        Self::start_with(USUAL_PORT, |_| String::new())
    }

    /// Starts one with settings that `prepare` makes out of its folder, in which the cluster is `data`.
    pub fn start_with(port: u16, prepare: impl FnOnce(&Path) -> String) -> Option<Self> {
        let programs = required_programs()?;
        let folder = std::env::temp_dir().join(format!("postrider-pg-{:016x}", random()));
        let cluster = Cluster { folder, programs, port };
        cluster.make();
        let users = cluster.folder.join("users");
        let in_use = lock_file(&users);
        in_use.lock_shared().expect(LOCKABLE);
        // A test that is killed drops nothing.
        cluster.stop_when_unused(&users, "1");
        let settings = format!("{PRIVATE} {}", prepare(&cluster.folder));
        cluster.start(&settings);
        Some(Self { cluster, settings, _in_use: in_use })
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

/// Holds the lock of the users from the last look on, so that nobody joins a cluster that is about to go. A process that a
/// test has frozen is thawed: else it would not end.
const STOPPER: &str = r#"
exec 8>>"$4" 9>>"$1"; flock -n 8 || exit 0
free=0
while [ $free -lt $3 ]; do
    sleep 2
    if flock -n 9; then free=$((free + 1)); [ $free -lt $3 ] && flock -u 9; else free=0; fi
done
if first=$(head -1 "$2/data/postmaster.pid"); then
    kill -CONT $first; pkill -CONT -P $first; kill -QUIT $first
    while kill -0 $first; do sleep 0.2; done
fi
rm -rf "$2"
[ $3 -gt 1 ] || rm -f "$4"
"#;

impl Cluster {
    /// Where it is reached.
    fn url(&self) -> String {
        let host: String = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{host}:{}/postgres", self.port)
    }

    /// Runs SQL that is expected to succeed.
    fn psql(&self, sql: &str) {
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

    /// Leaves a process behind that stops and removes the cluster once `users` was found unlocked so many times in turn.
    fn stop_when_unused(&self, users: &Path, times: &str) {
        let stopper = self.folder.with_extension("stopper");
        let mut command = Command::new("setsid");
        command.args(["--fork", "sh", "-c", STOPPER, "sh"]).arg(users).arg(&self.folder).arg(times).arg(stopper);
        run(command.stdin(Stdio::null()).current_dir("/"));
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
