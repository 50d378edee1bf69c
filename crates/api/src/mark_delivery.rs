//! Marks one delivery read, unread or archived.

use mail::provider::Provider;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::DoneAnswer;
use crate::params::{ANY_NAME, DELIVERY, DeliveryReader, PROJECT, READER, TOKEN};

/// What becomes of a delivery. Nothing that was archived comes back by being marked read or unread.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMark {
    #[default]
    Read,
    Unread,
    Archived,
}

/// Marks a delivery.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MarkDelivery {
    #[serde(flatten)]
    pub reader: DeliveryReader,
    pub id: String,
    #[serde(rename = "as")]
    pub mark: DeliveryMark,
}

impl Verb for MarkDelivery {
    const NAME: &'static str = "mark_delivery";
    const ABOUT: &'static str = "Mark a delivery read, unread or archived.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        READER,
        ANY_NAME,
        DELIVERY,
        Param::required("as", ParamKind::Choice(&["read", "unread", "archived"]), ""),
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
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
