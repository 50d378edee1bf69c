//! Ends a watch, so that another may begin at once. Answers false if another watches instead.

use crate::prelude::*;

declare! {
    EndWatch("end_watch", REPEATABLE, "Stop watching for an agent.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// Empty for the mailbox.
        channel: String = CHANNEL;
        holder: String = HOLDER;
    }
}

impl Verb for EndWatch {
    type Answer = bool;

    async fn run(self, office: &Office) -> Result<bool, Error> {
        office.end_watch(self.actor.watcher(&self.channel, &self.holder)).await
    }
}
