//! What is done with messages that are named by their ids: shown in full, as a whole conversation, marked,
//! archived, acknowledged.
//!
//! Each id is told of. One that was dealt with before is no failure, and one that is refused keeps no other from its turn.

use std::process::ExitCode;

use api::{AcknowledgeMessage, Actor, DeliveryReader, UnarchiveDelivery};
use clap::Args;
use mail::clock::{Clock, SystemClock};
use mail::mailboxes::DeliveryId;
use mail::provider::{ProviderDelivery, ProviderError};
use serde_json::{Value, json};

use super::super::in_name::InName;
use super::delivery::Seen;
use super::lists::seen;
use super::{ALL, Ids, Visit, advised};
use crate::outbox::Operation;
use crate::output::{self, text};
use crate::post_office::Refused;

/// What stands between two deliveries.
const BETWEEN: &str = "\n\n----------------------------------------\n\n";

/// What stands below the help of `read`.
pub const READ_EXAMPLES: &str = "\
Examples:
  postrider mail read 17
  postrider mail read 17 18.2 --json

For programs one id is one message, and several are a list in which an id that was refused stands with its error.";

const THREAD_EXAMPLES: &str = "\
Behind the name of whoever got a message stands whether that copy was read; of what you sent, of every copy, and what was
said with an acknowledgement.

Examples:
  postrider mail thread 17
  postrider mail thread bd-42 --limit 10";

/// Show a whole conversation, the oldest message first.
#[derive(Args, Debug)]
#[command(after_help = THREAD_EXAMPLES)]
pub struct Thread {
    /// The thread, or any message in it
    id: String,
    /// Only the newest N messages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

/// Prints the messages, which are read from now on; exit code 1 if there is one that cannot be read.
pub async fn read(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    let (mut asked, mut unread) = (Vec::with_capacity(ids.len()), Vec::new());
    for id in ids {
        let got = visit.own(id).await;
        unread.extend(got.iter().filter(|delivery| !delivery.read).map(|_| id));
        asked.push((id.as_str(), got.map(|delivery| ProviderDelivery { read: true, ..delivery })));
    }
    let (code, is_shown) = show(visit, asked).await?;
    // What nobody could see stays unread.
    for id in unread.into_iter().filter(|_| is_shown) {
        visit.provider().read(id).await?;
    }
    Ok(code)
}

/// Prints the messages; exit code 1 if there is one that cannot be shown.
pub async fn peek(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    let mut asked = Vec::with_capacity(ids.len());
    for id in ids {
        asked.push((id.as_str(), visit.provider().get(id).await.map_err(Refused::from)));
    }
    Ok(show(visit, asked).await?.0)
}

impl Thread {
    /// Prints the conversation; exit code 1 if there is none.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let mut deliveries = Vec::new();
        let mut thread = visit.provider().thread(&self.id).await?;
        let left_out = thread.len().saturating_sub(self.limit.map_or(usize::MAX, |limit| limit as usize));
        for delivery in thread.split_off(left_out) {
            deliveries.push(seen(visit, delivery).await?);
        }
        if deliveries.is_empty() {
            let id = mail::error::shown(&self.id);
            let message = format!("There is no thread '{id}', and no message '{id}' in one");
            return Err(Refused::new("THREAD_NOT_FOUND", &message, ALL).into());
        }
        let json: Vec<Value> = deliveries.iter().map(Seen::to_value).collect();
        if left_out > 0 && !visit.as_json {
            let plural = if left_out == 1 { "" } else { "s" };
            output::note(&format!("{left_out} earlier message{plural} left out; without --limit all are shown."));
        }
        Ok(output::answer(visit.as_json, &json.into(), || {
            let now = SystemClock.now();
            deliveries.iter().map(|delivery| delivery.in_thread(now)).collect::<Vec<_>>().join("\n\n")
        }))
    }
}

