//! What a watcher asks of the office: one tool that no list shows, because only our own terminal watches.

use std::sync::Arc;

use jiff::Timestamp;
use mail::error::shown;
use mail::ids::MessageId;
use mail::office::Watcher;
use mail::watches::{Begun, MAILBOX, Outcome, RunQuery, RunState, Taken};
use mail::{Error, Office};
use mcp::{Arguments, Hints, Output, Param, ParamKind, Tool};
use serde_json::json;

use super::{AGENT, Desk, LIMIT, PROJECT, TOKEN, claim, limit};
use crate::answers::rfc3339;
use crate::answers::watches::RunAnswer;

const VERBS: [&str; 8] = ["begin", "hold", "end", "hops", "take", "finish", "runs", "retry"];
/// How a run may end.
const OUTCOMES: [&str; 3] = ["answered", "silent", "failed"];

const PARAMS: &[Param] = &[
    PROJECT,
    Param::required("verb", ParamKind::Choice(&VERBS), ""),
    AGENT,
    Param::optional("channel", ParamKind::Text, "None for the mailbox"),
    Param::optional("holder", ParamKind::Text, "Who watches"),
    Param::optional("instead_of", ParamKind::Text, "A holder that is gone"),
    Param::optional("since", ParamKind::Text, "RFC 3339: the first watcher leaves older mail alone"),
    Param::optional("position", ParamKind::Id, "The last message looked at"),
    Param::optional("message_id", ParamKind::Id, ""),
    Param::optional("message_ids", ParamKind::Names, ""),
    Param::optional("outcome", ParamKind::Choice(&OUTCOMES), ""),
    Param::optional("note", ParamKind::Text, "Why it failed"),
    Param::optional("state", ParamKind::Choice(&RunState::NAMES), ""),
    LIMIT,
    TOKEN,
];

pub(super) fn tool(desk: &Desk) -> Tool {
    desk.tool("watch", "Answering for an agent.", PARAMS, Hints::WRITES, |office, arguments| async move {
        answer(&office, &arguments).await
    })
    .unlisted()
}

async fn answer(office: &Arc<Office>, arguments: &Arguments) -> Result<Output, Error> {
    let (project_key, agent) = (arguments.text("project_key"), claim(arguments, "agent_name"));
    let channel = arguments.opt_text("channel").unwrap_or(MAILBOX);
    let watcher = Watcher { project_key, agent, channel, holder: arguments.opt_text("holder").unwrap_or_default() };
    let message = MessageId(arguments.id("message_id").unwrap_or_default());
    Ok(match arguments.text("verb") {
        "begin" => {
            let since = arguments.opt_text("since").map(time).transpose()?.unwrap_or(Timestamp::MIN);
            begun(&office.begin_watch(watcher, arguments.opt_text("instead_of"), since).await?)
        }
        "hold" => {
            let position = MessageId(arguments.id("position").unwrap_or_default());
            Output::json(&json!({ "held": office.hold_watch(watcher, position).await? }))
        }
        "end" => Output::json(&json!({ "held": office.end_watch(watcher).await? })),
        "hops" => Output::json(&json!({ "hops": office.hops(project_key, agent, message).await? })),
        "take" => Output::json(&json!({ "taken": taken(office.take_on(project_key, agent, channel, message).await?) })),
        "finish" => {
            let done = office.finish_run(project_key, agent, message, &outcome(arguments)).await?;
            Output::json(&json!({ "done": done }))
        }
        "retry" => {
            let ids = message_ids(&arguments.names("message_ids"))?;
            let again = office.retry_runs(project_key, agent, &ids).await?;
            Output::json(&json!({ "message_ids": again.iter().map(|id| id.0).collect::<Vec<_>>() }))
        }
        _ => {
            let state = arguments.opt_text("state").and_then(RunState::parse);
            let query = RunQuery { channel: arguments.opt_text("channel"), state, limit: limit(arguments, 1000) };
            let runs = office.runs(project_key, agent, query).await?;
            Output::json(&json!({ "runs": runs.iter().map(RunAnswer::from).collect::<Vec<_>>() }))
        }
    })
}

fn begun(begun: &Begun) -> Output {
    Output::json(&match begun {
        Begun::Started { position, given_up } => {
            let given_up: Vec<i64> = given_up.iter().map(|id| id.0).collect();
            json!({ "started": true, "position": position.0, "given_up": given_up })
        }
        Begun::Held { holder, until } => json!({ "started": false, "holder": holder, "until": rfc3339(*until) }),
    })
}

fn taken(taken: Taken) -> &'static str {
    match taken {
        Taken::New => "new",
        Taken::Again => "again",
        Taken::Already => "already",
    }
}

fn outcome(arguments: &Arguments) -> Outcome {
    match arguments.opt_text("outcome") {
        Some("answered") => Outcome::Answered,
        Some("silent") => Outcome::Silent,
        _ => Outcome::Failed(arguments.opt_text("note").unwrap_or_default().to_owned()),
    }
}

fn message_ids(given: &[String]) -> Result<Vec<MessageId>, Error> {
    let read = |text: &String| {
        let wanted = "the number of a message".to_owned();
        text.parse().map(MessageId).map_err(|_| Error::Invalid { what: "message_ids", value: shown(text), wanted })
    };
    given.iter().map(read).collect()
}

fn time(text: &str) -> Result<Timestamp, Error> {
    let wanted = "a time such as 2026-01-11T16:33:15Z".to_owned();
    text.parse().map_err(|_| Error::Invalid { what: "since", value: shown(text), wanted })
}
