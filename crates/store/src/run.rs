//! One run of a program: text in, and what it printed and how it ended out, bounded in time and size.
//!
//! Each run is a process group of its own, so that a program that does not end is stopped together with whatever it
//! started. What leaves the group on purpose is not followed, and what a program leaves running after it ended by itself
//! is left alone, for it may be a server that it was asked to start. Nothing here knows mail.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// The most that a program may print.
pub const MOST_OUTPUT: usize = 64 << 20;
/// What is kept of its complaints; the rest is read and forgotten, so that the program does not wait for a reader.
const MOST_COMPLAINT: usize = 64 << 10;
/// How long output is waited for after the program ended. What it printed itself is in the pipe by then, but something
/// that it started may hold the other end of that pipe for ever.
const AFTER_THE_END: Duration = Duration::from_secs(2);

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, or the signal that ended it.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// The beginning of its complaints.
    pub stderr: Vec<u8>,
}

/// Why a run has no end to tell of. Whatever was started is stopped.
#[derive(Debug)]
pub enum Trouble {
    /// It could not be started.
    NotStarted(io::Error),
    /// It did not end in time.
    TooLate,
    /// It printed more than [`MOST_OUTPUT`].
    TooMuch,
    /// It was started, and then the system failed.
    Lost(io::Error),
}

/// Runs `command` with `input` on its standard input, which is closed from the start when there is none.
///
/// Dropping the future stops the program.
pub async fn run(mut command: Command, input: Option<&[u8]>, limit: Duration) -> Result<Ended, Trouble> {
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(command)?;
    // Beyond the limit the group is dropped, which stops it.
    timeout(limit, group.converse(input.unwrap_or_default())).await.unwrap_or(Err(Trouble::TooLate))
}

/// Runs `command` without input, and without listening to it: it may start a server that keeps its output.
pub async fn run_unheard(mut command: Command, limit: Duration) -> Result<ExitStatus, Trouble> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut group = Group::start(command)?;
    timeout(limit, group.0.wait()).await.map_err(|_| Trouble::TooLate)?.map_err(Trouble::Lost)
}

/// A running program and what it started. Dropped before the program ended, it stops them all.
struct Group(Child);

impl Group {
    fn start(mut command: Command) -> Result<Self, Trouble> {
        #[cfg(unix)]
        command.process_group(0);
        command.kill_on_drop(true).spawn().map(Self).map_err(Trouble::NotStarted)
    }

    /// Writes and reads at the same time: with one after the other, both sides would wait for ever once the pipes are
    /// full.
    async fn converse(&mut self, input: &[u8]) -> Result<Ended, Trouble> {
        let child = &mut self.0;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut printed, mut complaint) = (Vec::new(), Vec::new());
        let talk = async {
            tokio::try_join!(feed(stdin, input), listen(stdout, &mut printed), overhear(stderr, &mut complaint))
        };
        let status = end_of(child, talk).await?;
        Ok(Ended { status, stdout: printed, stderr: complaint })
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        // There is an id only until the end of the program was seen, so it cannot have become a stranger's.
        let leader = self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(leader) = leader {
            // It fails when the group is gone, which is what was wanted.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Waits for the end of the program and of the talk with it.
async fn end_of<T>(child: &mut Child, talk: impl Future<Output = Result<T, Trouble>>) -> Result<ExitStatus, Trouble> {
    tokio::pin!(talk);
    let status = tokio::select! {
        talked = &mut talk => {
            talked?;
            child.wait().await
        }
        status = child.wait() => {
            // Out of time is no trouble here: what the program printed itself was read.
            if let Ok(talked) = timeout(AFTER_THE_END, talk).await {
                talked?;
            }
            status
        }
    };
    status.map_err(Trouble::Lost)
}

/// A program may end, or close its input, without having read it. Whether all is well its exit code says.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> Result<(), Trouble> {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
    Ok(())
}

/// Reads all of it. What was read is in `into` even when the future is dropped.
async fn listen(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> Result<(), Trouble> {
    let Some(mut from) = from else { return Ok(()) };
    while from.read_buf(into).await.map_err(Trouble::Lost)? > 0 {
        if into.len() > MOST_OUTPUT {
            return Err(Trouble::TooMuch);
        }
    }
    Ok(())
}

/// Reads all of it and keeps the beginning.
async fn overhear(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> Result<(), Trouble> {
    let Some(mut from) = from else { return Ok(()) };
    while from.read_buf(into).await.map_err(Trouble::Lost)? > 0 {
        into.truncate(MOST_COMPLAINT);
    }
    Ok(())
}