/// Prints the deliveries. Returns the exit code, and whether all that could be got was shown.
async fn show(
    visit: &Visit<'_>,
    asked: Vec<(&str, Result<ProviderDelivery, Refused>)>,
) -> anyhow::Result<(ExitCode, bool)> {
    let is_list = asked.len() > 1;
    let (mut json, mut texts, mut refusals) = (Vec::new(), Vec::new(), Vec::new());
    for (id, got) in asked {
        match got {
            Ok(delivery) => {
                let seen = seen(visit, delivery).await?;
                json.push(seen.to_value());
                texts.push(seen.whole(SystemClock.now()));
            }
            Err(refused) if is_list => {
                let refused = advised(refused, visit.who, visit.acting);
                json.push(json!({ "id": id, "error": refused.to_json()["error"] }));
                refusals.push(refused);
            }
            Err(refused) => return Err(refused.into()),
        }
    }
    let json = if is_list { json.into() } else { json.remove(0) };
    let mut is_shown = true;
    if visit.as_json || !texts.is_empty() {
        is_shown = output::answered(visit.as_json, &json, || texts.join(BETWEEN));
    }
    for refused in refusals.iter().filter(|_| !visit.as_json) {
        output::note(&text::lines(&format!("postrider: {refused}")));
    }
    Ok((if refusals.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }, is_shown))
}

/// What stands below the help of `archive`.
pub const ARCHIVE_EXAMPLES: &str = "\
Archived messages are hidden from the lists and the counts, and still shown by 'peek' and 'thread'. Archiving one again is
no failure.

Examples:
  postrider mail archive 17 18.2 21
  postrider mail archive --from GreenDog --subject-prefix 'CI: ' --dry-run";

/// What stands below the help of `unarchive`.
pub const UNARCHIVE_EXAMPLE: &str = "\
A message that is brought back is in the lists as it was, read or unread. 'peek' and 'thread' show it meanwhile.

Example:
  postrider mail unarchive 17 18.2";

const ACK_EXAMPLES: &str = "\
The sender sees who acknowledged what, and the note.

Example:
  postrider mail ack 17 -m 'Understood, I stop.'";

/// Acknowledge messages, which also marks them read.
#[derive(Args, Debug)]
#[command(after_help = ACK_EXAMPLES)]
pub struct Ack {
    #[command(flatten)]
    messages: Ids,
    /// A word to the sender
    #[arg(short = 'm', long, value_name = "NOTE", allow_hyphen_values = true)]
    message: Option<String>,
}

impl Ack {
    /// Acknowledges the messages; exit code 1 if one was refused.
    pub async fn run(&self, visit: &Visit<'_>) -> anyhow::Result<ExitCode> {
        let mut tally = Tally::new(visit, "acknowledged");
        for id in &self.messages.ids {
            tally.add(id, self.acknowledge(visit, id).await.map(|()| false))?;
        }
        Ok(tally.told())
    }

    /// What can wait in an outbox.
    pub fn operations(&self, actor: &Actor) -> Option<Vec<anyhow::Result<Operation>>> {
        let ids = self.messages.ids.iter().map(|id| DeliveryId::parse(id));
        let acknowledge = |id: DeliveryId| {
            let (message_id, ack_body) = (id.message.0, self.message.clone());
            let request = AcknowledgeMessage { message_id, ack_body, ..AcknowledgeMessage::default() };
            Operation::acknowledge(&request.by(actor.clone()))
        };
        ids.map(|id| id.map(acknowledge)).collect()
    }

    async fn acknowledge(&self, visit: &Visit<'_>, id: &str) -> Result<(), Refused> {
        let office = visit.mailbox.office("ack")?;
        let named = DeliveryId::parse(id).ok_or_else(|| ProviderError::NotFound { id: id.to_owned() })?;
        // The office acknowledges messages: that a delivery of somebody else was named, it cannot know.
        visit.own(id).await?;
        let (message_id, ack_body) = (named.message.0, self.message.clone());
        let request = AcknowledgeMessage { message_id, ack_body, ..AcknowledgeMessage::default() };
        office.ask(request.by(visit.actor())).await.map(drop)
    }
}

