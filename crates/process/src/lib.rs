//! One run of another program: text in, and what it printed and how it ended out, bounded in time and size.
//!
//! Each run is a process group of its own, so that a program that nobody waits for any more is ended together with
//! whatever it started. What leaves the group on purpose is not followed, and what a program leaves running after it
//! ended by itself is left alone, for it may be a server that it was asked to start. Nothing here knows a shell, or mail.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// How long output is waited for after the program ended. What it printed itself is in the pipe by then, but something
/// that it started may hold the other end of that pipe for ever.
const AFTER_THE_END: Duration = Duration::from_secs(2);

/// What a run may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// How much it may print, in bytes.
    pub output: usize,
    /// What is kept of its complaints.
    pub complaint: KeptStderr,
}

/// What is kept of what a program complains of; the rest is read and forgotten, so that it does not wait for a reader.
#[derive(Clone, Copy, Debug)]
pub enum KeptStderr {
    /// So many bytes of the beginning.
    Beginning(usize),
    /// So many bytes of the end.
    End(usize),
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code, or the signal that ended it.
    pub status: ExitStatus,
    /// What it wrote to standard output, where that is piped.
    pub output: Vec<u8>,
    /// What is kept of what it wrote to standard error, where that is piped.
    pub complaint: String,
}

/// Why a run has no end to tell of. Whatever was started is ended.
#[derive(Debug)]
pub enum Trouble {
    /// It could not be started.
    NotStarted(io::Error),
    /// It did not end in time.
    TooLate,
    /// It printed more than it may.
    TooMuch {
        /// What it complained of until then.
        complaint: String,
    },
    /// It was started, and then the system failed.
    Lost(io::Error),
}

/// Runs `command` until it ends. Its input is closed from the start when there is none.
///
/// Dropping the future ends the program and all that it started.
pub async fn run(command: &mut Command, input: Option<&[u8]>, limits: Limits) -> Result<Ended, Trouble> {
    timeout(limits.time, run_to_the_end(command, input, limits)).await.unwrap_or(Err(Trouble::TooLate))
}

async fn run_to_the_end(command: &mut Command, input: Option<&[u8]>, limits: Limits) -> Result<Ended, Trouble> {
    #[cfg(unix)]
    command.process_group(0);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut running = Running(command.kill_on_drop(true).spawn().map_err(Trouble::NotStarted)?);
    let Running(child) = &mut running;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut output, mut complaint) = (Vec::new(), Vec::new());
    // At the same time: with one after the other, both sides would wait for ever once the pipes are full.
    let talk = async {
        tokio::try_join!(
            feed(stdin, input.unwrap_or_default()),
            listen(stdout, &mut output, limits.output),
            overhear(stderr, &mut complaint, limits.complaint)
        )
    };
    let ended = end_of(child, talk).await;
    let complaint = String::from_utf8_lossy(&complaint).into_owned();
    match ended {
        Ok(status) => Ok(Ended { status, output, complaint }),
        Err(Trouble::TooMuch { .. }) => Err(Trouble::TooMuch { complaint }),
        Err(other) => Err(other),
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
            // Out of time is no trouble here: what the program said itself was read.
            if let Ok(talked) = timeout(AFTER_THE_END, talk).await {
                talked?;
            }
            status
        }
    };
    status.map_err(Trouble::Lost)
}

/// A program that does not read its input has its reasons; how it ends is what counts.
async fn feed(stdin: Option<ChildStdin>, input: &[u8]) -> Result<(), Trouble> {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
    Ok(())
}

/// Reads all of it. What was read is in `into` even when the future is dropped.
async fn listen(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, most: usize) -> Result<(), Trouble> {
    let Some(mut from) = from else { return Ok(()) };
    while from.read_buf(into).await.map_err(Trouble::Lost)? > 0 {
        if into.len() > most {
            return Err(Trouble::TooMuch { complaint: String::new() });
        }
    }
    Ok(())
}

/// Reads all of it and keeps a part.
async fn overhear(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, keep: KeptStderr) -> Result<(), Trouble> {
    let Some(mut from) = from else { return Ok(()) };
    while from.read_buf(into).await.map_err(Trouble::Lost)? > 0 {
        match keep {
            KeptStderr::Beginning(most) => into.truncate(most),
            KeptStderr::End(most) => drop(into.drain(..into.len().saturating_sub(most))),
        }
    }
    Ok(())
}

