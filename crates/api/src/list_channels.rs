//! The channels of a project, by name.

use crate::prelude::*;

declare! {
    ListChannels("list_channels", READS, "The channels of a project.") {
        project_key: String = PROJECT;
    }

    ChannelListAnswer {
        /// The slug of the project.
        project: String,
        channels: Vec<ChannelAnswer>,
    }
}

impl Verb for ListChannels {
    type Answer = ChannelListAnswer;

    async fn run(self, office: &Office) -> Result<ChannelListAnswer, Error> {
        let (project, channels) = office.channels(&self.project_key).await?;
        let channels = channels.into_iter().map(ChannelAnswer::new).collect();
        Ok(ChannelListAnswer { project: project.slug, channels })
    }
}
