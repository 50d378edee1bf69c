//! Lists what an agent sent, newest first, and what each recipient did with it.

use crate::prelude::*;

declare! {
    /// Asks what an agent sent.
    ReadOutbox("read_outbox", READS, "What an agent sent, newest first, and who read and acknowledged it.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// 20 when nobody says.
        limit: Option<u32> = LIMIT;
        /// Only messages older than this one.
        before_id: Option<i64> = BEFORE;
        /// True when nobody says.
        include_bodies: Option<bool> = BODIES;
        registration_token: Option<String> = TOKEN;
    }

    /// A page of what an agent sent.
    OutboxAnswer {
        agent: String,
        count: usize,
        messages: Vec<FollowedAnswer>,
        /// The `before_id` of the next page; none if this is the last.
        next: Option<i64>,
    }
}

impl Verb for ReadOutbox {
    type Answer = OutboxAnswer;

    async fn run(self, office: &Office) -> Result<OutboxAnswer, Error> {
        let (limit, with_bodies) = (limit(self.limit, DEFAULT_LIMIT), self.include_bodies.unwrap_or(true));
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let before = self.before_id.map(MessageId);
        let sent = office.outbox(&self.project_key, agent, before, limit, with_bodies).await?;
        let last = sent.last().map(|(message, _)| message.id.0);
        let next = next_cursor(limit, sent.iter().map(|(message, _)| message.body.len()), last);
        let follow = |(message, deliveries)| FollowedAnswer::new(message, deliveries, with_bodies, true);
        let messages = FollowedAnswer::with_receipts(sent.into_iter().map(follow).collect(), office).await?;
        Ok(OutboxAnswer { agent: self.agent_name, count: messages.len(), messages, next })
    }
}
