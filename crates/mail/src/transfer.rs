//! Mail that leaves one post office whole and enters another: export and import.
//!
//! A record is one message with everything that belongs to it, by names and not by the store's numbers of projects
//! and agents. How a record is written down is not decided here.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::channels::NewPost;
use crate::error::Stored;
use crate::ids::MessageId;
use crate::messages::{Delivery, Message};
use crate::projects::{slug_of, slug_with_hash};

/// One message with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The path of its project.
    pub human_key: String,
    /// The slug of its project.
    pub slug: String,
    /// The message, with its body.
    pub message: Message,
    /// Every recipient's delivery.
    pub deliveries: Vec<Delivery>,
    /// What makes it a post, if it is one, with its name, its time, and the keys that it would be taken in by: the mark
    /// of the office that said it, and its name if it stands outside under that.
    pub post: Option<NewPost>,
}

impl Record {
    /// How many bytes it holds: the body, and the document that a post came as.
    pub fn bytes(&self) -> usize {
        let document = self.post.as_ref().and_then(|post| post.document.as_ref());
        self.message.body.len() + document.map_or(0, String::len)
    }

    /// The slug under which its project is made, if it has to be: the one it had, if that was made of its path.
    pub fn wanted_slug(&self) -> String {
        let hashed = slug_with_hash(&self.human_key);
        if self.slug == hashed { hashed } else { slug_of(&self.human_key) }
    }
}

/// The largest number that every reader of JSON understands. A larger one in a damaged record would also leave no
/// number for the next message.
pub const LARGEST_ID: i64 = (1 << 53) - 1;

/// What became of an imported record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// It was added under its own number.
    New,
    /// The same message is there under that number already.
    AlreadyThere,
    /// Another message has that number, or it would come out of order: a higher number is taken, or a message of its
    /// project is not older.
    Clash,
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Projects.
    pub projects: u64,
    /// Agents.
    pub agents: u64,
    /// Messages.
    pub messages: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Reservations that are active.
    pub reservations: u64,
    /// Events.
    pub events: u64,
}

/// What moves mail in bulk, and tells how the store is.
#[async_trait]
pub trait TransferStore: Send + Sync {
    /// Records with a number above `after`, in order, at most `limit`, over all projects. A page ends early once it
    /// holds more than [`PAGE_BYTES`](crate::messages::PAGE_BYTES); only an empty one is the end.
    async fn export(&self, after: Option<MessageId>, limit: usize) -> Stored<Vec<Record>>;

    /// Adds records under their own numbers and times, all in one transaction, and tells what became of each.
    ///
    /// Projects and agents are made as they are needed. Records come in rising order; after the first clash nothing of
    /// this call is kept and the clash is the last of the answers.
    async fn import(&self, records: &[Record], now: Timestamp) -> Stored<Vec<Imported>>;

    /// How much there is.
    async fn counts(&self, now: Timestamp) -> Stored<Counts>;

    /// Succeeds when the store can read and write.
    async fn check_ready(&self) -> Stored<()>;
}
