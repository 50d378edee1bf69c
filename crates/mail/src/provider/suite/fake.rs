//! Deliveries in memory, for tests: it keeps every promise of a provider.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use super::super::{Provider, ProviderDelivery, ProviderError, Words};
use crate::clock::from_micros;

/// A provider that forgets everything when it is dropped.
#[derive(Default)]
pub struct Fake {
    deliveries: Mutex<Vec<ProviderDelivery>>,
}

impl Fake {
    fn deliveries(&self) -> MutexGuard<'_, Vec<ProviderDelivery>> {
        // A panic cannot leave a list of deliveries half changed.
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(
        deliveries: &mut Vec<ProviderDelivery>,
        to: &str,
        words: Words<'_>,
        parent: Option<ProviderDelivery>,
    ) -> ProviderDelivery {
        let id = format!("fake-{}", deliveries.len() + 1);
        let delivery = ProviderDelivery {
            thread: parent.as_ref().map_or_else(|| format!("thread-{id}"), |parent| parent.thread.clone()),
            reply_to: parent.map(|parent| parent.id),
            id,
            from: words.from.to_owned(),
            is_human: false,
            to: to.to_owned(),
            subject: words.subject.to_owned(),
            body: words.body.to_owned(),
            created_at: from_micros(deliveries.len() as i64 + 1),
            read: false,
            priority: None,
            cc: Vec::new(),
            addressed: Vec::new(),
            archived: false,
            awaits_ack: false,
            problems: Vec::new(),
        };
        deliveries.push(delivery.clone());
        delivery
    }

    fn open(
        &self,
        recipient: &str,
        wanted: impl Fn(&ProviderDelivery) -> bool,
    ) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let deliveries = self.deliveries();
        let open = deliveries.iter().filter(|delivery| !delivery.archived);
        let theirs = open.filter(|delivery| recipient.is_empty() || delivery.to == recipient);
        Ok(theirs.filter(|delivery| wanted(delivery)).cloned().collect())
    }

    fn change<T>(&self, id: &str, change: impl FnOnce(&mut ProviderDelivery) -> T) -> Result<T, ProviderError> {
        let mut deliveries = self.deliveries();
        let delivery = deliveries.iter_mut().find(|delivery| delivery.id == id);
        delivery.map(change).ok_or_else(|| ProviderError::NotFound { id: id.to_owned() })
    }
}

#[async_trait]
impl Provider for Fake {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        Ok(Self::keep(&mut self.deliveries(), to, words, None))
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        let parent = self.get(id).await?;
        let to = parent.from.clone();
        Ok(Self::keep(&mut self.deliveries(), &to, words, Some(parent)))
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.open(recipient, |delivery| !delivery.read)
    }

    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.open(recipient, |_| true)
    }

    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let deliveries = self.deliveries();
        let named =
            deliveries.iter().find(|delivery| delivery.id == id).map_or(id, |delivery| delivery.thread.as_str());
        Ok(deliveries.iter().filter(|delivery| delivery.thread == named).cloned().collect())
    }

    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.change(id, |delivery| delivery.clone())
    }

    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.mark_read(id).await?;
        self.get(id).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.change(id, |delivery| delivery.read = true)
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.change(id, |delivery| delivery.read = false)
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        let was_archived = self.change(id, |delivery| std::mem::replace(&mut delivery.archived, true))?;
        if was_archived { Err(ProviderError::AlreadyArchived { id: id.to_owned() }) } else { Ok(()) }
    }
}
