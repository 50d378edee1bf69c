//! Runs a program that is handed the text of a nudge, and says how it went wrong if it did.

use process::{Ended, KeptStderr, Limits, Trouble};
use tokio::process::Command;

use super::{LIMIT, NudgeError, safe_text};

/// The most that a program may say, and how much of the end of its complaints is kept.
const LIMITS: Limits = Limits { time: LIMIT, output: 1 << 20, complaint: KeptStderr::End(4 << 10) };

/// Runs a command with `input` as its standard input until it ends, and returns what it said where that is piped.
pub async fn run(command: &mut Command, input: &str) -> Result<String, NudgeError> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    match process::run(command, Some(input.as_bytes()), LIMITS).await {
        Ok(Ended { status, output, .. }) if status.success() => Ok(String::from_utf8_lossy(&output).into_owned()),
        Ok(Ended { status, complaint, .. }) => {
            let complaint = safe_text(&complaint);
            let said = if complaint.is_empty() { status.to_string() } else { complaint };
            Err(NudgeError::Failed { program, said })
        }
        Err(Trouble::TooMuch { .. }) => Err(NudgeError::Failed { program, said: "it says too much".to_owned() }),
        Err(Trouble::TooLate) => Err(NudgeError::TookTooLong { way: program }),
        Err(Trouble::NotStarted(cause) | Trouble::Lost(cause)) => Err(NudgeError::CannotRun { program, cause }),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[tokio::test]
    async fn a_program_that_failed_is_quoted_or_else_its_status_is_told() {
        let told = async |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
            run(&mut command, "").await.unwrap_err().to_string()
        };
        assert_eq!(told("echo \"no\u{1b}[31m way\" >&2; exit 3").await, "'sh' failed: no [31m way");
        assert_eq!(told("exit 3").await, "'sh' failed: exit status: 3");
        assert_eq!(told("exec cat /dev/zero").await, "'sh' failed: it says too much");
    }
}
