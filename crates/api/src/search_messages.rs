//! Searches the mail of a project.

use mail::ids::MessageId;
use mail::office::SearchAsk;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::FoundAnswer;
use crate::params::{DEFAULT_LIMIT, KIND, LIMIT, PROJECT, WORK, about, limit};

/// Asks what was said.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchMessages {
    pub project_key: String,
    pub query: String,
    pub limit: Option<u32>,
    pub kind: Option<String>,
    pub work_id: Option<String>,
    pub before_id: Option<i64>,
}

impl Verb for SearchMessages {
    const NAME: &'static str = "search_messages";
    const ABOUT: &'static str = "Search the project's mail, newest first.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::required("query", ParamKind::Text, "words \"a phrase\" AND OR NOT pre* ( ) subject: from:")
            .mistaken_for(&["q", "text", "search"]),
        LIMIT,
        KIND,
        WORK,
        Param::optional("before_id", ParamKind::Id, "").rare(),
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = Vec<FoundAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<FoundAnswer>, Error> {
        let ask = SearchAsk {
            project_key: &self.project_key,
            query: &self.query,
            about: about(self.kind.as_deref(), self.work_id.as_deref())?,
            before: self.before_id.map(MessageId),
            limit: limit(self.limit, DEFAULT_LIMIT),
        };
        Ok(office.search(ask).await?.into_iter().map(FoundAnswer::from).collect())
    }
}
