//! One call of a program: without a shell, with a time limit and a bound on what it may print.
//!
//! The program leads a process group of its own. When it takes too long, prints too much, or whoever asked goes away,
//! the whole group is ended. What a program leaves running when it ends by itself is left alone, for it may be a server of
//! its own.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// More than this is not read, on either stream.
const LONGEST_OUTPUT: usize = 64 << 20;

/// How long output is waited for after the program ended: a server that it left running may hold the pipe for ever.
const AFTER_THE_END: Duration = Duration::from_secs(2);

/// What a program answered.
pub(super) struct Answer {
    /// Whether it ended with 0.
    pub success: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a program in `folder`. Without `input`, its standard input is closed. The error says what went wrong in words.
pub(super) async fn run(
    program: &Path,
    folder: &Path,
    arguments: &[String],
    input: Option<&str>,
    limit: Duration,
) -> Result<Answer, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).kill_on_drop(true).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    #[cfg(unix)]
    command.process_group(0);
    let shown = program.display();
    let child =
        command.spawn().map_err(|problem| format!("'{shown}' could not be started ({problem}): is it installed?"))?;
    let mut running = Running(child);
    match timeout(limit, running.answer(input)).await {
        Ok(answer) => answer.map_err(|problem| format!("'{shown}' could not be asked ({problem})")),
        Err(_) => Err(format!("'{shown}' gave no answer within {limit:?} and was ended")),
    }
}

/// A program, and all that it started, until they are dropped.
struct Running(Child);

impl Running {
    async fn answer(&mut self, input: Option<&str>) -> io::Result<Answer> {
        let child = &mut self.0;
        let (stdin, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let talk = async { tokio::try_join!(read(out, &mut stdout), read(err, &mut stderr), feed(stdin, input)) };
        let mut talk = Box::pin(talk);
        let status = tokio::select! {
            talked = &mut talk => {
                talked?;
                child.wait().await?
            }
            status = child.wait() => {
                // What the program printed itself has been read by then.
                if let Ok(talked) = timeout(AFTER_THE_END, &mut talk).await {
                    talked?;
                }
                status?
            }
        };
        drop(talk);
        Ok(Answer { success: status.success(), stdout, stderr })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id is gone once the program was waited for: then it ended by itself.
        #[cfg(unix)]
        if let Some(group) = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            // What has just ended needs no ending.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

async fn read(stream: Option<impl AsyncRead + Unpin>, content: &mut Vec<u8>) -> io::Result<()> {
    let Some(mut stream) = stream else { return Ok(()) };
    while stream.read_buf(content).await? > 0 {
        if content.len() > LONGEST_OUTPUT {
            return Err(io::Error::other("it printed more than 64 MiB"));
        }
    }
    Ok(())
}

async fn feed(stdin: Option<ChildStdin>, input: Option<&str>) -> io::Result<()> {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // A program that refuses does not read to the end; why it refused is in its answer.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::Instant;

    use rustix::process::{Pid, test_kill_process};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    async fn shell(script: &str, folder: &Path, input: Option<&str>, limit: Duration) -> Result<Answer, String> {
        run(Path::new("sh"), folder, &["-c".to_owned(), script.to_owned()], input, limit).await
    }

    /// Waits until a process is gone, or is a zombie that nobody collects.
    fn is_gone(id: i32) -> bool {
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            if test_kill_process(Pid::from_raw(id).unwrap()).is_err() || state.contains(") Z ") {
                return true;
            }
            std::thread::yield_now();
        }
        false
    }

    #[tokio::test]
    async fn an_answer_has_both_streams_and_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let answer = shell("cat; echo err >&2; exit 3", folder.path(), Some("in"), LONG).await.unwrap();
        assert_eq!(
            (answer.success, answer.stdout.as_slice(), answer.stderr.as_slice()),
            (false, &b"in"[..], &b"err\n"[..])
        );
        let closed = shell("cat", folder.path(), None, LONG).await.unwrap();
        assert!(closed.success && closed.stdout.is_empty());
    }

    #[tokio::test]
    async fn a_program_that_takes_too_long_is_ended_with_all_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo $! > it; mv it pid; wait";
        let (started, pid) = (Instant::now(), folder.path().join("pid"));
        let mut limit = Duration::from_millis(100);
        // On a busy machine the script may be ended before it came to its point.
        while !pid.exists() {
            let Err(problem) = shell(script, folder.path(), None, limit).await else { panic!("it ended") };
            assert!(problem.contains("no answer within"), "{problem}");
            limit *= 2;
        }
        assert!(started.elapsed() < Duration::from_secs(500), "it was not waited for");
        assert!(is_gone(std::fs::read_to_string(pid).unwrap().trim().parse().unwrap()));
    }

    #[tokio::test]
    async fn a_program_that_prints_without_end_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let Err(problem) = shell("yes", folder.path(), None, LONG).await else { panic!("it ended") };
        assert!(problem.contains("64 MiB"), "{problem}");
    }

    #[tokio::test]
    async fn what_a_program_leaves_running_is_not_waited_for_and_not_ended() {
        let folder = tempfile::tempdir().unwrap();
        let answer = shell("sleep 600 & echo $!", folder.path(), None, LONG).await.unwrap();
        let server = Pid::from_raw(String::from_utf8(answer.stdout).unwrap().trim().parse().unwrap()).unwrap();
        assert!(answer.success && test_kill_process(server).is_ok());
        rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let missing = run(Path::new("/no/such/bd"), Path::new("/"), &[], None, LONG).await;
        assert!(missing.err().unwrap().starts_with("'/no/such/bd' could not be started"));
    }
}
