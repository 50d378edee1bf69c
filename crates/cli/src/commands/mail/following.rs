//! What became of what one sent: who read it, who acknowledged it, and with which words.
//!
//! Only our own office knows. Nothing changes by looking.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use jiff::Timestamp;
use mail::channels::SIGN;
use mail::clock::{Clock, SystemClock};
use mail::mailboxes::CopyId;
use mail::provider::Letter;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Visit;
use super::ago::ago;
use super::letter::Seen;
use crate::output::grid::{self, Cell, Column};
use crate::output::{self, Screen};
use crate::post_office::{PostOffice, resource};

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

/// What one recipient did with a message.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Copy {
    /// The recipient.
    pub name: String,
    /// `to`, `cc` or `bcc`.
    pub role: String,
    read_ts: Option<Timestamp>,
    /// When it was acknowledged.
    pub ack_ts: Option<Timestamp>,
    #[serde(default)]
    ack_body: String,
    /// Whether the sender waits for an acknowledgement.
    #[serde(skip)]
    wants_ack: bool,
}

/// A message that was sent.
#[derive(Deserialize)]
struct Followed {
    id: i64,
    subject: String,
    created_ts: Timestamp,
    thread_id: String,
    ack_required: bool,
    recipients: Vec<Copy>,
    to: Vec<String>,
}

impl Outbox {
    /// Prints the list.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let office = visit.mailbox.office("sent")?;
        let limit = self.limit.to_string();
        let keys = [
            ("project", Some(visit.project)),
            ("limit", Some(limit.as_str())),
            ("include_bodies", Some("false")),
            ("registration_token", visit.who.token.as_deref()),
        ];
        let answer = office.read(&resource("outbox", &visit.who.name, &keys)).await?;
        let sent = Vec::<Followed>::deserialize(&answer["messages"]).context("what was sent cannot be read")?;
        let sent: Vec<Followed> = sent.into_iter().rev().map(Followed::noted).collect();
        if sent.is_empty() && !visit.as_json {
            output::note("Nothing was sent.");
            return Ok(ExitCode::SUCCESS);
        }
        let json: Vec<Value> = sent.iter().map(Followed::to_value).collect();
        output::answer(visit.as_json, &json.into(), || {
            let now = SystemClock.now();
            let rows: Vec<_> = sent.iter().flat_map(|sent| sent.rows(now)).collect();
            grid::lines(&COLUMNS, &GIVING, &rows, &Screen::of_stdout()).join("\n")
        });
        Ok(ExitCode::SUCCESS)
    }
}

/// A letter as whoever asks sees it.
pub async fn seen(visit: &Visit<'_>, letter: Letter) -> anyhow::Result<Seen> {
    let copies = match (visit.mailbox.post_office(), CopyId::parse(&letter.id)) {
        (Some(office), Some(id)) if letter.from == visit.who.name => {
            copies(visit, office, &id.message.to_string()).await?
        }
        _ => Vec::new(),
    };
    Ok(Seen { is_own: letter.to == visit.who.name, letter, copies })
}

/// What the recipients of a message did with it. Blind copies are not among them.
pub async fn copies(visit: &Visit<'_>, office: &PostOffice, message: &str) -> anyhow::Result<Vec<Copy>> {
    let answer = office.read(&resource("message", message, &[("project", Some(visit.project))])).await?;
    let followed: Followed = serde_json::from_value(answer).context("what became of a message cannot be read")?;
    Ok(followed.noted().recipients)
}

impl Followed {
    fn noted(mut self) -> Self {
        for copy in &mut self.recipients {
            copy.wants_ack = self.ack_required;
        }
        self
    }

    fn to_value(&self) -> Value {
        let recipients: Vec<Value> = self.recipients.iter().map(Copy::to_value).collect();
        let channel = self.to.first().filter(|name| name.starts_with(SIGN));
        let mut value = json!({
            "id": self.id.to_string(), "subject": self.subject, "created_at": self.created_ts.to_string(),
            "thread_id": self.thread_id, "ack_required": self.ack_required, "recipients": recipients,
        });
        if let Some(channel) = channel {
            value["channel"] = json!(channel);
        }
        value
    }

    /// A line for the channel, if there is one, and for each recipient; the first has what is the same for all.
    fn rows(&self, now: Timestamp) -> Vec<[Cell; 5]> {
        let blank = Cell::default;
        let mut rows: Vec<[Cell; 5]> = Vec::with_capacity(self.recipients.len());
        for channel in self.to.iter().filter(|name| name.starts_with(SIGN)) {
            rows.push([blank(), channel.clone().into(), blank(), blank(), blank()]);
        }
        for copy in &self.recipients {
            rows.push([blank(), copy.name.clone().into(), copy.state().into(), blank(), blank()]);
        }
        if let Some([id, _, _, subject, when]) = rows.first_mut() {
            *id = self.id.to_string().into();
            *subject = self.subject.clone().into();
            *when = ago(self.created_ts, now).into();
        }
        rows
    }
}

impl Copy {
    /// As programs read it.
    pub fn to_value(&self) -> Value {
        let mut value = json!({ "name": self.name, "role": self.role, "read": self.read_ts.is_some() });
        if let Some(at) = self.ack_ts {
            value["acknowledged_at"] = json!(at.to_string());
        }
        if !self.ack_body.is_empty() {
            value["note"] = json!(self.ack_body);
        }
        value
    }

    /// As people are told.
    pub fn state(&self) -> String {
        match (self.ack_ts, self.read_ts) {
            (Some(_), _) if self.ack_body.is_empty() => "acknowledged".to_owned(),
            (Some(_), _) => format!("acknowledged: {}", self.ack_body),
            (None, Some(_)) if self.wants_ack => "read, not acknowledged".to_owned(),
            (None, Some(_)) => "read".to_owned(),
            (None, None) => "unread".to_owned(),
        }
    }
}
