//! Makes registration tokens of an agent worth nothing.

use crate::prelude::*;

declare! {
    /// Makes tokens worth nothing. Where names have to be proved, that takes one of them.
    RevokeTokens("revoke_tokens", WRITES, "Make your registration tokens worth nothing.") {
        project_key: String = PROJECT;
        agent_name: String = AGENT;
        /// All of them when none is named.
        tokens: Option<Vec<String>> = Param::optional("tokens", Names, "Left out: all of yours");
        registration_token: Option<String> = TOKEN;
    }

    /// What became of the tokens.
    RevokedAnswer {
        /// How many are worth nothing any more.
        revoked: u64,
        /// How many are left, a new one counted.
        left: u64,
        /// The new one, if none would have been left: a name without a token is anybody's.
        registration_token[if_any]: Option<String>,
    }
}

impl Verb for RevokeTokens {
    type Answer = RevokedAnswer;

    async fn run(self, office: &Office) -> Result<RevokedAnswer, Error> {
        let claim = claim(&self.agent_name, self.registration_token.as_deref());
        let (revoked, registration_token) =
            office.revoke_tokens(&self.project_key, claim, self.tokens.as_deref()).await?;
        Ok(RevokedAnswer { revoked: revoked.revoked, left: revoked.left, registration_token })
    }
}
