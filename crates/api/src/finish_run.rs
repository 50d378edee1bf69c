//! Notes how a watcher's run ended: what became of a message that it took on. Answers false if it was not running.

use mail::watches::{RunOutcome, RunState};

use crate::prelude::*;

/// How a run may end.
const OUTCOMES: [&str; 3] = ["answered", "silent", "failed"];

declare! {
    FinishRun("finish_run", REPEATABLE, "Note how a run ended.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        message_id: i64 = MESSAGE;
        outcome: Word = Param::required("outcome", Choice(&OUTCOMES), "");
        note: String = Param::optional("note", Text, "Why it failed");
    }
}

impl FinishRun {
    pub fn new(actor: Actor, message_id: i64, outcome: &RunOutcome) -> Self {
        Self { actor, message_id, outcome: outcome.state().as_str().into(), note: outcome.note().to_owned() }
    }
}

impl Verb for FinishRun {
    type Answer = bool;

    async fn run(self, office: &Office) -> Result<bool, Error> {
        let Self { actor, message_id, outcome, note } = self;
        let outcome = match RunState::parse(&outcome) {
            Some(RunState::Answered) => RunOutcome::Answered,
            Some(RunState::Silent) => RunOutcome::Silent,
            _ => RunOutcome::Failed(note),
        };
        office.finish_run(&actor.project_key, actor.claim(), MessageId(message_id), &outcome).await
    }
}
