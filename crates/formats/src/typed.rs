//! A message read for what it says, in whichever of the two formats it is written, and the kinds of message.
//!
//! A body that is one JSON object with a `type` is JSON; everything else is Markdown, which at the worst is prose.

use crate::{Parsed, channel, json, markdown};

/// The kind of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A coordination message in Markdown.
    Markdown(markdown::Kind),
    /// A message in JSON.
    Json(json::Type),
    /// A message of a channel, whatever its text is: its author said what type it is of.
    Channel(channel::Type),
}

impl Kind {
    /// All kinds, those in Markdown first, then those in JSON.
    pub fn all() -> impl Iterator<Item = Self> {
        let typed =
            markdown::Kind::ALL.into_iter().map(Self::Markdown).chain(json::Type::ALL.into_iter().map(Self::Json));
        typed.chain(channel::Type::ALL.into_iter().map(Self::Channel))
    }

    /// The word for it: `DONE`, `task_completion`, `incident`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown(kind) => kind.as_str(),
            Self::Json(kind) => kind.as_str(),
            Self::Channel(kind) => kind.as_str(),
        }
    }

    /// Whether the text of such a message is typed, and so tells of work.
    pub fn is_typed(self) -> bool {
        !matches!(self, Self::Channel(_))
    }

    /// Whether it says nothing: it is what most messages of channels are.
    pub fn is_usual(self) -> bool {
        self == Self::Channel(channel::Type::Chat)
    }

    /// Reads the word, in upper or lower case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    /// The kind of coordination message, if it is one.
    pub fn markdown(self) -> Option<markdown::Kind> {
        match self {
            Self::Markdown(kind) => Some(kind),
            Self::Json(_) | Self::Channel(_) => None,
        }
    }

    /// Whether the sender expects an acknowledgement when it does not say. Only coordination messages have such a rule.
    pub fn ack_by_default(self) -> bool {
        matches!(self, Self::Markdown(kind) if kind.ack_by_default())
    }
}

/// What a message says.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed {
    /// Markdown; of an unknown kind when it is prose.
    Markdown(markdown::Message),
    /// JSON, and the work that the subject names.
    Json {
        /// The body.
        message: json::Message,
        /// The id in the subject, which counts when the body names no task.
        subject_id: Option<String>,
    },
    /// What was meant to be JSON and cannot be read, under a subject that names no kind.
    BrokenJson {
        /// The id in the subject.
        subject_id: Option<String>,
    },
}

impl Typed {
    /// Reads a message. Never fails: what is neither format is Markdown of an unknown kind.
    pub fn read(subject: &str, body: &str) -> Parsed<Self> {
        if let Some(text) = json::find_in(body)
            && let Some(read) = Self::read_json(subject, text)
        {
            return read;
        }
        let parsed = markdown::read(subject, body);
        Parsed { value: Self::Markdown(parsed.value), problems: parsed.problems }
    }

    /// Reads what begins as a JSON object; `None` if it is none of ours.
    fn read_json(subject: &str, text: &str) -> Option<Parsed<Self>> {
        let Parsed { value, problems } = json::read(text);
        let subject = markdown::read(subject, "").value;
        let subject_id = subject.work_id().map(str::to_owned);
        // One that says who sent it under which id was meant as a message, and lacks its type.
        let is_meant = value.as_ref().is_some_and(|message| message.sender_id().is_some()) && subject.kind().is_none();
        match value {
            Some(message) if !message.type_name().is_empty() || is_meant && message.message_id().is_some() => {
                Some(Parsed { value: Self::Json { message, subject_id }, problems })
            }
            // Prose may begin with a brace too, but has no such member.
            None if subject.kind().is_none() && text.contains("\"type\"") => {
                Some(Parsed { value: Self::BrokenJson { subject_id }, problems })
            }
            _ => None,
        }
    }

