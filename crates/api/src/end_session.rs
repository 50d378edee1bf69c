//! Reports that a session of an agent ended. With the last one its exclusive reservations end, and the agent is gone unless a watcher
//! is there for it.

use crate::prelude::*;

declare! {
    /// Reports the end of a session.
    EndSession("end_session", REPEATABLE, "Say that an agent's session ended.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// Which one; without it only the agent says that it goes.
        session_key: Option<String> = Param::optional("session_key", Text, "The session");
        registration_token: Option<String> = TOKEN;
    }

    /// What the end of a session did.
    EndedAnswer {
        /// Whether the agent was there and is gone now.
        changed: bool,
        /// Whether none of the agent's sessions is open any more.
        is_last[if_any]: bool,
        /// What was given back.
        released[if_any]: Vec<ReservationAnswer>,
    }
}

impl Verb for EndSession {
    type Answer = EndedAnswer;

    async fn run(self, office: &Office) -> Result<EndedAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let (ended, changed) = office.end_session(&self.project_key, agent, self.session_key.as_deref()).await?;
        let released = ended.released.into_iter().map(ReservationAnswer::new).collect();
        Ok(EndedAnswer { changed, is_last: ended.is_last, released })
    }
}
