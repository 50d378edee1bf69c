//! Brings a delivery back that was archived.

use crate::prelude::*;

declare! {
    /// Brings a delivery back, as it was before.
    UnarchiveDelivery("unarchive_delivery", WRITES, "Bring an archived delivery back.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        id: String = DELIVERY;
    }
}

impl Verb for UnarchiveDelivery {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        Ok(DoneAnswer { done: self.reader.native(office).unarchive(&self.id).await? })
    }
}
