//! Shows one delivery, and marks it read if asked to.

use mail::provider::Provider;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ReceivedAnswer;
use crate::params::{ANY_NAME, DELIVERY, DeliveryReader, PROJECT, READER, TOKEN};

/// Asks for a delivery, archived or not.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadDelivery {
    #[serde(flatten)]
    pub reader: DeliveryReader,
    pub id: String,
    pub mark_read: bool,
}

impl Verb for ReadDelivery {
    const NAME: &'static str = "read_delivery";
    const ABOUT: &'static str = "One delivery.";
    const PARAMS: &'static [Param] =
        &[PROJECT, READER, ANY_NAME, DELIVERY, Param::optional("mark_read", ParamKind::Flag, ""), TOKEN];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = ReceivedAnswer;

    async fn run(self, office: &Office) -> Result<ReceivedAnswer, Error> {
        let native = self.reader.native(office);
        let letter = if self.mark_read { native.read(&self.id).await? } else { native.get(&self.id).await? };
        Ok(letter.into())
    }
}
