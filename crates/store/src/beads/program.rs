//! The beads that the program `bd` keeps, asked one call at a time.
//!
//! What `bd` does not keep as it is, stands in the bead's metadata, so that a delivery comes back whole:
//! - The sender is `from`.
//! - A title has 1 to 500 bytes and no dash at its start. A subject that cannot be one is `postrider.subject`, and the
//!   title is what fits of it.
//! - Times are cut to whole seconds. The exact one is `postrider.sent_at`: the clock of whoever sends, rising strictly
//!   within a process. Deliveries that others sent have whole seconds.
//!
//! An argument has a length that the system allows. A longer body goes through standard input, as does `-`, which `bd`
//! takes for just that; longer subjects and names are refused. `bd` also takes a part of an id for the whole; here only
//! the whole id finds a delivery.

use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use mail::Error;
use mail::clock::{Clock, SystemClock, from_micros, rfc3339};
use mail::error::shown;
use mail::messages::{OpenKey, WhenOpen};
use mail::provider::{KeyedDelivery, ProviderDelivery, ProviderError};
use process::Trouble;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use super::bead::{Bead, BeadFilter, MESSAGE, READ, READ_NOTE, SUBJECT_NOTE, TIME_NOTE, label_of_key, labels_of};
use super::{Keeper, already_archived, failed, not_found};
use crate::exec::{limits, unanswered};

const LONGEST_CALL: Duration = Duration::from_secs(30);
/// How long to wait before it is tried again whether the beads are locked.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);
/// Linux allows an argument 128 KiB; this leaves room for its name.
const LONGEST_ARGUMENT: usize = 100_000;
const LONGEST_ID: usize = 255;
const LONGEST_TITLE: usize = 500;

/// The program, and the folder whose beads it keeps.
pub(super) struct Program {
    program: PathBuf,
    folder: PathBuf,
    /// When the last delivery was sent, in microseconds.
    last_sent: AtomicI64,
}

impl Program {
    /// The program at that path, or of that name, run in `folder`.
    pub fn new(program: PathBuf, folder: PathBuf) -> Self {
        Self { program, folder, last_sent: AtomicI64::new(i64::MIN) }
    }

