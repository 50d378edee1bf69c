//! Reports that a session of an agent is there, and whether it waits for its user. Hooks call it.

use mail::office::SessionSign;

use crate::prelude::*;

declare! {
    /// Reports a session.
    NoteSession("note_session", REPEATABLE, "Say that a session of an agent is there.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// What the session is known by among those of the agent.
        session_key: String = Param::required("session_key", Text, "The session");
        client: String = Param::required("client", Text, "e.g. claude");
        /// The machine.
        host: String = Param::required("host", Text, "");
        /// The top of the working tree that it began in, else its folder.
        place: String = Param::required("place", Text, "");
        /// Whether it waits for its user.
        is_idle: bool = Param::optional("is_idle", Flag, "");
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for NoteSession {
    type Answer = NotedAnswer;

    async fn run(self, office: &Office) -> Result<NotedAnswer, Error> {
        let sign = SessionSign {
            key: &self.session_key,
            client: &self.client,
            host: &self.host,
            place: &self.place,
            is_idle: self.is_idle,
        };
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        Ok(NotedAnswer { changed: office.note_session(&self.project_key, agent, sign).await? })
    }
}
