//! One work item in full, and its story: the messages about it, the oldest first.

use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::{StoryAnswer, WorkAnswer};
use crate::params::{LIMIT, LONG_LIMIT, PROJECT, limit};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadWork {
    pub project_key: String,
    pub work_id: String,
    pub after_id: Option<i64>,
    /// How many messages; 100 when nobody says.
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkStoryAnswer {
    /// The slug of the project.
    pub project: String,
    pub item: WorkAnswer,
    pub story: Vec<StoryAnswer>,
    /// The cursor of the next page, if there may be one.
    pub next: Option<i64>,
}

impl Verb for ReadWork {
    const NAME: &'static str = "read_work";
    const ABOUT: &'static str = "One work item and its story.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::required("work_id", ParamKind::Text, ""),
        Param::optional("after_id", ParamKind::Id, "Newer than this message"),
        LIMIT,
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = WorkStoryAnswer;

    async fn run(self, office: &Office) -> Result<WorkStoryAnswer, Error> {
        let (after, limit) = (self.after_id.map(MessageId), limit(self.limit, LONG_LIMIT));
        let story = office.work_story(&self.project_key, &self.work_id, after, limit).await?;
        Ok(WorkStoryAnswer {
            project: story.project.slug,
            item: story.item.into(),
            story: story.messages.into_iter().map(StoryAnswer::from).collect(),
            next: story.next.map(|id| id.0),
        })
    }
}
