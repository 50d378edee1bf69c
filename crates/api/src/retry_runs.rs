//! Has runs that failed taken on again, by the watcher that runs or by the next. Answers which messages those are.

use mail::error::shown;
use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::params::{AGENT, Actor, PROJECT, TOKEN};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryRuns {
    #[serde(flatten)]
    pub actor: Actor,
    /// All that failed without one.
    pub message_ids: Vec<String>,
}

impl Verb for RetryRuns {
    const NAME: &'static str = "retry_runs";
    const ABOUT: &'static str = "Try again what failed.";
    const PARAMS: &'static [Param] =
        &[PROJECT, AGENT, Param::optional("message_ids", ParamKind::Names, "All that failed without one"), TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = Vec<i64>;

    async fn run(self, office: &Office) -> Result<Vec<i64>, Error> {
        let ids = self.message_ids.iter().map(|id| message_id(id)).collect::<Result<Vec<_>, _>>()?;
        let again = office.retry_runs(&self.actor.project_key, self.actor.claim(), &ids).await?;
        Ok(again.into_iter().map(|id| id.0).collect())
    }
}

fn message_id(text: &str) -> Result<MessageId, Error> {
    let wanted = "the number of a message".to_owned();
    text.parse().map(MessageId).map_err(|_| Error::Invalid { what: "message_ids", value: shown(text), wanted })
}
