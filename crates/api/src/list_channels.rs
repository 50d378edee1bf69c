//! The channels of a project, by name.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ChannelAnswer;
use crate::params::PROJECT;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListChannels {
    pub project_key: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChannelListAnswer {
    /// The slug of the project.
    pub project: String,
    pub channels: Vec<ChannelAnswer>,
}

impl Verb for ListChannels {
    const NAME: &'static str = "list_channels";
    const ABOUT: &'static str = "The channels of a project.";
    const PARAMS: &'static [Param] = &[PROJECT];
    const HINTS: Hints = Hints::READS;
    type Answer = ChannelListAnswer;

    async fn run(self, office: &Office) -> Result<ChannelListAnswer, Error> {
        let (project, channels) = office.channels(&self.project_key).await?;
        let channels = channels.into_iter().map(ChannelAnswer::from).collect();
        Ok(ChannelListAnswer { project: project.slug, channels })
    }
}
