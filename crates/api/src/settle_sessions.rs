//! Looks after the names that were generated for sessions which have ended: the person is told of mail that wants an answer, and a
//! name that nothing waits for is retired. Whoever passes by asks for it; twice does nothing more.

use crate::prelude::*;

declare! {
    /// Asks for a pass over the generated names of a project.
    SettleSessions("settle_sessions", REPEATABLE, "Look after the names of sessions that have ended.") {
        project_key: String = PROJECT;
        /// What the person is called, if nobody is known in the project yet.
        person: String = PERSON;
    }

    /// What the pass did.
    SettledAnswer {
        /// The names whose mail the person was told of.
        handed_over: Vec<String>,
        /// The names that were retired.
        retired: Vec<String>,
    }
}

impl Verb for SettleSessions {
    type Answer = SettledAnswer;

    async fn run(self, office: &Office) -> Result<SettledAnswer, Error> {
        // Its caller says what the person is called, who gets the mail.
        office.require_person()?;
        let settled = office.settle_sessions(&self.project_key, &self.person).await?;
        Ok(SettledAnswer { handed_over: settled.handed_over, retired: settled.retired })
    }
}
