//! Gives back mail that was taken and could not be shown: whoever looks next gets it.

use mcp::ParamKind::Ids;

use crate::prelude::*;

declare! {
    /// Gives mail back.
    GiveBackMail("give_back_mail", REPEATABLE, "Give back mail that was taken and not shown.") {
        #[serde(flatten)]
        actor: Actor = PROJECT, AGENT, TOKEN;
        message_ids: Vec<i64> = Param::required("message_ids", Ids, "");
        /// When they were taken.
        shown_ts: String = Param::required("shown_ts", Text, "As the answer that took them says");
    }
}

impl Verb for GiveBackMail {
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let Self { actor, message_ids, shown_ts } = &self;
        let ids: Vec<MessageId> = message_ids.iter().copied().map(MessageId).collect();
        let changed =
            office.give_back(&actor.project_key, actor.claim(), &ids, read_time("shown_ts", shown_ts)?).await?;
        Ok(NotedAnswer { changed })
    }
}
