//! What sort of message one is, whichever format it is written in.

use std::fmt;

use crate::{json, markdown};

/// The kind of a typed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A coordination message in Markdown.
    Markdown(markdown::Kind),
    /// A message in JSON.
    Json(json::Type),
}

impl Kind {
    /// All kinds, those in Markdown first.
    pub fn all() -> impl Iterator<Item = Self> {
        markdown::Kind::ALL.into_iter().map(Self::Markdown).chain(json::Type::ALL.iter().copied().map(Self::Json))
    }

    /// The word for it: `DONE`, `task_completion`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Markdown(kind) => kind.as_str(),
            Self::Json(kind) => kind.as_str(),
        }
    }

    /// Reads the word, in upper or lower case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::all().find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }

    /// The kind of coordination message, if it is one.
    pub fn markdown(self) -> Option<markdown::Kind> {
        match self {
            Self::Markdown(kind) => Some(kind),
            Self::Json(_) => None,
        }
    }

    /// Whether the sender expects an acknowledgement when it does not say. Only coordination messages have such a rule.
    pub fn ack_by_default(self) -> bool {
        matches!(self, Self::Markdown(kind) if kind.ack_by_default())
    }
}

impl From<markdown::Kind> for Kind {
    fn from(kind: markdown::Kind) -> Self {
        Self::Markdown(kind)
    }
}

impl From<json::Type> for Kind {
    fn from(kind: json::Type) -> Self {
        Self::Json(kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn every_kind_is_read_back_from_its_word_in_any_case() {
        assert_eq!(Kind::all().count(), 16);
        for kind in Kind::all() {
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
            assert_eq!(Kind::parse(&kind.as_str().to_ascii_uppercase()), Some(kind));
        }
        assert_eq!(Kind::parse("DONE "), None);
        assert_eq!(Kind::parse(""), None);
    }
}
