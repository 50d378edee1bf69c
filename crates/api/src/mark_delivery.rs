//! Marks one delivery read, unread or archived.

use mail::provider::Provider;

use crate::prelude::*;

/// What becomes of a delivery. Nothing that was archived comes back by being marked read or unread.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMark {
    #[default]
    Read,
    Unread,
    Archived,
}

declare! {
    /// Marks a delivery.
    MarkDelivery("mark_delivery", WRITES, "Mark a delivery read, unread or archived.") {
        #[serde(flatten)]
        reader: DeliveryReader = PROJECT, READER, ANY_NAME, TOKEN;
        id: String = DELIVERY;
        #[serde(rename = "as")]
        mark: DeliveryMark = Param::required("as", Choice(&["read", "unread", "archived"]), "");
    }
}

impl Verb for MarkDelivery {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let native = self.reader.native(office);
        match self.mark {
            DeliveryMark::Read => native.mark_read(&self.id).await?,
            DeliveryMark::Unread => native.mark_unread(&self.id).await?,
            DeliveryMark::Archived => native.archive(&self.id).await?,
        }
        Ok(DoneAnswer { done: true })
    }
}
