//! Announcements: whether what one announces is here.

use super::Office;
use crate::announcements::Announcement;
use crate::channels::{ChannelName, OfficeMark};
use crate::error::Error;
use crate::projects::Project;

impl Office {
    /// Whether the post that is announced in a channel is here, whole.
    pub async fn has_announced(&self, project_key: &str, channel: &str, what: &Announcement) -> Result<bool, Error> {
        let project = self.project(project_key).await?;
        self.has_whole(&project, &ChannelName::parse(channel)?, what).await
    }

    pub(super) async fn has_whole(
        &self,
        project: &Project,
        channel: &ChannelName,
        what: &Announcement,
    ) -> Result<bool, Error> {
        let mark = OfficeMark::parse(&what.key);
        if self.own_post(project, channel, mark.as_ref()).await?.is_some() {
            return Ok(true);
        }
        let known = self.store.known_keys(project.id, channel.as_str(), &[&what.key]).await?;
        Ok(!known.is_empty())
    }
}
