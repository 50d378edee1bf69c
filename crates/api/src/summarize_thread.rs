//! Sums up a thread.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::SummaryAnswer;
use crate::params::{PROJECT, THREAD, filled};

/// Asks for the gist of a thread.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SummarizeThread {
    pub project_key: String,
    pub thread_id: String,
}

impl Verb for SummarizeThread {
    const NAME: &'static str = "summarize_thread";
    const ABOUT: &'static str = "Participants, key points, action items and open questions of a thread.";
    const PARAMS: &'static [Param] = &[PROJECT, THREAD];
    const HINTS: Hints = Hints::READS;
    type Answer = SummaryAnswer;

    async fn run(self, office: &Office) -> Result<SummaryAnswer, Error> {
        let thread = filled("thread_id", &self.thread_id)?;
        let (thread, summary) = office.summarize(&self.project_key, thread).await?;
        Ok(SummaryAnswer::new(thread, summary))
    }
}
