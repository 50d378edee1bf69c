//! Starts a session in one call: project, name, reservations and unread mail.

use std::time::Duration;

use mail::agents::Profile;
use mail::messages::About;
use mail::office::{Claim, InboxAsk, Registration, ReserveAsk};
use mail::reservations::DEFAULT_TTL_SECONDS;
use mail::{Error, Office};
use mcp::{Hints, Param, ParamKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answers::{MessageAnswer, ProjectAnswer, RegisteredAnswer, ReservationAnswer};
use crate::params::{MODEL, PROGRAM, PROJECT, TASK, TOKEN};
use crate::{Verb, details};

/// How much mail a starting session is shown.
const INBOX: usize = 10;

pub(crate) const NAME: Param = Param::optional("agent_name", ParamKind::Text, "Your name; left out, you are given one")
    .mistaken_for(&["name", "agent"]);

/// Starts a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MacroStartSession {
    pub project_key: String,
    /// Its name; without one it is given one.
    pub agent_name: Option<String>,
    pub program: Option<String>,
    pub model: Option<String>,
    pub task_description: Option<String>,
    /// Globs to hold exclusively.
    pub reserve_paths: Vec<String>,
    pub registration_token: Option<String>,
}

/// A session that started.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionAnswer {
    /// The project.
    pub project: ProjectAnswer,
    /// Who you are.
    pub agent: RegisteredAnswer,
    /// What was reserved, or what is in the way.
    pub file_reservations: ReservationsAnswer,
    /// Unread mail, newest first.
    pub inbox: Vec<MessageAnswer>,
}

/// What became of the paths that a session wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReservationsAnswer {
    /// The reservations.
    pub granted: Vec<ReservationAnswer>,
    /// What others hold; then nothing was granted.
    pub conflicts: Vec<Value>,
}

impl Verb for MacroStartSession {
    const NAME: &'static str = "macro_start_session";
    const ABOUT: &'static str = "Start here: ensures the project, registers you, reserves files, returns unread mail.";
    const PARAMS: &'static [Param] = &[
        PROJECT,
        NAME,
        PROGRAM,
        MODEL,
        TASK,
        Param::optional("reserve_paths", ParamKind::Names, "Globs to hold exclusively").mistaken_for(&["paths"]),
        TOKEN,
    ];
    const HINTS: Hints = Hints::REPEATABLE;
    type Answer = SessionAnswer;

    async fn run(self, office: &Office) -> Result<SessionAnswer, Error> {
        let paths = &self.reserve_paths;
        if !paths.is_empty() {
            // Looked at first: paths that cannot be read make no project and register nobody.
            office.check_paths(&self.project_key, paths).await?;
        }
        let registration = Registration {
            project_key: &self.project_key,
            make_project: true,
            name: self.agent_name.as_deref(),
            profile: Profile { program: self.program, model: self.model, task_description: self.task_description },
            token: self.registration_token.as_deref(),
        };
        let me = office.register(registration).await?;
        let agent = Claim { token: Some(&me.token), ..Claim::of(&me.agent.name) };
        let file_reservations = reserve(office, &me.project.human_key, agent, paths).await?;
        let inbox = office.inbox(unread(&me.project.human_key, agent, None)).await?;
        Ok(SessionAnswer {
            project: me.project.clone().into(),
            agent: me.into(),
            file_reservations,
            inbox: inbox.into_iter().map(|entry| MessageAnswer::received(entry, true)).collect(),
        })
    }
}

/// Reserves exclusively. A session starts all the same; what is in the way is part of its answer.
async fn reserve(
    office: &Office,
    project_key: &str,
    agent: Claim<'_>,
    paths: &[String],
) -> Result<ReservationsAnswer, Error> {
    if paths.is_empty() {
        return Ok(ReservationsAnswer::default());
    }
    let ask = ReserveAsk {
        project_key,
        agent,
        paths,
        ttl_seconds: DEFAULT_TTL_SECONDS,
        exclusive: true,
        reason: "",
        wait: Duration::ZERO,
    };
    match office.reserve(ask).await {
        Ok(granted) => {
            let granted = granted.into_iter().map(ReservationAnswer::from).collect();
            Ok(ReservationsAnswer { granted, conflicts: Vec::new() })
        }
        Err(error @ Error::Reserved { .. }) => {
            let conflicts = match details(&error).remove("conflicts") {
                Some(Value::Array(conflicts)) => conflicts,
                _ => Vec::new(),
            };
            Ok(ReservationsAnswer { granted: Vec::new(), conflicts })
        }
        Err(error) => Err(error),
    }
}

/// The unread mail that somebody who begins is shown.
pub(crate) fn unread<'a>(project_key: &'a str, agent: Claim<'a>, thread: Option<&'a str>) -> InboxAsk<'a> {
    InboxAsk {
        project_key,
        agent,
        unread_only: true,
        ack_required_only: false,
        thread,
        about: About::default(),
        before: None,
        limit: INBOX,
        with_bodies: true,
    }
}
