//! Begins to watch a channel or the mailbox for an agent, unless another watcher does.

use jiff::Timestamp;
use mail::watches::Begun;

use crate::prelude::*;

declare! {
    BeginWatch("begin_watch", WRITES, "Begin to watch for an agent.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// Empty for the mailbox.
        channel: String = CHANNEL;
        /// Who watches: no two that run have one name.
        holder: String = HOLDER;
        /// A holder that is known to be gone.
        instead_of: Option<String> = Param::optional("instead_of", Text, "A holder that is gone");
        /// The first watcher leaves older mail alone.
        since: Option<Time> = Param::optional("since", Text, "RFC 3339: the first watcher leaves older mail alone");
    }
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
    type Answer = BegunAnswer;

    async fn run(self, office: &Office) -> Result<BegunAnswer, Error> {
        let watcher = self.actor.watcher(&self.channel, &self.holder);
        let since = self.since.map_or(Timestamp::MIN, |since| since.0);
        Ok(match office.begin_watch(watcher, self.instead_of.as_deref(), since).await? {
            Begun::Started { position, given_up } => {
                let given_up = given_up.into_iter().map(|id| id.0).collect();
                BegunAnswer::Started { position: position.0, given_up }
            }
            Begun::Held { holder, until } => BegunAnswer::Held { holder, until: Time(until) },
        })
    }
}
