//! Leaves the line for files.

use mail::ids::TicketId;

use crate::prelude::*;

declare! {
    /// Leaves the line.
    LeaveLine("leave_line", REPEATABLE, "Leave the line for files.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// The place in the line.
        ticket: i64 = Param::required("ticket", Id, "");
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for LeaveLine {
    type Answer = DoneAnswer;

    async fn run(self, office: &Office) -> Result<DoneAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(DoneAnswer { done: office.leave_line(&self.project_key, agent, TicketId(self.ticket)).await? })
    }
}
