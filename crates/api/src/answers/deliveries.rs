//! Deliveries, as answers show them: what one recipient got.

use jiff::Timestamp;
use mail::messages::Vouched;
use mail::provider::native::is_last_page;
use mail::provider::{Count, ProviderDelivery};

use super::Word;

declare! {
    /// One recipient's delivery of a message. What says nothing is left out.
    ReceivedAnswer::new(delivery: ProviderDelivery) {
        id: String = delivery.id,
        from: String = delivery.from,
        vouched[if_any]: Option<Word> = delivery.is_human.then(|| Vouched::Human.as_str().into()),
        to: String = delivery.to,
        subject: String = delivery.subject,
        body: String = delivery.body,
        /// To the nanosecond, because that is what tells two deliveries of one message apart.
        #[cfg_attr(test, schemars(with = "String"))]
        created_at: Timestamp = delivery.created_at,
        read: bool = delivery.read,
        thread_id[if_any]: String = delivery.thread,
        reply_to[if_any]: Option<String> = delivery.reply_to,
        priority[if_any]: Option<i64> = delivery.priority,
        cc[if_any]: Vec<String> = delivery.cc,
        awaits_ack[if_any]: bool = delivery.awaits_ack,
        addressed[if_any]: Vec<String> = delivery.addressed,
        archived[if_any]: bool = delivery.archived,
        /// What is wrong with it as a message in JSON.
        problems[if_any]: Vec<String> = delivery.problems,
    }

    /// A page of deliveries, oldest first.
    DeliveriesAnswer {
        deliveries: Vec<ReceivedAnswer>,
        /// Behind which delivery the next page begins; none if this is the last.
        next: Option<String>,
    }

    /// How many deliveries are open, and how many of them unread.
    #[derive(Copy)]
    CountAnswer::new(count: Count) {
        total: usize = count.total,
        unread: usize = count.unread,
    }

    /// Whether something was done now, or had been before. What cannot be done is refused.
    #[derive(Copy)]
    DoneAnswer {
        done: bool,
    }
}

impl From<ReceivedAnswer> for ProviderDelivery {
    fn from(answer: ReceivedAnswer) -> Self {
        Self {
            id: answer.id,
            from: answer.from,
            is_human: answer.vouched.as_deref() == Some(Vouched::Human.as_str()),
            to: answer.to,
            subject: answer.subject,
            body: answer.body,
            created_at: answer.created_at,
            read: answer.read,
            thread: answer.thread_id,
            reply_to: answer.reply_to,
            priority: answer.priority,
            cc: answer.cc,
            awaits_ack: answer.awaits_ack,
            addressed: answer.addressed,
            archived: answer.archived,
            problems: answer.problems,
        }
    }
}

impl DeliveriesAnswer {
    /// The page for which at most `limit` deliveries were asked.
    pub(crate) fn new(page: Vec<ProviderDelivery>, limit: usize) -> Self {
        let next = if is_last_page(&page, limit) { None } else { page.last().map(|delivery| delivery.id.clone()) };
        Self { deliveries: page.into_iter().map(ReceivedAnswer::new).collect(), next }
    }
}
