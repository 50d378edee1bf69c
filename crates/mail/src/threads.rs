//! Threads: the messages of one conversation, in the order they were said.
//!
//! A thread is only a name that messages share; it has no life of its own and need not be made.

pub mod summary;

use async_trait::async_trait;

use crate::error::Stored;
use crate::ids::{MessageId, ProjectId};
use crate::messages::Message;

/// The longest name of a thread, in characters.
pub const LONGEST_THREAD: usize = 256;

/// What finds conversations.
///
/// A page of messages with bodies ends early once its bodies exceed [`PAGE_BYTES`](crate::messages::PAGE_BYTES).
#[async_trait]
pub trait ThreadStore: Send + Sync {
    /// The messages of a thread with a number above `after`, oldest first, at most `limit`. An unknown thread is empty.
    async fn thread(
        &self,
        project: ProjectId,
        thread: &str,
        after: Option<MessageId>,
        limit: usize,
        with_bodies: bool,
    ) -> Stored<Vec<Message>>;

    /// The newest messages of a thread with their bodies, those below `before`, at most `limit`, oldest first. Where the
    /// bodies exceed the bytes of a page, the newest are kept.
    async fn thread_tail(
        &self,
        project: ProjectId,
        thread: &str,
        before: Option<MessageId>,
        limit: usize,
    ) -> Stored<Vec<Message>>;

    /// How many messages the thread has.
    async fn thread_length(&self, project: ProjectId, thread: &str) -> Stored<usize>;
}
