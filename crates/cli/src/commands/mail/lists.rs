//! Lists and counts: what is in the mailbox, what a search found, and what became of what one sent: who read it, who
//! acknowledged it, and with which words. None of them changes anything.

use std::process::ExitCode;

use api::answers::{FollowedAnswer, FoundAnswer, RecipientAnswer, WakeReceiptAnswer};
use api::{ReadMessage, ReadOutbox, SearchMessages};
use clap::Args;
use jiff::Timestamp;
use mail::agents::signed;
use mail::channels::SIGN;
use mail::clock::{Clock, SystemClock};
use mail::mailboxes::DeliveryId;
use mail::messages::Vouched;
use mail::provider::{ProviderDelivery, ProviderError};
use mail::search::query::LANGUAGE;
use serde_json::{Value, json};

use super::super::in_name::InName;
use super::ago::ago;
use super::delivery::Seen;
use super::{Visit, delivery};
use crate::output::grid::{Cell, Layout};
use crate::output::{self, Screen};
use crate::post_office::{PostOffice, Refused};

const INBOX_EXAMPLES: &str = "\
A star marks what is unread.

Examples:
  postrider mail inbox
  postrider mail inbox --limit 10 --json";

const SEARCH_EXAMPLES: &str = "\
Examples:
  postrider mail search parser
  postrider mail search 'subject:release NOT from:GreenDog' --limit 5
  postrider mail search 'body:NEAR(lexer \"off by one\", 5)'";

const FOUND: Layout<5> = Layout {
    columns: [("ID", 24), ("FROM", 24), ("SUBJECT", 60), ("WHEN", 12), ("TEXT", 400)],
    // Who gives way where there is no room, and how far: the text, the subject, the sender, and the text once more.
    giving: &[(4, 16), (2, 12), (1, 6), (4, 8)],
};

/// List unread mail, the newest last.
#[derive(Args, Debug)]
#[command(after_help = INBOX_EXAMPLES)]
pub struct Inbox {
    /// Whose mail [default: yours]
    #[arg(id = "mailbox", value_name = "NAME")]
    pub name: Option<String>,
    /// Also what was read, as 'postrider mail all' shows it
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    limit: Limit,
}

/// Count open mail.
#[derive(Args, Debug)]
pub struct Count {
    /// Whose mail [default: yours]
    #[arg(id = "mailbox", value_name = "NAME")]
    pub name: Option<String>,
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
#[command(after_help = format!("{LANGUAGE}\n\n{SEARCH_EXAMPLES}"))]
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
        if self.all && !self.is_enveloped(visit) {
            return all(visit, &self.limit).await;
        }
        let provider = visit.provider();
        let found = if self.all { provider.all(&visit.who.name).await } else { provider.inbox(&visit.who.name).await }?;
        let found = self.limit.of(&found);
        if self.is_enveloped(visit) {
            let messages: Value = found.iter().map(delivery::to_value).collect();
            return Ok(output::answer(true, &envelope(json!({ "messages": messages })), String::new));
        }
        Ok(deliveries(visit, found, "No unread mail."))
    }

    fn is_enveloped(&self, visit: &Visit<'_>) -> bool {
        self.name.is_some() && visit.as_json
    }
}

/// Prints all that is open.
pub async fn all(visit: &Visit<'_>, limit: &Limit) -> anyhow::Result<ExitCode> {
    Ok(deliveries(visit, limit.of(&visit.provider().all(&visit.who.name).await?), "No mail."))
}

fn deliveries(visit: &Visit<'_>, newest: &[ProviderDelivery], nothing: &str) -> ExitCode {
    list(visit, newest, nothing, delivery::to_value, |now, screen| delivery::table(newest, now, screen))
}

/// Prints a list: each item for programs, a table for people, who are told where there is `nothing`.
fn list<T>(
    visit: &Visit<'_>,
    items: &[T],
    nothing: &str,
    to_value: fn(&T) -> Value,
    table: impl FnOnce(Timestamp, &Screen) -> String,
) -> ExitCode {
    let json: Value = items.iter().map(to_value).collect();
    output::answer_or(visit.as_json, items.is_empty().then_some(nothing), &json, || {
        table(SystemClock.now(), &Screen::of_stdout())
    })
}

impl Limit {
    /// The newest of a list that has them last.
    fn of<'a, T>(&self, list: &'a [T]) -> &'a [T] {
        let most = self.limit.map_or(usize::MAX, |limit| limit as usize);
        &list[list.len().saturating_sub(most)..]
    }
}

impl Count {
    /// Prints how much is open, and how much of it unread.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let count = visit.provider().count(&visit.who.name).await?;
        let json = json!({ "total": count.total, "unread": count.unread });
        let json = if self.name.is_some() { envelope(json) } else { json };
        Ok(output::answer(visit.as_json, &json, || format!("{} unread, {} in all", count.unread, count.total)))
    }
}

/// What programs of Gas City read, who name whose mail they mean.
pub fn envelope(mut answer: Value) -> Value {
    answer["schema_version"] = json!(1);
    answer["ok"] = json!(true);
    answer
}

