//! Says that a watcher is still there, and how far it has looked. Answers false if another watches instead.

use crate::prelude::*;

declare! {
    HoldWatch("hold_watch", REPEATABLE, "Go on watching for an agent.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// Empty for the mailbox.
        channel: String = CHANNEL;
        holder: String = HOLDER;
        /// The last message looked at.
        position: i64 = Param::required("position", Id, "The last message looked at");
    }
}

impl Verb for HoldWatch {
    type Answer = bool;

    async fn run(self, office: &Office) -> Result<bool, Error> {
        let watcher = self.actor.watcher(&self.channel, &self.holder);
        office.hold_watch(watcher, MessageId(self.position)).await
    }
}
