//! Makes a person known who acts at the page.

use crate::prelude::*;

declare! {
    /// Makes a person known, or finds it again.
    WelcomePerson("welcome_person", REPEATABLE, "Make a person known.") {
        project_key: String = PROJECT;
        person: String = PERSON;
    }
}

impl Verb for WelcomePerson {
    type Answer = AgentAnswer;

    async fn run(self, office: &Office) -> Result<AgentAnswer, Error> {
        Ok(AgentAnswer::new(office.welcome_person(&self.project_key, &self.person).await?))
    }
}
