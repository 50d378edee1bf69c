//! Lists a thread, each message once: as the reader's delivery, or the first.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::DeliveriesAnswer;
use crate::params::{AFTER_DELIVERY, ANY_NAME, DeliveryReader, LIMIT, PAGE, PROJECT, READER, THREAD, TOKEN, limit};

/// Asks for a thread, oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListThreadDeliveries {
    #[serde(flatten)]
    pub reader: DeliveryReader,
    /// The thread, or any delivery in it.
    pub thread_id: String,
    pub after: Option<String>,
    pub limit: Option<u32>,
}

impl Verb for ListThreadDeliveries {
    const NAME: &'static str = "list_thread_deliveries";
    const ABOUT: &'static str = "A thread, oldest first.";
    const PARAMS: &'static [Param] = &[PROJECT, READER, ANY_NAME, THREAD, AFTER_DELIVERY, LIMIT, TOKEN];
    const HINTS: Hints = Hints::READS;
    type Answer = DeliveriesAnswer;

    async fn run(self, office: &Office) -> Result<DeliveriesAnswer, Error> {
        let limit = limit(self.limit, PAGE);
        let page = self.reader.native(office).thread_page(&self.thread_id, self.after.as_deref(), limit).await?;
        Ok(DeliveriesAnswer::new(page, limit))
    }
}
