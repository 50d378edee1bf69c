//! Takes in what waits in the outboxes of workspaces: a server all the time, hooks and `stdio` as they pass by.
//!
//! An operation leaves its folder after it is done, so that a crash repeats it, under the key that makes this harmless. Of two who
//! take in the same one, both are answered alike. What cannot be done now waits, and only the office's own word is a refusal: then the
//! operation is kept beside the reason. What another home sealed, or nobody, is left alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use api::{AcknowledgeMessage, Ask, ReplyMessage, SendMail};
use mcp::{Endpoint, StdioPeer};
use relay::outbox::{Found, Outbox, Outcome};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::spawn_blocking;

use super::{Carried, Operation, Sealed, SealingKey, project_of, workspace_of};
use crate::config::Config;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::taken_back::TakenBack;
use crate::post_office::{Refused, answer};

/// How many operations of a workspace are taken in at once. The rest is for the next pass, which comes soon.
const MOST_AT_ONCE: usize = 16;
/// Who does what an operation asks: the door that checks what any caller says.
pub enum Doer<'a> {
    Connection(&'a Arc<Connection>),
    Endpoint(&'a Endpoint),
}

impl Doer<'_> {
    async fn call<V: Ask>(&self, arguments: Map<String, Value>) -> Result<V::Answer, Refused> {
        let message = ClientMessage::inquiry("tools/call", json!({ "name": V::NAME, "arguments": arguments }));
        let line = match self {
            Self::Connection(connection) => connection.answer(&message, &TakenBack::never()).await,
            Self::Endpoint(endpoint) => endpoint.line(&message.text, &StdioPeer::new(mpsc::channel(1).0)).await,
        };
        answer::of_verb::<V>(line.as_deref())
    }

    async fn perform(&self, Operation { verb, arguments }: Operation) -> Result<Value, Refused> {
        Ok(match verb {
            Carried::SendMail => json!({ "message_id": self.call::<SendMail>(arguments).await?.sent.message.id }),
            Carried::ReplyMessage => json!({ "message_id": self.call::<ReplyMessage>(arguments).await?.message.id }),
            Carried::AcknowledgeMessage => {
                serde_json::to_value(self.call::<AcknowledgeMessage>(arguments).await?).unwrap_or_default()
            }
        })
    }
}

/// Who takes in operations for the mail of a home folder.
#[derive(Clone, Debug)]
pub struct Collector {
    pub(super) home: PathBuf,
    /// The largest file that is read.
    largest: usize,
}

impl Collector {
    /// One by these settings.
    pub fn new(config: &Config) -> Self {
        Self { home: config.home.clone(), largest: config.largest_request() }
    }

    /// Takes in what waits in the outbox of a workspace. Whatever goes wrong is logged.
    pub async fn collect(&self, workspace: &Path, doer: &Doer<'_>) -> Left {
        self.take_in(workspace, doer).await.unwrap_or_else(|error| {
            tracing::warn!(workspace = %workspace.display(), %error, "an outbox cannot be read");
            Left::Nothing
        })
    }

    /// Whether something waits in the outbox of a workspace that can be taken in. Without an outbox this costs one look at the disk.
    pub fn waits(&self, workspace: &Path) -> bool {
        Outbox::changed_at(workspace).is_some()
            && self.read(workspace).is_ok_and(|batch| batch.is_some_and(|batch| !batch.operations.is_empty()))
    }

    async fn take_in(&self, workspace: &Path, doer: &Doer<'_>) -> anyhow::Result<Left> {
        let (collector, place) = (self.clone(), workspace.to_owned());
        let Some(batch) = spawn_blocking(move || collector.read(&place)).await?? else { return Ok(Left::Nothing) };
        let Batch { outbox, operations, mut left } = batch;
        let outbox = Arc::new(outbox);
        for (id, operation) in operations {
            let kept = operation.kept();
            let (outcome, told) = match doer.perform(operation).await {
                Ok(told) => (Outcome::Done, told),
                Err(refused) if refused.is_of_office() => {
                    tracing::warn!(workspace = %workspace.display(), id, code = refused.code, "an operation was refused");
                    (Outcome::Refused, refused.saying("operation", kept).to_json())
                }
                Err(refused) => {
                    tracing::debug!(%refused, id, "what waits in an outbox is taken in later");
                    left = Left::Later;
                    if refused.is_passing() {
                        break;
                    }
                    continue;
                }
            };
            let (outbox, name) = (outbox.clone(), id.clone());
            let settling = spawn_blocking(move || outbox.settle(&name, outcome, told.to_string().as_bytes()));
            if let Err(error) = settling.await? {
                tracing::debug!(%error, id, "what was taken in cannot be taken away");
                left = Left::Later;
            }
        }
        Ok(left)
    }

