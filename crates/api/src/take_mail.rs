//! Takes mail that an agent has not been shown, for a caller that shows it itself, such as a hook.

use std::time::Duration;

use mail::office::{TakenMail, WaitRequest};

use crate::prelude::*;

declare! {
    /// Asks for new mail that is there.
    TakeMail("take_mail", WRITES, "Take unseen mail, to show it.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        limit: Option<u32> = LIMIT;
        /// When the caller will have gone: nothing is taken for it later.
        not_after: Option<String> = Param::optional("not_after", Text, "RFC 3339: take nothing later");
    }

    /// What was taken, and counts as shown unless it is given back.
    TakenMailAnswer {
        /// The messages, oldest first.
        messages: Vec<MessageAnswer>,
        /// When they count as shown; whoever gives them back says so.
        shown_ts[if_any]: Option<Time>,
        /// How many more wait, counted up to a thousand.
        more: usize,
    }
}

impl Verb for TakeMail {
    type Answer = TakenMailAnswer;

    async fn run(self, office: &Office) -> Result<TakenMailAnswer, Error> {
        let Self { actor, limit: at_most, not_after } = &self;
        let request = WaitRequest {
            project_key: &actor.project_key,
            agent: actor.claim(),
            after: None,
            limit: limit(*at_most, DEFAULT_LIMIT),
            at_most: Duration::ZERO,
            not_after: not_after.as_deref().map(|time| read_time("not_after", time)).transpose()?,
        };
        let TakenMail { entries, shown_at, more } = office.take_mail(request).await?;
        let messages = entries.into_iter().map(|entry| MessageAnswer::received(entry, true)).collect();
        Ok(TakenMailAnswer { messages, shown_ts: shown_at.map(Time), more })
    }
}
