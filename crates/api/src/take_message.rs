//! Takes a message on for a watcher, so that it is answered once.

use mail::ids::MessageId;
use mail::watches::Taken;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::params::{AGENT, Actor, CHANNEL, MESSAGE, PROJECT, TOKEN};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TakeMessage {
    #[serde(flatten)]
    pub actor: Actor,
    /// Where it was met; empty for the mailbox.
    pub channel: String,
    pub message_id: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "taken", rename_all = "snake_case")]
pub enum TakenAnswer {
    New,
    /// It was to be taken on again.
    Again,
    /// Another has it, or it is done.
    Already,
}

impl Verb for TakeMessage {
    const NAME: &'static str = "take_message";
    const ABOUT: &'static str = "Take a message on, to answer it.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, CHANNEL, MESSAGE, TOKEN];
    const HINTS: Hints = Hints::WRITES;
    type Answer = TakenAnswer;

    async fn run(self, office: &Office) -> Result<TakenAnswer, Error> {
        let Self { actor, channel, message_id } = &self;
        Ok(match office.take_on(&actor.project_key, actor.claim(), channel, MessageId(*message_id)).await? {
            Taken::New => TakenAnswer::New,
            Taken::Again => TakenAnswer::Again,
            Taken::Already => TakenAnswer::Already,
        })
    }
}
