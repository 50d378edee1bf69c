//! What is done with messages, one after the other: putting away, marking, acknowledging.
//!
//! Each id is told of. One that was dealt with before is no failure, and one that is refused keeps no other from its turn.

use std::process::ExitCode;

use api::AcknowledgeMessage;
use clap::Args;
use mail::mailboxes::CopyId;
use mail::provider::ProviderError;
use serde_json::{Value, json};

use super::{Ids, Visit};
use crate::output::{self, text};
use crate::post_office::Refused;

/// What stands below the help of `archive`.
pub const ARCHIVE_EXAMPLES: &str = "\
What was put away is hidden from the lists and the counts, and still shown by 'peek' and 'thread'. To put it away again is
no failure.

Example:
  postrider mail archive 17 18.2 21";

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
            tally.add(id, self.acknowledge(visit, id).await)?;
        }
        Ok(tally.told())
    }

    async fn acknowledge(&self, visit: &Visit<'_>, id: &str) -> anyhow::Result<()> {
        let office = visit.mailbox.office("ack")?;
        let copy = CopyId::parse(id).ok_or_else(|| ProviderError::NotFound { id: id.to_owned() })?;
        // The office acknowledges messages: that a copy of somebody else was named, it cannot know.
        visit.own(id).await?;
        let request = AcknowledgeMessage {
            project_key: visit.project.to_owned(),
            agent_name: visit.who.name.clone(),
            message_id: copy.message.0,
            ack_body: self.message.clone(),
            registration_token: visit.who.token.clone(),
        };
        office.ask(request).await?;
        Ok(())
    }
}

/// Puts the messages away; exit code 1 if one was refused.
pub async fn archive(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    each(visit, ids, "archived", async |id| visit.provider().archive(id).await).await
}

/// Puts the messages away; exit code 1 if one was refused.
pub async fn delete(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    each(visit, ids, "deleted", async |id| visit.provider().delete(id).await).await
}

/// Marks the messages read; exit code 1 if one was refused.
pub async fn mark_read(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    each(visit, ids, "marked read", async |id| visit.provider().mark_read(id).await).await
}

/// Marks the messages unread; exit code 1 if one was refused.
pub async fn mark_unread(visit: &Visit<'_>, ids: &[String]) -> anyhow::Result<ExitCode> {
    each(visit, ids, "marked unread", async |id| visit.provider().mark_unread(id).await).await
}

async fn each(
    visit: &Visit<'_>,
    ids: &[String],
    done_word: &'static str,
    act: impl AsyncFn(&str) -> Result<(), ProviderError>,
) -> anyhow::Result<ExitCode> {
    let mut tally = Tally::new(visit, done_word);
    for id in ids {
        let (became, is_archived) = match visit.own(id).await {
            Ok(letter) => (act(id).await, letter.archived),
            Err(refused) => (Err(refused), false),
        };
        if is_archived && became.is_ok() {
            tally.archived.push(id.clone());
        }
        tally.add(id, became)?;
    }
    Ok(tally.told())
}

/// What became of each id.
struct Tally<'a> {
    visit: &'a Visit<'a>,
    /// What was done, as a person is told.
    done_word: &'static str,
    done: Vec<String>,
    already: Vec<String>,
    /// What was put away and stays there, though somebody may expect it in the inbox.
    archived: Vec<String>,
    failed: Vec<Value>,
}

impl<'a> Tally<'a> {
    fn new(visit: &'a Visit<'a>, done_word: &'static str) -> Self {
        Self { visit, done_word, done: Vec::new(), already: Vec::new(), archived: Vec::new(), failed: Vec::new() }
    }

    /// Notes what became of an id, and tells a person. A first failure that is not about the id ends it all.
    fn add<E: Into<anyhow::Error>>(&mut self, id: &str, became: Result<(), E>) -> anyhow::Result<()> {
        let Err(error) = became else {
            let stays = if self.archived.last().is_some_and(|last| last == id) { ", and stays archived" } else { "" };
            let done = format!("Message {id} is {}{stays}.", self.done_word);
            if !self.visit.as_json {
                output::answer(false, &Value::Null, || text::unbroken(&done));
            }
            self.done.push(id.to_owned());
            return Ok(());
        };
        let refused = self.visit.advised(error.into()).downcast::<Refused>()?;
        match refused.code.as_str() {
            "ALREADY_ARCHIVED" => {
                self.note(&format!("Message {id} was put away before."));
                self.already.push(id.to_owned());
            }
            code if self.is_untouched() && !is_about_the_id(code) => return Err(refused.into()),
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
    fn told(self) -> ExitCode {
        let Self { visit, done, already, archived, failed, .. } = self;
        let code = if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        if visit.as_json {
            let mut tally = json!({ "done": done, "already": already, "failed": failed });
            if !archived.is_empty() {
                tally["archived"] = json!(archived);
            }
            output::answer(true, &tally, String::new);
        }
        code
    }
}

fn is_about_the_id(code: &str) -> bool {
    matches!(code, "MESSAGE_NOT_FOUND" | "NOT_A_RECIPIENT")
}
