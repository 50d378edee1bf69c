//! One agent's mail, newest first.

use mail::messages::{About, InboxQuery};

use crate::prelude::*;

declare! {
    /// Asks for the mail of an agent.
    FetchInbox("fetch_inbox", READS, "Your mail, newest first. Changes nothing.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// 20 when nobody says.
        limit: Option<u32> = LIMIT;
        unread_only: Option<bool> = Param::optional("unread_only", Flag, "");
        /// Only mail that wants an acknowledgement.
        urgent_only: Option<bool> =
            Param::optional("urgent_only", Flag, "Only mail that wants an acknowledgement").rare();
        thread_id: Option<String> = Param::optional("thread_id", Text, "").rare();
        kind: Option<String> = KIND;
        work_id: Option<String> = WORK;
        /// True when nobody says.
        include_bodies: Option<bool> = BODIES;
        /// Only messages older than this one.
        before_id: Option<i64> = BEFORE;
        /// Only messages accepted after this time.
        since_ts: Option<String> = Param::optional("since_ts", Text, "Newer than this time").unlisted();
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for FetchInbox {
    type Answer = Vec<MessageAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<MessageAnswer>, Error> {
        let with_bodies = self.include_bodies.unwrap_or(true);
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let query = InboxQuery {
            unread_only: self.unread_only.unwrap_or(false),
            ack_required_only: self.urgent_only.unwrap_or(false),
            thread: self.thread_id.as_deref().map(|id| filled("thread_id", id)).transpose()?.map(str::to_owned),
            about: About::parse(self.kind.as_deref(), self.work_id.as_deref())?,
            before: self.before_id.map(MessageId),
            limit: limit(self.limit, DEFAULT_LIMIT),
            with_bodies,
        };
        let since = self.since_ts.as_deref().map(|time| read_time("since_ts", time)).transpose()?;
        let entries = office.inbox(&self.project_key, agent, &query).await?;
        // The newest come first, and times rise with them: those that are newer are the first ones.
        let newer = entries.into_iter().take_while(|entry| since.is_none_or(|since| entry.message.created_at > since));
        Ok(newer.map(|entry| MessageAnswer::received(entry, with_bodies)).collect())
    }
}
