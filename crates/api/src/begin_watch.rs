//! Begins to watch a channel or the mailbox for an agent, unless another watcher does.

use jiff::Timestamp;
use mail::watches::Begun;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::params::{AGENT, Actor, CHANNEL, HOLDER, PROJECT, TOKEN};
use crate::{Time, Verb};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BeginWatch {
    #[serde(flatten)]
    pub actor: Actor,
    /// Empty for the mailbox.
    pub channel: String,
    /// Who watches: no two that run have one name.
    pub holder: String,
    /// A holder that is known to be gone.
    pub instead_of: Option<String>,
    /// The first watcher leaves older mail alone.
    pub since: Option<Time>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "begun", rename_all = "snake_case")]
pub enum BegunAnswer {
    Started {
        /// The last message that was looked at.
        position: i64,
        /// Messages that the last watcher left and that are not tried again.
        given_up: Vec<i64>,
    },
    /// Another watches here, and is believed to be there until then.
    Held { holder: String, until: Time },
}

impl Verb for BeginWatch {
    const NAME: &'static str = "begin_watch";
    const ABOUT: &'static str = "Begin to watch for an agent.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        CHANNEL,
        HOLDER,
        Param::optional("instead_of", ParamKind::Text, "A holder that is gone"),
        Param::optional("since", ParamKind::Text, "RFC 3339: the first watcher leaves older mail alone"),
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
    type Answer = BegunAnswer;

    async fn run(self, office: &Office) -> Result<BegunAnswer, Error> {
        let watcher = self.actor.watcher(&self.channel, &self.holder);
        let since = self.since.map_or(Timestamp::MIN, |since| since.0);
        Ok(match office.begin_watch(watcher, self.instead_of.as_deref(), since).await? {
            Begun::Started { position, given_up } => {
                let given_up = given_up.into_iter().map(|id| id.0).collect();
                BegunAnswer::Started { position: position.0, given_up }
            }
            Begun::Held { holder, until } => BegunAnswer::Held { holder, until: until.into() },
        })
    }
}
