//! Letters in memory, for tests: it keeps every promise of a provider.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::super::{Letter, Provider, ProviderError, Words};
use crate::clock::from_micros;

/// A provider that forgets everything when it is dropped.
#[derive(Default)]
pub struct Fake {
    letters: Mutex<Vec<Letter>>,
}

impl Fake {
    fn letters(&self) -> MutexGuard<'_, Vec<Letter>> {
        // A panic cannot leave a list of letters half changed.
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(letters: &mut Vec<Letter>, to: &str, words: Words<'_>, parent: Option<Letter>) -> Letter {
        let id = format!("fake-{}", letters.len() + 1);
        let letter = Letter {
            thread: parent.as_ref().map_or_else(|| format!("thread-{id}"), |parent| parent.thread.clone()),
            reply_to: parent.map(|parent| parent.id),
            id,
            from: words.from.to_owned(),
            is_human: false,
            to: to.to_owned(),
            subject: words.subject.to_owned(),
            body: words.body.to_owned(),
            created_at: from_micros(letters.len() as i64 + 1),
            read: false,
            priority: None,
            cc: Vec::new(),
            addressed: Vec::new(),
            archived: false,
            awaits_ack: false,
        };
        letters.push(letter.clone());
        letter
    }

    fn open(&self, recipient: &str, wanted: impl Fn(&Letter) -> bool) -> Result<Vec<Letter>, ProviderError> {
        let letters = self.letters();
        let open = letters.iter().filter(|letter| !letter.archived);
        let theirs = open.filter(|letter| recipient.is_empty() || letter.to == recipient);
        Ok(theirs.filter(|letter| wanted(letter)).cloned().collect())
    }

    fn change<T>(&self, id: &str, change: impl FnOnce(&mut Letter) -> T) -> Result<T, ProviderError> {
        let mut letters = self.letters();
        let letter = letters.iter_mut().find(|letter| letter.id == id);
        letter.map(change).ok_or_else(|| ProviderError::NotFound { id: id.to_owned() })
    }
}

#[async_trait]
impl Provider for Fake {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        Ok(Self::keep(&mut self.letters(), to, words, None))
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        let parent = self.get(id).await?;
        let to = parent.from.clone();
        Ok(Self::keep(&mut self.letters(), &to, words, Some(parent)))
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.open(recipient, |letter| !letter.read)
    }

    async fn all(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.open(recipient, |_| true)
    }

    async fn thread(&self, id: &str) -> Result<Vec<Letter>, ProviderError> {
        let letters = self.letters();
        let named = letters.iter().find(|letter| letter.id == id).map_or(id, |letter| letter.thread.as_str());
        Ok(letters.iter().filter(|letter| letter.thread == named).cloned().collect())
    }

    async fn get(&self, id: &str) -> Result<Letter, ProviderError> {
        self.change(id, |letter| letter.clone())
    }

    async fn read(&self, id: &str) -> Result<Letter, ProviderError> {
        self.mark_read(id).await?;
        self.get(id).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.change(id, |letter| letter.read = true)
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.change(id, |letter| letter.read = false)
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        let was_archived = self.change(id, |letter| std::mem::replace(&mut letter.archived, true))?;
        if was_archived { Err(ProviderError::AlreadyArchived { id: id.to_owned() }) } else { Ok(()) }
    }
}
