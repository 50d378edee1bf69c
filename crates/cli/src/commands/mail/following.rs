//! What became of what one sent: who read it, who acknowledged it, and with which words.
//!
//! Only our own office knows. Nothing changes by looking.

use std::process::ExitCode;

use api::answers::{CopyAnswer, FollowedAnswer};
use api::{ReadMessage, ReadOutbox};
use clap::Args;
use jiff::Timestamp;
use mail::channels::SIGN;
use mail::clock::{Clock, SystemClock};
use mail::mailboxes::CopyId;
use mail::provider::Letter;
use serde_json::{Value, json};

use super::Visit;
use super::ago::ago;
use super::letter::Seen;
use crate::output::grid::{self, Cell, Column};
use crate::output::{self, Screen};
use crate::post_office::{PostOffice, Refused};

const EXAMPLES: &str = "\
Examples:
  postrider mail sent
  postrider mail sent --limit 1 --json";

const COLUMNS: [Column; 5] = [
    Column { head: "ID", most: 24 },
    Column { head: "TO", most: 24 },
    Column { head: "STATE", most: 400 },
    Column { head: "SUBJECT", most: 400 },
    Column { head: "WHEN", most: 12 },
];
/// Who gives way where there is no room, and how far: the subject, the state, the recipient, and the subject once more.
const GIVING: [(usize, usize); 4] = [(3, 16), (2, 14), (1, 6), (3, 8)];

/// List what you sent, the newest last, and who read and acknowledged it.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Outbox {
    /// Only the newest N
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
}

impl Outbox {
    /// Prints the list.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let office = visit.mailbox.office("sent")?;
        let request = ReadOutbox {
            project_key: visit.project.to_owned(),
            agent_name: visit.who.name.clone(),
            limit: Some(self.limit),
            before_id: None,
            include_bodies: Some(false),
            registration_token: visit.who.token.clone(),
        };
        let mut sent = office.ask(request).await?.messages;
        sent.reverse();
        if sent.is_empty() && !visit.as_json {
            output::note("Nothing was sent.");
            return Ok(ExitCode::SUCCESS);
        }
        let json: Vec<Value> = sent.iter().map(to_value).collect();
        output::answer(visit.as_json, &json.into(), || {
            let now = SystemClock.now();
            let rows: Vec<_> = sent.iter().flat_map(|sent| rows(sent, now)).collect();
            grid::lines(&COLUMNS, &GIVING, &rows, &Screen::of_stdout()).join("\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// A letter as whoever asks sees it.
pub async fn seen(visit: &Visit<'_>, letter: Letter) -> anyhow::Result<Seen> {
    let sent = match (visit.mailbox.post_office(), CopyId::parse(&letter.id)) {
        (Some(office), Some(id)) if letter.from == visit.who.name => Some(sent(visit, office, id.message.0).await?),
        _ => None,
    };
    Ok(Seen { is_own: letter.to == visit.who.name, letter, sent })
}

/// A message, and what its recipients did with it. Blind copies are not among them.
pub async fn sent(visit: &Visit<'_>, office: &PostOffice, message_id: i64) -> Result<FollowedAnswer, Refused> {
    office.ask(ReadMessage { project_key: visit.project.to_owned(), message_id }).await
}

fn to_value(FollowedAnswer { message, recipients }: &FollowedAnswer) -> Value {
    let recipients: Vec<Value> = recipients.iter().map(copy_to_value).collect();
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
    let mut rows: Vec<[Cell; 5]> = Vec::with_capacity(recipients.len());
    for channel in message.to.iter().filter(|name| name.starts_with(SIGN)) {
        rows.push([blank(), channel.clone().into(), blank(), blank(), blank()]);
    }
    for copy in recipients {
        rows.push([blank(), copy.name.clone().into(), state(copy, message.ack_required).into(), blank(), blank()]);
    }
    if let Some([id, _, _, subject, when]) = rows.first_mut() {
        *id = message.id.to_string().into();
        *subject = message.subject.clone().into();
        *when = ago(message.created_ts.0, now).into();
    }
    rows
}

/// What one recipient did with a message, as programs read it.
pub fn copy_to_value(copy: &CopyAnswer) -> Value {
    let mut value = json!({ "name": copy.name, "role": copy.role, "read": copy.read_ts.is_some() });
    if let Some(at) = copy.ack_ts {
        value["acknowledged_at"] = json!(at.0.to_string());
    }
    if !copy.ack_body.is_empty() {
        value["note"] = json!(copy.ack_body);
    }
    value
}

/// What one recipient did with a message, as people are told. `wants_ack` says whether the sender waits for an
/// acknowledgement.
pub fn state(copy: &CopyAnswer, wants_ack: bool) -> String {
    match (copy.ack_ts, copy.read_ts) {
        (Some(_), _) if copy.ack_body.is_empty() => "acknowledged".to_owned(),
        (Some(_), _) => format!("acknowledged: {}", copy.ack_body),
        (None, Some(_)) if wants_ack => "read, not acknowledged".to_owned(),
        (None, Some(_)) => "read".to_owned(),
        (None, None) => "unread".to_owned(),
    }
}
