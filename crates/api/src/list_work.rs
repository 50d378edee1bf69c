//! The work of a project, as its mail tells it: the items that changed last first.

use mail::office::WorkRequest;

use crate::prelude::*;

declare! {
    ListWork("list_work", READS, "The work items of a project.") {
        project_key: String = PROJECT;
        /// The name of a state, or `overdue`, `ready`, `waiting` or `late`.
        state: Option<String> = Param::optional("state", Text, "");
        /// Only items that this agent is on.
        agent: Option<String> = Param::optional("agent", Text, "Who is on it");
        before_id: Option<i64> = BEFORE;
        /// 100 when nobody says.
        limit: Option<u32> = LIMIT;
    }

    WorkListAnswer {
        /// The slug of the project.
        project: String,
        items: Vec<WorkAnswer>,
        /// The cursor of the next page, if there may be one.
        next: Option<i64>,
    }
}

impl Verb for ListWork {
    type Answer = WorkListAnswer;

    async fn run(self, office: &Office) -> Result<WorkListAnswer, Error> {
        let request = WorkRequest {
            project_key: &self.project_key,
            state: self.state.as_deref(),
            agent: self.agent.as_deref(),
            before: self.before_id.map(MessageId),
            limit: limit(self.limit, LONG_LIMIT),
        };
        let page = office.work(request).await?;
        Ok(WorkListAnswer {
            project: page.project.slug,
            items: page.items.into_iter().map(WorkAnswer::new).collect(),
            next: page.next.map(|id| id.0),
        })
    }
}
