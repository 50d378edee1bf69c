//! Acknowledges a message, which also marks it read.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::MarkedAnswer;
use crate::params::{AGENT, MESSAGE, PROJECT, TOKEN, claim};

/// Acknowledges a message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AcknowledgeMessage {
    pub project_key: String,
    pub agent_name: String,
    pub message_id: i64,
    /// A word to the sender.
    pub ack_body: Option<String>,
    pub registration_token: Option<String>,
}

impl Verb for AcknowledgeMessage {
    const NAME: &'static str = "acknowledge_message";
    const ABOUT: &'static str = "Acknowledge a message; also marks it read.";
    const PARAMS: &'static [Param] =
        &[PROJECT, AGENT, MESSAGE, Param::optional("ack_body", ParamKind::Text, "A word to the sender"), TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = MarkedAnswer;

    async fn run(self, office: &Office) -> Result<MarkedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let id = MessageId(self.message_id);
        let note = self.ack_body.as_deref().unwrap_or_default();
        let state = office.acknowledge(&self.project_key, agent, id, note).await?;
        Ok(MarkedAnswer::new(self.message_id, &state))
    }
}
