//! Mail as scripts and people at a shell know it: one mailbox for each name, and thirteen verbs.
//!
//! A delivery here has one recipient, and what is done with it concerns no other. Which backend keeps it, our
//! own office or somebody else's program, is hidden behind [`Provider`]; every backend passes the suite in `suite`, behind
//! [`hiding`], if it does not hide archived mail by itself. Nothing here knows a wire, and nothing destroys: a delivery
//! that was deleted is hidden, and our own backends still get it by its id.

pub mod hiding;
pub mod native;
#[cfg(feature = "contract")]
pub mod suite;

use async_trait::async_trait;
use jiff::Timestamp;

pub use crate::mailboxes::Count;
use crate::mailboxes::DeliveryId;
use crate::messages::{Importance, OpenKey, WhenOpen};
use crate::{Error, StoreError};

/// One recipient's delivery of a message, as a provider shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderDelivery {
    /// Its id, without white space; acts on this delivery alone.
    pub id: String,
    /// Who wrote it.
    pub from: String,
    /// Whether that is a person, where the backend knows.
    pub is_human: bool,
    /// Its recipient.
    pub to: String,
    /// The subject; may be empty.
    pub subject: String,
    /// The body; may be empty.
    pub body: String,
    /// When it was sent. Of two deliveries the later one has the later time.
    pub created_at: Timestamp,
    /// Whether it was read.
    pub read: bool,
    /// The conversation it belongs to; empty if the backend knows none.
    pub thread: String,
    /// The delivery that it answers.
    pub reply_to: Option<String>,
    /// How urgent it is, where the backend counts that.
    pub priority: Option<i64>,
    /// Who else got a copy.
    pub cc: Vec<String>,
    /// Whom it is written to, where the backend knows more than the recipient of this delivery.
    pub addressed: Vec<String>,
    /// Whether it is archived, where the backend says so.
    pub archived: bool,
    /// Whether whoever wrote it waits for an acknowledgement that was not given yet.
    pub awaits_ack: bool,
    /// What is wrong with it as a message in JSON, where the backend knows.
    pub problems: Vec<String>,
}

/// What somebody wants sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'a> {
    /// Who writes.
    pub from: &'a str,
    /// The subject.
    pub subject: &'a str,
    /// The body.
    pub body: &'a str,
}

/// What became of a message that was sent under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedDelivery {
    /// The delivery; if it is not new, the one that the recipient has open.
    pub delivery: ProviderDelivery,
    /// Whether it was sent now.
    pub is_new: bool,
}

/// Why a backend did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The delivery is archived already. To archive it again does no harm.
    #[error("'{id}' is already archived")]
    AlreadyArchived {
        /// The delivery.
        id: String,
    },
    /// There is no such delivery.
    #[error("Message '{id}' not found")]
    NotFound {
        /// What was given.
        id: String,
    },
    /// The backend cannot do this at all.
    #[error("This mail provider does not support '{verb}'")]
    Unsupported {
        /// What it was asked for.
        verb: &'static str,
    },
    /// Our own office refused it.
    #[error(transparent)]
    Office(#[from] crate::Error),
    /// An office elsewhere refused it.
    #[error("{}", .0.message)]
    Refused(ProviderRefusal),
    /// It could not be done now.
    #[error("The mail provider failed: {cause}")]
    Failed {
        /// What went wrong.
        cause: String,
    },
}

/// Why an office elsewhere refused something, as it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderRefusal {
    /// A stable code, for programs.
    pub code: String,
    /// The fact.
    pub message: String,
    /// The next thing to try; empty if nobody knows.
    pub hint: String,
    /// Names that may have been meant.
    pub near: Vec<String>,
}

impl ProviderError {
    /// A code that programs may match on. Codes are added, never renamed.
    pub fn code(&self) -> &str {
        match self {
            Self::AlreadyArchived { .. } => "ALREADY_ARCHIVED",
            Self::NotFound { .. } => "MESSAGE_NOT_FOUND",
            Self::Unsupported { .. } => "NOT_SUPPORTED",
            Self::Office(error) => error.code(),
            Self::Refused(refusal) => &refusal.code,
            Self::Failed { .. } => "PROVIDER_FAILED",
        }
    }
}

impl From<ProviderError> for crate::Error {
    /// What our own office refused.
    fn from(error: ProviderError) -> Self {
        match error {
            ProviderError::Office(error) => error,
            ProviderError::AlreadyArchived { id } => Self::AlreadyArchived(id),
            ProviderError::NotFound { id } => Self::UnknownDelivery(id),
            // Only a backend elsewhere says these.
            other => StoreError::Failed { doing: "ask the mail provider", cause: other.into() }.into(),
        }
    }
}

/// A backend that keeps mail.
///
/// An empty recipient asks for everybody's mail. Lists are oldest first. What was archived or deleted is hidden from
/// `inbox`, `check`, `all` and `count`. By its id it is still there, and in its thread, for backends of ours
/// (`suite::kept`); others, as callers of the exec protocol, do not find it any more ([`hiding`]).
#[async_trait]
pub trait Provider: Send + Sync {
    /// Sends a message: unread, open, with a new id and a thread of its own.
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError>;

    /// The same under a key of which the recipient has one message of this sender open.
    async fn send_keyed(&self, _: &str, _: Words<'_>, key: &OpenKey) -> Result<KeyedDelivery, ProviderError> {
        let verb = match key.when_open() {
            WhenOpen::Skip => "send --dedup",
            WhenOpen::Replace => "send --supersede",
        };
        Err(ProviderError::Unsupported { verb })
    }

    /// Answers a message: to its sender, in its thread. The delivery that is answered does not change.
    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError>;

    /// What is open and unread. Changes nothing.
    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError>;

    /// The same, for whoever only wants to know whether there is mail.
    async fn check(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.inbox(recipient).await
    }

    /// What is open, read or not.
    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError>;

    /// Every delivery of a thread, by the thread's id or that of any delivery in it; nothing if there is none.
    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError>;

    /// One delivery. Changes nothing.
    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError>;

    /// One delivery, which is read from now on. Twice is fine.
    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError>;

    /// Notes that a delivery was read. Twice is fine; one that is archived stays so.
    async fn mark_read(&self, id: &str) -> Result<(), ProviderError>;

    /// Takes that back. Twice is fine; one that is archived stays so.
    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError>;

    /// Archives a delivery; a second time is [`ProviderError::AlreadyArchived`].
    async fn archive(&self, id: &str) -> Result<(), ProviderError>;

    /// The same: nothing is destroyed.
    async fn delete(&self, id: &str) -> Result<(), ProviderError> {
        self.archive(id).await
    }

    /// How much is open.
    async fn count(&self, recipient: &str) -> Result<Count, ProviderError> {
        let open = self.all(recipient).await?;
        Ok(Count { total: open.len(), unread: open.iter().filter(|delivery| !delivery.read).count() })
    }
}

/// One is the most urgent; what is as most mail has no number.
fn priority(importance: Importance) -> Option<i64> {
    match importance {
        Importance::Urgent => Some(1),
        Importance::High => Some(2),
        Importance::Normal => None,
        Importance::Low => Some(4),
    }
}

fn parsed(id: &str) -> Result<DeliveryId, ProviderError> {
    DeliveryId::parse(id).ok_or_else(|| ProviderError::NotFound { id: id.to_owned() })
}

/// Whether the error is that somebody, or the whole project, is not there yet.
fn is_nobody(error: &Error) -> bool {
    matches!(error, Error::UnknownAgent { .. } | Error::UnknownProject { .. })
}
