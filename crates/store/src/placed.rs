//! A message that has its place: everything of it that stands in a row, whichever engine writes the row.

use std::collections::HashMap;

use jiff::Timestamp;
use mail::ids::{AgentId, MessageId, ProjectId};
use mail::messages::{DeliveryState, Importance, NewMessage, Role, Vouched};
use mail::transfer::Record;

use crate::values::lines_of;

/// A message that has its place: everything of it that stands in a row.
pub(crate) struct Placed<'a> {
    pub(crate) id: MessageId,
    pub(crate) project: ProjectId,
    pub(crate) sender: AgentId,
    pub(crate) created_at: Timestamp,
    pub(crate) thread: &'a str,
    pub(crate) reply_to: Option<MessageId>,
    pub(crate) importance: Importance,
    pub(crate) ack_required: bool,
    pub(crate) kind: Option<&'static str>,
    pub(crate) work_id: Option<&'a str>,
    /// Whether the sender's next word of this kind about this work replaces it on the board.
    pub(crate) is_passing: bool,
    pub(crate) door: &'a str,
    pub(crate) vouched: Vouched,
    pub(crate) to: String,
    pub(crate) cc: String,
    pub(crate) subject: &'a str,
    pub(crate) body: &'a str,
    /// Whose copies there are, in the sender's order.
    pub(crate) copies: Vec<(AgentId, Role, DeliveryState)>,
    /// The number of the event that tells of it.
    pub(crate) seq: i64,
}

/// A new message under the number and the time that it was given. Without a thread it begins its `own_thread`.
pub(crate) fn placed<'a>(
    message: &'a NewMessage,
    id: MessageId,
    created_at: Timestamp,
    own_thread: &'a str,
    seq: i64,
) -> Placed<'a> {
    let named = |wanted: Role| {
        message.recipients.iter().filter(move |(_, _, role)| *role == wanted).map(|(_, name, _)| name.as_str())
    };
    let channel = message.post.as_ref().map(|post| post.channel.signed());
    let copies = message.recipients.iter().map(|(agent, _, role)| (*agent, *role, DeliveryState::default()));
    Placed {
        id,
        project: message.project,
        sender: message.from,
        created_at,
        thread: message.thread.as_deref().unwrap_or(own_thread),
        reply_to: message.reply_to,
        importance: message.importance,
        ack_required: message.ack_required,
        kind: message.kind.map(|kind| kind.as_str()),
        work_id: message.work_id.as_deref(),
        is_passing: message.is_passing,
        door: message.door,
        vouched: message.vouched,
        to: lines_of(channel.as_deref().into_iter().chain(named(Role::To))),
        cc: lines_of(named(Role::Cc)),
        subject: &message.subject,
        body: &message.body,
        copies: copies.collect(),
        seq,
    }
}

impl<'a> Placed<'a> {
    /// A message that comes whole, under its own number and time.
    pub(crate) fn of_record(record: &'a Record, project: ProjectId, agents: &HashMap<&str, AgentId>, seq: i64) -> Self {
        let message = &record.message;
        let copies =
            record.deliveries.iter().map(|copy| (agents[copy.recipient.as_str()], copy.role, copy.state.clone()));
        Placed {
            id: message.id,
            project,
            sender: agents[message.from.as_str()],
            created_at: message.created_at,
            thread: &message.thread,
            reply_to: message.reply_to,
            importance: message.importance,
            ack_required: message.ack_required,
            kind: message.kind.map(|kind| kind.as_str()),
            work_id: message.work_id.as_deref(),
            is_passing: mail::work::is_passing(message),
            door: &message.door,
            vouched: message.vouched,
            to: lines_of(message.to.iter().map(String::as_str)),
            cc: lines_of(message.cc.iter().map(String::as_str)),
            subject: &message.subject,
            body: &message.body,
            copies: copies.collect(),
            seq,
        }
    }
}
