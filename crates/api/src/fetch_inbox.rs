//! One agent's mail, newest first.

use mail::ids::MessageId;
use mail::office::InboxAsk;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::MessageAnswer;
use crate::params::{
    AGENT, BEFORE, BODIES, DEFAULT_LIMIT, KIND, LIMIT, PROJECT, TOKEN, WORK, about, claim, filled, limit,
};

/// Asks for the mail of an agent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FetchInbox {
    pub project_key: String,
    pub agent_name: String,
    /// 20 when nobody says.
    pub limit: Option<u32>,
    pub unread_only: Option<bool>,
    /// Only mail that wants an acknowledgement.
    pub urgent_only: Option<bool>,
    pub thread_id: Option<String>,
    pub kind: Option<String>,
    pub work_id: Option<String>,
    /// True when nobody says.
    pub include_bodies: Option<bool>,
    /// Only messages older than this one.
    pub before_id: Option<i64>,
    pub registration_token: Option<String>,
}

impl Verb for FetchInbox {
    const NAME: &'static str = "fetch_inbox";
    const ABOUT: &'static str = "Your mail, newest first. Changes nothing.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        AGENT,
        LIMIT,
        Param::optional("unread_only", ParamKind::Flag, ""),
        Param::optional("urgent_only", ParamKind::Flag, "Only mail that wants an acknowledgement").rare(),
        Param::optional("thread_id", ParamKind::Text, "").rare(),
        KIND,
        WORK,
        BODIES,
        BEFORE,
        TOKEN,
    ];
    const HINTS: Hints = Hints::READS;
    type Answer = Vec<MessageAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<MessageAnswer>, Error> {
        let with_bodies = self.include_bodies.unwrap_or(true);
        let ask = InboxAsk {
            project_key: &self.project_key,
            agent: claim(&self.agent_name, self.registration_token.as_deref()),
            unread_only: self.unread_only.unwrap_or(false),
            ack_required_only: self.urgent_only.unwrap_or(false),
            thread: self.thread_id.as_deref().map(|thread| filled("thread_id", thread)).transpose()?,
            about: about(self.kind.as_deref(), self.work_id.as_deref())?,
            before: self.before_id.map(MessageId),
            limit: limit(self.limit, DEFAULT_LIMIT),
            with_bodies,
        };
        let entries = office.inbox(ask).await?;
        Ok(entries.into_iter().map(|entry| MessageAnswer::received(entry, with_bodies)).collect())
    }
}
