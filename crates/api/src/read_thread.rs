//! Shows the messages of a thread, oldest first.

use mail::office::ThreadRequest;

use crate::prelude::*;

/// How many messages a page has when nobody says.
const PAGE: u32 = 100;

declare! {
    /// Asks for a part of a thread: the newest with `before_id`, else the oldest.
    ReadThread("read_thread", READS, "The messages of a thread, oldest first.") {
        project_key: String = PROJECT;
        /// The thread, or any message in it.
        thread_id: String = THREAD;
        limit: Option<u32> = LIMIT;
        /// Only messages newer than this one; says nothing beside `before_id`.
        after_id: Option<i64> = Param::optional("after_id", Id, "");
        /// Only messages older than this one.
        before_id: Option<i64> = BEFORE;
        /// False when nobody says.
        include_bodies: Option<bool> = BODIES;
    }

    /// A part of a thread.
    ThreadAnswer {
        thread_id: String,
        /// How many messages the whole thread has.
        total: usize,
        messages: Vec<MessageAnswer>,
        /// The `before_id` of the next page if that was given, else its `after_id`; none if this is the last.
        next: Option<i64>,
    }
}

impl Verb for ReadThread {
    type Answer = ThreadAnswer;

    async fn run(self, office: &Office) -> Result<ThreadAnswer, Error> {
        let (limit, with_bodies) = (limit(self.limit, PAGE), self.include_bodies.unwrap_or(false));
        let request = ThreadRequest {
            project_key: &self.project_key,
            thread: &self.thread_id,
            after: self.after_id.map(MessageId),
            before: self.before_id.map(MessageId),
            limit,
            with_bodies,
        };
        let page = office.thread(request).await?;
        let last = if self.before_id.is_some() { page.messages.first() } else { page.messages.last() };
        let sizes = page.messages.iter().map(|message| message.body.len());
        let next = next_cursor(limit, sizes, last.map(|message| message.id.0));
        let messages = page.messages.into_iter().map(|message| MessageAnswer::new(message, with_bodies)).collect();
        Ok(ThreadAnswer { thread_id: page.thread, total: page.total, messages, next })
    }
}
