//! A message of any type, as a typed value that has lost nothing of its text.
//!
//! A message here may be invalid: what is missing is empty, what is of a wrong type lies in `extra`. Whether it is valid
//! was told when it was read.

use serde_json::{Map, Value};

use super::choice::Type;
use super::form::Form;
use super::record::{Part, Record};
use super::reports::{ErrorReport, StatusUpdate};
use super::requests::{CoordinationRequest, FileReservation};
use super::table::{Field, Rule, Shape, required};
use super::tasks::{TaskAssignment, TaskCompletion};

record! {
    /// The fields that every message has, but for its type.
    Base {
        /// The version of the format that the sender speaks.
        version: String = required(Shape::Form(Form::Version)),
        /// When the message was made.
        timestamp: String = required(Shape::Form(Form::Time)),
        /// The name of the sending agent.
        sender_id: String = required(Shape::Name),
        /// The id of the message.
        message_id: String = required(Shape::Form(Form::MessageId)),
    }
}

/// The name of the field that tells the type.
pub(super) const TYPE_NAME: &str = "type";

/// The last of the fields that every message has. It is not part of `Base`, for the variant of a message tells it.
const TYPE: &[Field] =
    &[Field { name: TYPE_NAME, about: " The type of the message.", rule: required(Shape::Choice(Type::WORDS)) }];

/// The tables of a message of this type (or of an unknown one), in the order in which its fields are checked and written.
pub(super) fn tables(kind: Option<Type>) -> [&'static [Field]; 3] {
    let own = match kind {
        Some(Type::TaskAssignment) => TaskAssignment::FIELDS,
        Some(Type::TaskCompletion) => TaskCompletion::FIELDS,
        Some(Type::ErrorReport) => ErrorReport::FIELDS,
        Some(Type::StatusUpdate) => StatusUpdate::FIELDS,
        Some(Type::CoordinationRequest) => CoordinationRequest::FIELDS,
        Some(Type::FileReservation) => FileReservation::FIELDS,
        None => &[],
    };
    [Base::FIELDS, TYPE, own]
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Delegates a task.
    TaskAssignment(TaskAssignment),
    /// Tells that a task has been completed.
    TaskCompletion(TaskCompletion),
    /// Reports an error.
    ErrorReport(ErrorReport),
    /// Tells how a task goes on.
    StatusUpdate(StatusUpdate),
    /// Asks several agents to coordinate.
    CoordinationRequest(CoordinationRequest),
    /// Asks for files to be reserved.
    FileReservation(FileReservation),
    /// A message of a type that this version does not know, or without one.
    Unknown(Unknown),
}

/// A message of a type that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unknown {
    /// The word for its type; `None` if there is none or it is no text.
    pub type_name: Option<String>,
    /// The fields that every message has.
    pub base: Base,
    /// All its other fields.
    pub extra: Map<String, Value>,
}

impl Message {
    /// The type; `None` if it is not known.
    pub fn kind(&self) -> Option<Type> {
        match self {
            Self::TaskAssignment(_) => Some(Type::TaskAssignment),
            Self::TaskCompletion(_) => Some(Type::TaskCompletion),
            Self::ErrorReport(_) => Some(Type::ErrorReport),
            Self::StatusUpdate(_) => Some(Type::StatusUpdate),
            Self::CoordinationRequest(_) => Some(Type::CoordinationRequest),
            Self::FileReservation(_) => Some(Type::FileReservation),
            Self::Unknown(_) => None,
        }
    }

    /// The word for the type, known or not; empty if the message has none.
    pub fn type_name(&self) -> &str {
        match (self.kind(), self) {
            (Some(kind), _) => kind.as_str(),
            (None, Self::Unknown(unknown)) => unknown.type_name.as_deref().unwrap_or_default(),
            (None, _) => "",
        }
    }

