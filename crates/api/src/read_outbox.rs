//! Lists what an agent sent, newest first, and what each recipient did with it.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::FollowedAnswer;
use crate::params::{AGENT, BEFORE, BODIES, DEFAULT_LIMIT, LIMIT, PROJECT, TOKEN, claim, limit, next_cursor};

/// Asks what an agent sent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadOutbox {
    pub project_key: String,
    pub agent_name: String,
    /// 20 when nobody says.
    pub limit: Option<u32>,
    /// Only messages older than this one.
    pub before_id: Option<i64>,
    /// True when nobody says.
    pub include_bodies: Option<bool>,
    pub registration_token: Option<String>,
}

/// A page of what an agent sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OutboxAnswer {
    pub agent: String,
    pub count: usize,
    pub messages: Vec<FollowedAnswer>,
    /// The `before_id` of the next page; none if this is the last.
    pub next: Option<i64>,
}

impl Verb for ReadOutbox {
    const NAME: &'static str = "read_outbox";
    const ABOUT: &'static str = "What an agent sent, newest first, and who read and acknowledged it.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, LIMIT, BEFORE, BODIES, TOKEN];
    const HINTS: Hints = Hints::READS;
    type Answer = OutboxAnswer;

    async fn run(self, office: &Office) -> Result<OutboxAnswer, Error> {
        let (limit, with_bodies) = (limit(self.limit, DEFAULT_LIMIT), self.include_bodies.unwrap_or(true));
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let before = self.before_id.map(MessageId);
        let sent = office.outbox(&self.project_key, agent, before, limit, with_bodies).await?;
        let last = sent.last().map(|(message, _)| message.id.0);
        let next = next_cursor(limit, sent.iter().map(|(message, _)| message.body.len()), last);
        let follow = |(message, deliveries)| FollowedAnswer::new(message, deliveries, with_bodies, true);
        let messages: Vec<_> = sent.into_iter().map(follow).collect();
        Ok(OutboxAnswer { agent: self.agent_name, count: messages.len(), messages, next })
    }
}
