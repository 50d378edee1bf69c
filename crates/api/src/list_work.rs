//! The work of a project, as its mail tells it: the items that changed last first.

use mail::ids::MessageId;
use mail::office::WorkAsk;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::WorkAnswer;
use crate::params::{BEFORE, LIMIT, LONG_LIMIT, PROJECT, limit};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListWork {
    pub project_key: String,
    /// The name of a state, or `overdue`.
    pub state: Option<String>,
    /// Only items that this agent is on.
    pub agent: Option<String>,
    pub before_id: Option<i64>,
    /// 100 when nobody says.
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkListAnswer {
    /// The slug of the project.
    pub project: String,
    pub items: Vec<WorkAnswer>,
    /// The cursor of the next page, if there may be one.
    pub next: Option<i64>,
}

impl Verb for ListWork {
    const NAME: &'static str = "list_work";
    const ABOUT: &'static str = "The work items of a project.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::optional("state", ParamKind::Text, ""),
        Param::optional("agent", ParamKind::Text, "Who is on it"),
        BEFORE,
        LIMIT,
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = WorkListAnswer;

    async fn run(self, office: &Office) -> Result<WorkListAnswer, Error> {
        let ask = WorkAsk {
            project_key: &self.project_key,
            state: self.state.as_deref(),
            agent: self.agent.as_deref(),
            before: self.before_id.map(MessageId),
            limit: limit(self.limit, LONG_LIMIT),
        };
        let page = office.work(ask).await?;
        Ok(WorkListAnswer {
            project: page.project.slug,
            items: page.items.into_iter().map(WorkAnswer::from).collect(),
            next: page.next.map(|id| id.0),
        })
    }
}