    /// The id of the task that the message is about, if it names one. A type whose rules know no task may name one too.
    pub fn task_id(&self) -> Option<&str> {
        let task_id = match self {
            Self::TaskAssignment(message) => &message.task_id,
            Self::TaskCompletion(message) => &message.task_id,
            Self::ErrorReport(message) => &message.task_id,
            Self::StatusUpdate(message) => &message.task_id,
            Self::FileReservation(message) => &message.task_id,
            Self::CoordinationRequest(CoordinationRequest { extra, .. }) | Self::Unknown(Unknown { extra, .. }) => {
                extra.get("task_id").and_then(Value::as_str)?
            }
        };
        not_empty(task_id)
    }

    /// The fields that every message has.
    pub fn base(&self) -> &Base {
        match self {
            Self::TaskAssignment(message) => &message.base,
            Self::TaskCompletion(message) => &message.base,
            Self::ErrorReport(message) => &message.base,
            Self::StatusUpdate(message) => &message.base,
            Self::CoordinationRequest(message) => &message.base,
            Self::FileReservation(message) => &message.base,
            Self::Unknown(message) => &message.base,
        }
    }

    /// The id of the message, well-formed or not, if it has one.
    pub fn message_id(&self) -> Option<&str> {
        not_empty(&self.base().message_id)
    }

    /// The name of the sending agent, if the message tells it.
    pub fn sender_id(&self) -> Option<&str> {
        not_empty(&self.base().sender_id)
    }

    /// The message as JSON text on one line, with its fields in the order of the format's tables.
    pub fn write(&self) -> String {
        let mut text = String::new();
        write_object(self.to_map(), &tables(self.kind()), &mut text);
        text
    }

    /// The message as a JSON object.
    pub fn to_value(&self) -> Value {
        self.to_map().into()
    }

    /// The message that a JSON object is.
    pub(super) fn take(mut map: Map<String, Value>) -> Self {
        // A type that is no text stays where it is, as any other value that its field cannot take.
        let Some(Value::String(word)) = map.get(TYPE_NAME) else {
            return Self::Unknown(Unknown { type_name: None, base: Base::take(&mut map), extra: map });
        };
        let word = word.clone();
        map.remove(TYPE_NAME);
        match Type::parse(&word) {
            Some(Type::TaskAssignment) => Self::TaskAssignment(Part::take(&mut map)),
            Some(Type::TaskCompletion) => Self::TaskCompletion(Part::take(&mut map)),
            Some(Type::ErrorReport) => Self::ErrorReport(Part::take(&mut map)),
            Some(Type::StatusUpdate) => Self::StatusUpdate(Part::take(&mut map)),
            Some(Type::CoordinationRequest) => Self::CoordinationRequest(Part::take(&mut map)),
            Some(Type::FileReservation) => Self::FileReservation(Part::take(&mut map)),
            None => Self::Unknown(Unknown { type_name: Some(word), base: Base::take(&mut map), extra: map }),
        }
    }

    fn to_map(&self) -> Map<String, Value> {
        let mut map = Map::new();
        match self {
            Self::TaskAssignment(message) => message.put(&mut map),
            Self::TaskCompletion(message) => message.put(&mut map),
            Self::ErrorReport(message) => message.put(&mut map),
            Self::StatusUpdate(message) => message.put(&mut map),
            Self::CoordinationRequest(message) => message.put(&mut map),
            Self::FileReservation(message) => message.put(&mut map),
            Self::Unknown(message) => {
                message.base.put(&mut map);
                message.extra.put(&mut map);
            }
        }
        let has_type = !matches!(self, Self::Unknown(Unknown { type_name: None, .. }));
        if has_type {
            map.insert(TYPE_NAME.to_owned(), self.type_name().into());
        }
        map
    }
}

