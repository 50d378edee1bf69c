//! The messages that watchers of an agent took on, and what became of each, the oldest first.

use mail::watches::{Run, RunQuery, RunState};
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::answers::Word;
use crate::params::{AGENT, Actor, LIMIT, PROJECT, TOKEN, limit};
use crate::{Time, Verb};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListRuns {
    #[serde(flatten)]
    pub actor: Actor,
    /// Only those met there; empty for the mailbox.
    pub channel: Option<String>,
    /// The name of a state.
    pub state: Option<Word>,
    /// 1000 when nobody says.
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunAnswer {
    pub message_id: i64,
    /// Empty for the mailbox.
    pub channel: String,
    pub state: Word,
    /// How often it was taken on since somebody last wanted it tried.
    pub tries: u32,
    /// Why it failed.
    pub note: String,
    /// When it came into this state.
    pub at: Time,
}

impl From<Run> for RunAnswer {
    fn from(run: Run) -> Self {
        Self {
            message_id: run.message.0,
            channel: run.channel,
            state: run.state.as_str().into(),
            tries: run.tries,
            note: run.note,
            at: run.at.into(),
        }
    }
}

impl Verb for ListRuns {
    const NAME: &'static str = "list_runs";
    const ABOUT: &'static str = "What watchers took on, and how it stands.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        Param::optional("channel", ParamKind::Text, "Empty for the mailbox; left out, all"),
        Param::optional("state", ParamKind::Choice(&RunState::NAMES), ""),
        LIMIT,
        TOKEN,
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = Vec<RunAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<RunAnswer>, Error> {
        let state = self.state.as_deref().and_then(RunState::parse);
        let query = RunQuery { channel: self.channel.as_deref(), state, limit: limit(self.limit, 1000) };
        let runs = office.runs(&self.actor.project_key, self.actor.claim(), query).await?;
        Ok(runs.into_iter().map(RunAnswer::from).collect())
    }
}