    /// A time after every other that this process gave.
    fn now(&self) -> Timestamp {
        let now = SystemClock.now().as_microsecond();
        let later = |last: i64| now.max(last.saturating_add(1));
        let last = self.last_sent.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |last| Some(later(last)));
        from_micros(later(last.unwrap_or_default()))
    }

    /// What the program prints. `id` is the bead that is asked for, if it is one.
    async fn ask(&self, id: &str, arguments: &[String], input: Option<&str>) -> Result<Vec<u8>, ProviderError> {
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let ended = process::run(&mut command, input.map(str::as_bytes), limits(LONGEST_CALL)).await;
        let ended = ended.map_err(|trouble| self.failed(&arguments[0], trouble))?;
        if ended.status.success() {
            return Ok(ended.output);
        }
        let complaint = complaint(&ended.output, &ended.complaint);
        if !id.is_empty() && complaint.says_missing(id) {
            return Err(not_found(id));
        }
        Err(failed(format!("'bd {}' said: {}", arguments[0], shown(&complaint.first_line()))))
    }

    fn failed(&self, verb: &str, trouble: Trouble) -> ProviderError {
        if let Trouble::NotStarted(cause) = trouble {
            return failed(format!("'{}' could not be started ({cause}): is it installed?", self.program.display()));
        }
        let advice = if verb == "create" { "; it may have been sent: look before you send it again" } else { "" };
        failed(unanswered(&format!("bd {verb}"), LONGEST_CALL, &trouble) + advice)
    }

    async fn beads(&self, id: &str, arguments: &[String]) -> Result<Vec<Value>, ProviderError> {
        let printed = self.ask(id, arguments, None).await?;
        rows(&printed).ok_or_else(|| unreadable(&arguments[0], &printed))
    }

    async fn create_under(
        &self,
        key: Option<&OpenKey>,
        mut delivery: ProviderDelivery,
    ) -> Result<ProviderDelivery, ProviderError> {
        delivery.created_at = self.now();
        let title = title_of(&delivery.subject);
        let mut metadata = json!({ "from": delivery.from, TIME_NOTE: rfc3339(delivery.created_at) });
        if title != delivery.subject {
            metadata[SUBJECT_NOTE] = json!(delivery.subject);
        }
        let metadata = metadata.to_string();
        for (what, text) in [("recipient", &delivery.to), ("subject and sender", &metadata)] {
            if text.len() > LONGEST_ARGUMENT {
                return Err(Error::TooLarge { what, size: text.len(), limit: LONGEST_ARGUMENT }.into());
            }
        }
        let labels: Vec<String> = labels_of(&delivery, key).iter().map(|label| in_list(label)).collect();
        let mut arguments = arguments(&["create", "--json", &title, "-t", MESSAGE]);
        arguments.push(format!("--assignee={}", delivery.to));
        arguments.push(format!("--labels={}", labels.join(",")));
        arguments.push(format!("--metadata={metadata}"));
        let by_input = delivery.body == "-" || delivery.body.len() > LONGEST_ARGUMENT;
        arguments.push(if by_input { "--body-file=-".to_owned() } else { format!("--description={}", delivery.body) });
        let printed = self.ask("", &arguments, by_input.then_some(delivery.body.as_str())).await?;
        let id = rows(&printed).and_then(|rows| Some(rows.first()?["id"].as_str()?.to_owned()));
        delivery.id = id.ok_or_else(|| unreadable("create", &printed))?;
        Ok(delivery)
    }

    /// The turn of one who sends under a key, until it is dropped: `bd` cannot look and write at once.
    async fn turn(&self) -> Result<File, ProviderError> {
        let folder = self.folder.join(".beads");
        let cannot = |problem| failed(format!("cannot lock '{}' ({problem})", folder.display()));
        let lock = File::open(&folder).map_err(cannot)?;
        let deadline = Instant::now() + LONGEST_CALL;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(BETWEEN_TRIES).await,
                Err(TryLockError::WouldBlock) => {
                    return Err(failed(format!("'{}' is locked: try again", folder.display())));
                }
                Err(TryLockError::Error(problem)) => return Err(cannot(problem)),
            }
        }
    }
}

#[async_trait]
impl Keeper for Program {
    async fn create(&self, delivery: ProviderDelivery) -> Result<ProviderDelivery, ProviderError> {
        self.create_under(None, delivery).await
    }

    async fn create_keyed(&self, delivery: ProviderDelivery, key: &OpenKey) -> Result<KeyedDelivery, ProviderError> {
        let _turn = self.turn().await?;
        let mut earlier = self.list(BeadFilter::Under(key, &delivery)).await?;
        if let Some(open) = earlier.pop_if(|_| key.when_open() == WhenOpen::Skip) {
            return Ok(KeyedDelivery { delivery: open.delivery, is_new: false });
        }
        let delivery = self.create_under(Some(key), delivery).await?;
        for Bead { delivery: ProviderDelivery { id, .. }, .. } in earlier {
            // The message is sent. Whoever is told otherwise would send it again.
            if let Err(error) = self.ask(&id, &arguments(&["close", "--json", &id]), None).await {
                tracing::warn!(%error, sent = delivery.id, replaced = id, "what a message replaces is not archived");
            }
        }
        Ok(KeyedDelivery { delivery, is_new: true })
    }

    async fn get(&self, id: &str) -> Result<Bead, ProviderError> {
        if !may_be_id(id) {
            return Err(not_found(id));
        }
        let beads = self.beads(id, &arguments(&["show", "--json", id])).await?;
        let found = beads.iter().find(|bead| bead["id"] == id);
        found.and_then(Bead::read).ok_or_else(|| not_found(id))
    }

