//! Lists the open deliveries of one recipient, or of everybody.

use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::DeliveriesAnswer;
use crate::params::{AFTER_DELIVERY, ANY_NAME, DeliveryReader, LIMIT, PAGE, PROJECT, READER, RECIPIENT, TOKEN, limit};

/// Asks what is open, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListDeliveries {
    #[serde(flatten)]
    pub reader: DeliveryReader,
    /// Whose; everybody's if it is empty.
    pub recipient: String,
    pub unread_only: bool,
    pub after: Option<String>,
    pub limit: Option<u32>,
}

impl Verb for ListDeliveries {
    const NAME: &'static str = "list_deliveries";
    const ABOUT: &'static str = "Open mail of one recipient, oldest first.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        READER,
        ANY_NAME,
        RECIPIENT,
        Param::optional("unread_only", ParamKind::Flag, ""),
        AFTER_DELIVERY,
        LIMIT,
        TOKEN,
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = DeliveriesAnswer;

    async fn run(self, office: &Office) -> Result<DeliveriesAnswer, Error> {
        let limit = limit(self.limit, PAGE);
        let native = self.reader.native(office);
        let page = native.page(&self.recipient, self.unread_only, self.after.as_deref(), limit).await?;
        Ok(DeliveriesAnswer::new(page, limit))
    }
}
