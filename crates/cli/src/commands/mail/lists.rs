//! Lists and counts: what is in the mailbox, and what a search found. None of them changes anything.

use std::process::ExitCode;

use api::SearchMessages;
use api::answers::FoundAnswer;
use clap::Args;
use jiff::Timestamp;
use mail::agents::signed;
use mail::clock::{Clock, SystemClock};
use mail::messages::Vouched;
use mail::provider::{Count, Letter};
use serde_json::{Value, json};

use super::ago::ago;
use super::{Visit, letter};
use crate::output::grid::{self, Cell, Column};
use crate::output::{self, Screen};

/// What says that there is no mail.
const NO_MAIL: u8 = 3;

const INBOX_EXAMPLES: &str = "\
A star marks what is unread.

Examples:
  postrider mail inbox
  postrider mail inbox --limit 10 --json";

/// What stands below the help of `check`.
pub const CHECK_EXAMPLES: &str = "\
Exit codes: 0 there is unread mail, 3 there is none (and nothing is printed), 1 it could not be found out.

Example:
  postrider mail check && postrider mail inbox";

const SEARCH_EXAMPLES: &str = "\
A query is made of words, \"phrases\", AND, OR, NOT, prefix*, parentheses, subject: and from:.

Examples:
  postrider mail search parser
  postrider mail search 'subject:release NOT from:GreenDog' --limit 5";

const FOUND: [Column; 5] = [
    Column { head: "ID", most: 24 },
    Column { head: "FROM", most: 24 },
    Column { head: "SUBJECT", most: 60 },
    Column { head: "WHEN", most: 12 },
    Column { head: "TEXT", most: 400 },
];
/// Who gives way where there is no room, and how far: the text, the subject, the sender, and the text once more.
const FOUND_GIVING: [(usize, usize); 4] = [(4, 16), (2, 12), (1, 6), (4, 8)];

/// List unread mail, the newest last.
#[derive(Args, Debug)]
#[command(after_help = INBOX_EXAMPLES)]
pub struct Inbox {
    /// Also what was read, as 'postrider mail all' shows it
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    limit: Limit,
}

/// How much is listed.
#[derive(Args, Debug)]
pub struct Limit {
    /// Only the newest N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

/// Search the mail of the project.
#[derive(Args, Debug)]
#[command(after_help = SEARCH_EXAMPLES)]
pub struct Search {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Only the newest N
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl Inbox {
    /// Prints the list.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        if self.all {
            return all(visit, &self.limit).await;
        }
        let letters = visit.provider().inbox(&visit.who.name).await?;
        Ok(list(visit, &self.limit, &letters, "No unread mail."))
    }
}

/// Prints all that is open.
pub async fn all(visit: &Visit<'_>, limit: &Limit) -> anyhow::Result<ExitCode> {
    let letters = visit.provider().all(&visit.who.name).await?;
    Ok(list(visit, limit, &letters, "No mail."))
}

fn list(visit: &Visit<'_>, limit: &Limit, letters: &[Letter], nothing: &str) -> ExitCode {
    let newest = limit.of(letters);
    if newest.is_empty() && !visit.as_json {
        output::note(nothing);
        return ExitCode::SUCCESS;
    }
    let json: Vec<Value> = newest.iter().map(letter::to_value).collect();
    output::answer(visit.as_json, &json.into(), || letter::table(newest, SystemClock.now(), &Screen::of_stdout()));
    ExitCode::SUCCESS
}

impl Limit {
    /// The newest of a list that has them last.
    fn of<'a, T>(&self, list: &'a [T]) -> &'a [T] {
        let most = self.limit.map_or(usize::MAX, |limit| limit as usize);
        &list[list.len().saturating_sub(most)..]
    }
}

/// Prints how much is open, and how much of it unread.
pub async fn count(visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
    let Count { total, unread } = visit.provider().count(&visit.who.name).await?;
    let json = json!({ "total": total, "unread": unread });
    output::answer(visit.as_json, &json, || format!("{unread} unread, {total} in all"));
    Ok(ExitCode::SUCCESS)
}

/// Prints how much is unread; nothing at all if nothing is.
pub async fn check(visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
    // Our own office counts without loading the mail; others may not be able to count.
    let unread = match visit.mailbox.post_office() {
        Some(_) => visit.provider().count(&visit.who.name).await?.unread,
        None => visit.provider().check(&visit.who.name).await?.len(),
    };
    if unread == 0 {
        return Ok(ExitCode::from(NO_MAIL));
    }
    output::answer(visit.as_json, &json!({ "unread": unread }), || format!("{unread} unread"));
    Ok(ExitCode::SUCCESS)
}

impl Search {
    /// Prints what was found, the newest last.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let office = visit.mailbox.office("search")?;
        let request = SearchMessages {
            project_key: visit.project.to_owned(),
            query: self.query.join(" "),
            limit: Some(self.limit),
            ..SearchMessages::default()
        };
        let mut found = office.ask(request).await?;
        found.reverse();
        if found.is_empty() && !visit.as_json {
            output::note("Nothing was found.");
            return Ok(ExitCode::SUCCESS);
        }
        let json: Vec<Value> = found.iter().map(to_value).collect();
        output::answer(visit.as_json, &json.into(), || {
            let now = SystemClock.now();
            let rows: Vec<_> = found.iter().map(|found| row(found, now)).collect();
            grid::lines(&FOUND, &FOUND_GIVING, &rows, &Screen::of_stdout()).join("\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

fn to_value(found: &FoundAnswer) -> Value {
    let mut value = json!({
        "id": found.id.to_string(), "from": found.from, "to": found.to, "subject": found.subject,
        "snippet": found.snippet, "created_at": found.created_ts.0.to_string(), "thread_id": found.thread_id,
    });
    if let Some(vouched) = &found.vouched {
        value["vouched"] = json!(vouched);
    }
    value
}

fn row(found: &FoundAnswer, now: Timestamp) -> [Cell; 5] {
    let FoundAnswer { subject, snippet, .. } = found;
    let from = signed(&found.from, found.vouched.as_deref() == Some(Vouched::Human.as_str()));
    let (id, when) = (found.id.to_string(), ago(found.created_ts.0, now));
    [id.into(), from.into(), subject.clone().into(), when.into(), snippet.clone().into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_keeps_the_newest_which_are_last() {
        let newest = |limit| Limit { limit }.of(&[1, 2, 3]).to_vec();
        assert_eq!(newest(None), [1, 2, 3]);
        assert_eq!(newest(Some(2)), [2, 3]);
        assert_eq!(newest(Some(9)), [1, 2, 3]);
    }
}
