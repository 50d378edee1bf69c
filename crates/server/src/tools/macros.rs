//! Several calls in one: starting a session, and joining a conversation.

use std::time::Duration;

use mail::Error;
use mail::messages::About;
use mail::office::{Claim, InboxAsk, Registration, ReserveAsk};
use mail::reservations::DEFAULT_TTL_SECONDS;
use mcp::{Hints, Output, Param, ParamKind, Tool};
use serde::Serialize;
use serde_json::Value;

use super::projects::{MODEL, PROGRAM, TASK, registered, registration};
use super::threads::THREAD;
use super::{Desk, PROJECT, TOKEN, filled};
use crate::answers::agents::{ProjectAnswer, RegisteredAnswer};
use crate::answers::messages::MessageAnswer;
use crate::answers::reservations::{LeaseAnswer, leases};
use crate::answers::threads::SummaryAnswer;
use crate::refusal::refusal;

/// How much mail a starting session is shown.
const INBOX: usize = 10;

const NAME: Param = Param::optional("agent_name", ParamKind::Text, "Your name; left out, you are given one")
    .mistaken_for(&["name", "agent"]);

/// A session that started.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SessionAnswer<'a> {
    /// The project.
    pub project: ProjectAnswer,
    /// Who you are.
    pub agent: RegisteredAnswer,
    /// What was reserved, or what is in the way.
    pub file_reservations: ReservationsAnswer<'a>,
    /// Unread mail, newest first.
    pub inbox: Vec<MessageAnswer<'a>>,
}

/// What became of the paths that a session wanted.
#[derive(Serialize, Default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReservationsAnswer<'a> {
    /// The leases.
    pub granted: Vec<LeaseAnswer<'a>>,
    /// What others hold; then nothing was granted.
    pub conflicts: Vec<Value>,
}

/// An agent that joined a conversation.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JoinedAnswer<'a> {
    /// The project.
    pub project: ProjectAnswer,
    /// Who you are.
    pub agent: RegisteredAnswer,
    /// The thread, summed up.
    pub thread: SummaryAnswer<'a>,
    /// Your unread mail of the thread, newest first.
    pub inbox: Vec<MessageAnswer<'a>>,
}

pub(super) fn tools(desk: &Desk) -> Vec<Tool> {
    vec![macro_start_session(desk), macro_prepare_thread(desk)]
}

fn macro_start_session(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        NAME,
        PROGRAM,
        MODEL,
        TASK,
        Param::optional("reserve_paths", ParamKind::Names, "Globs to hold exclusively").mistaken_for(&["paths"]),
        TOKEN,
    ];
    desk.tool(
        "macro_start_session",
        "Start here: ensures the project, registers you, reserves files, returns unread mail.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let paths = arguments.names("reserve_paths");
            if !paths.is_empty() {
                // Looked at first: paths that cannot be read make no project and register nobody.
                office.check_paths(arguments.text("project_key"), &paths).await?;
            }
            let me =
                office.register(Registration { make_project: true, ..registration(&arguments, "agent_name") }).await?;
            let project_key = me.project.human_key.clone();
            let (name, token) = (me.agent.name.clone(), me.token.clone());
            let agent = Claim { token: Some(&token), ..Claim::of(&name) };
            let reserved = if paths.is_empty() {
                Ok(Vec::new())
            } else {
                office.reserve(session_reservation(&project_key, agent, &paths)).await
            };
            let (granted, conflicts) = match reserved {
                Ok(granted) => (granted, Vec::new()),
                // A session starts all the same; what is in the way is part of its answer.
                Err(error @ Error::Reserved { .. }) => (Vec::new(), conflicts(error)),
                Err(error) => return Err(error),
            };
            let inbox = office.inbox(unread(&project_key, agent, None)).await?;
            Ok(Output::json(&SessionAnswer {
                project: ProjectAnswer::from(&me.project),
                agent: registered(me),
                file_reservations: ReservationsAnswer { granted: leases(&granted), conflicts },
                inbox: inbox.iter().map(|entry| MessageAnswer::received(entry, true)).collect(),
            }))
        },
    )
}

fn macro_prepare_thread(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[PROJECT, NAME, THREAD, PROGRAM, MODEL, TASK, TOKEN];
    desk.tool(
        "macro_prepare_thread",
        "Join a thread: registers you, sums up the thread, returns your unread mail in it.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let thread = filled("thread_id", arguments.text("thread_id"))?;
            // Looked up first: an unknown thread registers nobody.
            let (thread, summary) = office.summarize(arguments.text("project_key"), thread).await?;
            let me = office.register(registration(&arguments, "agent_name")).await?;
            let project_key = me.project.human_key.clone();
            let (name, token) = (me.agent.name.clone(), me.token.clone());
            let agent = Claim { token: Some(&token), ..Claim::of(&name) };
            let inbox = office.inbox(unread(&project_key, agent, Some(&thread))).await?;
            Ok(Output::json(&JoinedAnswer {
                project: ProjectAnswer::from(&me.project),
                agent: registered(me),
                thread: SummaryAnswer::new(&thread, &summary),
                inbox: inbox.iter().map(|entry| MessageAnswer::received(entry, true)).collect(),
            }))
        },
    )
}

fn session_reservation<'a>(project_key: &'a str, agent: Claim<'a>, paths: &'a [String]) -> ReserveAsk<'a> {
    ReserveAsk {
        project_key,
        agent,
        paths,
        ttl_seconds: DEFAULT_TTL_SECONDS,
        exclusive: true,
        reason: "",
        wait: Duration::ZERO,
    }
}

fn unread<'a>(project_key: &'a str, agent: Claim<'a>, thread: Option<&'a str>) -> InboxAsk<'a> {
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

fn conflicts(error: Error) -> Vec<Value> {
    match refusal(error).data.and_then(|mut data| data.remove("conflicts")) {
        Some(Value::Array(conflicts)) => conflicts,
        _ => Vec::new(),
    }
}
