//! Waits for mail that an agent has not been shown.

use std::time::Duration;

use mail::ids::MessageId;
use mail::office::WaitAsk;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::MessageAnswer;
use crate::params::{AGENT, DEFAULT_LIMIT, LIMIT, LONGEST_WAIT, PROJECT, TOKEN, claim, limit, read_time};

/// Asks for new mail, and waits for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitForMail {
    pub project_key: String,
    pub agent_name: String,
    /// 50 when nobody says.
    pub timeout_seconds: Option<i64>,
    pub limit: Option<u32>,
    /// Unread mail newer than this message, even if it was shown before.
    pub after_id: Option<i64>,
    /// When the caller will have gone: nothing is taken for it later.
    pub not_after: Option<String>,
    pub registration_token: Option<String>,
}

impl Verb for WaitForMail {
    const NAME: &'static str = "wait_for_mail";
    const ABOUT: &'static str =
        "Unread mail it has not returned yet, oldest first, as soon as there is some; [] when time is up.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        Param::optional("timeout_seconds", ParamKind::Number { min: 0, max: LONGEST_WAIT }, "Default 50")
            .mistaken_for(&["timeout", "wait_seconds", "seconds"]),
        LIMIT,
        Param::optional("after_id", ParamKind::Id, "Unread mail newer than this message, even if shown before").rare(),
        Param::optional("not_after", ParamKind::Text, "RFC 3339: return nothing later").rare(),
        TOKEN,
    ];
    const HINTS: Hints = Hints::WRITES;
    type Answer = Vec<MessageAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<MessageAnswer>, Error> {
        let ask = WaitAsk {
            project_key: &self.project_key,
            agent: claim(&self.agent_name, self.registration_token.as_deref()),
            after: self.after_id.map(MessageId),
            limit: limit(self.limit, DEFAULT_LIMIT),
            at_most: Duration::from_secs(self.timeout_seconds.unwrap_or(LONGEST_WAIT).max(0) as u64),
            not_after: self.not_after.as_deref().map(|time| read_time("not_after", time)).transpose()?,
        };
        let entries = office.wait_for_mail(ask).await?;
        Ok(entries.into_iter().map(|entry| MessageAnswer::received(entry, true)).collect())
    }
}
