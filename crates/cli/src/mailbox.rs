//! The mailbox that a terminal command acts on: a project, who acts, and the backend that keeps the mail.
//!
//! The backend is our own office unless `[mail] provider` names another. What only the office can do (search, several
//! recipients of one message, reservations) is asked of it directly, which other backends do not have.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use api::answers::{CountAnswer, DeliveriesAnswer};
use api::{
    Ask, CountDeliveries, DeliverMessage, DeliveryMark, DeliveryReader, ListDeliveries, ListThreadDeliveries,
    MarkDelivery, ReadDelivery,
};
use async_trait::async_trait;
use mail::provider::{Count, Provider, ProviderDelivery, ProviderError, ProviderRefusal, Words};
use store::{Beads, Exec};

use crate::config::{Config, MailProvider};
use crate::identity;
use crate::post_office::{self, PostOffice, Refused};

/// Who acts.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name.
    pub name: String,
    /// What proves it, where names have to be proved.
    pub token: Option<String>,
}

/// A mailbox that is open.
pub enum Mailbox {
    /// Kept by the office.
    Native(Deliveries),
    /// Kept elsewhere.
    Elsewhere(Box<dyn Provider>),
}

/// Opens the mailbox, runs `operation` with it, and closes it, whatever became of the operation. Ctrl-C ends the
/// operation. What another backend refused is a refusal like those of the office.
pub fn visit(
    config: Config,
    project: String,
    who: Option<Caller>,
    operation: impl AsyncFnOnce(&Mailbox) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    post_office::run(async {
        let mailbox = Mailbox::open(config, project, who).await?;
        let ended = post_office::until_interrupted(async {
            if let Some(post_office) = mailbox.post_office() {
                // Who is called in a shared folder has mail.
                post_office.settle_channels().await;
            }
            operation(&mailbox).await
        });
        let ended = ended.await;
        if let Some(post_office) = mailbox.post_office() {
            post_office.write_out().await;
        }
        mailbox.close().await;
        ended.map_err(|error| match error.downcast::<ProviderError>() {
            Ok(error) => Refused::from(error).into(),
            Err(error) => error,
        })
    })
}

impl Mailbox {
    /// Opens the mailbox at the backend that the settings name.
    pub async fn open(config: Config, project: String, who: Option<Caller>) -> anyhow::Result<Self> {
        match config.mail_provider()? {
            MailProvider::Native => Ok(Self::Native(Deliveries::open(config, project, who).await?)),
            MailProvider::Beads => {
                let beads = Beads::of_city(Path::new(&project)).with_context(|| {
                    format!(
                        "'{project}' keeps no beads: there is neither '.gc' nor '.beads' in it; name another project with \
                         --project"
                    )
                })?;
                Ok(Self::Elsewhere(Box::new(beads)))
            }
            MailProvider::Exec(program) => {
                let environment = [("GC_CITY".to_owned(), project)].into_iter();
                let environment = environment.chain(identity::for_program(who.as_ref())).collect();
                Ok(Self::Elsewhere(Box::new(Exec::new(program, environment))))
            }
        }
    }

    /// What keeps the mail.
    pub fn provider(&self) -> &dyn Provider {
        match self {
            Self::Native(deliveries) => deliveries,
            Self::Elsewhere(provider) => &**provider,
        }
    }

    /// The office, if it keeps the mail.
    pub fn post_office(&self) -> Option<&PostOffice> {
        match self {
            Self::Native(deliveries) => Some(&deliveries.post_office),
            Self::Elsewhere(_) => None,
        }
    }

    /// The office, for something that only it can do.
    pub fn office(&self, verb: &'static str) -> Result<&PostOffice, Refused> {
        self.post_office().ok_or_else(|| ProviderError::Unsupported { verb }.into())
    }

    /// Closes it.
    pub async fn close(self) {
        if let Self::Native(deliveries) = self {
            deliveries.post_office.close().await;
        }
    }
}

/// The deliveries of a project at a post office: each verb is asked of the office, here or at a server.
pub struct Deliveries {
    pub post_office: PostOffice,
    reader: DeliveryReader,
}

impl Deliveries {
    /// Opens the office that is there now.
    pub async fn open(config: Config, project: String, who: Option<Caller>) -> anyhow::Result<Self> {
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

    /// Archives a delivery in the name of its recipient, as far as anybody may act in any name.
    pub async fn archive_for(&self, recipient: &str, id: &str) -> Result<(), ProviderError> {
        let reader = DeliveryReader { agent_name: Some(recipient.to_owned()), ..self.reader.clone() };
        self.ask(MarkDelivery { reader, id: id.to_owned(), mark: DeliveryMark::Archived }).await.map(drop)
    }

    async fn ask<V: Ask>(&self, verb: V) -> Result<V::Answer, ProviderError> {
        self.post_office.ask(verb).await.map_err(|refused| {
            let near = refused.suggestions().into_iter().map(str::to_owned).collect();
            let Refused { code, message, hint, .. } = refused;
            ProviderError::Refused(ProviderRefusal { code, message, hint, near })
        })
    }

    async fn delivery(&self, id: &str, mark_read: bool) -> Result<ProviderDelivery, ProviderError> {
        let request = ReadDelivery { reader: self.reader.clone(), id: id.to_owned(), mark_read };
        Ok(self.ask(request).await?.into())
    }

    async fn mark(&self, id: &str, mark: DeliveryMark) -> Result<(), ProviderError> {
        self.ask(MarkDelivery { reader: self.reader.clone(), id: id.to_owned(), mark }).await.map(drop)
    }

    async fn open_deliveries(
        &self,
        recipient: &str,
        unread_only: bool,
    ) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let (reader, recipient) = (self.reader.clone(), recipient.to_owned());
        let request = ListDeliveries { reader, recipient, unread_only, after: None, limit: None };
        self.pages(|after| ListDeliveries { after, ..request.clone() }).await
    }

    /// All pages of a list; `request` gets the cursor of the next.
    async fn pages<V>(
        &self,
        request: impl Fn(Option<String>) -> V + Send,
    ) -> Result<Vec<ProviderDelivery>, ProviderError>
    where
        V: Ask<Answer = DeliveriesAnswer>,
    {
        let (mut deliveries, mut after) = (Vec::new(), None);
        loop {
            let page = self.ask(request(after)).await?;
            deliveries.extend(page.deliveries.into_iter().map(ProviderDelivery::from));
            after = page.next;
            if after.is_none() {
                return Ok(deliveries);
            }
        }
    }

    async fn deliver(&self, words: Words<'_>, to: DeliverMessage) -> Result<ProviderDelivery, ProviderError> {
        let request = DeliverMessage {
            reader: self.reader.clone(),
            sender_name: words.from.to_owned(),
            subject: words.subject.to_owned(),
            body_md: words.body.to_owned(),
            ..to
        };
        Ok(self.ask(request).await?.into())
    }
}

#[async_trait]
impl Provider for Deliveries {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.deliver(words, DeliverMessage { recipient: to.to_owned(), ..DeliverMessage::default() }).await
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.deliver(words, DeliverMessage { reply_to: Some(id.to_owned()), ..DeliverMessage::default() }).await
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.open_deliveries(recipient, true).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.open_deliveries(recipient, false).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let (reader, thread_id) = (self.reader.clone(), id.to_owned());
        let request = ListThreadDeliveries { reader, thread_id, after: None, limit: None };
        self.pages(|after| ListThreadDeliveries { after, ..request.clone() }).await
    }

    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.delivery(id, false).await
    }

    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
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
        let CountAnswer { total, unread } = self.ask(request).await?;
        Ok(Count { total, unread })
    }
}
