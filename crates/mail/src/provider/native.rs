//! The office as a provider: each recipient has a delivery of its own.
//!
//! What the verbs mean is decided by the office; this translates. A typed message that is sent here joins the thread of its
//! work, as at every door, and so has no thread of its own.

use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::SignedDuration;

use super::{Count, Provider, ProviderDelivery, ProviderError, Words, is_nobody, parsed, priority};
use crate::channels::SIGN;
use crate::error::Error;
use crate::ids::MessageId;
use crate::mailboxes::{DeliveredMessage, DeliveryId, open_to_all, place_of};
use crate::messages::{DeliveryState, Mark, Message, PAGE_BYTES};
use crate::office::{Claim, DeliveriesRequest, Draft, Office, Part, ReplyDraft, ThreadRequest};

/// How many deliveries are read at once.
const PAGE: usize = 500;
/// How far apart the deliveries of one message may be, in nanoseconds: the next message is a microsecond later.
const MOST_APART: i64 = 999;

/// Which names there may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Those that are registered. One acts on one's own deliveries.
    #[default]
    Known,
    /// Any: whoever writes or is written to has a mailbox from then on. Callers own their names, and all mail.
    Any,
}

/// Deliveries of one project. The office is borrowed or shared.
pub struct Native<O = Arc<Office>> {
    office: O,
    project_key: String,
    reader: Option<String>,
    token: Option<String>,
    names: Names,
    door: &'static str,
}

impl<O: Deref<Target = Office> + Send + Sync> Native<O> {
    /// The deliveries of a project, for callers at `door`.
    pub fn new(office: O, project_key: &str, names: Names, door: &'static str) -> Self {
        Self { office, project_key: project_key.to_owned(), reader: None, token: None, names, door }
    }

    /// Says who asks, and with which token. Of a message to several, its number then means the reader's own.
    pub fn read_by(mut self, reader: Option<&str>, token: Option<&str>) -> Self {
        self.reader = reader.map(str::to_owned);
        self.token = token.map(str::to_owned);
        self
    }

