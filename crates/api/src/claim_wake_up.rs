//! Claims a wake-up of an agent's idle session, for a process that can put a line before it.

use mail::wake_ups::{WakeClaim, WakeOutcome, WakeUp};

use crate::prelude::*;

declare! {
    /// Asks for a wake-up.
    ClaimWakeUp("claim_wake_up", WRITES, "Claim the wake-up of an idle session, if one is due.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// The session that the caller can reach.
        session_key: String = Param::required("session_key", Text, "The session");
        /// What became of it, if the session was told already.
        outcome: Option<Word> = Param::optional("outcome", Choice(&WakeOutcome::NAMES), "If it was told already");
    }

    /// A wake-up, if one is due.
    ClaimedWakeUpAnswer {
        /// The number of the agent, for a caller in the office's own process that waits for its mail.
        agent_id: i64,
        /// The wake-up, which is the caller's alone.
        wake_up[if_any]: Option<WakeUpAnswer>,
        /// In how many milliseconds one is due, if nothing happens.
        due_in_ms[if_any]: Option<u64>,
    }

    /// What a wake-up tells.
    #[derive(PartialEq)]
    WakeUpAnswer::new(wake_up: WakeUp) {
        /// Its number, for whoever says what became of it.
        number: i64 = wake_up.number,
        /// How many messages wait, counted up to a thousand.
        count: usize = wake_up.count,
        /// Who sent them, at most three.
        from: Vec<String> = wake_up.from,
        /// Whether others sent some, too.
        and_others[if_any]: bool = wake_up.and_others,
        /// The newest message.
        newest_id: i64 = wake_up.newest.0,
    }
}

impl Verb for ClaimWakeUp {
    type Answer = ClaimedWakeUpAnswer;

    async fn run(self, office: &Office) -> Result<ClaimedWakeUpAnswer, Error> {
        let Self { actor, session_key, outcome } = &self;
        let outcome = outcome.as_deref().map(outcome_of).transpose()?;
        let (agent, claimed) = office.claim_wake_up(&actor.project_key, actor.claim(), session_key, outcome).await?;
        let mut answer = ClaimedWakeUpAnswer { agent_id: agent.0, wake_up: None, due_in_ms: None };
        match claimed {
            WakeClaim::Nothing => {}
            WakeClaim::Later(due) => {
                answer.due_in_ms =
                    Some(due.duration_since(office.now()).as_millis().max(1).try_into().unwrap_or(u64::MAX));
            }
            WakeClaim::Taken(wake_up) => answer.wake_up = Some(WakeUpAnswer::new(wake_up)),
        }
        Ok(answer)
    }
}

/// Reads what became of a wake-up.
pub(crate) fn outcome_of(word: &str) -> Result<WakeOutcome, Error> {
    WakeOutcome::parse(word).ok_or_else(|| Error::invalid("outcome", word, WakeOutcome::NAMES.join(", ")))
}
