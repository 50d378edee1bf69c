//! Ends a watch, so that another may begin at once. Answers false if another watches instead.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::params::{AGENT, Actor, CHANNEL, HOLDER, PROJECT, TOKEN};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EndWatch {
    #[serde(flatten)]
    pub actor: Actor,
    /// Empty for the mailbox.
    pub channel: String,
    pub holder: String,
}

impl Verb for EndWatch {
    const NAME: &'static str = "end_watch";
    const ABOUT: &'static str = "Stop watching for an agent.";
    const PARAMS: &'static [Param] = &[PROJECT, AGENT, CHANNEL, HOLDER, TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = bool;

    async fn run(self, office: &Office) -> Result<bool, Error> {
        office.end_watch(self.actor.watcher(&self.channel, &self.holder)).await
    }
}