    /// Reads what waits, as much as is done at once.
    fn read(&self, workspace: &Path) -> anyhow::Result<Option<Batch>> {
        let Some(outbox) = Outbox::find(workspace)? else { return Ok(None) };
        let waiting = outbox.waiting(SystemTime::now())?;
        if waiting.is_empty() {
            return Ok(None);
        }
        let (key, project) = (SealingKey::find_or_make(&self.home)?, project_of(workspace)?);
        let (mut operations, mut left) = (Vec::new(), Left::Nothing);
        for id in waiting {
            if operations.len() == MOST_AT_ONCE {
                left = Left::More;
                break;
            }
            let content = match outbox.read(&id, self.largest) {
                Ok(Found::File(content)) => content,
                Ok(Found::Gone) => continue,
                Ok(Found::Foreign) => {
                    tracing::debug!(id, "a file in an outbox is left alone: it is too large, or of another user");
                    continue;
                }
                Err(error) => {
                    tracing::debug!(%error, id, "a file in an outbox cannot be read");
                    left = Left::Later;
                    continue;
                }
            };
            match Sealed::open(&content, &key, workspace, &id) {
                Ok(operation) => operations.push((id.clone(), operation.in_project(&project, &id))),
                Err(why) => tracing::debug!(id, why, "a file in an outbox is left alone"),
            }
        }
        Ok(Some(Batch { outbox, operations, left }))
    }
}

/// What is taken in at once.
struct Batch {
    outbox: Outbox,
    operations: Vec<(String, Operation)>,
    left: Left,
}

/// What still waits in an outbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// Nothing that can be taken in.
    #[default]
    Nothing,
    /// More than is taken in at once.
    More,
    /// What could not be done now.
    Later,
}

/// Somebody who works in one workspace and takes in what waits there after each thing that it did.
pub struct PassingBy {
    collector: Collector,
    workspace: Option<PathBuf>,
    /// Held while something is taken in: once is enough.
    turn: Mutex<()>,
}

impl PassingBy {
    /// Somebody in the current folder.
    pub fn new(config: &Config) -> Self {
        let workspace = std::env::current_dir().ok().map(|here| workspace_of(&here));
        Self { collector: Collector::new(config), workspace, turn: Mutex::default() }
    }

    /// Takes in what waits. Without an outbox this costs one look at the disk.
    pub async fn collect(&self, connection: &Arc<Connection>) {
        let (Some(workspace), Ok(_turn)) = (&self.workspace, self.turn.try_lock()) else { return };
        if Outbox::changed_at(workspace).is_some() {
            self.collector.collect(workspace, &Doer::Connection(connection)).await;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use api::SendMail;

    use super::*;
    use crate::outbox::queue;

    pub(in crate::outbox) fn collector(home: &Path) -> Collector {
        SealingKey::find_or_make(home).unwrap();
        Collector { home: home.to_owned(), largest: 1 << 20 }
    }

    pub(in crate::outbox) fn leave(collector: &Collector, workspace: &Path) -> String {
        queue(&collector.home, workspace, &Operation::send(&SendMail::default()).unwrap()).unwrap().id
    }

    #[test]
    fn what_another_home_left_and_what_is_gone_stand_in_nobodys_way() {
        let [home, other, workspace] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let (ours, theirs) = (collector(home.path()), collector(other.path()));
        let foreign: Vec<String> = (0..=MOST_AT_ONCE).map(|_| leave(&theirs, workspace.path())).collect();
        assert!(!ours.waits(workspace.path()), "none of it is ours");
        let id = leave(&ours, workspace.path());
        let batch = ours.read(workspace.path()).unwrap().unwrap();
        let ids: Vec<&String> = batch.operations.iter().map(|(id, _)| id).collect();
        assert_eq!((ids, batch.left), (vec![&id], Left::Nothing));
        batch.outbox.settle(&id, Outcome::Done, b"{}").unwrap();
        assert!(!ours.waits(workspace.path()));
        assert!(foreign.iter().all(|id| batch.outbox.path().join(format!("{id}.json")).exists()));
    }
}
