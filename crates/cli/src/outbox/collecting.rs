//! Takes in what waits in the outboxes of workspaces: a server all the time, hooks and `stdio` as they pass by.
//!
//! An operation leaves its folder after it is done, so that a crash repeats it, under the key that makes this harmless. Of two who
//! take in the same one, both are answered alike. What cannot be done now waits for the next pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use api::{AcknowledgeMessage, Ask, ReplyMessage, SendMail};
use mail::projects::ProjectKey;
use mcp::{Endpoint, StdioPeer};
use relay::outbox::{Outbox, Outcome};
use relay::sessions::Sessions;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use super::{Carried, Operation, Sealed, SealingKey, project_of, workspace_of};
use crate::commands::nudge::sessions;
use crate::config::Config;
use crate::post_office::connection::Connection;
use crate::post_office::message::ClientMessage;
use crate::post_office::taken_back::TakenBack;
use crate::post_office::{Refused, answer};
use crate::wiring::LocalOffice;

/// How many operations of a workspace are taken in at once. The rest is for the next pass, which comes soon.
const MOST_AT_ONCE: usize = 16;
/// How often outboxes are looked at in which an agent is at work, and others that are there.
const OF_AGENTS: Duration = Duration::from_millis(250);
const OF_OTHERS: Duration = Duration::from_secs(3);
/// How often it is looked whether there is an outbox, and at every how many of these times which workspaces there are.
const LOOKS_EVERY: Duration = Duration::from_secs(5);
const LISTS_AT: u32 = 6;
/// How long a change counts as new, because clocks of file systems are coarse.
const STILL_NEW: Duration = Duration::from_secs(1);
/// How many projects are asked for at once, and how many workspaces are looked at.
const PROJECTS: usize = 100;
const MOST_WORKSPACES: usize = 1_000;

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
    home: PathBuf,
    /// The largest file that is read.
    largest: usize,
}

impl Collector {
    /// One by these settings.
    pub fn new(config: &Config) -> Self {
        Self { home: config.home.clone(), largest: config.largest_request() }
    }

    /// Takes in what waits in the outbox of a workspace; whether something still waits. Whatever goes wrong is logged.
    pub async fn collect(&self, workspace: &Path, doer: &Doer<'_>) -> bool {
        self.take_in(workspace, doer).await.unwrap_or_else(|error| {
            tracing::warn!(workspace = %workspace.display(), %error, "an outbox cannot be read");
            false
        })
    }

    async fn take_in(&self, workspace: &Path, doer: &Doer<'_>) -> anyhow::Result<bool> {
        let Some(outbox) = Outbox::find(workspace)? else { return Ok(false) };
        let waiting = outbox.waiting(SystemTime::now())?;
        if waiting.is_empty() {
            return Ok(false);
        }
        let (key, project) = (SealingKey::find_or_make(&self.home)?, project_of(workspace)?);
        let more = waiting.len() > MOST_AT_ONCE;
        for id in waiting.into_iter().take(MOST_AT_ONCE) {
            let content = outbox.read(&id, self.largest)?;
            let content = content.as_deref().ok_or("it is gone, too large, or no plain file");
            let done = match content.and_then(|content| Sealed::open(content, &key, workspace, &id)) {
                Ok(operation) => doer.perform(operation.in_project(&project, &id)).await,
                Err(why) => Err(not_taken(&id, why)),
            };
            match done {
                Ok(told) => outbox.settle(&id, Outcome::Done, told.to_string().as_bytes())?,
                Err(refused) if refused.is_passing() => {
                    tracing::debug!(%refused, "what waits in an outbox is taken in later");
                    return Ok(true);
                }
                Err(refused) => {
                    tracing::warn!(workspace = %workspace.display(), id, code = refused.code, "an operation was refused");
                    outbox.settle(&id, Outcome::Refused, refused.to_json().to_string().as_bytes())?;
                }
            }
        }
        Ok(more)
    }
}

fn not_taken(id: &str, why: &str) -> Refused {
    Refused::new("OUTBOX_REFUSED", &format!("'{id}' is not taken in: {why}"), "Send it again.")
}

