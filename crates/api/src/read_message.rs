//! Shows one message, and what each recipient did with it.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::FollowedAnswer;
use crate::params::{MESSAGE, PROJECT};

/// Asks for a message. Blind deliveries are not shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadMessage {
    pub project_key: String,
    pub message_id: i64,
}

impl Verb for ReadMessage {
    const NAME: &'static str = "read_message";
    const ABOUT: &'static str = "One message with its recipients.";
    const PARAMS: &'static [Param] = &[PROJECT, MESSAGE];
    const HINTS: Hints = Hints::READS;
    type Answer = FollowedAnswer;

    async fn run(self, office: &Office) -> Result<FollowedAnswer, Error> {
        let (message, deliveries) = office.message(&self.project_key, MessageId(self.message_id)).await?;
        Ok(FollowedAnswer::new(message, deliveries, true, false))
    }
}
