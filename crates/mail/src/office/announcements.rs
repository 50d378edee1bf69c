//! Announcements: whether what one announces is here, or may come as a file.

use super::Office;
use crate::announcements::Announcement;
use crate::channels::{ChannelName, OfficeMark};
use crate::error::Error;
use crate::ids::MessageId;
use crate::projects::Project;

impl Office {
    /// Whether the post that is announced in a channel is here, whole.
    pub async fn has_announced(&self, project_key: &str, channel: &str, what: &Announcement) -> Result<bool, Error> {
        let project = self.project(project_key).await?;
        Ok(self.whole_of(&project, &ChannelName::parse(channel)?, what).await?.is_some())
    }

    /// Whether a file of that office was ever taken in from the folder of a channel.
    pub async fn has_file_of(&self, project_key: &str, channel: &str, office: &str) -> Result<bool, Error> {
        // Others could make the mark of a post that has such a key: there is always a colon in those.
        if !office.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(false);
        }
        let project = self.project(project_key).await?;
        Ok(!self.store.known_keys(project.id, channel, &[&folder_key(office)]).await?.is_empty())
    }

    /// The post that is announced, if it is here.
    pub(super) async fn whole_of(
        &self,
        project: &Project,
        channel: &ChannelName,
        what: &Announcement,
    ) -> Result<Option<MessageId>, Error> {
        let mark = OfficeMark::parse(&what.key);
        let own = self.own_post(project, channel, mark.as_ref()).await?;
        // Also what an author called so would be found by the key, which is not what was announced.
        let is_known = !self.store.known_keys(project.id, channel.as_str(), &[&what.key]).await?.is_empty();
        if own.is_some() || !is_known {
            return Ok(own);
        }
        let post = self.store.post_called(project.id, channel.as_str(), &what.key).await?;
        Ok(post.map(|post| post.message.id))
    }
}

/// The key that is noted in a channel with every file of an office: no file is called so.
pub(super) fn folder_key(office: &str) -> String {
    format!("folder/{office}")
}