fn not_empty(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

/// Writes the known fields in the order of their tables, then the others.
fn write_object(mut map: Map<String, Value>, tables: &[&[Field]], text: &mut String) {
    let mut separator = '{';
    for field in tables.iter().copied().flatten() {
        let Some(value) = map.remove(field.name) else { continue };
        write_name(field.name, &mut separator, text);
        match (value, &field.rule) {
            (Value::Object(inner), Rule { shape: Shape::Object(fields), .. }) => write_object(inner, &[fields], text),
            (value, _) => text.push_str(&value.to_string()),
        }
    }
    for (name, value) in map {
        write_name(&name, &mut separator, text);
        text.push_str(&value.to_string());
    }
    if separator == '{' {
        text.push('{');
    }
    text.push('}');
}

fn write_name(name: &str, separator: &mut char, text: &mut String) {
    text.push(std::mem::replace(separator, ','));
    text.push_str(&Value::from(name).to_string());
    text.push(':');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(value: Value) -> Message {
        let Value::Object(map) = value else { panic!("no object: {value}") };
        Message::take(map)
    }

    #[test]
    fn a_message_is_written_in_the_order_of_the_format_with_unknown_fields_last() {
        let text =
            message(json!({"aside": 1, "error": {"zeal": 2, "message": "m", "code": "c"}, "type": "error_report"}));
        assert_eq!(
            text.write(),
            concat!(
                r#"{"version":"","timestamp":"","sender_id":"","message_id":"","type":"error_report","task_id":"","#,
                r#""error":{"code":"c","message":"m","zeal":2},"reproduction_steps":[],"aside":1}"#
            )
        );
    }

    #[test]
    fn a_type_that_is_unknown_absent_or_no_text_is_kept_as_it_came() {
        for (value, word) in [
            (json!({"type": "chat", "x": 1}), "chat"),
            (json!({"type": "", "x": 1}), ""),
            (json!({"type": ["chat"], "x": 1}), ""),
            (json!({"x": 1}), ""),
        ] {
            let message = message(value.clone());
            assert_eq!((message.kind(), message.type_name()), (None, word), "{value}");
            let written = message.to_value();
            assert_eq!((written.get("type"), &written["x"]), (value.get("type"), &json!(1)), "{value}");
        }
    }

    /// A value that is right for a field of this shape.
    fn right_for(shape: &Shape) -> Value {
        match shape {
            Shape::Text | Shape::Name | Shape::Form(_) => json!("x"),
            Shape::Choice(words) => json!(words[0]),
            Shape::Number | Shape::Between(..) | Shape::PlaceOf { .. } => json!(0.5),
            Shape::Flag => json!(true),
            Shape::Texts => json!(["x"]),
            Shape::List => json!(["x", 1, {}]),
            Shape::Object(fields) => right_for_all(fields).into(),
        }
    }

    fn right_for_all(fields: &[Field]) -> Map<String, Value> {
        fields.iter().map(|field| (field.name.to_owned(), right_for(&field.rule.shape))).collect()
    }

    #[test]
    fn every_field_takes_what_its_rule_allows() {
        for kind in Type::ALL {
            let mut map: Map<String, Value> = tables(Some(*kind)).into_iter().flat_map(right_for_all).collect();
            map.insert(TYPE_NAME.to_owned(), kind.as_str().into());
            let message = Message::take(map.clone());
            // What a field does not take would lie in the `extra` of its record, at whatever depth.
            let shown = format!("{message:?}");
            assert!(shown.contains("extra: {}") && !shown.contains("extra: {\""), "{shown}");
            assert_eq!(message.to_value(), Value::Object(map));
        }
    }

    #[test]
    fn ids_are_told_when_there_are_any() {
        let known = message(json!({"type": "status_update", "task_id": "bd-1", "message_id": "m", "sender_id": "s"}));
        assert_eq!((known.task_id(), known.message_id(), known.sender_id()), (Some("bd-1"), Some("m"), Some("s")));
        let unknown = message(json!({"type": "chat", "task_id": "bd-2"}));
        assert_eq!((unknown.task_id(), unknown.message_id(), unknown.sender_id()), (Some("bd-2"), None, None));
        let request = message(json!({"type": "coordination_request", "task_id": 3}));
        assert_eq!(request.task_id(), None);
    }
}
