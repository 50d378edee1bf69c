//! Whether the server is ready.

use mail::{Error, Office};
use mcp::{Hints, Param};
use serde::{Deserialize, Serialize};

use crate::Verb;
use crate::answers::Word;

/// Asks whether the server is ready.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HealthCheck {}

impl Verb for HealthCheck {
    const NAME: &'static str = "health_check";
    const ABOUT: &'static str = "Is the mail server ready?";
    const PARAMS: &'static [Param] = &[];
    const HINTS: Hints = Hints::READS;
    type Answer = HealthAnswer;

    async fn run(self, office: &Office) -> Result<HealthAnswer, Error> {
        office.check_ready().await?;
        Ok(HealthAnswer { status: "ready".into(), version: env!("CARGO_PKG_VERSION").into() })
    }
}

/// That the server is ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HealthAnswer {
    /// Always `ready`; a server that is not refuses.
    pub status: Word,
    /// The server's version.
    pub version: Word,
}
