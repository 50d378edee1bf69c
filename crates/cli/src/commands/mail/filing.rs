//! Archiving and deleting: messages that are named by their ids, or all that fit a description.
//!
//! By their ids one acts on one's own mail alone. A description says whose mail it is about, so it may be that of others, as far
//! as the backend lets anybody act in any name. Nothing is destroyed.

use std::process::ExitCode;

use clap::Args;
use mail::clock::{Clock, SystemClock};
use mail::provider::{ProviderDelivery, ProviderError};
use serde_json::{Value, json};

use super::messages::{Tally, each};
use super::{Visit, delivery};
use crate::mailbox::Mailbox;
use crate::output::{self, Screen};
use crate::post_office::Refused;

/// What says which messages are meant.
const CRITERIA: [&str; 6] = ["to", "all_recipients", "from", "subject_prefix", "subject_contains", "empty_body"];

/// The messages that are archived.
#[derive(Args, Debug)]
pub struct Filing {
    /// The messages, as the inbox names them
    #[arg(value_name = "ID", required_unless_present_any = CRITERIA, conflicts_with_all = CRITERIA)]
    ids: Vec<String>,
    #[command(flatten)]
    wanted: Description,
}

/// What the messages have in common.
#[derive(Args, Debug)]
struct Description {
    /// Instead of ids: unread mail of NAME
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Instead of ids: everybody's unread mail
    #[arg(long, conflicts_with = "to")]
    all_recipients: bool,
    /// Instead of ids: unread mail from NAME
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Instead of ids: unread mail whose subject begins so
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    subject_prefix: Option<String>,
    /// Instead of ids: unread mail in whose subject this stands
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    subject_contains: Option<String>,
    /// Instead of ids: unread mail without a text
    #[arg(long)]
    empty_body: bool,
    /// Read mail too
    #[arg(long, conflicts_with = "ids")]
    include_read: bool,
    /// Only the oldest N
    #[arg(long, value_name = "N", conflicts_with = "ids", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// List what fits, and change nothing
    #[arg(long, conflicts_with = "ids")]
    dry_run: bool,
}

impl Filing {
    /// Does it, of which `done_word` tells a person; exit code 1 if something was refused.
    pub async fn run(
        &self,
        visit: &Visit<'_>,
        done_word: &'static str,
        act: impl AsyncFn(&str) -> Result<(), ProviderError>,
    ) -> anyhow::Result<ExitCode> {
        if !self.ids.is_empty() {
            return each(visit, &self.ids, done_word, act).await;
        }
        let found = self.wanted.found(visit).await?;
        if self.wanted.dry_run {
            return Ok(told(visit, &found, done_word));
        }
        if found.is_empty() && !visit.as_json {
            output::note("No message fits.");
        }
        let mut tally = Tally::new(visit, done_word);
        for ProviderDelivery { id, to, .. } in &found {
            let became = match visit.mailbox {
                Mailbox::Native(deliveries) if *to != visit.who.name => deliveries.archive_for(to, id).await,
                _ => act(id).await,
            };
            tally.add(id, became.map(|()| false).map_err(Refused::from))?;
        }
        Ok(tally.told())
    }
}

impl Description {
    /// What fits, the oldest first.
    async fn found(&self, visit: &Visit<'_>) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let whose = match &self.to {
            _ if self.all_recipients => "",
            Some(name) => name,
            None => &visit.who.name,
        };
        let provider = visit.provider();
        let mut found = if self.include_read { provider.all(whose).await? } else { provider.inbox(whose).await? };
        found.retain(|delivery| self.fits(delivery));
        found.truncate(self.limit.map_or(usize::MAX, |limit| limit as usize));
        Ok(found)
    }

    fn fits(&self, delivery: &ProviderDelivery) -> bool {
        let ProviderDelivery { from, subject, body, .. } = delivery;
        self.from.as_ref().is_none_or(|name| name == from)
            && self.subject_prefix.as_ref().is_none_or(|prefix| subject.starts_with(prefix))
            && self.subject_contains.as_ref().is_none_or(|text| subject.contains(text))
            && (!self.empty_body || body.trim().is_empty())
    }
}

/// Tells what would be done.
fn told(visit: &Visit<'_>, found: &[ProviderDelivery], done_word: &str) -> ExitCode {
    let listed: Value = found.iter().map(delivery::to_value).collect();
    let nothing = found.is_empty().then_some("No message fits.");
    let code = output::answer_or(visit.as_json, nothing, &json!({ "dry_run": true, "messages": listed }), || {
        delivery::table(found, SystemClock.now(), &Screen::of_stdout())
    });
    if !visit.as_json && !found.is_empty() {
        output::note(&format!("{} would be {done_word}.", found.len()));
    }
    code
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        filing: Filing,
    }

    fn read(words: &[&str]) -> Result<Filing, clap::Error> {
        Line::try_parse_from([&["archive"], words].concat()).map(|line| line.filing)
    }

    fn delivery(from: &str, subject: &str, body: &str) -> ProviderDelivery {
        let [from, subject, body] = [from, subject, body].map(str::to_owned);
        ProviderDelivery { from, subject, body, ..ProviderDelivery::default() }
    }

    #[test]
    fn messages_are_named_or_described_and_never_both() {
        for right in
            [&["17", "18"][..], &["--from", "a"], &["--empty-body", "--limit", "3"], &["--to", "a", "--dry-run"]]
        {
            read(right).unwrap();
        }
        for wrong in [
            &[][..],
            &["--include-read"],
            &["--limit", "3"],
            &["--dry-run"],
            &["17", "--from", "a"],
            &["17", "--dry-run"],
            &["--to", "a", "--all-recipients"],
        ] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn all_of_a_description_has_to_fit() {
        let fits = |words: &[&str], one: &ProviderDelivery| read(words).unwrap().wanted.fits(one);
        let alert = delivery("deacon", "ALERT: disk", " \n");
        for words in [&["--from", "deacon"][..], &["--subject-prefix", "ALERT"], &["--subject-contains", ": d"]] {
            assert!(fits(&[words, &["--empty-body"]].concat(), &alert), "{words:?}");
        }
        for words in [&["--from", "Deacon"][..], &["--subject-prefix", "disk"], &["--subject-contains", "DISK"]] {
            assert!(!fits(&[words, &["--empty-body"]].concat(), &alert), "{words:?}");
        }
        assert!(!fits(&["--empty-body"], &delivery("deacon", "", "text")));
    }
}
