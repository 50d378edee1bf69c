//! Channels by address: what was said in one, and which there are.

use mail::channels::{Post, PostQuery};
use mail::ids::MessageId;
use mcp::ReadError;
use serde_json::json;

use super::address::Address;
use super::{Shelves, counted, refused, text};
use crate::answers::channels::{ChannelAnswer, PostAnswer};

impl Shelves {
    /// A page of a channel, the oldest first. With `since` the next page goes on in time, without it back in time.
    pub(super) async fn channel(&self, address: &Address) -> Result<String, ReadError> {
        let (project_key, limit) = (address.project()?, address.limit(50)?);
        let from = match address.get("since") {
            Some(since) => self.office.posts_since(project_key, address.name(), since).await.map_err(refused)?,
            None => PostQuery::default(),
        };
        let query = PostQuery {
            before: address.number("before")?.map(MessageId),
            thread: address.get("thread_id").map(str::to_owned),
            limit,
            ..from
        };
        let stood = query.after;
        let (project, channel, posts) = self.office.posts(project_key, address.name(), query).await.map_err(refused)?;
        let messages: Vec<_> = posts.iter().map(PostAnswer::from).collect();
        let got = counted(limit, posts.iter().map(Post::bytes));
        let newest = posts.last().map(|post| post.message.id).or(stood).map(|id| id.0);
        let next = match address.get("since") {
            Some(_) => address.next("since", limit, newest, got),
            None => address.next("before", limit, posts.first().map(|post| post.message.id.0), got),
        };
        Ok(text(&json!({
            "project": project.slug,
            "channel": channel.as_str(),
            "messages": messages,
            "newest": newest,
            "next": next,
        })))
    }

    /// The channels of a project, by name.
    pub(super) async fn channels(&self, address: &Address) -> Result<String, ReadError> {
        let (project, channels) = self.office.channels(address.project_or_name()?).await.map_err(refused)?;
        let channels: Vec<_> = channels.iter().map(ChannelAnswer::from).collect();
        Ok(text(&json!({ "project": project.slug, "channels": channels })))
    }
}
