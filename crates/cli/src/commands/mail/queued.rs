//! What becomes of mail that a sandbox keeps from the post office: it waits in an outbox of the workspace, if it can.
//!
//! Only what needs no answer can wait. Everything else is refused as it was.

use std::path::Path;
use std::process::ExitCode;

use api::Actor;
use serde_json::json;

use super::Verb;
use crate::mailbox::Caller;
use crate::outbox::{self, Operation, Queued};
use crate::output;
use crate::post_office::Refused;
use crate::sandbox::SANDBOXED;

/// Who leaves something in an outbox.
pub struct Waiting<'a> {
    pub home: &'a Path,
    pub project: &'a str,
    pub who: &'a Caller,
}

impl Waiting<'_> {
    /// Leaves what `verb` says in the outbox, if a sandbox is why it cannot be done; else the error stays.
    pub fn instead_of(&self, error: anyhow::Error, verb: &Verb, body: &str, as_json: bool) -> anyhow::Result<ExitCode> {
        let refused = error.downcast::<Refused>()?;
        let operations = (refused.code == SANDBOXED).then(|| self.operations(verb, body)).flatten();
        let Some(operations) = operations else { return Err(refused.into()) };
        let queued = match self.queue(operations) {
            Ok(queued) => queued,
            Err(error) => {
                return Err(refused.advised(&format!("(It cannot wait in the workspace: {error:#}.)")).into());
            }
        };
        output::answer(as_json, &json!({ "queued": queued, "because": refused.to_json()["error"] }), || {
            let folder = queued.first().map(|queued| queued.folder.display().to_string()).unwrap_or_default();
            format!(
                "Queued in '{folder}': the post office takes it in when a hook or the server passes by.\n{}. {}",
                refused.message, refused.hint
            )
        });
        // What waits for an answer has none.
        let waits = matches!(verb, Verb::Send(send) if send.afterwards.wait.is_some())
            || matches!(verb, Verb::Reply(reply) if reply.afterwards.wait.is_some());
        Ok(if waits { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn operations(&self, verb: &Verb, body: &str) -> Option<Vec<anyhow::Result<Operation>>> {
        let Caller { name, token } = self.who.clone();
        let actor = Actor { project_key: self.project.to_owned(), agent_name: name, registration_token: token };
        match verb {
            Verb::Send(send) => send.operation(actor, body).map(|operation| vec![operation]),
            Verb::Reply(reply) => reply.operation(actor, body).map(|operation| vec![operation]),
            Verb::Ack(ack) => ack.operations(&actor),
            _ => None,
        }
    }

    fn queue(&self, operations: Vec<anyhow::Result<Operation>>) -> anyhow::Result<Vec<Queued>> {
        let workspace = outbox::workspace_of(&std::env::current_dir()?);
        if outbox::project_of(&workspace)? != self.project {
            anyhow::bail!("'{}' is another project than this workspace", self.project);
        }
        operations.into_iter().map(|operation| outbox::queue(self.home, &workspace, &operation?)).collect()
    }
}
