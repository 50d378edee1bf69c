//! What a script means when it fails: its exit code and what it said on standard error, as an error of ours.
//!
//! Of what it said one line is passed on, cut, and without control characters, for it is shown on terminals. A line that
//! seems to hold a secret is not: a script that traces its steps prints the headers that it sends.

use std::process::ExitStatus;

use mail::provider::ProviderError;

/// The exit code for an operation that a script does not know.
const UNKNOWN_OPERATION: i32 = 2;
/// The exit codes of a shell that could not run a program. Its "not found" is not about a message.
const PROGRAM_MISSING: [i32; 2] = [126, 127];
/// What scripts call a message or a thread. "Mail" is none of them, for it may be the program of that name.
const MESSAGE_WORDS: [&str; 4] = ["message", "letter", "item", "thread"];
/// What a script needs itself. That one of these was not found is its own trouble, whatever id stands behind it.
const NEEDS: [&str; 7] = ["database", "store", "file", "directory", "command", "program", "module"];
/// The longest text that is passed on, in characters.
const LONGEST: usize = 300;

/// A call that failed.
pub struct ScriptFailure<'a> {
    /// What was asked for.
    pub verb: &'static str,
    /// The id that it was asked for, if it takes one.
    pub id: Option<&'a str>,
    /// How it ended.
    pub status: ExitStatus,
    /// What it said.
    pub stderr: &'a str,
}

impl ScriptFailure<'_> {
    /// The error that it stands for. `call` is how the call is shown to a reader.
    pub fn meaning(&self, call: &str) -> ProviderError {
        if self.status.code() == Some(UNKNOWN_OPERATION) {
            return ProviderError::Unsupported { verb: self.verb };
        }
        if let Some(id) = self.id {
            let id = id.to_owned();
            if self.says_already_archived() {
                return ProviderError::AlreadyArchived { id };
            }
            if self.says_not_found(&id) {
                return ProviderError::NotFound { id };
            }
        }
        let ended = match self.status.code() {
            Some(code) => format!("exit code {code}"),
            None => self.status.to_string(),
        };
        let said = telling_line(self.stderr);
        let said = if said.is_empty() { "it did not say why; run it by hand".to_owned() } else { passed_on(said) };
        ProviderError::Failed { cause: format!("'{call}' ended with {ended}: {said}") }
    }

    /// Only about what archives a delivery: from other verbs the same words mean that something was not done.
    fn says_already_archived(&self) -> bool {
        matches!(self.verb, "archive" | "delete") && self.stderr.to_lowercase().contains("already archived")
    }

    fn says_not_found(&self, id: &str) -> bool {
        if self.stderr.trim_start().starts_with("gc-mail-error:not-found") {
            return true;
        }
        let is_missing_program = self.status.code().is_some_and(|code| PROGRAM_MISSING.contains(&code));
        !is_missing_program && self.stderr.lines().any(|line| says_message_not_found(line, id))
    }
}

/// Whether a line says that a message was not found: "message not found", "gc-7 was not found", "Not found: gc-7". What
/// else may not be found is told by the word before: "mail database not found", or "jq: not found" of a plain shell.
fn says_message_not_found(line: &str, id: &str) -> bool {
    let (line, id) = (line.to_lowercase(), id.to_lowercase());
    let Some((before, after)) = line.split_once("not found") else { return false };
    let before = before.trim_end();
    let before = before.strip_suffix(" was").or_else(|| before.strip_suffix(" is")).unwrap_or(before).trim_end();
    let missing = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    MESSAGE_WORDS.contains(&missing) || ends_with_word(before, &id) || (names(after, &id) && !NEEDS.contains(&missing))
}

/// Whether the id stands at the end of a text, quoted or not, and is not a part of a longer word or path.
fn ends_with_word(text: &str, id: &str) -> bool {
    let [text, id] = [text, id].map(|part| part.trim_end_matches(|c: char| !c.is_alphanumeric()));
    let rest = text.strip_suffix(id).filter(|_| !id.is_empty());
    rest.is_some_and(|rest| !rest.ends_with(is_part_of_word))
}

fn names(text: &str, id: &str) -> bool {
    let is_whole = |start: usize| {
        let behind = &text[start + id.len()..];
        !text[..start].ends_with(is_part_of_word) && !behind.starts_with(is_part_of_word)
    };
    !id.is_empty() && text.match_indices(id).any(|(start, _)| is_whole(start))
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '-' | '_')
}

/// The first line that is not empty; of a Python traceback the last, which says what happened.
fn telling_line(stderr: &str) -> &str {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    match lines.next() {
        Some(first) if first.starts_with("Traceback (") => lines.next_back().unwrap_or(first),
        first => first.unwrap_or_default(),
    }
}

