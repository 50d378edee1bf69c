//! Keys under which a sender sends once: for good, or as long as the message is open.

use crate::error::{Error, check_label};

/// The longest key, in bytes.
pub const LONGEST_KEY: usize = 256;

/// A key that makes sending twice the same as sending once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// What the sender called it; counts within the sender.
    pub key: String,
    /// A hash of everything the sender asked for.
    pub fingerprint: [u8; 32],
}

/// A key for what a sender says again and again: its recipients have one such message open, whatever it says.
///
/// It counts within the sender: nobody hides or keeps back what another sends. What was archived is not open. Brought
/// back it is open again, unless another was sent under the key in between: then it is mail without a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenKey {
    key: String,
    when_open: WhenOpen,
}

/// What becomes of a message whose recipients have an earlier one open under its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenOpen {
    /// It is not sent, unless one of its recipients has none open.
    Skip,
    /// It is sent, and the earlier ones are archived for its recipients.
    Replace,
}

impl OpenKey {
    /// A key of 1 to [`LONGEST_KEY`] characters that can be seen.
    pub fn new(key: &str, when_open: WhenOpen) -> Result<Self, Error> {
        check_label("key", key, LONGEST_KEY)?;
        Ok(Self { key: key.to_owned(), when_open })
    }

    /// What the sender called it.
    pub fn as_str(&self) -> &str {
        &self.key
    }

    /// What becomes of the message if an earlier one is open.
    pub fn when_open(&self) -> WhenOpen {
        self.when_open
    }
}
