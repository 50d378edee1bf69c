//! The office as a provider: each recipient's copy of a message is a letter.
//!
//! What the verbs mean is decided by the office; this translates. A typed message that is sent here joins the thread of its
//! work, as at every door, and so has no thread of its own.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use super::{Count, Letter, Provider, ProviderError, Words};
use crate::error::Error;
use crate::ids::MessageId;
use crate::mailboxes::{CopyId, RecipientCopy, place_of};
use crate::messages::{Importance, Message, PAGE_BYTES};
use crate::office::{Claim, CopiesAsk, Draft, Office, Registration, ReplyDraft, ThreadAsk};

/// How many letters are read at once.
const PAGE: usize = 500;

/// Which names there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Those that are registered. One acts on one's own letters.
    #[default]
    Known,
    /// Any: whoever writes or is written to has a mailbox from then on. Callers own their names, and act on all letters.
    Any,
}

/// Letters of one project.
pub struct Native {
    office: Arc<Office>,
    project_key: String,
    reader: Option<String>,
    token: Option<String>,
    names: Names,
    door: &'static str,
}

impl Native {
    /// The letters of a project, for callers at `door`.
    pub fn new(office: Arc<Office>, project_key: &str, names: Names, door: &'static str) -> Self {
        Self { office, project_key: project_key.to_owned(), reader: None, token: None, names, door }
    }

    /// Says who asks, and with which token. A number that several have a copy of then means the reader's own.
    pub fn read_by(mut self, reader: Option<&str>, token: Option<&str>) -> Self {
        self.reader = reader.map(str::to_owned);
        self.token = token.map(str::to_owned);
        self
    }

    /// A part of what is open, oldest first, behind the letter `after`; an empty part is the last.
    pub async fn page(
        &self,
        recipient: &str,
        unread_only: bool,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Letter>, ProviderError> {
        let after = after.map(parsed).transpose()?.map(|id| id.message);
        let whose = (!recipient.is_empty()).then(|| self.claim(recipient));
        let ask = CopiesAsk { project_key: &self.project_key, whose, unread_only, after, limit };
        let copies = match self.office.open_copies(ask).await {
            Err(error) if self.names == Names::Any && is_nobody(&error) => Vec::new(),
            copies => copies?,
        };
        let mut letters = Vec::with_capacity(copies.len());
        for copy in copies {
            letters.push(self.letter(copy).await?);
        }
        Ok(letters)
    }

    async fn whole(&self, recipient: &str, unread_only: bool) -> Result<Vec<Letter>, ProviderError> {
        let mut letters: Vec<Letter> = Vec::new();
        loop {
            let after = letters.last().map(|letter| letter.id.clone());
            let page = self.page(recipient, unread_only, after.as_deref(), PAGE).await?;
            let is_last = is_last_page(&page, PAGE);
            letters.extend(page);
            if is_last {
                return Ok(letters);
            }
        }
    }

    /// One letter for each message: the reader's copy, else the first.
    async fn letters_of(&self, messages: Vec<Message>) -> Result<Vec<Letter>, ProviderError> {
        let mut letters = Vec::with_capacity(messages.len());
        for message in messages {
            let id = CopyId { message: message.id, place: None };
            let copy = self.office.copy(&self.project_key, id, self.reader.as_deref()).await?;
            letters.push(self.letter(copy).await?);
        }
        Ok(letters)
    }

    async fn letter(&self, copy: RecipientCopy) -> Result<Letter, ProviderError> {
        let reply_to = match copy.message.reply_to {
            Some(parent) => Some(self.answered(parent, &copy.message.from).await?),
            None => None,
        };
        // Copies of one message were sent at one time. Where each is a letter, the later one has the later time.
        let place = i64::try_from(copy.place).unwrap_or(i64::MAX);
        let created_at = copy.message.created_at.saturating_add(SignedDuration::from_nanos(place - 1));
        let id = copy.id().to_string();
        let RecipientCopy { message, recipient, state, .. } = copy;
        let others = message.to.iter().chain(&message.cc).filter(|name| **name != recipient);
        Ok(Letter {
            id,
            cc: others.cloned().collect(),
            from: message.from,
            to: recipient,
            subject: message.subject,
            body: message.body,
            created_at: created_at.unwrap_or(message.created_at),
            read: state.read_at.is_some(),
            thread: message.thread,
            reply_to,
            priority: priority(message.importance),
            awaits_ack: message.ack_required && state.acked_at.is_none(),
        })
    }

    /// What the letter is called that `sender` answered: its own copy, else the first.
    async fn answered(&self, parent: MessageId, sender: &str) -> Result<String, ProviderError> {
        let (message, copies) = self.office.message(&self.project_key, parent).await?;
        Ok(CopyId::shown(&message, place_of(&copies, sender).unwrap_or(1)).to_string())
    }

    /// The letter that the caller does something with, and may.
    async fn copy_to_act_on(&self, id: &str) -> Result<RecipientCopy, ProviderError> {
        let found = self.office.copy_to_act_on(&self.project_key, parsed(id)?, self.reader.as_deref()).await;
        let copy = self.known(found.map_err(|error| self.told(error, id))?, id)?;
        match &self.reader {
            Some(reader) if self.names == Names::Known && *reader != copy.recipient => {
                Err(Error::NotARecipient { id: copy.message.id, agent: reader.clone() }.into())
            }
            _ => Ok(copy),
        }
    }

    /// A copy that the reader may know of: a blind one is for its recipient and the sender alone, and not there for others.
    fn known(&self, copy: RecipientCopy, id: &str) -> Result<RecipientCopy, ProviderError> {
        let is_theirs =
            self.reader.as_ref().is_some_and(|reader| [&copy.recipient, &copy.message.from].contains(&reader));
        if copy.is_blind() && self.names == Names::Known && !is_theirs {
            return Err(ProviderError::NotFound { id: id.to_owned() });
        }
        Ok(copy)
    }

    fn claim<'a>(&'a self, name: &'a str) -> Claim<'a> {
        Claim { name, token: self.token.as_deref() }
    }

    fn draft<'a>(&'a self, to: &str, words: Words<'a>) -> Draft<'a> {
        Draft {
            project_key: &self.project_key,
            from: self.claim(words.from),
            to: vec![to.to_owned()],
            cc: Vec::new(),
            bcc: Vec::new(),
            subject: words.subject,
            body: words.body,
            thread: None,
            importance: Importance::default(),
            ack_required: None,
            idempotency_key: None,
            strict: false,
            door: self.door,
        }
    }

    /// Sees to it that those who write or are written to have a mailbox, where any name may have one.
    async fn make_mailboxes(&self, names: &[&str]) -> Result<(), ProviderError> {
        if self.names == Names::Known {
            return Ok(());
        }
        for name in names {
            match self.office.whois(&self.project_key, name).await {
                Err(error) if is_nobody(&error) => {
                    let registration = Registration {
                        project_key: &self.project_key,
                        make_project: true,
                        name: Some(*name),
                        ..Registration::default()
                    };
                    self.office.register(registration).await?;
                }
                known => drop(known?),
            }
        }
        Ok(())
    }

    fn told(&self, error: Error, id: &str) -> ProviderError {
        match error {
            Error::UnknownMessage { .. } => ProviderError::NotFound { id: id.to_owned() },
            error if self.names == Names::Any && is_nobody(&error) => ProviderError::NotFound { id: id.to_owned() },
            error => error.into(),
        }
    }
}

#[async_trait]
impl Provider for Native {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        self.make_mailboxes(&[words.from, to]).await?;
        let sent = self.office.send(self.draft(to, words)).await?;
        Ok(self.letters_of(vec![sent.message]).await?.remove(0))
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        let parent = self.get(id).await?;
        self.make_mailboxes(&[words.from]).await?;
        let reply = ReplyDraft {
            reply_to: parsed(id)?.message,
            subject: Some(words.subject),
            draft: self.draft(&parent.from, words),
        };
        let sent = self.office.reply(reply).await?;
        Ok(self.letters_of(vec![sent.message]).await?.remove(0))
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.whole(recipient, true).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.whole(recipient, false).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<Letter>, ProviderError> {
        // By its name, or by the number of a message in it; of a copy's id the message counts.
        let number = CopyId::parse(id).filter(|id| id.place.is_some()).map(|id| id.message.to_string());
        let (mut letters, mut after) = (Vec::new(), None);
        for thread in [Some(id), number.as_deref()].into_iter().flatten() {
            loop {
                let ask = ThreadAsk { project_key: &self.project_key, thread, after, limit: PAGE, with_bodies: false };
                let messages = match self.office.thread(ask).await {
                    Err(Error::UnknownThread { .. }) => break,
                    Err(error) if self.names == Names::Any && is_nobody(&error) => break,
                    page => page?.messages,
                };
                let Some(last) = messages.last() else { return Ok(letters) };
                after = Some(last.id);
                letters.extend(self.letters_of(messages).await?);
            }
        }
        Ok(letters)
    }

