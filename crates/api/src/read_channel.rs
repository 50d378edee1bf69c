//! What was said in a channel, the oldest first. With `since` the next page goes on in time, without it back in time.

use mail::channels::{Post, PostQuery};
use mail::ids::MessageId;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::PostAnswer;
use crate::params::{BEFORE, LIMIT, PROJECT, limit, next_cursor};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadChannel {
    pub project_key: String,
    /// With or without '#'.
    pub channel: String,
    /// Only what came after it: a message's number, its name in the channel, or a time.
    pub since: Option<String>,
    pub before_id: Option<i64>,
    pub thread_id: Option<String>,
    /// 50 when nobody says.
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChannelPageAnswer {
    /// The slug of the project.
    pub project: String,
    pub channel: String,
    pub messages: Vec<PostAnswer>,
    /// The newest message here, or where the reader stood if there is none.
    pub newest: Option<i64>,
    /// The cursor of the next page, if there may be one: `since` it if that was given, else `before_id`.
    pub next: Option<i64>,
}

impl Verb for ReadChannel {
    const NAME: &'static str = "read_channel";
    const ABOUT: &'static str = "What was said in a channel, oldest first.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        Param::required("channel", ParamKind::Text, "With or without '#'"),
        Param::optional("since", ParamKind::Text, "A message's number, its name in the channel, or a time"),
        BEFORE,
        Param::optional("thread_id", ParamKind::Text, ""),
        LIMIT,
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = ChannelPageAnswer;

    async fn run(self, office: &Office) -> Result<ChannelPageAnswer, Error> {
        let (project_key, channel, limit) = (&self.project_key, &self.channel, limit(self.limit, 50));
        let from = match &self.since {
            Some(since) => office.posts_since(project_key, channel, since).await?,
            None => PostQuery::default(),
        };
        let stood = from.after;
        let query = PostQuery { before: self.before_id.map(MessageId), thread: self.thread_id, limit, ..from };
        let (project, channel, posts) = office.posts(project_key, channel, query).await?;
        let newest = posts.last().map(|post| post.message.id).or(stood).map(|id| id.0);
        let cursor = if self.since.is_some() { newest } else { posts.first().map(|post| post.message.id.0) };
        let next = next_cursor(limit, posts.iter().map(Post::bytes), cursor);
        Ok(ChannelPageAnswer {
            project: project.slug,
            channel: channel.as_str().to_owned(),
            messages: posts.into_iter().map(PostAnswer::from).collect(),
            newest,
            next,
        })
    }
}
