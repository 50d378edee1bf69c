//! Takes a message on for a watcher, so that it is answered once.

use mail::watches::Taken;

use crate::prelude::*;

declare! {
    TakeMessage("take_message", WRITES, "Take a message on, to answer it.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// Where it was met; empty for the mailbox.
        channel: String = CHANNEL;
        message_id: i64 = MESSAGE;
    }
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
