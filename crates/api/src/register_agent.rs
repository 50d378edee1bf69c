//! Registers an agent in a project, or updates its profile.

use mail::agents::Profile;
use mail::office::Registration;

use crate::prelude::*;

declare! {
    /// Introduces an agent.
    RegisterAgent(
        "register_agent",
        REPEATABLE,
        "Register yourself in a project, or update your profile. The same name keeps its identity."
    ) {
        project_key: String = PROJECT;
        /// Its name; without one it is given one.
        name: Option<String> =
            Param::optional("name", Text, "Your name; left out, you are given one")
                .mistaken_for(&["agent_name", "agent"]);
        program: Option<String> = PROGRAM;
        model: Option<String> = MODEL;
        task_description: Option<String> = TASK;
        registration_token: Option<String> = TOKEN;
    }
}

impl Verb for RegisterAgent {
    type Answer = RegisteredAnswer;

    async fn run(self, office: &Office) -> Result<RegisteredAnswer, Error> {
        let registration = Registration {
            project_key: &self.project_key,
            make_project: false,
            name: self.name.as_deref(),
            profile: Profile { program: self.program, model: self.model, task_description: self.task_description },
            token: self.registration_token.as_deref(),
        };
        Ok(RegisteredAnswer::new(office.register(registration).await?))
    }
}
