//! Running the command that answers for an agent, within its limits.
//!
//! An argument list, never a shell: no word of a message becomes part of a command line. The prompt is its standard input.

use std::process::Stdio;
use std::time::Duration;

use process::{KeptStderr, Limits, Trouble};
use tokio::process::Command;

use super::answer::{AnswerPath, answer};

/// How much of the end of what a command complains of is kept, in bytes.
const MOST_COMPLAINT: usize = 4 << 10;

/// A command, and what it may cost.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub time: Duration,
    /// How much it may print, in bytes.
    pub most_output: usize,
    /// Where in what it prints the answer stands; all of it without one.
    pub answer: Option<AnswerPath>,
}

/// Why a command brought no answer.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct RunError {
    /// What went wrong, with its values.
    pub reason: String,
    /// The end of what the command complained of.
    pub complaint: String,
}

impl Invocation {
    /// Runs the command with `prompt` as its input and these variables in its environment, and returns its answer; empty
    /// for silence. Dropping the future ends the command and all that it started, and so does the limit of time.
    pub async fn run(&self, prompt: &str, environment: &[(&str, &str)]) -> Result<String, RunError> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).envs(environment.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |reason: String, complaint: String| Err(RunError { reason, complaint });
        let complaint = KeptStderr::End(MOST_COMPLAINT);
        let limits = Limits { time: self.time, output: self.most_output, complaint };
        match process::run(&mut command, Some(prompt.as_bytes()), limits).await {
            Ok(ended) if ended.status.success() => {
                answer(&ended.output, self.answer.as_ref()).or_else(|reason| failed(reason, ended.complaint))
            }
            Ok(ended) => failed(format!("it ended with {}", ended.status), ended.complaint),
            Err(Trouble::TooLate) => failed(format!("it did not end within {}", told(self.time)), String::new()),
            Err(Trouble::TooMuch { complaint }) => {
                failed(format!("it printed more than {} bytes", self.most_output), complaint)
            }
            Err(Trouble::NotStarted(error) | Trouble::Lost(error)) => {
                failed(format!("'{}' cannot be run: {error}", self.program), String::new())
            }
        }
    }
}

/// A duration in its largest whole unit.
fn told(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Invocation {
        Invocation {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            time: Duration::from_secs(600),
            most_output: 1000,
            answer: None,
        }
    }

    async fn reason(invocation: &Invocation) -> String {
        invocation.run("", &[]).await.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn the_prompt_comes_in_and_the_answer_out() {
        let ran = shell("cat; echo \" for $WHO\"").run("words", &[("WHO", "codex")]).await;
        assert_eq!(ran.unwrap(), "words for codex");
        assert_eq!(shell("cat >/dev/null").run("words", &[]).await.unwrap(), "");
    }

    #[tokio::test]
    async fn words_of_the_prompt_are_no_commands() {
        assert_eq!(
            shell("cat").run("$(echo hi) `echo hi`; echo hi", &[]).await.unwrap(),
            "$(echo hi) `echo hi`; echo hi"
        );
    }

    #[tokio::test]
    async fn why_it_failed_is_said_with_its_values() {
        let failed = shell("echo out; echo why >&2; exit 3").run("", &[]).await.unwrap_err();
        assert_eq!((failed.reason.as_str(), failed.complaint.as_str()), ("it ended with exit status: 3", "why\n"));
        assert_eq!(reason(&shell("head -c 1001 /dev/zero")).await, "it printed more than 1000 bytes");
        let missing = Invocation { program: "/no/such".to_owned(), ..shell("") };
        assert!(reason(&missing).await.starts_with("'/no/such' cannot be run: "));
        let path = Invocation { answer: AnswerPath::parse("text"), ..shell("echo '{}'") };
        assert_eq!(reason(&path).await, "the output has no text at 'text'");
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_ended() {
        let slow = Invocation { time: Duration::from_millis(50), ..shell("sleep 1000 & wait") };
        assert_eq!(reason(&slow).await, "it did not end within 50 ms");
        assert_eq!(
            (told(Duration::from_secs(600)), told(Duration::from_secs(90))),
            ("10 min".to_owned(), "90 s".to_owned())
        );
    }
}
