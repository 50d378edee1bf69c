//! Waits for mail that an agent has not been shown.

use std::time::Duration;

use mail::office::WaitRequest;

use crate::prelude::*;

declare! {
    /// Asks for new mail, and waits for it.
    WaitForMail(
        "wait_for_mail",
        WRITES,
        "Unread mail it has not returned yet, oldest first, as soon as there is some; [] when time is up."
    ) {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// 50 when nobody says.
        timeout_seconds: Option<i64> =
            Param::optional("timeout_seconds", Number { min: 0, max: LONGEST_WAIT }, "Default 50")
                .mistaken_for(&["timeout", "wait_seconds", "seconds"]);
        limit: Option<u32> = LIMIT;
        /// Unread mail newer than this message, even if it was shown before.
        after_id: Option<i64> =
            Param::optional("after_id", Id, "Unread mail newer than this message, even if shown before").rare();
        /// When the caller will have gone: nothing is taken for it later.
        not_after: Option<String> = Param::optional("not_after", Text, "RFC 3339: return nothing later").rare();
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for WaitForMail {
    type Answer = Vec<MessageAnswer>;

    async fn run(self, office: &Office) -> Result<Vec<MessageAnswer>, Error> {
        let request = WaitRequest {
            project_key: &self.project_key,
            agent: claim(&self.agent_name, self.registration_token.as_deref()),
            after: self.after_id.map(MessageId),
            limit: limit(self.limit, DEFAULT_LIMIT),
            at_most: Duration::from_secs(self.timeout_seconds.unwrap_or(LONGEST_WAIT).max(0) as u64),
            not_after: self.not_after.as_deref().map(|time| read_time("not_after", time)).transpose()?,
        };
        let entries = office.wait_for_mail(request).await?;
        Ok(entries.into_iter().map(|entry| MessageAnswer::received(entry, true)).collect())
    }
}
