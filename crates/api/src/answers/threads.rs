//! Threads summed up, and what a search found, as answers show them.

use mail::messages::{Message, Vouched};
use mail::office::Found;
use mail::threads::summary::{ActionItem, Participant, Point, Summary};

use super::Word;
use super::messages::vouched;
use crate::Time;

declare! {
    /// A thread, summed up by rules.
    SummaryAnswer::new(thread_id: String, summary: Summary) {
        /// The thread.
        thread_id: String = thread_id,
        /// The same in words alone, where clients of other servers look for it.
        summary: GistAnswer = GistAnswer::new(&summary),
        /// Who spoke, in the order of their first words.
        participants: Vec<ParticipantAnswer> = summary.participants.into_iter().map(ParticipantAnswer::new).collect(),
        /// Decisions and findings.
        key_points: Vec<PointAnswer> = summary.key_points.into_iter().map(PointAnswer::new).collect(),
        /// What is to be done.
        action_items: Vec<ActionAnswer> = summary.action_items.into_iter().map(ActionAnswer::new).collect(),
        /// What nobody has answered yet.
        open_questions: Vec<PointAnswer> = summary.open_questions.into_iter().map(PointAnswer::new).collect(),
        /// How many messages were summed up.
        total_messages: usize = summary.total_messages,
        /// When the first was written.
        first_ts[if_any]: Option<Time> = summary.first_at.map(Time),
        /// When the last was written.
        last_ts[if_any]: Option<Time> = summary.last_at.map(Time),
        /// The newest three messages, without bodies, when they were asked for.
        examples[if_any]: Vec<ExampleAnswer> = Vec::new(),
    }

    /// A message of a thread.
    #[derive(PartialEq)]
    ExampleAnswer::new(message: Message) {
        /// Its number.
        id: i64 = message.id.0,
        /// The sender's name.
        from: String = message.from,
        /// The subject.
        subject: String = message.subject,
        /// When it was accepted.
        created_ts: Time = Time(message.created_at),
    }

    /// What a thread says, in words alone.
    GistAnswer::new(summary: &Summary) {
        /// Who spoke.
        participants: Vec<String> = summary.participants.iter().map(|one| one.name.clone()).collect(),
        /// Decisions and findings.
        key_points: Vec<String> = summary.key_points.iter().map(|point| point.text.clone()).collect(),
        /// What is to be done.
        action_items: Vec<String> = summary.action_items.iter().map(|item| item.text.clone()).collect(),
        /// How many messages were summed up.
        total_messages: usize = summary.total_messages,
    }

    /// Somebody who spoke.
    ParticipantAnswer::new(participant: Participant) {
        /// Who.
        name: String = participant.name,
        /// `human` for a person.
        vouched[if_any]: Option<Word> = participant.is_human.then(|| Vouched::Human.as_str().into()),
        /// How often.
        messages: usize = participant.messages,
    }

    /// Something that was said.
    PointAnswer::new(point: Point) {
        /// What.
        text: String = point.text,
        /// By whom.
        by: String = point.by,
        /// Where.
        message_id: i64 = point.message_id,
    }

    /// Something to do.
    ActionAnswer::new(item: ActionItem) {
        /// What.
        text: String = item.text,
        /// Whether it was ticked off.
        done: bool = item.done,
        /// Who is to do it, if it says.
        owner[if_any]: Option<String> = item.owner,
        /// Who wrote it down.
        by: String = item.by,
        /// Where.
        message_id: i64 = item.message_id,
    }

    /// A message that a search found.
    FoundAnswer::new(found: Found) {
        /// Its number.
        id: i64 = found.message.id.0,
        /// The sender's name.
        from: String = found.message.from,
        /// `verified` or `human` when more than the sender's word stands for its name.
        vouched[if_any]: Option<Word> = vouched(found.message.vouched),
        /// Whom it is written to.
        to: Vec<String> = found.message.to,
        /// The subject.
        subject: String = found.message.subject,
        /// The part of the body where the words stand.
        snippet: String = found.snippet,
        /// When it was accepted.
        created_ts: Time = Time(found.message.created_at),
        /// `low`, `normal`, `high` or `urgent`.
        importance: Word = found.message.importance.as_str().into(),
        /// Whether the sender waits for an acknowledgement.
        ack_required: bool = found.message.ack_required,
        /// What kind of typed message it is, or null.
        kind: Option<Word> = found.message.kind.map(|kind| kind.as_str().into()),
        /// The conversation.
        thread_id: String = found.message.thread,
        /// The work item it is about.
        work_id[if_any]: Option<String> = found.message.work_id,
    }
}
