//! Choosing among messages that were received.
//!
//! The filters look at what was read and at what became of the message; they neither read nor order anything.

use super::{Kind, Message};

/// A message with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// What it says.
    pub message: Message,
    /// Whether its sender waits for an acknowledgement.
    pub ack_required: bool,
    /// Whether it was acknowledged.
    pub acked: bool,
}

impl Received {
    /// Whether an acknowledgement is still due.
    pub fn is_pending(&self) -> bool {
        self.ack_required && !self.acked
    }
}

/// The messages of one kind; `None` asks for those of no known kind.
pub fn by_type(messages: &[Received], kind: impl Into<Option<Kind>>) -> impl Iterator<Item = &Received> {
    let kind = kind.into();
    messages.iter().filter(move |received| received.message.kind() == kind)
}

/// The messages that name just this bead.
pub fn by_work_item<'a>(messages: &'a [Received], bead_id: &'a str) -> impl Iterator<Item = &'a Received> {
    messages.iter().filter(move |received| received.message.bead_id() == bead_id)
}

/// The messages that end work on a piece, good or bad.
pub fn completions(messages: &[Received]) -> impl Iterator<Item = &Received> {
    messages.iter().filter(|received| received.message.is_completion())
}

/// The messages that call the work complete.
pub fn successes(messages: &[Received]) -> impl Iterator<Item = &Received> {
    messages.iter().filter(|received| received.message.is_success())
}

/// The messages that still want an acknowledgement, of any kind.
pub fn pending(messages: &[Received]) -> impl Iterator<Item = &Received> {
    messages.iter().filter(|received| received.is_pending())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::read;

    fn received(subject: &str) -> Received {
        Received { message: read(subject, "").value, ack_required: false, acked: false }
    }

    #[test]
    fn messages_of_no_known_kind_can_be_asked_for() {
        let messages = [received("DONE"), received("hello")];
        assert_eq!(by_type(&messages, None).collect::<Vec<_>>(), [&messages[1]]);
        assert_eq!(by_type(&messages, Kind::Done).collect::<Vec<_>>(), [&messages[0]]);
    }

    #[test]
    fn a_bead_is_compared_letter_by_letter() {
        let messages = [received("[a-1] DONE"), received("[A-1] DONE"), received("[a-10] DONE")];
        assert_eq!(by_work_item(&messages, "a-1").collect::<Vec<_>>(), [&messages[0]]);
    }
}