/// Brings messages back; exit code 1 if one was refused.
pub async fn unarchive(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    let office = visit.mailbox.office("unarchive")?;
    let Actor { project_key, agent_name, registration_token } = visit.actor();
    let reader = DeliveryReader { project_key, agent_name: Some(agent_name), any_name: false, registration_token };
    let mut tally = Tally::new(visit, "in the mailbox");
    for id in ids {
        let request = UnarchiveDelivery { reader: reader.clone(), id: id.clone() };
        tally.add(id, office.ask(request).await.map(|_| false))?;
    }
    Ok(tally.told())
}

/// Does something with each of the messages, of which `done_word` tells a person; exit code 1 if one was refused.
pub async fn each(
    visit: &Visit<'_>,
    ids: &[String],
    done_word: &'static str,
    act: impl AsyncFn(&str) -> Result<(), ProviderError>,
) -> anyhow::Result<ExitCode> {
    let mut tally = Tally::new(visit, done_word);
    for id in ids {
        let became = match visit.own(id).await {
            Ok(delivery) => act(id).await.map(|()| delivery.archived).map_err(Refused::from),
            // Some programs hide what is archived from whoever asks for it, and know when it is to be archived again.
            Err(refused) if refused.code == "MESSAGE_NOT_FOUND" && visit.mailbox.post_office().is_none() => {
                act(id).await.map(|()| false).map_err(Refused::from)
            }
            Err(refused) => Err(refused),
        };
        tally.add(id, became)?;
    }
    Ok(tally.told())
}

/// What became of each id.
pub struct Tally<'a> {
    visit: &'a Visit<'a>,
    /// What was done, as a person is told.
    done_word: &'static str,
    done: Vec<String>,
    already: Vec<String>,
    /// What is archived and stays so, though somebody may expect it in the inbox.
    archived: Vec<String>,
    failed: Vec<Value>,
}

impl<'a> Tally<'a> {
    pub fn new(visit: &'a Visit<'a>, done_word: &'static str) -> Self {
        Self { visit, done_word, done: Vec::new(), already: Vec::new(), archived: Vec::new(), failed: Vec::new() }
    }

    /// Notes what became of an id, and whether it stays archived, and tells a person. A first failure that is not about the id ends it all.
    pub fn add(&mut self, id: &str, became: Result<bool, Refused>) -> Result<(), Refused> {
        let refused = match became {
            Ok(stays_archived) => {
                let stays = if stays_archived { ", and stays archived" } else { "" };
                let done = format!("Message {id} is {}{stays}.", self.done_word);
                if !self.visit.as_json {
                    output::answer(false, &Value::Null, || text::unbroken(&done));
                }
                self.archived.extend(stays_archived.then(|| id.to_owned()));
                self.done.push(id.to_owned());
                return Ok(());
            }
            Err(refused) => advised(refused, self.visit.who, self.visit.acting),
        };
        match refused.code.as_str() {
            "ALREADY_ARCHIVED" => {
                self.note(&format!("Message {id} was archived before."));
                self.already.push(id.to_owned());
            }
            code if self.is_untouched() && !is_about_the_id(code) => return Err(refused),
            _ => {
                self.note(&format!("postrider: {refused}"));
                self.failed.push(json!({ "id": id, "error": refused.to_json()["error"] }));
            }
        }
        Ok(())
    }

    fn is_untouched(&self) -> bool {
        self.done.is_empty() && self.already.is_empty() && self.failed.is_empty()
    }

    fn note(&self, what: &str) {
        if !self.visit.as_json {
            output::note(&text::lines(what));
        }
    }

    /// Tells a program all of it, and everybody how it ended.
    pub fn told(self) -> ExitCode {
        let Self { visit, done, already, archived, failed, .. } = self;
        if visit.as_json {
            let mut tally = json!({ "done": done, "already": already, "failed": failed });
            if !archived.is_empty() {
                tally["archived"] = json!(archived);
            }
            output::answer(true, &tally, String::new);
        }
        if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn is_about_the_id(code: &str) -> bool {
    matches!(code, "MESSAGE_NOT_FOUND" | "NOT_A_RECIPIENT")
}
