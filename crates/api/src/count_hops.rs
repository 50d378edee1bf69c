//! How many watchers answered each other on the way to a message.

use crate::prelude::*;

declare! {
    CountHops("count_hops", READS, "How many watchers answered each other up to a message.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        message_id: i64 = MESSAGE;
    }
}

impl Verb for CountHops {
    type Answer = u32;

    async fn run(self, office: &Office) -> Result<u32, Error> {
        office.hops(&self.actor.project_key, self.actor.claim(), MessageId(self.message_id)).await
    }
}
