//! Whether the server is ready.

use crate::prelude::*;

declare! {
    /// Asks whether the server is ready.
    HealthCheck("health_check", READS, "Is the mail server ready?") {}

    /// That the server is ready.
    HealthAnswer {
        /// Always `ready`; a server that is not refuses.
        status: Word,
        /// The server's version.
        version: Word,
    }
}

impl Verb for HealthCheck {
    type Answer = HealthAnswer;

    async fn run(self, office: &Office) -> Result<HealthAnswer, Error> {
        office.check_ready().await?;
        Ok(HealthAnswer { status: "ready".into(), version: env!("CARGO_PKG_VERSION").into() })
    }
}
