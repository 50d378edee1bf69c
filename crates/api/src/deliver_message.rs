//! Sends a message to one recipient, or answers one delivery, for programs that know no more than that.

use mail::provider::{Provider, Words};
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::ReceivedAnswer;
use crate::params::{ANY_NAME, DeliveryReader, PROJECT, READER, RECIPIENT, TOKEN};

/// Sends a message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliverMessage {
    #[serde(flatten)]
    pub reader: DeliveryReader,
    /// Who gets it; an answer goes to whoever wrote what it answers.
    pub recipient: String,
    /// The delivery that it answers.
    pub reply_to: Option<String>,
    pub sender_name: String,
    pub subject: String,
    pub body_md: String,
}

impl Verb for DeliverMessage {
    const NAME: &'static str = "deliver_message";
    const ABOUT: &'static str = "Send a message to one recipient.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        READER,
        ANY_NAME,
        RECIPIENT,
        Param::optional("reply_to", ParamKind::Text, ""),
        Param::required("sender_name", ParamKind::Text, ""),
        Param::optional("subject", ParamKind::Text, ""),
        Param::optional("body_md", ParamKind::Text, ""),
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
    type Answer = ReceivedAnswer;

    async fn run(self, office: &Office) -> Result<ReceivedAnswer, Error> {
        let native = self.reader.native(office);
        let words = Words { from: &self.sender_name, subject: &self.subject, body: &self.body_md };
        let letter = match &self.reply_to {
            Some(id) => native.reply(id, words).await?,
            None => native.send(&self.recipient, words).await?,
        };
        Ok(letter.into())
    }
}
