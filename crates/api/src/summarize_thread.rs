//! Sums up a thread.

use crate::prelude::*;

/// How many messages of the thread stand for it.
const EXAMPLES: usize = 3;

declare! {
    /// Asks for the gist of a thread.
    SummarizeThread(
        "summarize_thread",
        READS,
        "Participants, key points, action items and open questions of a thread."
    ) {
        project_key: String = PROJECT;
        thread_id: String = THREAD;
        /// Whether to show the newest messages, too.
        include_examples: Option<bool> =
            Param::optional("include_examples", Flag, "The newest three messages, too").unlisted();
    }
}

impl Verb for SummarizeThread {
    type Answer = SummaryAnswer;

    async fn run(self, office: &Office) -> Result<SummaryAnswer, Error> {
        let thread = filled("thread_id", &self.thread_id)?;
        let (thread, summary) = office.summarize(&self.project_key, thread).await?;
        let examples = if self.include_examples.unwrap_or(false) {
            office.newest_in_thread(&self.project_key, &thread, EXAMPLES).await?
        } else {
            Vec::new()
        };
        let examples = examples.into_iter().map(ExampleAnswer::new).collect();
        Ok(SummaryAnswer { examples, ..SummaryAnswer::new(thread, summary) })
    }
}
