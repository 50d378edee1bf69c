//! Scripts for the tests of exec providers: those in this folder, and small ones that a test writes.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use mail::provider::suite::Shared;
use store::Exec;
use tempfile::TempDir;

/// A test that waited this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// The strict provider, without deliveries.
pub async fn strict() -> Option<(Shared, TempDir)> {
    provider("provider.py")
}

/// The strict provider as such scripts once were, without deliveries.
pub async fn older() -> Option<(Shared, TempDir)> {
    provider("older.py")
}

/// The careless provider, without deliveries.
pub async fn sloppy() -> Option<(Shared, TempDir)> {
    provider("sloppy.py")
}

/// A provider of this folder, without deliveries; `None`, and a loud word, without Python.
pub fn provider(name: &str) -> Option<(Shared, TempDir)> {
    let path = path_to_python()?;
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in").join(name);
    let deliveries = folder.path().join("deliveries.json").display().to_string();
    let environment = vec![("POSTRIDER_TEST_DELIVERIES".to_owned(), deliveries), ("PATH".to_owned(), path.to_owned())];
    Some((Arc::new(Exec::new(program, environment)), folder))
}

/// A `PATH` with the folder of the interpreter in front: what a version manager puts there takes longer to start than
/// Python.
fn path_to_python() -> Option<&'static str> {
    static PATH: LazyLock<Option<String>> = LazyLock::new(|| {
        let ask = "import os, sys; print(os.path.dirname(sys.executable) + ':' + os.environ['PATH'], end='')";
        let output = Command::new("python3").args(["-c", ask]).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).expect("PATH is text"))
    });
    if let Some(path) = &*PATH {
        return Some(path);
    }
    testing::not_run("exec providers", "there is no python3");
    None
}

/// A shell script in a folder of its own.
pub struct Script {
    folder: TempDir,
}

impl Script {
    /// Writes one.
    ///
    /// Another program writes it: a file that this process has open for writing cannot be run, and a child that another
    /// test just started may hold it open for a moment longer.
    pub fn new(text: &str) -> Self {
        let script = Self { folder: tempfile::tempdir().expect("a temporary folder can be made") };
        let mut writer = Command::new("sh");
        writer.args(["-c", r#"cat > "$0" && chmod +x "$0""#]).arg(script.path()).stdin(Stdio::piped());
        let mut writer = writer.spawn().expect("sh runs");
        let mut stdin = writer.stdin.take().expect("it was piped");
        stdin.write_all(format!("#!/bin/sh\n{text}\n").as_bytes()).expect("sh reads");
        drop(stdin);
        assert!(writer.wait().expect("sh ends").success());
        script
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("script")
    }

    /// A provider that runs it.
    pub fn exec(&self) -> Exec {
        Exec::new(self.path(), Vec::new())
    }

    /// Makes the pipe that the script knows as `$0.fifo`.
    pub fn fifo(&self) -> Fifo {
        let path = self.path().with_extension("fifo");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success());
        Fifo { path }
    }

    /// Comes true when every process that has opened the pipe for writing is gone.
    pub fn fifo_closed(&self) -> Moment {
        self.fifo_opened_and_closed().1
    }

    /// The first comes true when a line was written to the pipe, the second when every writer is gone.
    pub fn fifo_opened_and_closed(&self) -> (Moment, Moment) {
        let path = self.fifo().path;
        let ((tell_up, up), (tell_gone, gone)) = (channel(), channel());
        thread::spawn(move || {
            let mut pipe = BufReader::new(File::open(path).expect("the pipe is there"));
            pipe.read_line(&mut String::new()).expect("a pipe can be read");
            // Nobody may be waiting for this moment.
            let _ = tell_up.send(());
            pipe.read_to_end(&mut Vec::new()).expect("a pipe can be read");
            let _ = tell_gone.send(());
        });
        (Moment(up), Moment(gone))
    }

    /// Waits until the file `$0.<extension>` is there.
    pub fn wait_for_file(&self, extension: &str) {
        let (path, start) = (self.path().with_extension(extension), Instant::now());
        while fs::metadata(&path).is_err() {
            assert!(start.elapsed() < PATIENCE, "{} never came", path.display());
            thread::yield_now();
        }
    }
}

/// A named pipe.
pub struct Fifo {
    path: PathBuf,
}

impl Fifo {
    /// Comes true when somebody listens and was told `word`.
    pub fn say(self, word: &'static str) -> Moment {
        let (tell, said) = channel();
        thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(self.path).expect("the pipe is there");
            writeln!(pipe, "{word}").expect("somebody listens");
            let _ = tell.send(());
        });
        Moment(said)
    }
}

/// Something that is about to happen.
pub struct Moment(Receiver<()>);

impl Moment {
    /// Waits for it; fails when it does not come.
    pub fn wait(self) {
        self.0.recv_timeout(PATIENCE).expect("it happens");
    }
}
