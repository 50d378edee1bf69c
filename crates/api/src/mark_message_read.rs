//! Marks a message read in one's own mailbox.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::MarkedAnswer;
use crate::params::{AGENT, MESSAGE, PROJECT, TOKEN, claim};

/// Marks a message read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MarkMessageRead {
    pub project_key: String,
    pub agent_name: String,
    pub message_id: i64,
    pub registration_token: Option<String>,
}

impl Verb for MarkMessageRead {
    const NAME: &'static str = "mark_message_read";
    const ABOUT: &'static str = "Mark a message read.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, MESSAGE, TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = MarkedAnswer;

    async fn run(self, office: &Office) -> Result<MarkedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let id = MessageId(self.message_id);
        let state = office.mark_read(&self.project_key, agent, id).await?;
        Ok(MarkedAnswer::new(self.message_id, &state))
    }
}
