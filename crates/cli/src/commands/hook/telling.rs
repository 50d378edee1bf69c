//! What counts as told because of an answer: it does so from when it is taken, so that nobody else tells it meanwhile, and not any more
//! if the answer could not be printed.

use super::checkpoint::CheckpointFile;
use super::inquiry::Inquiry;
use super::memory::{Matter, Memory, TakenIds};
use super::session::Session;
use crate::clients::HookReply;

/// An answer, and what it tells.
#[derive(Debug, Default)]
pub struct Saying {
    /// What is said to the client, if anything is.
    pub reply: Option<HookReply>,
    /// What of it counts as told.
    pub tells: Tells,
}

/// What an answer tells.
#[derive(Debug, Default)]
pub struct Tells {
    /// Mail that was taken from our own office.
    pub taken: Option<TakenIds>,
    /// What is noted on this machine.
    pub noted: Option<(Matter, Vec<String>)>,
    /// Whether the checkpoint of the session is told.
    pub has_checkpoint: bool,
    /// Whether the agent is told who it is, after a start at which it could not be.
    pub has_introduction: bool,
}

impl From<Option<HookReply>> for Saying {
    fn from(reply: Option<HookReply>) -> Self {
        Self { reply, tells: Tells::default() }
    }
}

impl Tells {
    /// Whether nothing is to be done if it is not printed.
    pub fn is_nothing(&self) -> bool {
        self.taken.is_none() && self.noted.as_ref().is_none_or(|(_, ids)| ids.is_empty())
    }

    /// Notes that it was printed.
    pub fn printed(self, session: &Session) -> anyhow::Result<()> {
        if self.has_introduction {
            session.change(|record| record.is_untold = false)?;
        }
        if self.has_checkpoint { CheckpointFile::of(session).note_told() } else { Ok(()) }
    }

    /// Takes back that it was told: the next hook tells it, and of our own mail whoever looks next.
    pub async fn not_printed(self, memory: &Memory<'_>, inquiry: Option<&Inquiry<'_>>) -> anyhow::Result<()> {
        if let Some((matter, ids)) = self.noted.filter(|(_, ids)| !ids.is_empty()) {
            memory.forget(matter, &ids)?;
        }
        let (Some(taken), Some(inquiry)) = (self.taken, inquiry) else { return Ok(()) };
        // Written down first: if the office cannot be asked in time, the next hook gives it back.
        memory.owe(&taken)?;
        inquiry.give_back(&taken).await?;
        memory.settle(&taken)
    }
}

/// Gives back what an earlier hook took and could neither tell nor give back.
pub async fn give_back_owed(memory: &Memory<'_>, inquiry: &Inquiry<'_>) -> anyhow::Result<()> {
    for taken in memory.owed() {
        match inquiry.give_back(&taken).await {
            Err(refused) if refused.is_passing() => return Err(refused.into()),
            // What the office never takes back must not stand in the way of what is new.
            _ => memory.settle(&taken)?,
        }
    }
    Ok(())
}