    async fn get(&self, id: &str) -> Result<Letter, ProviderError> {
        let found = self.office.copy(&self.project_key, parsed(id)?, self.reader.as_deref()).await;
        let copy = self.known(found.map_err(|error| self.told(error, id))?, id)?;
        self.letter(copy).await
    }

    async fn read(&self, id: &str) -> Result<Letter, ProviderError> {
        let mut copy = self.copy_to_act_on(id).await?;
        let claim = self.claim(&copy.recipient);
        copy.state = self.office.mark_read(&self.project_key, claim, copy.message.id).await?;
        self.letter(copy).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        let copy = self.copy_to_act_on(id).await?;
        self.office.mark_read(&self.project_key, self.claim(&copy.recipient), copy.message.id).await?;
        Ok(())
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        let copy = self.copy_to_act_on(id).await?;
        self.office.mark_unread(&self.project_key, self.claim(&copy.recipient), copy.message.id).await?;
        Ok(())
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        let copy = self.copy_to_act_on(id).await?;
        let is_new = self.office.archive(&self.project_key, self.claim(&copy.recipient), copy.message.id).await?;
        if is_new { Ok(()) } else { Err(ProviderError::AlreadyArchived { id: id.to_owned() }) }
    }

    async fn count(&self, recipient: &str) -> Result<Count, ProviderError> {
        let whose = (!recipient.is_empty()).then(|| self.claim(recipient));
        match self.office.count_open(&self.project_key, whose).await {
            Err(error) if self.names == Names::Any && is_nobody(&error) => Ok(Count::default()),
            count => Ok(count?),
        }
    }
}

/// Whether nothing comes behind a page of which at most `limit` letters were asked for: one that is full, or ended early
/// because of its size, may have a next.
pub fn is_last_page(page: &[Letter], limit: usize) -> bool {
    page.len() < limit && page.iter().map(|letter| letter.body.len()).sum::<usize>() <= PAGE_BYTES
}

fn parsed(id: &str) -> Result<CopyId, ProviderError> {
    CopyId::parse(id).ok_or_else(|| ProviderError::NotFound { id: id.to_owned() })
}

/// Whether the error is that somebody, or the whole project, is not there yet.
fn is_nobody(error: &Error) -> bool {
    matches!(error, Error::UnknownAgent { .. } | Error::UnknownProject { .. })
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
