//! Says that a watcher is still there, and how far it has looked. Answers false if another watches instead.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::params::{AGENT, Actor, CHANNEL, HOLDER, PROJECT, TOKEN};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HoldWatch {
    #[serde(flatten)]
    pub actor: Actor,
    /// Empty for the mailbox.
    pub channel: String,
    pub holder: String,
    /// The last message looked at.
    pub position: i64,
}

impl Verb for HoldWatch {
    const NAME: &'static str = "hold_watch";
    const ABOUT: &'static str = "Go on watching for an agent.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        CHANNEL,
        HOLDER,
        Param::required("position", ParamKind::Id, "The last message looked at"),
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = bool;

    async fn run(self, office: &Office) -> Result<bool, Error> {
        let watcher = self.actor.watcher(&self.channel, &self.holder);
        office.hold_watch(watcher, MessageId(self.position)).await
    }
}
