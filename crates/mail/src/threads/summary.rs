//! What a conversation comes to: who spoke, what was decided, what is to be done, what is still asked.
//!
//! Made by rules, so that the same messages always give the same summary and every line of it can be found in one of
//! them. Nothing is rephrased and no model is asked.

mod body;

use std::collections::{HashMap, HashSet};

use formats::markdown::Kind;
use jiff::Timestamp;

use crate::messages::Message;
use body::Body;

/// The most entries of each list; the newest are kept.
const MOST: usize = 20;
/// The most characters of an entry.
const LONGEST: usize = 200;

/// What a conversation comes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Who spoke, in the order of first speaking.
    pub participants: Vec<Participant>,
    /// Decisions, results and findings; without any, how the conversation began and ended.
    pub key_points: Vec<Point>,
    /// What somebody is to do, or has done.
    pub action_items: Vec<ActionItem>,
    /// Questions that nobody has answered yet.
    pub open_questions: Vec<Point>,
    /// How many messages the conversation has.
    pub total_messages: usize,
    /// When the first of them was said.
    pub first_at: Option<Timestamp>,
    /// When the last of them was said.
    pub last_at: Option<Timestamp>,
}

/// Somebody who spoke.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Participant {
    /// The name.
    pub name: String,
    /// Whether a person said any of it.
    pub is_human: bool,
    /// How many messages are theirs.
    pub messages: usize,
}

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The words.
    pub text: String,
    /// Whose words they are.
    pub by: String,
    /// The message in which they were said first.
    pub message_id: i64,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionItem {
    /// What is to be done.
    pub text: String,
    /// Who said so.
    pub by: String,
    /// Whether it was ticked off, then or later.
    pub done: bool,
    /// The message in which it was said first.
    pub message_id: i64,
    /// Who is to do it, if that was said.
    pub owner: Option<String>,
}

/// Summarizes the messages of one conversation, which come oldest first.
pub fn summarize(messages: &[Message]) -> Summary {
    let participants = participants(messages);
    let names: HashSet<&str> = participants.iter().map(|participant| participant.name.as_str()).collect();
    let bodies: Vec<Body> = messages.iter().map(|said| Body::read(&said.body, &names)).collect();
    let said = || messages.iter().zip(&bodies);

    let mut key_points = Points::default();
    for (message, body) in said() {
        points_of(message, body).into_iter().for_each(|text| key_points.add(message, text));
    }
    if key_points.list.is_empty() {
        for (message, body) in said().next().into_iter().chain(said().next_back()) {
            key_points.add(message, body.first_sentence.as_deref().unwrap_or(&message.subject));
        }
    }
    Summary {
        participants,
        key_points: newest(key_points.list),
        action_items: newest(action_items(messages, &bodies)),
        open_questions: newest(open_questions(messages, &bodies)),
        total_messages: messages.len(),
        first_at: messages.first().map(|message| message.created_at),
        last_at: messages.last().map(|message| message.created_at),
    }
}

fn participants(messages: &[Message]) -> Vec<Participant> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut participants: Vec<Participant> = Vec::new();
    for message in messages {
        let place = *places.entry(&message.from).or_insert(participants.len());
        if place == participants.len() {
            participants.push(Participant { name: message.from.clone(), is_human: false, messages: 0 });
        }
        participants[place].messages += 1;
        participants[place].is_human |= message.is_by_human();
    }
    participants
}

fn points_of<'a>(message: &'a Message, body: &'a Body) -> Vec<&'a str> {
    let mut points: Vec<&str> = body.points.iter().map(String::as_str).collect();
    let summary = body.summary.as_deref();
    match kind_of(message) {
        Some(Kind::Done | Kind::OfferingReady | Kind::Completed) => points.push(summary.unwrap_or(&message.subject)),
        Some(Kind::Failed) => points.push(body.reason.as_deref().or(summary).unwrap_or(&message.subject)),
        _ => points.extend(summary),
    }
    points
}

fn action_items(messages: &[Message], bodies: &[Body]) -> Vec<ActionItem> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut items: Vec<ActionItem> = Vec::new();
    for (message, body) in messages.iter().zip(bodies) {
        for action in &body.actions {
            let text = cut(&action.text);
            let place = *places.entry(sameness(&text)).or_insert(items.len());
            if let Some(item) = items.get_mut(place) {
                // Ticked off once is done, also when an older list is sent again.
                item.done |= action.done;
                item.owner = item.owner.take().or_else(|| action.owner.clone());
                continue;
            }
            let (by, owner) = (message.from.clone(), action.owner.clone());
            items.push(ActionItem { text, by, done: action.done, message_id: message.id.0, owner });
        }
    }
    items
}

/// A question is open until somebody else speaks; a request for help, until somebody responds to it.
fn open_questions(messages: &[Message], bodies: &[Body]) -> Vec<Point> {
    let last_speaker = messages.last().map(|message| &message.from);
    let last_word_of_another = messages.iter().rposition(|message| Some(&message.from) != last_speaker);
    let last_response = messages.iter().rposition(is_response);
    let mut open = Points::default();
    for (place, (message, body)) in messages.iter().zip(bodies).enumerate() {
        if is_response(message) {
            continue;
        }
        if kind_of(message) == Some(Kind::HelpRequest) {
            if last_response < Some(place) {
                let asked = body.question.as_deref().or(body.questions.last().map(String::as_str));
                open.add(message, asked.unwrap_or(&message.subject));
            }
        } else if last_word_of_another < Some(place) {
            if message.subject.trim_end().ends_with('?') && !is_reply(message) {
                open.add(message, &message.subject);
            }
            body.questions.iter().for_each(|text| open.add(message, text));
        }
    }
    open.list
}

/// Whether a message answers a request for help. A plain reply to one carries its kind in the subject, after `Re:`.
fn is_response(message: &Message) -> bool {
    match kind_of(message) {
        Some(Kind::HelpResponse) => true,
        Some(Kind::HelpRequest) => is_reply(message),
        _ => false,
    }
}

fn kind_of(message: &Message) -> Option<Kind> {
    message.kind.and_then(formats::Kind::markdown)
}

fn is_reply(message: &Message) -> bool {
    message.subject.trim_start().get(..3).is_some_and(|start| start.eq_ignore_ascii_case("re:"))
}

/// Points without repetition, in the order in which they were first made.
#[derive(Default)]
struct Points {
    list: Vec<Point>,
    seen: HashSet<String>,
}

impl Points {
    fn add(&mut self, message: &Message, text: &str) {
        let text = cut(text);
        let key = sameness(&text);
        if !key.is_empty() && self.seen.insert(key) {
            self.list.push(Point { text, by: message.from.clone(), message_id: message.id.0 });
        }
    }
}

fn newest<T>(mut list: Vec<T>) -> Vec<T> {
    list.drain(..list.len().saturating_sub(MOST));
    list
}

/// The text on one line, cut between characters.
fn cut(text: &str) -> String {
    let text = text.trim();
    let mut shown: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// What two texts have in common that say the same: their letters and digits.
fn sameness(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        key.extend(word.chars().flat_map(char::to_lowercase));
        key.push(' ');
    }
    key
}

#[cfg(test)]
mod tests;
