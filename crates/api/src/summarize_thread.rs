//! Sums up a thread.

use crate::prelude::*;

declare! {
    /// Asks for the gist of a thread.
    SummarizeThread(
        "summarize_thread",
        READS,
        "Participants, key points, action items and open questions of a thread."
    ) {
        project_key: String = PROJECT;
        thread_id: String = THREAD;
    }
}

impl Verb for SummarizeThread {
    type Answer = SummaryAnswer;

    async fn run(self, office: &Office) -> Result<SummaryAnswer, Error> {
        let thread = filled("thread_id", &self.thread_id)?;
        let (thread, summary) = office.summarize(&self.project_key, thread).await?;
        Ok(SummaryAnswer::new(thread, summary))
    }
}