/// A process that is ended with its group, unless it has come to its end before.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Nobody has waited for the leader yet if it has an id, so the number cannot be somebody else's.
        #[cfg(unix)]
        if let Some(id) = self.0.id().and_then(|id| i32::try_from(id).ok())
            && let Some(group) = rustix::process::Pid::from_raw(id)
        {
            // It may have ended in this moment, and then there is nothing to do.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader};

    use tokio::sync::oneshot;

    use super::*;

    const PLENTY: usize = 4 << 20;
    const KEPT: usize = 4 << 10;
    const LIMITS: Limits = Limits { time: Duration::from_secs(600), output: PLENTY, complaint: KeptStderr::End(KEPT) };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    async fn ran(command: &mut Command, input: &[u8], most: usize) -> Result<Ended, Trouble> {
        run(command, Some(input), Limits { output: most, ..LIMITS }).await
    }

    #[tokio::test]
    async fn a_program_gets_its_input_and_is_heard() {
        let ended = ran(&mut shell("cat; echo no >&2; exit 3"), b"a line\n", PLENTY).await.unwrap();
        assert_eq!(
            (ended.status.code(), &ended.output[..], ended.complaint.as_str()),
            (Some(3), &b"a line\n"[..], "no\n")
        );
    }

    #[tokio::test]
    async fn a_program_that_reads_nothing_does_not_fail_for_it_nor_does_one_that_answers_before_it_reads() {
        let long = vec![b'x'; 1_000_000];
        ran(&mut shell("exec <&-; exit 0"), &long, PLENTY).await.unwrap();
        let ended = ran(&mut shell("head -c 1000000 /dev/zero; cat >/dev/null; exit 0"), &long, PLENTY).await.unwrap();
        assert_eq!((ended.status.success(), ended.output.len()), (true, 1_000_000));
    }

    #[tokio::test]
    async fn output_that_just_fits_is_taken_and_a_byte_more_ends_the_program() {
        let said =
            async |count: usize| ran(&mut shell(&format!("echo hm >&2; head -c {count} /dev/zero")), b"", 1000).await;
        assert_eq!(said(1000).await.unwrap().output.len(), 1000);
        assert!(matches!(said(1001).await, Err(Trouble::TooMuch { .. })));
        let endless = ran(&mut shell("exec cat /dev/zero"), b"", 1000).await;
        assert!(matches!(endless, Err(Trouble::TooMuch { .. })), "it is not waited for");
    }

    #[tokio::test]
    async fn of_complaints_the_part_that_is_asked_for_is_kept() {
        let ended = ran(&mut shell("head -c 100000 /dev/zero >&2; echo the end >&2"), b"", PLENTY).await.unwrap();
        assert_eq!(ended.complaint.len(), KEPT);
        assert!(ended.complaint.ends_with("the end\n"));
        let mut command = shell("echo the beginning >&2; head -c 100000 /dev/zero >&2");
        let ended = run(&mut command, None, Limits { complaint: KeptStderr::Beginning(KEPT), ..LIMITS }).await.unwrap();
        assert_eq!(ended.complaint.len(), KEPT);
        assert!(ended.complaint.starts_with("the beginning\n"));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_said_to_be_so() {
        let missing = ran(&mut Command::new("/no/such/program"), b"", PLENTY).await;
        assert!(matches!(missing, Err(Trouble::NotStarted(_))));
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_not_waited_for() {
        let limits = Limits { time: Duration::from_millis(50), ..LIMITS };
        assert!(matches!(run(&mut shell("sleep 1000 & wait"), None, limits).await, Err(Trouble::TooLate)));
    }

    #[tokio::test]
    async fn whatever_it_started_ends_with_a_program_that_nobody_waits_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (began, has_begun) = oneshot::channel();
        let (ended, has_ended) = oneshot::channel();
        let path = pipe.clone();
        std::thread::spawn(move || {
            // The pipe ends when the last process that holds it does: the shell's child, too.
            let mut lines = BufReader::new(File::open(path).unwrap()).lines();
            began.send(lines.next().unwrap().unwrap()).unwrap();
            ended.send(lines.count()).unwrap();
        });
        let mut command = shell("exec 3>\"$0\"; sleep 1000 & echo begun >&3; wait");
        command.arg(&pipe);
        tokio::select! {
            _ = ran(&mut command, b"", PLENTY) => panic!("it does not end by itself"),
            begun = has_begun => assert_eq!(begun.unwrap(), "begun"),
        }
        let gone = timeout(Duration::from_secs(30), has_ended).await;
        assert_eq!(gone.expect("its child has ended too").unwrap(), 0);
    }
}