/// Whether something waits in the outbox of a workspace. Without an outbox this costs one look at the disk.
pub fn waits(workspace: &Path) -> bool {
    let has_some = |outbox: Outbox| outbox.waiting(SystemTime::now()).is_ok_and(|waiting| !waiting.is_empty());
    Outbox::changed_at(workspace).is_some() && Outbox::find(workspace).ok().flatten().is_some_and(has_some)
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
        if waits(workspace) {
            self.collector.collect(workspace, &Doer::Connection(connection)).await;
        }
    }
}

/// Looks after the outboxes of this machine until the office closes. While there is none, only that is looked for.
pub async fn look_after(collector: Collector, local: LocalOffice, endpoint: Endpoint) {
    let mut workspaces = Workspaces::default();
    let mut looked_at = None;
    for look in 0_u32.. {
        if looked_at.is_none_or(|looked_at: Instant| looked_at.elapsed() >= LOOKS_EVERY) {
            looked_at = Some(Instant::now());
            if look == 0 || workspaces.is_due() {
                workspaces.list(&collector.home, &local).await;
            }
            workspaces.find_outboxes();
        }
        for (workspace, outbox) in &mut workspaces.outboxes {
            if outbox.has_changed(workspace) {
                outbox.still_waits = collector.collect(workspace, &Doer::Endpoint(&endpoint)).await;
            }
        }
        if timeout(workspaces.pause(), local.wake_ups.closed()).await.is_ok() {
            return;
        }
    }
}

/// The workspaces that are known, and the outboxes in them.
#[derive(Default)]
struct Workspaces {
    /// Those of projects, and those in which an agent is at work.
    all: BTreeSet<PathBuf>,
    of_agents: BTreeSet<PathBuf>,
    outboxes: BTreeMap<PathBuf, Seen>,
    looks: u32,
}

/// How an outbox was when it was last looked into.
#[derive(Default)]
struct Seen {
    changed_at: Option<SystemTime>,
    still_waits: bool,
}

impl Workspaces {
    /// Whether it is time to list them once more.
    fn is_due(&mut self) -> bool {
        self.looks += 1;
        self.looks.is_multiple_of(LISTS_AT)
    }

    async fn list(&mut self, home: &Path, local: &LocalOffice) {
        let sessions = Sessions::new(sessions(home)).all();
        let places = sessions.iter().filter(|session| session.is_open()).map(|session| workspace_of(&session.place));
        self.of_agents = places.take(MOST_WORKSPACES).collect();
        self.all.clone_from(&self.of_agents);
        let mut after = None;
        while self.all.len() < MOST_WORKSPACES {
            // What cannot be listed now is listed later.
            let Ok(projects) = local.office.projects(after, PROJECTS).await else { return };
            let paths = projects.iter().filter(|project| ProjectKey::parse_path(&project.human_key).is_ok());
            self.all.extend(paths.map(|project| PathBuf::from(&project.human_key)));
            match projects.last() {
                Some(last) if projects.len() == PROJECTS => after = Some(last.id),
                _ => return,
            }
        }
    }

    fn find_outboxes(&mut self) {
        let found: BTreeSet<&PathBuf> =
            self.all.iter().filter(|workspace| Outbox::changed_at(workspace).is_some()).collect();
        self.outboxes.retain(|workspace, _| found.contains(workspace));
        for workspace in found {
            self.outboxes.entry(workspace.clone()).or_default();
        }
    }

    fn pause(&self) -> Duration {
        match () {
            () if self.outboxes.is_empty() => LOOKS_EVERY,
            () if self.outboxes.keys().any(|workspace| self.of_agents.contains(workspace)) => OF_AGENTS,
            () => OF_OTHERS,
        }
    }
}

impl Seen {
    /// Whether something may be in it that was not there at the last look.
    fn has_changed(&mut self, workspace: &Path) -> bool {
        let changed_at = Outbox::changed_at(workspace);
        let is_new = changed_at.is_some_and(|at| at.elapsed().is_ok_and(|age| age < STILL_NEW));
        let has_changed = changed_at.is_some() && (self.still_waits || is_new || changed_at != self.changed_at);
        self.changed_at = changed_at;
        has_changed
    }
}
