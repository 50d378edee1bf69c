//! What watchers and hooks say of the agents that they stand for: one tool that no list shows, so that it costs agents no
//! context. An agent need not call it: whatever it does says that it is awake.

use mail::office::Sign;
use mcp::{Hints, Output, Param, ParamKind, Tool};

use super::{AGENT, Desk, PROJECT, TOKEN, claim};
use crate::answers::presence::NotedAnswer;

const VERBS: [&str; 3] = ["beat", "leave", "end_session"];

const PARAMS: &[Param] = &[
    PROJECT,
    AGENT,
    Param::required("verb", ParamKind::Choice(&VERBS), ""),
    Param::optional("state", ParamKind::Text, "AWAKE when it is left out"),
    Param::optional("substate", ParamKind::Text, "e.g. IDLE, WORKING"),
    Param::optional("watcher_pid", ParamKind::Number { min: 1, max: i64::MAX }, ""),
    Param::optional("channel", ParamKind::Text, ""),
    TOKEN,
];

pub(super) fn tool(desk: &Desk) -> Tool {
    let about = "Say whether an agent is there.";
    let tool = desk.tool("presence", about, PARAMS, Hints::REPEATABLE, |office, arguments| async move {
        let (project_key, claim) = (arguments.text("project_key"), claim(&arguments, "agent_name"));
        let changed = match arguments.text("verb") {
            "leave" => office.leave(project_key, claim).await?,
            "end_session" => office.end_session(project_key, claim).await?,
            _ => {
                let sign = Sign {
                    state: arguments.opt_text("state").unwrap_or(mail::presence::AWAKE),
                    substate: arguments.opt_text("substate"),
                    watcher_pid: arguments.number("watcher_pid"),
                    channel: arguments.opt_text("channel"),
                };
                office.beat(project_key, claim, sign).await?
            }
        };
        Ok(Output::json(&NotedAnswer { changed }))
    });
    tool.unlisted()
}
