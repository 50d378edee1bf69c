//! Has runs that failed taken on again, by the watcher that runs or by the next. Answers which messages those are.

use crate::prelude::*;

declare! {
    RetryRuns("retry_runs", REPEATABLE, "Try again what failed.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// All that failed without one.
        message_ids: Vec<String> = Param::optional("message_ids", Names, "All that failed without one");
    }
}

impl Verb for RetryRuns {
    type Answer = Vec<i64>;

    async fn run(self, office: &Office) -> Result<Vec<i64>, Error> {
        let ids = self.message_ids.iter().map(|id| message_id(id)).collect::<Result<Vec<_>, _>>()?;
        let again = office.retry_runs(&self.actor.project_key, self.actor.claim(), &ids).await?;
        Ok(again.into_iter().map(|id| id.0).collect())
    }
}

fn message_id(text: &str) -> Result<MessageId, Error> {
    text.parse().map(MessageId).map_err(|_| Error::invalid("message_ids", text, "the number of a message"))
}
