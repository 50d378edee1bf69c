//! The messages that watchers of an agent took on, and what became of each, the oldest first.

use mail::watches::{Run, RunQuery, RunState};

use crate::prelude::*;

declare! {
    ListRuns("list_runs", READS, "What watchers took on, and how it stands.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        /// Only those met there; empty for the mailbox.
        channel: Option<String> = Param::optional("channel", Text, "Empty for the mailbox; left out, all");
        /// The name of a state.
        state: Option<Word> = Param::optional("state", Choice(&RunState::NAMES), "");
        /// 1000 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    RunAnswer::new(run: Run) {
        message_id: i64 = run.message.0,
        /// Empty for the mailbox.
        channel: String = run.channel,
        state: Word = run.state.as_str().into(),
        /// How often it was taken on since somebody last wanted it tried.
        tries: u32 = run.tries,
        /// Why it failed.
        note: String = run.note,
        /// When it came into this state.
        at: Time = Time(run.at),
    }
}

impl Verb for ListRuns {
    type Answer = Vec<RunAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<RunAnswer>, Error> {
        let state = self.state.as_deref().and_then(RunState::parse);
        let query = RunQuery { channel: self.channel.as_deref(), state, limit: limit(self.limit, 1000) };
        let runs = office.runs(&self.actor.project_key, self.actor.claim(), query).await?;
        Ok(runs.into_iter().map(RunAnswer::new).collect())
    }
}