    /// A part of what is open, oldest first, behind the delivery `after`; an empty part is the last.
    pub async fn page(
        &self,
        recipient: &str,
        unread_only: bool,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ProviderDelivery>, ProviderError> {
        let after = after.map(parsed).transpose()?.map(|id| (id.message, id.place.unwrap_or(1)));
        let whose = (!recipient.is_empty()).then(|| self.claim(recipient));
        let request = DeliveriesRequest { project_key: &self.project_key, whose, unread_only, after, limit };
        let mut delivered = match self.office.open_deliveries(request).await {
            Err(error) if self.names == Names::Any && is_nobody(&error) => Vec::new(),
            delivered => delivered?,
        };
        if recipient.is_empty() && self.names == Names::Known {
            delivered.retain(|one| !one.is_blind());
        }
        let mut deliveries = Vec::with_capacity(delivered.len());
        for one in delivered {
            deliveries.push(self.delivery(one).await?);
        }
        Ok(deliveries)
    }

    /// A part of a thread, oldest first, behind the delivery `after`: each message once; an empty part is the last.
    /// A message is the reader's delivery, else the first.
    pub async fn thread_page(
        &self,
        id: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.check_reader().await?;
        // By its name, or by the number of a message in it; of a delivery's id the message counts, if there is one.
        let named = DeliveryId::parse(id).filter(|id| id.place.is_some());
        let number = match named {
            Some(named) if self.get(id).await.is_ok() => Some(named.message.to_string()),
            _ => None,
        };
        let after = after.map(parsed).transpose()?.map(|id| id.message);
        for thread in [Some(id), number.as_deref()].into_iter().flatten() {
            let request =
                ThreadRequest { project_key: &self.project_key, thread, after, before: None, limit, with_bodies: true };
            let page = match self.office.thread(request).await {
                Err(Error::UnknownThread { .. }) => continue,
                Err(error) if self.names == Names::Any && is_nobody(&error) => continue,
                page => page?,
            };
            let mut deliveries = Vec::with_capacity(page.messages.len());
            for message in page.messages {
                deliveries.push(self.delivery(self.delivery_in_thread(message).await?).await?);
            }
            return Ok(deliveries);
        }
        Ok(Vec::new())
    }

    /// Brings a delivery back that was archived; whether this call did it.
    pub async fn unarchive(&self, id: &str) -> Result<bool, ProviderError> {
        let delivered = self.delivery_to_act_on(id).await?;
        let claim = self.claim(&delivered.recipient);
        Ok(self.office.unarchive(&self.project_key, claim, delivered.message.id).await?)
    }

    async fn delivery_in_thread(&self, message: Message) -> Result<DeliveredMessage, ProviderError> {
        let deliveries = self.office.store().deliveries(message.id).await.map_err(Error::from)?;
        let own = self.part_in(message.id).await?.own;
        let own = own.and_then(|(place, _)| DeliveredMessage::at(&message, &deliveries, place));
        if let Some(own) = own
            && (!own.is_blind() || self.is_proved().await)
        {
            return Ok(own);
        }
        DeliveredMessage::at(&message, &deliveries, 1).ok_or(Error::UnknownMessage(message.id).into())
    }

    /// All pages together. `page` gets the last delivery that is there.
    async fn whole<F>(&self, page: impl Fn(Option<String>) -> F) -> Result<Vec<ProviderDelivery>, ProviderError>
    where
        F: Future<Output = Result<Vec<ProviderDelivery>, ProviderError>>,
    {
        let mut deliveries: Vec<ProviderDelivery> = Vec::new();
        loop {
            let page = page(deliveries.last().map(|delivery| delivery.id.clone())).await?;
            let is_last = is_last_page(&page, PAGE);
            deliveries.extend(page);
            if is_last {
                return Ok(deliveries);
            }
        }
    }

    async fn delivery(&self, delivered: DeliveredMessage) -> Result<ProviderDelivery, ProviderError> {
        let reply_to = match delivered.message.reply_to {
            Some(parent) => Some(self.answered(parent, &delivered.message.from).await?),
            None => None,
        };
        Ok(self.delivery_with(delivered, reply_to))
    }

    fn delivery_with(&self, delivered: DeliveredMessage, reply_to: Option<String>) -> ProviderDelivery {
        // Of one message the later delivery has the later time, up to that of the next message.
        let apart = i64::try_from(delivered.place - 1).unwrap_or(MOST_APART).min(MOST_APART);
        let created_at = delivered.message.created_at.saturating_add(SignedDuration::from_nanos(apart));
        // The blind do not learn of each other by their places.
        let id = match self.names {
            Names::Known if delivered.is_blind() => {
                DeliveryId { message: delivered.message.id, place: Some(delivered.open() + 1) }
            }
            _ => delivered.id(),
        };
        let DeliveredMessage { message, recipient, state, .. } = delivered;
        let others = message.to.iter().chain(&message.cc).filter(|name| **name != recipient);
        ProviderDelivery {
            id: id.to_string(),
            is_human: message.is_by_human(),
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
            addressed: message.to,
            archived: state.archived_at.is_some(),
            problems: message.problems.iter().map(ToString::to_string).collect(),
        }
    }

    /// A delivery that was kept just now. Nothing is read for it: whoever was told that it failed would send it again.
    fn sent(&self, message: Message, reply_to: Option<String>) -> ProviderDelivery {
        let recipient = message.open_recipients().chain(message.to.iter().map(String::as_str)).next();
        let recipient = recipient.unwrap_or_default().to_owned();
        self.delivery_with(DeliveredMessage { message, recipient, place: 1, state: DeliveryState::default() }, reply_to)
    }

    /// The id of the delivery that `sender` answered: its own, else the first. If its own was blind, or the
    /// message did not come along with the mail that was imported, the message is named.
    async fn answered(&self, parent: MessageId, sender: &str) -> Result<String, ProviderError> {
        let deliveries = self.office.store().deliveries(parent).await.map_err(Error::from)?;
        let open = open_to_all(&deliveries).count();
        let place = place_of(&deliveries, sender).unwrap_or(1);
        if deliveries.is_empty() || place > open {
            return Ok(parent.to_string());
        }
        Ok(DeliveryId::shown(parent, open, place).to_string())
    }

    /// What a caller calls a delivery: who got a blind one is told another place than it has.
    async fn meant(&self, id: &str) -> Result<DeliveryId, ProviderError> {
        let mut named = parsed(id)?;
        let (Some(place), Names::Known) = (named.place, self.names) else { return Ok(named) };
        let deliveries = self.office.store().deliveries(named.message).await.map_err(Error::from)?;
        let open = open_to_all(&deliveries).count();
        if let Some((own, _)) =
            self.part_in(named.message).await?.own.filter(|(own, _)| *own > open && place == open + 1)
        {
            named.place = Some(own);
        }
        Ok(named)
    }

    /// The delivery that the caller does something with, and may.
    async fn delivery_to_act_on(&self, id: &str) -> Result<DeliveredMessage, ProviderError> {
        self.check_reader().await?;
        let found = self.office.delivery(&self.project_key, self.meant(id).await?, self.reader.as_deref(), true).await;
        let delivered = match (found, &self.reader) {
            (Err(Error::SeveralDeliveries { id, .. }), Some(reader)) if self.names == Names::Known => {
                return Err(Error::NotARecipient { id, agent: reader.clone() }.into());
            }
            (found, _) => self.known(found.map_err(|error| self.told(error, id))?, id).await?,
        };
        match &self.reader {
            Some(reader)
                if self.names == Names::Known && !self.part_in(delivered.message.id).await?.is_at(delivered.place) =>
            {
                Err(Error::NotARecipient { id: delivered.message.id, agent: reader.clone() }.into())
            }
            _ => Ok(delivered),
        }
    }

    /// A delivery that the reader may know of: a blind one is there for its recipient and the sender alone.
    async fn known(&self, delivered: DeliveredMessage, id: &str) -> Result<DeliveredMessage, ProviderError> {
        let owns_all = self.names == Names::Any && !self.office.is_strict();
        if !delivered.is_blind() || owns_all {
            return Ok(delivered);
        }
        let part = self.part_in(delivered.message.id).await?;
        let is_theirs = part.is_sender || part.is_at(delivered.place);
        if is_theirs && self.is_proved().await {
            Ok(delivered)
        } else {
            Err(ProviderError::NotFound { id: id.to_owned() })
        }
    }

    /// What the reader has to do with a message.
    async fn part_in(&self, message: MessageId) -> Result<Part, ProviderError> {
        match &self.reader {
            Some(reader) => Ok(self.office.part_in(&self.project_key, reader, message).await?),
            None => Ok(Part::default()),
        }
    }

    /// Whether the reader is who it says it is, as far as the office asks for that.
    async fn is_proved(&self) -> bool {
        match &self.reader {
            Some(reader) => self.office.check_claim(&self.project_key, self.claim(reader)).await.is_ok(),
            None => false,
        }
    }

    /// A reader that nobody knows has misspelt its name, where names are registered.
    async fn check_reader(&self) -> Result<(), ProviderError> {
        if let (Some(reader), Names::Known) = (&self.reader, self.names) {
            self.office.whois(&self.project_key, reader).await?;
        }
        Ok(())
    }

    fn claim<'a>(&'a self, name: &'a str) -> Claim<'a> {
        Claim { token: self.token.as_deref(), ..Claim::of(name) }
    }

    fn draft<'a>(&'a self, to: &str, words: Words<'a>) -> Draft<'a> {
        let (from, to) = (self.claim(words.from), vec![to.to_owned()]);
        Draft { door: self.door, ..Draft::plain(&self.project_key, from, to, words.subject, words.body) }
    }

    /// Notes what was done with a delivery.
    async fn marked(&self, id: &str, mark: Mark) -> Result<DeliveredMessage, ProviderError> {
        let mut delivered = self.delivery_to_act_on(id).await?;
        let claim = self.claim(&delivered.recipient);
        delivered.state = self.office.mark(&self.project_key, claim, delivered.message.id, mark).await?;
        Ok(delivered)
    }

    /// Sees to it that those who write or are written to have a mailbox, where any name may have one. Where names have to be
    /// proved, whoever writes has to be registered: a name that is made here would belong to nobody.
    async fn make_mailboxes(&self, from: &str, to: Option<&str>) -> Result<(), ProviderError> {
        if self.names == Names::Known {
            return Ok(());
        }
        if self.office.is_strict() {
            self.office.check_claim(&self.project_key, self.claim(from)).await?;
        } else {
            self.office.ensure_mailbox(&self.project_key, from).await?;
        }
        if let Some(to) = to.filter(|to| !to.starts_with(SIGN)) {
            self.office.ensure_mailbox(&self.project_key, to).await?;
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
impl<O: Deref<Target = Office> + Send + Sync> Provider for Native<O> {
    async fn send(&self, to: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        self.make_mailboxes(words.from, Some(to)).await?;
        let sent = self.office.send(self.draft(to, words)).await?;
        Ok(self.sent(sent.message, None))
    }

    async fn reply(&self, id: &str, words: Words<'_>) -> Result<ProviderDelivery, ProviderError> {
        let parent = self.get(id).await?;
        self.make_mailboxes(words.from, None).await?;
        let reply_to = parsed(id)?.message;
        let answered = self.answered(reply_to, words.from).await?;
        let mut draft = self.draft(&parent.from, words);
        // What was said in the open is answered there.
        draft.to.extend(parent.addressed.first().filter(|name| name.starts_with(SIGN)).cloned());
        let sent = self.office.reply(ReplyDraft { reply_to, subject: Some(words.subject), draft }).await?;
        Ok(self.sent(sent.message, Some(answered)))
    }

    async fn inbox(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.whole(async |after| self.page(recipient, true, after.as_deref(), PAGE).await).await
    }

    async fn all(&self, recipient: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.whole(async |after| self.page(recipient, false, after.as_deref(), PAGE).await).await
    }

    async fn thread(&self, id: &str) -> Result<Vec<ProviderDelivery>, ProviderError> {
        self.whole(async |after| self.thread_page(id, after.as_deref(), PAGE).await).await
    }

    async fn get(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        self.check_reader().await?;
        let found = self.office.delivery(&self.project_key, self.meant(id).await?, self.reader.as_deref(), false).await;
        let delivered = self.known(found.map_err(|error| self.told(error, id))?, id).await?;
        self.delivery(delivered).await
    }

    async fn read(&self, id: &str) -> Result<ProviderDelivery, ProviderError> {
        let delivered = self.marked(id, Mark::Read).await?;
        self.delivery(delivered).await
    }

    async fn mark_read(&self, id: &str) -> Result<(), ProviderError> {
        self.marked(id, Mark::Read).await.map(drop)
    }

    async fn mark_unread(&self, id: &str) -> Result<(), ProviderError> {
        self.marked(id, Mark::Unread).await.map(drop)
    }

    async fn archive(&self, id: &str) -> Result<(), ProviderError> {
        let delivered = self.delivery_to_act_on(id).await?;
        let is_new =
            self.office.archive(&self.project_key, self.claim(&delivered.recipient), delivered.message.id).await?;
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

/// Whether nothing comes behind a page of which at most `limit` deliveries were asked for: one that is full, or ended
/// early because of its size, may have a next.
pub fn is_last_page(page: &[ProviderDelivery], limit: usize) -> bool {
    page.len() < limit && page.iter().map(|delivery| delivery.body.len()).sum::<usize>() <= PAGE_BYTES
}
