//! Counts the open deliveries of one recipient, or of everybody.

use mail::provider::Provider;

use crate::prelude::*;

declare! {
    /// Asks how much is open.
    CountDeliveries("count_deliveries", READS, "How much mail is open, and how much unread.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        /// Whose; everybody's if it is empty.
        recipient: String = RECIPIENT;
    }
}

impl Verb for CountDeliveries {
    type Answer = CountAnswer;

    async fn run(self, office: &Office) -> Result<CountAnswer, Error> {
        Ok(CountAnswer::new(self.reader.native(office).count(&self.recipient).await?))
    }
}
