//! Lists a thread, each message once: as the reader's delivery, or the first.

use crate::prelude::*;

declare! {
    /// Asks for a thread, oldest first.
    ListThreadDeliveries("list_thread_deliveries", READS, "A thread, oldest first.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        /// The thread, or any delivery in it.
        thread_id: String = THREAD;
        after: Option<String> = AFTER_DELIVERY;
        limit: Option<u32> = LIMIT;
    }
}

impl Verb for ListThreadDeliveries {
    type Answer = DeliveriesAnswer;

    async fn run(self, office: &Office) -> Result<DeliveriesAnswer, Error> {
        let limit = limit(self.limit, PAGE);
        let page = self.reader.native(office).thread_page(&self.thread_id, self.after.as_deref(), limit).await?;
        Ok(DeliveriesAnswer::new(page, limit))
    }
}
