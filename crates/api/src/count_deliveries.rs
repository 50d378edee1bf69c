//! Counts the open deliveries of one recipient, or of everybody.

use mail::provider::Provider;
use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::CountAnswer;
use crate::params::{ANY_NAME, DeliveryReader, PROJECT, READER, RECIPIENT, TOKEN};

/// Asks how much is open.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CountDeliveries {
    #[serde(flatten)]
    pub reader: DeliveryReader,
    /// Whose; everybody's if it is empty.
    pub recipient: String,
}

impl Verb for CountDeliveries {
    const NAME: &'static str = "count_deliveries";
    const ABOUT: &'static str = "How much mail is open, and how much unread.";
    const PARAMS: &'static [Param] = &[PROJECT, READER, ANY_NAME, RECIPIENT, TOKEN];
    const HINTS: Hints = Hints::READS;
    type Answer = CountAnswer;

    async fn run(self, office: &Office) -> Result<CountAnswer, Error> {
        Ok(self.reader.native(office).count(&self.recipient).await?.into())
    }
}