    async fn list(&self, wanted: BeadFilter<'_>) -> Result<Vec<Bead>, ProviderError> {
        let (named, which) = match wanted {
            BeadFilter::OpenFor("") => ("", vec!["--status=open".to_owned()]),
            BeadFilter::OpenFor(to) => (to, vec![format!("--assignee={to}"), "--status=open".to_owned()]),
            BeadFilter::Under(key, delivery) => {
                let label = in_list(&label_of_key(key));
                (
                    delivery.to.as_str(),
                    vec![format!("--label={label}"), format!("--assignee={}", delivery.to), "--status=open".to_owned()],
                )
            }
            BeadFilter::Thread(thread) => {
                let label = in_list(&format!("thread:{thread}"));
                (thread, vec![format!("--label={label}"), "--all".to_owned()])
            }
        };
        if named.len() > LONGEST_ARGUMENT || named.contains('\0') {
            // Nothing of that name could have been given to the program.
            return Ok(Vec::new());
        }
        let kind = format!("--type={MESSAGE}");
        let mut arguments = arguments(&["list", "--json", &kind, "--include-infra", "--include-gates", "--limit", "0"]);
        arguments.extend(which);
        let beads = self.beads("", &arguments).await?;
        Ok(beads.iter().filter_map(Bead::read).filter(|bead| wanted.holds(bead)).collect())
    }

    async fn mark(&self, bead: &Bead, read: bool) -> Result<(), ProviderError> {
        let (id, change) = (&bead.delivery.id, if read { "--add-label" } else { "--remove-label" });
        let mut arguments = arguments(&["update", "--json", id, change, READ]);
        if bead.has_read_note {
            arguments.push(format!("--set-metadata={READ_NOTE}={read}"));
        }
        self.ask(id, &arguments, None).await.map(drop)
    }

    /// Of two who archive the same delivery at one moment, both may be told that they did it.
    async fn close(&self, id: &str) -> Result<(), ProviderError> {
        if self.get(id).await?.delivery.archived {
            return Err(already_archived(id));
        }
        self.ask(id, &arguments(&["close", "--json", id]), None).await.map(drop)
    }
}

/// Why the program did not do it.
struct BdFailure(String);

/// The program complains on standard error, or as JSON on standard output, or both.
fn complaint(stdout: &[u8], stderr: &str) -> BdFailure {
    let mut text = stderr.to_owned();
    if let Some(error) = json_in(stdout).as_ref().and_then(|said| said["error"].as_str()) {
        text.push('\n');
        text.push_str(error);
    }
    BdFailure(text)
}

impl BdFailure {
    /// Whether it says that there is no such bead. That a database or a program was not found is another matter.
    fn says_missing(&self, id: &str) -> bool {
        self.0.lines().any(|line| {
            let plain = line.to_lowercase();
            plain.contains("no issue found")
                || plain.contains("no issues found")
                || plain.contains("issue not found")
                || (plain.contains("not found") && line.contains(id))
        })
    }

    /// The line that tells most: warnings stand before the error.
    fn first_line(&self) -> String {
        let mut lines = self.0.lines().map(str::trim).filter(|line| !line.is_empty());
        let error = lines.clone().find(|line| line.starts_with("Error") || line.starts_with("Fatal"));
        error.or_else(|| lines.next()).unwrap_or("nothing").to_owned()
    }
}

/// The beads in what was printed: an array, one bead, or an object that holds an array. Nothing is no bead.
fn rows(printed: &[u8]) -> Option<Vec<Value>> {
    if printed.trim_ascii().is_empty() {
        return Some(Vec::new());
    }
    match json_in(printed)? {
        Value::Null => Some(Vec::new()),
        Value::Array(rows) => Some(rows),
        Value::Object(mut fields) => match fields.remove("issues") {
            Some(Value::Array(rows)) => Some(rows),
            Some(Value::Null) => Some(Vec::new()),
            _ if fields.contains_key("id") => Some(vec![Value::Object(fields)]),
            _ => None,
        },
        _ => None,
    }
}

/// The JSON in what was printed; notices may stand on lines before it.
fn json_in(printed: &[u8]) -> Option<Value> {
    let whole = serde_json::from_slice(printed).ok();
    whole.or_else(|| {
        let mut lines = printed.split_inclusive(|byte| *byte == b'\n');
        let notices: usize =
            lines.by_ref().take_while(|line| !line.starts_with(b"[") && !line.starts_with(b"{")).map(<[u8]>::len).sum();
        serde_json::from_slice(&printed[notices..]).ok()
    })
}

