//! What was said in a channel, the oldest first. With `since` the next page goes on in time, without it back in time.

use mail::channels::{Post, PostQuery};

use crate::prelude::*;

declare! {
    ReadChannel("read_channel", READS, "What was said in a channel, oldest first.") {
        project_key: String = PROJECT;
        /// With or without '#'.
        channel: String = Param::required("channel", Text, "With or without '#'");
        /// Only what came after it: a message's number, its name in the channel, or a time.
        since: Option<String> =
            Param::optional("since", Text, "A message's number, its name in the channel, or a time");
        before_id: Option<i64> = BEFORE;
        thread_id: Option<String> = Param::optional("thread_id", Text, "");
        /// 50 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    ChannelPageAnswer {
        /// The slug of the project.
        project: String,
        channel: String,
        messages: Vec<PostAnswer>,
        /// The newest message here, or where the reader stood if there is none.
        newest: Option<i64>,
        /// The cursor of the next page, if there may be one: `since` it if that was given, else `before_id`.
        next: Option<i64>,
    }
}

impl Verb for ReadChannel {
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
        let shown = |post: Post| {
            let content = post.content();
            PostAnswer::new(content.text, content.code, content.artifacts, post)
        };
        Ok(ChannelPageAnswer {
            project: project.slug,
            channel: channel.as_str().to_owned(),
            messages: posts.into_iter().map(shown).collect(),
            newest,
            next,
        })
    }
}
