//! Reports what became of a wake-up, as whoever claimed it knows.

use mail::wake_ups::WakeOutcome;

use crate::claim_wake_up::outcome_of;
use crate::prelude::*;

declare! {
    /// Reports what became of a wake-up.
    SettleWakeUp("settle_wake_up", REPEATABLE, "Say what became of a wake-up.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        number: i64 = Param::required("number", Id, "");
        outcome: Word = Param::required("outcome", Choice(&WakeOutcome::NAMES), "");
    }
}

impl Verb for SettleWakeUp {
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let Self { actor, number, outcome } = &self;
        let outcome = outcome_of(outcome)?;
        Ok(NotedAnswer { changed: office.settle_wake_up(&actor.project_key, actor.claim(), *number, outcome).await? })
    }
}
