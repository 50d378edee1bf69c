//! Reading conversations, summing them up, and searching what was said.

use super::Office;
use crate::error::{Error, StoreError, shown};
use crate::ids::MessageId;
use crate::messages::{About, Message};
use crate::projects::Project;
use crate::search::query::Query;
use crate::search::snippet;
use crate::threads::summary::{Summary, summarize};

/// How many messages of a thread a summary looks at, the newest.
const SUMMED_UP: usize = 2_000;

/// Which part of a thread to read.
#[derive(Clone, Copy, Debug)]
pub struct ThreadRequest<'a> {
    /// The project.
    pub project_key: &'a str,
    /// The thread's name, or the number of any message in it.
    pub thread: &'a str,
    /// Only messages with a higher number.
    pub after: Option<MessageId>,
    /// Only messages with a lower number; `after` says nothing then.
    pub before: Option<MessageId>,
    /// At most so many: the newest with `before`, else the oldest.
    pub limit: usize,
    /// Whether to load bodies.
    pub with_bodies: bool,
}

/// A part of a thread.
#[derive(Clone, Debug)]
pub struct ThreadPage {
    /// The thread's name.
    pub thread: String,
    /// Messages, oldest first.
    pub messages: Vec<Message>,
    /// How many the whole thread has.
    pub total: usize,
}

/// What to search for.
#[derive(Clone, Debug)]
pub struct SearchRequest<'a> {
    /// The project.
    pub project_key: &'a str,
    /// The query, in the language of [`Query`].
    pub query: &'a str,
    /// Only what is about this.
    pub about: About,
    /// Only messages with a lower number.
    pub before: Option<MessageId>,
    /// At most so many, the newest.
    pub limit: usize,
}

/// A message that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The message.
    pub message: Message,
    /// The part of its body where the words stand.
    pub snippet: String,
}

impl Office {
    /// A part of a thread, oldest first. A thread that nobody wrote to is not found.
    pub async fn thread(&self, request: ThreadRequest<'_>) -> Result<ThreadPage, Error> {
        let project = self.project(request.project_key).await?;
        let (thread, total) = self.find_thread(&project, request.thread).await?;
        let messages = match request.before {
            Some(_) => self.store.thread_tail(project.id, &thread, request.before, request.limit).await?,
            None => self.store.thread(project.id, &thread, request.after, request.limit, request.with_bodies).await?,
        };
        Ok(ThreadPage { thread, messages, total })
    }

    /// Sums up a thread by rules: the same thread gives the same summary. Of a long one the newest messages are read;
    /// its length and its time from first to last are the whole thread's.
    pub async fn summarize(&self, project_key: &str, thread: &str) -> Result<(String, Summary), Error> {
        let project = self.project(project_key).await?;
        let (thread, total) = self.find_thread(&project, thread).await?;
        let messages = self.store.thread_tail(project.id, &thread, None, SUMMED_UP).await?;
        let mut summary = summarize(&messages);
        if messages.len() < total {
            let first = self.store.thread(project.id, &thread, None, 1, false).await?;
            summary.first_at = first.first().map(|message| message.created_at);
            summary.total_messages = total;
        }
        Ok((thread, summary))
    }

    /// The newest messages of a thread, oldest first.
    pub async fn newest_in_thread(&self, project_key: &str, thread: &str, limit: usize) -> Result<Vec<Message>, Error> {
        let project = self.project(project_key).await?;
        Ok(self.store.thread_tail(project.id, thread, None, limit).await?)
    }

    /// Messages that match, newest first.
    pub async fn search(&self, request: SearchRequest<'_>) -> Result<Vec<Found>, Error> {
        let query = Query::parse(request.query)?;
        let project = self.project(request.project_key).await?;
        let found = self.store.search(project.id, &query, &request.about, request.before, request.limit).await;
        let messages = found.map_err(|error| match error {
            StoreError::TooSlow => Error::SearchTooSlow,
            other => other.into(),
        })?;
        Ok(messages.into_iter().map(|message| Found { snippet: snippet(&message.body, &query), message }).collect())
    }

    /// The thread of that name, or the one that the message of that number belongs to, and its length.
    async fn find_thread(&self, project: &Project, thread: &str) -> Result<(String, usize), Error> {
        let length = self.store.thread_length(project.id, thread).await?;
        if length > 0 {
            return Ok((thread.to_owned(), length));
        }
        if let Ok(id) = thread.parse()
            && let Some(message) = self.store.message(project.id, MessageId(id)).await?
        {
            let length = self.store.thread_length(project.id, &message.thread).await?;
            return Ok((message.thread, length));
        }
        Err(Error::UnknownThread(shown(thread)))
    }
}
