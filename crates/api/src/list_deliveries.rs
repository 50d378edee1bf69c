//! Lists the open deliveries of one recipient, or of everybody.

use crate::prelude::*;

declare! {
    /// Asks what is open, oldest first.
    ListDeliveries("list_deliveries", READS, "Open mail of one recipient, oldest first.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        /// Whose; everybody's if it is empty.
        recipient: String = RECIPIENT;
        unread_only: bool = Param::optional("unread_only", Flag, "");
        after: Option<String> = AFTER_DELIVERY;
        limit: Option<u32> = LIMIT;
    }
}

impl Verb for ListDeliveries {
    type Answer = DeliveriesAnswer;

    async fn run(self, office: &Office) -> Result<DeliveriesAnswer, Error> {
        let limit = limit(self.limit, PAGE);
        let native = self.reader.native(office);
        let page = native.page(&self.recipient, self.unread_only, self.after.as_deref(), limit).await?;
        Ok(DeliveriesAnswer::new(page, limit))
    }
}