    /// The kind, if it is one that is known.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Self::Markdown(message) => message.kind().map(Kind::Markdown),
            Self::Json { message, .. } => message.kind().map(Kind::Json),
            Self::BrokenJson { .. } => None,
        }
    }

    /// The work that it is about, if it names one that can be an id.
    pub fn work_id(&self) -> Option<&str> {
        match self {
            Self::Markdown(message) => message.work_id(),
            Self::Json { message, subject_id } => {
                let task_id = message.task_id().filter(|_| !self.is_about_no_work());
                task_id.and_then(markdown::usable_id).or(subject_id.as_deref())
            }
            Self::BrokenJson { subject_id } => subject_id.as_deref(),
        }
    }

    /// Whether it says that it is about no work: the format wants a task in every report, also in one on a message that
    /// names none.
    pub fn is_about_no_work(&self) -> bool {
        let Self::Json { message, .. } = self else { return false };
        message.kind() == Some(json::Type::ErrorReport) && message.task_id() == Some(json::NO_TASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(subject: &str, body: &str) -> (Option<&'static str>, Option<String>) {
        let typed = Typed::read(subject, body).value;
        (typed.kind().map(Kind::as_str), typed.work_id().map(str::to_owned))
    }

    #[test]
    fn a_body_that_is_json_with_a_type_is_json() {
        let body = r#"{"type":"status_update","task_id":"bd-47"}"#;
        assert_eq!(read("how it goes", body), (Some("status_update"), Some("bd-47".into())));
        assert_eq!(read("x", &format!("```json\n{body}\n```\n")), (Some("status_update"), Some("bd-47".into())));
    }

    #[test]
    fn a_report_on_a_message_that_names_no_work_is_about_none() {
        assert_eq!(read("x", r#"{"type":"error_report","task_id":"unknown"}"#), (Some("error_report"), None));
        assert_eq!(read("x", r#"{"type":"error_report","task_id":"bd-47"}"#).1, Some("bd-47".into()));
        assert_eq!(read("x", r#"{"type":"status_update","task_id":"unknown"}"#).1, Some("unknown".into()));
    }

    #[test]
    fn the_subject_names_the_work_when_the_json_does_not() {
        assert_eq!(read("[a-1] DONE", r#"{"type":"task_completion"}"#), (Some("task_completion"), Some("a-1".into())));
    }

    #[test]
    fn json_without_a_type_says_nothing_and_the_subject_counts() {
        assert_eq!(read("[a-1] DONE", r#"{"a":1}"#), (Some("DONE"), Some("a-1".into())));
        assert_eq!(read("[a-1] DONE", r#"{"type":"#), (Some("DONE"), Some("a-1".into())));
    }

    #[test]
    fn json_of_a_sender_under_an_id_is_a_message_that_lacks_its_type() {
        let body = r#"{"sender_id":"a","message_id":"m","type":""}"#;
        assert!(Typed::read("x", body).problems.iter().any(|problem| problem.path == "type"));
        assert_eq!(read("[a-1] DONE", body), (Some("DONE"), Some("a-1".into())));
    }

    #[test]
    fn json_that_is_broken_is_told_as_such_unless_the_subject_names_a_kind() {
        let broken = Typed::read("[a-1] news", r#"{"type":"status_update",}"#);
        assert_eq!((broken.value.kind(), broken.value.work_id()), (None, Some("a-1")));
        assert!(broken.problems[0].wanted.contains("a JSON object"), "{:?}", broken.problems);
        assert_eq!(read("DONE", r#"{"type":"status_update",}"#).0, Some("DONE"));
        assert!(matches!(Typed::read("x", "{ braces } are not JSON").value, Typed::Markdown(_)));
    }

    #[test]
    fn an_unknown_type_is_of_no_kind_and_a_problem() {
        let parsed = Typed::read("x", r#"{"type":"chat"}"#);
        assert_eq!(parsed.value.kind(), None);
        assert!(parsed.problems.iter().any(|problem| problem.path == "type"));
    }

    #[test]
    fn an_id_that_cannot_be_one_is_none() {
        assert_eq!(read("x", r#"{"type":"status_update","task_id":"a\nb"}"#), (Some("status_update"), None));
    }

    #[test]
    fn every_kind_is_read_back_from_its_word_in_any_case() {
        assert_eq!(Kind::all().count(), 28);
        for kind in Kind::all() {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
            assert_eq!(Kind::parse(&kind.as_str().to_ascii_uppercase()), Some(kind));
        }
        assert_eq!(Kind::parse("DONE "), None);
        assert_eq!(Kind::parse(""), None);
    }
}
