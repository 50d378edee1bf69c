//! How many watchers answered each other on the way to a message.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::params::{AGENT, Actor, MESSAGE, PROJECT, TOKEN};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CountHops {
    #[serde(flatten)]
    pub actor: Actor,
    pub message_id: i64,
}

impl Verb for CountHops {
    const NAME: &'static str = "count_hops";
    const ABOUT: &'static str = "How many watchers answered each other up to a message.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, MESSAGE, TOKEN];
    const HINTS: Hints = Hints::READS;
    type Answer = u32;

    async fn run(self, office: &Office) -> Result<u32, Error> {
        office.hops(&self.actor.project_key, self.actor.claim(), MessageId(self.message_id)).await
    }
}
