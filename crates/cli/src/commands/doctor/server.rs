//! Whether the server answers, and nothing else: asked so often that it may cost nothing.
//!
//! What the server can do just now is not looked at. One that waits for its database is not ill, and to start it again would
//! help nobody.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde_json::json;
use store::ownership::current_owner;

use crate::client::Client;
use crate::commands::small_runtime;
use crate::config::{Config, endpoint_of};
use crate::output;

/// How long the server may take to say anything at all.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Asks the server that the settings name, or the one that has the mail of this home; exit code 1 if nobody answers.
pub fn ask(config: &Config, as_json: bool) -> anyhow::Result<ExitCode> {
    let owner = current_owner(&config.database()).map(|owner| endpoint_of(&owner.address));
    let Some(url) = config.url().or(owner) else {
        bail!("no server has the mail in '{}'; start one with `postrider serve`", config.home.display());
    };
    let client = Client::new(&url, None)?;
    // Any answer will do: one that asks for a token is an answer.
    let answers = small_runtime()?.block_on(async {
        let asked = tokio::time::timeout(ANSWERS_WITHIN, client.get(Default::default())).await;
        asked.is_ok_and(|answer| answer.is_ok())
    });
    if !answers {
        bail!("nobody answers at '{url}'; start that server, or correct `url` (POSTRIDER_URL)");
    }
    output::answer(as_json, &json!({ "server": url, "ok": true }), || format!("The server at {url} answers."));
    Ok(ExitCode::SUCCESS)
}
