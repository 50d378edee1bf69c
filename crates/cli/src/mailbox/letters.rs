//! The deliveries of a post office as a [`Provider`]: each verb is asked of the office, here or at a server.

use api::answers::{CountAnswer, DeliveriesAnswer};
use api::{
    CountDeliveries, DeliverMessage, DeliveryMark, DeliveryReader, ListDeliveries, ListThreadDeliveries, MarkDelivery,
    ReadDelivery, Verb,
};
use async_trait::async_trait;
use mail::provider::{Count, Letter, Provider, ProviderError, ProviderRefusal, Words};

use super::Who;
use crate::config::Config;
use crate::post_office::{PostOffice, Refused};

/// The deliveries of one project.
pub struct Letters {
    post_office: PostOffice,
    reader: DeliveryReader,
}

impl Letters {
    /// Opens the office that is there now.
    pub async fn open(config: Config, project: String, who: Option<Who>) -> anyhow::Result<Self> {
        let post_office = PostOffice::open(config.about(&project)).await?;
        let (agent_name, registration_token) = who.map(|who| (who.name, who.token)).unzip();
        let registration_token = registration_token.flatten();
        let reader = DeliveryReader { project_key: project, agent_name, any_name: false, registration_token };
        Ok(Self { post_office, reader })
    }

    /// The same for callers that own their names: whoever writes or is written to gets a mailbox.
    pub fn for_any_name(mut self) -> Self {
        self.reader.any_name = true;
        self
    }

    /// The office itself, for other verbs.
    pub fn post_office(&self) -> &PostOffice {
        &self.post_office
    }

    /// Closes the office.
    pub async fn close(self) {
        self.post_office.close().await;
    }

    /// Asks a verb about the delivery `id`; empty where it is about none.
    async fn ask<V: Verb>(&self, id: &str, verb: V) -> Result<V::Answer, ProviderError> {
        self.post_office.ask(verb).await.map_err(|refused| of_provider(refused, id))
    }

    async fn delivery(&self, id: &str, mark_read: bool) -> Result<Letter, ProviderError> {
        let request = ReadDelivery { reader: self.reader.clone(), id: id.to_owned(), mark_read };
        Ok(self.ask(id, request).await?.into())
    }

    async fn mark(&self, id: &str, mark: DeliveryMark) -> Result<(), ProviderError> {
        self.ask(id, MarkDelivery { reader: self.reader.clone(), id: id.to_owned(), mark }).await.map(drop)
    }

    async fn open_deliveries(&self, recipient: &str, unread_only: bool) -> Result<Vec<Letter>, ProviderError> {
        self.pages(|after| ListDeliveries {
            reader: self.reader.clone(),
            recipient: recipient.to_owned(),
            unread_only,
            after,
            limit: None,
        })
        .await
    }

    /// All pages of a list; `request` gets the cursor of the next.
    async fn pages<V>(&self, request: impl Fn(Option<String>) -> V + Send) -> Result<Vec<Letter>, ProviderError>
    where
        V: Verb<Answer = DeliveriesAnswer>,
    {
        let (mut letters, mut after) = (Vec::new(), None);
        loop {
            let page = self.ask("", request(after)).await?;
            letters.extend(page.deliveries.into_iter().map(Letter::from));
            after = page.next;
            if after.is_none() {
                return Ok(letters);
            }
        }
    }

    fn message(&self, words: Words<'_>) -> DeliverMessage {
        DeliverMessage {
            reader: self.reader.clone(),
            sender_name: words.from.to_owned(),
            subject: words.subject.to_owned(),
            body_md: words.body.to_owned(),
            ..DeliverMessage::default()
        }
    }
}

#[async_trait]
impl Provider for Letters {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        let request = DeliverMessage { recipient: to.to_owned(), ..self.message(words) };
        Ok(self.ask("", request).await?.into())
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<Letter, ProviderError> {
        let request = DeliverMessage { reply_to: Some(id.to_owned()), ..self.message(words) };
        Ok(self.ask(id, request).await?.into())
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.open_deliveries(recipient, true).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<Letter>, ProviderError> {
        self.open_deliveries(recipient, false).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<Letter>, ProviderError> {
        self.pages(|after| ListThreadDeliveries {
            reader: self.reader.clone(),
            thread_id: id.to_owned(),
            after,
            limit: None,
        })
        .await
    }

    async fn get(&self, id: &str) -> Result<Letter, ProviderError> {
        self.delivery(id, false).await
    }

    async fn read(&self, id: &str) -> Result<Letter, ProviderError> {
        self.delivery(id, true).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.mark(id, DeliveryMark::Read).await
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.mark(id, DeliveryMark::Unread).await
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        self.mark(id, DeliveryMark::Archived).await
    }

    async fn count(&self, recipient: &str) -> Result<Count, ProviderError> {
        let request = CountDeliveries { reader: self.reader.clone(), recipient: recipient.to_owned() };
        let CountAnswer { total, unread } = self.ask("", request).await?;
        Ok(Count { total, unread })
    }
}

/// What the office refused, as a provider says it.
fn of_provider(refused: Refused, id: &str) -> ProviderError {
    match refused.code.as_str() {
        "MESSAGE_NOT_FOUND" => ProviderError::NotFound { id: id.to_owned() },
        "ALREADY_ARCHIVED" => ProviderError::AlreadyArchived { id: id.to_owned() },
        _ => ProviderError::Refused(ProviderRefusal {
            near: refused.suggestions().into_iter().map(str::to_owned).collect(),
            code: refused.code,
            message: refused.message,
            hint: refused.hint,
        }),
    }
}
