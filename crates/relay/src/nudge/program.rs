//! Runs a program that is handed a text, and ends it with all that it started when nobody waits for it any more.
//!
//! There is no limit of time in here: whoever stops waiting drops the future.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::{NudgeError, safe_text};

/// The most that is kept of what a program says; one that says more is not waited for.
const MOST_SAID: u64 = 1024 * 1024;

/// Runs a command with `input` as its standard input until it ends, and returns what it said where that is piped.
pub async fn run(command: &mut Command, input: &str) -> Result<String, NudgeError> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    match ended(command, input).await {
        Ok((status, output, _)) if status.success() => Ok(output),
        Ok((status, _, complaint)) => {
            let complaint = safe_text(&complaint);
            let said = if complaint.is_empty() { status.to_string() } else { complaint };
            Err(NudgeError::Failed { program, said })
        }
        Err(cause) => Err(NudgeError::CannotRun { program, cause }),
    }
}

/// How it ended, and what it wrote to standard output and to standard error.
async fn ended(command: &mut Command, input: &str) -> io::Result<(ExitStatus, String, String)> {
    #[cfg(unix)]
    command.process_group(0);
    let mut running = Running(command.stdin(Stdio::piped()).kill_on_drop(true).spawn()?);
    let Running(child) = &mut running;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let hand_over = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input has its reasons; how it ends is what counts.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), output, complaint) = tokio::join!(hand_over, said(stdout), said(stderr));
    let (output, complaint) = (output?, complaint?);
    Ok((child.wait().await?, output, complaint))
}

async fn said(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(MOST_SAID).read_to_end(&mut bytes).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[tokio::test]
    async fn a_program_gets_its_input_and_is_heard() {
        assert_eq!(run(&mut shell("cat; echo no >&2"), "a line\n").await.unwrap(), "a line\n");
    }

    #[tokio::test]
    async fn a_program_that_failed_is_quoted_or_else_its_status_is_told() {
        let told = async |script| run(&mut shell(script), "").await.unwrap_err().to_string();
        assert_eq!(told("echo \"no\u{1b}[31m way\" >&2; exit 3").await, "'sh' failed: no [31m way");
        assert_eq!(told("exit 3").await, "'sh' failed: exit status: 3");
    }

    #[tokio::test]
    async fn a_program_that_reads_nothing_does_not_fail_for_it() {
        run(&mut shell("exec <&-; exit 0"), &"x".repeat(1_000_000)).await.unwrap();
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
            _ = run(&mut command, "") => panic!("it does not end by itself"),
            begun = has_begun => assert_eq!(begun.unwrap(), "begun"),
        }
        let gone = tokio::time::timeout(Duration::from_secs(30), has_ended).await;
        assert_eq!(gone.expect("its child has ended too").unwrap(), 0);
    }
}
