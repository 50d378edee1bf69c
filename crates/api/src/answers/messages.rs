//! Messages, as answers show them.

use mail::error::Problem;
use mail::ids::MessageId;
use mail::messages::{Delivery, DeliveryState, InboxEntry, Message, Role, Vouched};
use mail::wake_ups::WakeReceipt;
use mail::{Error, Office};

use super::Word;
use crate::Time;

declare! {
    /// A message, and what the reader did with it where one reads a mailbox.
    MessageAnswer::new(message: Message, with_body: bool) {
        /// Its number.
        id: i64 = message.id.0,
        /// The sender's name.
        from: String = message.from,
        /// Whom it is written to: agents, and of what was said in a channel that channel before them.
        to: Vec<String> = message.to,
        /// Who got a copy.
        cc[if_any]: Vec<String> = message.cc,
        /// The subject.
        subject: String = message.subject,
        /// The body; left out when bodies were not asked for.
        body_md[if_any]: Option<String> = with_body.then_some(message.body),
        /// When it was accepted.
        created_ts: Time = Time(message.created_at),
        /// `low`, `normal`, `high` or `urgent`.
        importance: Word = message.importance.as_str().into(),
        /// Whether the sender waits for an acknowledgement.
        ack_required: bool = message.ack_required,
        /// What kind of typed message it is, or null.
        kind: Option<Word> = message.kind.map(|kind| kind.as_str().into()),
        /// The conversation.
        thread_id: String = message.thread,
        /// The message it answers.
        reply_to[if_any]: Option<i64> = message.reply_to.map(|id| id.0),
        /// The work item it is about.
        work_id[if_any]: Option<String> = message.work_id,
        /// What is wrong with it as a typed message. Receivers see this of JSON.
        problems[if_any]: Vec<ProblemAnswer> = message.problems.iter().map(ProblemAnswer::new).collect(),
        /// `verified` or `human` when more than the sender's word stands for its name.
        vouched[if_any]: Option<Word> = vouched(message.vouched),
        /// `cc` or `bcc` when the reader was not written to directly.
        role[if_any]: Option<Word> = None,
        /// When the reader marked it read.
        read_ts[if_any]: Option<Time> = None,
        /// When the reader acknowledged it.
        ack_ts[if_any]: Option<Time> = None,
    }

    /// One thing that is wrong with a typed message.
    #[derive(PartialEq)]
    ProblemAnswer::new(problem: &Problem) {
        /// Which field.
        path: String = problem.path.clone(),
        /// What stands there, and what should.
        message: String = problem.to_string(),
    }

    /// What a recipient did with a message, as it is told after marking it.
    MarkedAnswer::new(message_id: i64, state: &DeliveryState) {
        /// The message.
        message_id: i64 = message_id,
        /// Whether it is read now.
        read: bool = state.read_at.is_some(),
        /// When it was first marked read.
        read_ts[if_any]: Option<Time> = state.read_at.map(Time),
        /// Whether it is acknowledged.
        acknowledged: bool = state.acked_at.is_some(),
        /// When it was first acknowledged.
        ack_ts[if_any]: Option<Time> = state.acked_at.map(Time),
    }

    /// What one recipient did with a message, as the sender or an onlooker sees it.
    RecipientAnswer::new(delivery: Delivery) {
        /// The recipient.
        name: String = delivery.recipient,
        /// `to`, `cc` or `bcc`.
        role: Word = delivery.role.as_str().into(),
        /// When it was marked read.
        read_ts[if_any]: Option<Time> = delivery.state.read_at.map(Time),
        /// When it was acknowledged.
        ack_ts[if_any]: Option<Time> = delivery.state.acked_at.map(Time),
        /// What was said with the acknowledgement.
        ack_body[if_any]: String = delivery.state.ack_note,
        /// What became of the wake-ups that told of it.
        wake_ups[if_any]: Vec<WakeReceiptAnswer> = Vec::new(),
    }

    /// What became of a wake-up of a recipient's session.
    #[derive(PartialEq)]
    WakeReceiptAnswer::new(receipt: WakeReceipt) {
        /// `delivered`, `held`, `refused` or `gone`.
        outcome: Word = receipt.outcome.as_str().into(),
        /// When that was known.
        ts: Time = Time(receipt.at),
        /// The session.
        session: String = receipt.session,
    }

    /// A message with every recipient's delivery.
    FollowedAnswer {
        /// The message.
        #[serde(flatten)]
        message: MessageAnswer,
        /// The deliveries.
        recipients: Vec<RecipientAnswer>,
    }
}

impl MessageAnswer {
    /// A message as its recipient sees it.
    pub fn received(entry: InboxEntry, with_body: bool) -> Self {
        Self {
            role: (entry.role != Role::To).then(|| entry.role.as_str().into()),
            read_ts: entry.state.read_at.map(Time),
            ack_ts: entry.state.acked_at.map(Time),
            ..Self::new(entry.message, with_body)
        }
    }
}

impl FollowedAnswer {
    /// With `blind`, blind copies are shown too: only the sender may ask for that.
    pub(crate) fn new(message: Message, deliveries: Vec<Delivery>, with_body: bool, blind: bool) -> Self {
        let shown = deliveries.into_iter().filter(|delivery| blind || delivery.role != Role::Bcc);
        Self { recipients: shown.map(RecipientAnswer::new).collect(), message: MessageAnswer::new(message, with_body) }
    }

    /// Adds to each message what became of the wake-ups that told of it.
    pub(crate) async fn with_receipts(mut messages: Vec<Self>, office: &Office) -> Result<Vec<Self>, Error> {
        let ids: Vec<MessageId> = messages.iter().map(|followed| MessageId(followed.message.id)).collect();
        for receipt in office.wake_receipts(&ids).await? {
            let followed = messages.iter_mut().find(|followed| followed.message.id == receipt.message.0);
            let recipients = followed.map_or(&mut [][..], |followed| &mut followed.recipients[..]);
            if let Some(recipient) = recipients.iter_mut().find(|recipient| recipient.name == receipt.recipient) {
                recipient.wake_ups.push(WakeReceiptAnswer::new(receipt));
            }
        }
        Ok(messages)
    }
}

/// Who vouched for the sender, where that is more than its own word.
pub(crate) fn vouched(vouched: Vouched) -> Option<Word> {
    (vouched != Vouched::Claimed).then(|| vouched.as_str().into())
}