/// Text of a script as it may be shown.
pub fn passed_on(text: &str) -> String {
    if !formats::secrets::find(text).is_empty() {
        return "what it said is not shown, for it seems to hold a secret; run it by hand".to_owned();
    }
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if text.chars().filter(|c| !c.is_control()).nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn meaning(verb: &'static str, id: Option<&str>, code: i32, stderr: &str) -> ProviderError {
        let status = ExitStatus::from_raw(code << 8);
        ScriptFailure { verb, id, status, stderr }.meaning("script verb")
    }

    fn cause(error: ProviderError) -> String {
        match error {
            ProviderError::Failed { cause } => cause,
            other => panic!("{other:?} is no failure"),
        }
    }

    #[test]
    fn exit_code_two_means_unsupported_whatever_was_said() {
        for stderr in ["", "already archived", "not found"] {
            let error = meaning("archive", Some("7"), 2, stderr);
            assert!(matches!(error, ProviderError::Unsupported { verb: "archive" }), "{error:?}");
        }
    }

    #[test]
    fn already_archived_is_said_by_what_puts_away() {
        for verb in ["archive", "delete"] {
            let error = meaning(verb, Some("7"), 1, "error: message 7 Already archived\n");
            assert!(matches!(error, ProviderError::AlreadyArchived { ref id } if id == "7"), "{error:?}");
        }
        cause(meaning("mark-read", Some("7"), 1, "already archived"));
        cause(meaning("send", None, 1, "already archived"));
    }

    #[test]
    fn a_missing_message_is_told_from_everything_else_that_is_missing() {
        for said in [
            "gc-mail-error:not-found",
            "Message not found",
            "trace\nError: mail item not found in /srv/mail\n",
            "error: thread was not found",
            "Error: bead 'GC-7' is not found",
            "x: 3: gc-7: not found",
            "no letter with this id (gc-7) not found.",
            "404 Not Found: gc-7",
            "record not found: id=gc-7.",
        ] {
            let error = meaning("get", Some("gc-7"), 1, said);
            assert!(matches!(error, ProviderError::NotFound { ref id } if id == "gc-7"), "{said}: {error:?}");
        }
        for said in [
            "Error: mail database not found: run init",
            "Error: mail database not found for 3",
            "message store not found",
            "Error: file not found: 3",
            "Error: /srv/mail/3 not found",
            "Error: gc-3 not found",
            "not found: /srv/3, 3-4, 33",
            "p.sh: line 3: jq: command not found",
            "zsh: command not found: 3",
            "./p.sh: 3: jq: not found\n",
            "mail not found",
            "Not found",
            "gone",
            "",
        ] {
            cause(meaning("thread", Some("3"), 1, said));
        }
        cause(meaning("get", Some(""), 1, "not found: "));
        cause(meaning("get", Some("7"), 127, "env: python4: not found"));
        cause(meaning("send", None, 1, "recipient not found"));
    }

    #[test]
    fn a_failure_tells_the_exit_code_and_the_first_line() {
        assert_eq!(
            cause(meaning("send", None, 3, "\n disk full \nmore")),
            "'script verb' ended with exit code 3: disk full"
        );
        assert!(cause(meaning("send", None, 3, "")).contains("exit code 3: it did not say why"));
        let killed = ScriptFailure { verb: "send", id: None, status: ExitStatus::from_raw(9), stderr: "" };
        assert!(cause(killed.meaning("script verb")).contains("signal: 9"));
    }

    #[test]
    fn a_traceback_is_told_by_its_last_line() {
        let traceback = "Traceback (most recent call last):\n  File \"p.py\", line 1\nKeyError: 'from'\n";
        assert!(cause(meaning("send", None, 1, traceback)).ends_with(": KeyError: 'from'"));
    }

    #[test]
    fn what_is_passed_on_is_short_and_plain() {
        assert_eq!(passed_on("a\u{1b}[31mred\u{7}\tb"), "a[31mredb");
        let long = "ä".repeat(LONGEST);
        assert_eq!(passed_on(&long), long);
        assert_eq!(passed_on(&format!("{long}ä")), format!("{long}…"));
    }

    #[test]
    fn a_secret_is_not_passed_on() {
        let traced =
            format!("+ curl -H 'Authorization: Bearer {}'", concat!("ghp_", "kT9vQ2mXw7RbZ4nYc8LdH3sJf6PgA1eUo5iB"));
        let shown = cause(meaning("send", None, 1, &traced));
        assert!(!shown.contains("ghp_") && shown.contains("secret"), "{shown}");
    }
}
