//! Notes how a watcher's run ended: what became of a message that it took on. Answers false if it was not running.

use mail::ids::MessageId;
use mail::watches::{Outcome, RunState};
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::Word;
use crate::params::{AGENT, Actor, MESSAGE, PROJECT, TOKEN};

/// How a run may end.
const OUTCOMES: [&str; 3] = ["answered", "silent", "failed"];

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FinishRun {
    #[serde(flatten)]
    pub actor: Actor,
    pub message_id: i64,
    outcome: Word,
    note: String,
}

impl FinishRun {
    pub fn new(actor: Actor, message_id: i64, outcome: &Outcome) -> Self {
        Self { actor, message_id, outcome: outcome.state().as_str().into(), note: outcome.note().to_owned() }
    }
}

impl Verb for FinishRun {
    const NAME: &'static str = "finish_run";
    const ABOUT: &'static str = "Note how a run ended.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        MESSAGE,
        Param::required("outcome", ParamKind::Choice(&OUTCOMES), ""),
        Param::optional("note", ParamKind::Text, "Why it failed"),
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = bool;

    async fn run(self, office: &Office) -> Result<bool, Error> {
        let Self { actor, message_id, outcome, note } = self;
        let outcome = match RunState::parse(&outcome) {
            Some(RunState::Answered) => Outcome::Answered,
            Some(RunState::Silent) => Outcome::Silent,
            _ => Outcome::Failed(note),
        };
        office.finish_run(&actor.project_key, actor.claim(), MessageId(message_id), &outcome).await
    }
}
