//! Shows one delivery, and marks it read if asked to.

use mail::provider::Provider;

use crate::prelude::*;

declare! {
    /// Asks for a delivery, archived or not.
    ReadDelivery("read_delivery", REPEATABLE, "One delivery.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        id: String = DELIVERY;
        mark_read: bool = Param::optional("mark_read", Flag, "");
    }
}

impl Verb for ReadDelivery {
    type Answer = ReceivedAnswer;

    async fn run(self, office: &Office) -> Result<ReceivedAnswer, Error> {
        let native = self.reader.native(office);
        let delivery = if self.mark_read { native.read(&self.id).await? } else { native.get(&self.id).await? };
        Ok(ReceivedAnswer::new(delivery))
    }
}
