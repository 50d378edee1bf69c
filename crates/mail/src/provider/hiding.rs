//! A provider as callers of the exec protocol know it: what was archived is not found.
//!
//! Nothing is gone: the provider behind it keeps what was archived, and other doors show it. A call that acts on a delivery
//! looks first, so one that is archived in between is still marked; it stays archived.

use async_trait::async_trait;

use super::{Count, KeyedDelivery, Provider, ProviderDelivery, ProviderError, Words};
use crate::messages::OpenKey;

/// Hides what was archived from whoever names it.
pub struct Hiding<P>(
    /// What keeps the mail.
    pub P,
);

#[async_trait]
impl<P: Provider> Provider for Hiding<P> {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.0.send(to, words).await
    }

    async fn send_keyed(&self, to: &str, words: Words<'_>, key: &OpenKey) -> Result<KeyedDelivery, ProviderError> {
        self.0.send_keyed(to, words, key).await
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.get(id).await?;
        self.0.reply(id, words).await
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.0.inbox(recipient).await
    }

    async fn check(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.0.check(recipient).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.0.all(recipient).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let mut deliveries = self.0.thread(id).await?;
        deliveries.retain(|delivery| !delivery.archived);
        Ok(deliveries)
    }

    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        let delivery = self.0.get(id).await?;
        if delivery.archived { Err(ProviderError::NotFound { id: id.to_owned() }) } else { Ok(delivery) }
    }

    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.get(id).await?;
        self.0.read(id).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.get(id).await?;
        self.0.mark_read(id).await
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.get(id).await?;
        self.0.mark_unread(id).await
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        self.0.archive(id).await
    }

    async fn delete(&self, id: &str) -> Result<(), ProviderError> {
        self.0.delete(id).await
    }

    async fn count(&self, recipient: &str) -> Result<Count, ProviderError> {
        self.0.count(recipient).await
    }
}