/// How much is unread.
pub async fn unread(visit: &Visit<'_>) -> Result<usize, ProviderError> {
    // Our own office counts without loading the mail; others may not be able to count.
    match visit.mailbox.post_office() {
        Some(_) => Ok(visit.provider().count(&visit.who.name).await?.unread),
        None => Ok(visit.provider().check(&visit.who.name).await?.len()),
    }
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
        Ok(list(visit, &found, "Nothing was found.", to_value, |now, screen| {
            FOUND.text(found.iter().map(|found| row(found, now)), screen)
        }))
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

const SENT_EXAMPLES: &str = "\
Examples:
  postrider mail sent
  postrider mail sent --limit 1 --json";

const SENT: Layout<5> = Layout {
    columns: [("ID", 24), ("TO", 24), ("STATE", 400), ("SUBJECT", 400), ("WHEN", 12)],
    // Who gives way where there is no room, and how far: the subject, the state, the recipient, and the subject once more.
    giving: &[(3, 16), (2, 14), (1, 6), (3, 8)],
};

/// List what you sent, the newest last, and who read and acknowledged it.
#[derive(Args, Debug)]
#[command(after_help = SENT_EXAMPLES)]
pub struct Outbox {
    /// Only the newest N
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl Outbox {
    /// Prints the list.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let office = visit.mailbox.office("sent")?;
        let request = ReadOutbox { limit: Some(self.limit), include_bodies: Some(false), ..ReadOutbox::default() };
        let mut sent = office.ask(request.by(visit.actor())).await?.messages;
        sent.reverse();
        Ok(list(visit, &sent, "Nothing was sent.", followed_to_value, |now, screen| {
            SENT.text(sent.iter().flat_map(|sent| rows(sent, now)), screen)
        }))
    }
}

/// A delivery as whoever asks sees it.
pub async fn seen(visit: &Visit<'_>, delivery: ProviderDelivery) -> anyhow::Result<Seen> {
    let sent = match (visit.mailbox.post_office(), DeliveryId::parse(&delivery.id)) {
        (Some(office), Some(id)) if delivery.from == visit.who.name => Some(sent(visit, office, id.message.0).await?),
        _ => None,
    };
    Ok(Seen { is_own: delivery.to == visit.who.name, delivery, sent })
}

/// A message, and what its recipients did with it. Blind copies are not among them.
pub async fn sent(visit: &Visit<'_>, office: &PostOffice, message_id: i64) -> Result<FollowedAnswer, Refused> {
    office.ask(ReadMessage { project_key: visit.project.to_owned(), message_id }).await
}

fn followed_to_value(FollowedAnswer { message, recipients }: &FollowedAnswer) -> Value {
    let recipients: Vec<Value> = recipients.iter().map(recipient_to_value).collect();
    let mut value = json!({
        "id": message.id.to_string(), "subject": message.subject, "created_at": message.created_ts.0.to_string(),
        "thread_id": message.thread_id, "ack_required": message.ack_required, "recipients": recipients,
    });
    if let Some(channel) = message.to.first().filter(|name| name.starts_with(SIGN)) {
        value["channel"] = json!(channel);
    }
    value
}

/// A line for the channel, if there is one, and for each recipient; the first has what is the same for all.
fn rows(FollowedAnswer { message, recipients }: &FollowedAnswer, now: Timestamp) -> Vec<[Cell; 5]> {
    let blank = Cell::default;
    let channels = message.to.iter().filter(|name| name.starts_with(SIGN)).map(|channel| (channel, String::new()));
    let agents = recipients.iter().map(|recipient| (&recipient.name, state(recipient, message.ack_required)));
    let row = |(name, state): (&String, String)| [blank(), name.clone().into(), state.into(), blank(), blank()];
    let mut rows: Vec<[Cell; 5]> = channels.chain(agents).map(row).collect();
    if let Some([id, _, _, subject, when]) = rows.first_mut() {
        *id = message.id.to_string().into();
        *subject = message.subject.clone().into();
        *when = ago(message.created_ts.0, now).into();
    }
    rows
}

/// What one recipient did with a message, as programs read it.
pub fn recipient_to_value(recipient: &RecipientAnswer) -> Value {
    let mut value = json!({ "name": recipient.name, "role": recipient.role, "read": recipient.read_ts.is_some() });
    if let Some(at) = recipient.ack_ts {
        value["acknowledged_at"] = json!(at.0.to_string());
    }
    if !recipient.ack_body.is_empty() {
        value["note"] = json!(recipient.ack_body);
    }
    if !recipient.wake_ups.is_empty() {
        let told = |one: &WakeReceiptAnswer| json!({ "outcome": one.outcome, "at": one.ts.0.to_string(), "session": one.session });
        value["wake_ups"] = recipient.wake_ups.iter().map(told).collect();
    }
    value
}

/// What one recipient did with a message, as people are told. `wants_ack` says whether the sender waits for an
/// acknowledgement.
pub fn state(recipient: &RecipientAnswer, wants_ack: bool) -> String {
    match (recipient.ack_ts, recipient.read_ts) {
        (Some(_), _) if recipient.ack_body.is_empty() => "acknowledged".to_owned(),
        (Some(_), _) => format!("acknowledged: {}", recipient.ack_body),
        (None, Some(_)) if wants_ack => "read, not acknowledged".to_owned(),
        (None, Some(_)) => "read".to_owned(),
        (None, None) => match recipient.wake_ups.last() {
            Some(last) => format!("unread, wake-up {}", last.outcome),
            None => "unread".to_owned(),
        },
    }
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