fn unreadable(verb: &str, printed: &[u8]) -> ProviderError {
    let start = shown(&String::from_utf8_lossy(&printed[..printed.len().min(400)]));
    failed(format!("'bd {verb}' printed no beads but '{start}'"))
}

/// The subject as far as it can be a title.
fn title_of(subject: &str) -> String {
    let plain: String = subject.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let plain = plain.trim().trim_start_matches(['-', ' ']);
    let title = plain[..plain.floor_char_boundary(LONGEST_TITLE)].trim_end();
    if title.is_empty() { "(no subject)".to_owned() } else { title.to_owned() }
}

/// A value as one of a list with commas between them.
fn in_list(value: &str) -> String {
    if value.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}

fn may_be_id(id: &str) -> bool {
    let is_plain = !id.contains(|c: char| c.is_whitespace() || c.is_control());
    is_plain && !id.starts_with('-') && (1..=LONGEST_ID).contains(&id.len())
}

fn arguments(all: &[&str]) -> Vec<String> {
    all.iter().map(|argument| (*argument).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(stdout: &str, stderr: &str) -> BdFailure {
        complaint(stdout.as_bytes(), stderr)
    }

    #[test]
    fn a_subject_that_cannot_be_a_title_becomes_one_that_can() {
        for (subject, title) in [
            ("Hello, 漢字", "Hello, 漢字"),
            ("", "(no subject)"),
            (" - ", "(no subject)"),
            ("--help me", "help me"),
            ("two\nlines\u{7}", "two lines"),
        ] {
            assert_eq!(title_of(subject), title);
        }
        let long = "é".repeat(300);
        assert_eq!(title_of(&long), "é".repeat(250), "500 bytes, and no half of a character");
    }

    #[test]
    fn a_missing_bead_is_told_from_everything_else_that_is_missing() {
        for missing in [
            said("", "Error fetching gc-9: no issue found matching \"gc-9\""),
            said("{\"error\":\"no issues found matching the provided IDs\"}", ""),
            said("", "Warning: old\nError: issue gc-9 not found"),
        ] {
            assert!(missing.says_missing("gc-9"), "{}", missing.0);
        }
        for other in ["Error: database not found", "dolt: command not found", "Error: no beads database found", ""] {
            assert!(!said("", other).says_missing("gc-9"), "{other}");
        }
    }

    #[test]
    fn the_line_that_tells_most_is_told() {
        assert_eq!(said("", "Warning: old\n  Error: locked \nHint: wait").first_line(), "Error: locked");
        assert_eq!(said("{\"error\":\"locked\"}", "\n").first_line(), "locked");
        assert_eq!(said("", "").first_line(), "nothing");
    }

    #[test]
    fn beads_are_found_in_every_shape_of_answer() {
        let ids = |printed: &str| {
            let rows = rows(printed.as_bytes())?;
            Some(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(ids("[{\"id\":\"a\"},{\"id\":\"b\"}]").unwrap(), "a b");
        assert_eq!(ids("{\"id\":\"a\"}").unwrap(), "a");
        assert_eq!(ids("{\"issues\":[{\"id\":\"a\"}]}").unwrap(), "a");
        assert_eq!(ids("importing 3 issues\n[\n{\"id\":\"a\"}\n]\n").unwrap(), "a");
        for empty in ["", "\n", "[]", "null", "{\"issues\":null}"] {
            assert_eq!(ids(empty).unwrap(), "");
        }
        for broken in ["None", "{\"error\":\"x\"}", "[{", "7"] {
            assert!(ids(broken).is_none(), "{broken}");
        }
    }

    #[test]
    fn a_value_with_a_comma_is_one_value() {
        assert_eq!(in_list("thread:a"), "thread:a");
        assert_eq!(in_list("thread:a,\"b\""), "\"thread:a,\"\"b\"\"\"");
    }

    #[test]
    fn times_rise_however_fast_one_asks() {
        let program = Program::new(PathBuf::from("bd"), PathBuf::from("."));
        let times: Vec<Timestamp> = (0..1000).map(|_| program.now()).collect();
        assert!(times.is_sorted_by(|one, next| one < next));
    }
}
