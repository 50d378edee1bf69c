//! Takes a role, so that mail to it comes to whoever took it.

use mail::roles::HOLD_SECONDS;

use crate::prelude::*;

declare! {
    /// Takes a role, or holds it longer.
    TakeRole("take_role", REPEATABLE, "Take a role: you alone get the mail to role:NAME until the time is over.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        role: String = ROLE;
        /// An hour when nobody says.
        seconds: Option<i64> =
            Param::optional("seconds", Number { min: *HOLD_SECONDS.start(), max: *HOLD_SECONDS.end() }, "Default 3600");
        registration_token: Option<String> = TOKEN;
    }

    /// A role that was taken.
    TakenRoleAnswer {
        #[serde(flatten)]
        role: RoleAnswer,
        /// How many unread messages came with it.
        handed_over: u64,
    }
}

impl Verb for TakeRole {
    type Answer = TakenRoleAnswer;

    async fn run(self, office: &Office) -> Result<TakenRoleAnswer, Error> {
        let agent = claim(&self.agent_name, self.registration_token.as_deref());
        let (role, held, handed_over) = office.take_role(&self.project_key, agent, &self.role, self.seconds).await?;
        let role = RoleAnswer::new(role.as_str().to_owned(), 0, Some(held));
        Ok(TakenRoleAnswer { role, handed_over })
    }
}
