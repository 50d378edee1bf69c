//! Wake-ups: who may wake a session now, and what became of it. To ask is no sign of life of the agent.

use super::{Claim, Office};
use crate::error::{Error, check_label};
use crate::ids::{AgentId, MessageId};
use crate::wake_ups::{WakeClaim, WakeOutcome, WakeReceipt};

/// The longest key of a session, in characters.
const LONGEST_KEY: usize = 128;

impl Office {
    /// Claims a wake-up of an agent for the session with that key, if one is due. With an outcome it is over: the caller has told the
    /// session already. Also answers whose it is, for callers that wait for the next.
    pub async fn claim_wake_up(
        &self,
        project_key: &str,
        claim: Claim<'_>,
        session_key: &str,
        outcome: Option<WakeOutcome>,
    ) -> Result<(AgentId, WakeClaim), Error> {
        check_label("session_key", session_key, LONGEST_KEY)?;
        let (project, agent, _) = self.claimed(project_key, claim).await?;
        if agent.retired_at.is_some() {
            return Ok((agent.id, WakeClaim::Nothing));
        }
        let (rule, now) = (self.rules.wake, self.clock.now());
        let claimed = self.store.claim_wake_up(project.id, agent.id, session_key, rule, outcome, now).await?;
        Ok((agent.id, claimed))
    }

    /// Notes what became of a wake-up; whether that was not known.
    pub async fn settle_wake_up(
        &self,
        project_key: &str,
        claim: Claim<'_>,
        number: i64,
        outcome: WakeOutcome,
    ) -> Result<bool, Error> {
        let (_, agent, _) = self.claimed(project_key, claim).await?;
        Ok(self.store.settle_wake_up(agent.id, number, outcome, self.clock.now()).await?)
    }

    /// What became of the wake-ups that told of these messages.
    pub async fn wake_receipts(&self, messages: &[MessageId]) -> Result<Vec<WakeReceipt>, Error> {
        Ok(self.store.wake_receipts(messages).await?)
    }
}
