//! Reading a mailbox, waiting at it, and marking what was dealt with.

use std::time::Duration;

use jiff::Timestamp;
use mail::Error;
use mail::ids::MessageId;
use mail::messages::InboxEntry;
use mail::office::{InboxAsk, WaitAsk};
use mcp::{Hints, Output, Param, ParamKind, Tool};

use super::{AGENT, Desk, KIND, LIMIT, LONGEST_WAIT, PROJECT, TOKEN, WORK, about, claim, filled, limit};
use crate::answers::messages::{MarkedAnswer, MessageAnswer};

const MESSAGE: Param = Param::required("message_id", ParamKind::Id, "").mistaken_for(&["id", "message", "message_ids"]);

pub(super) fn tools(desk: &Desk) -> Vec<Tool> {
    vec![fetch_inbox(desk), wait_for_mail(desk), mark_message_read(desk), acknowledge_message(desk)]
}

fn fetch_inbox(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        AGENT,
        LIMIT,
        Param::optional("unread_only", ParamKind::Flag, ""),
        Param::optional("urgent_only", ParamKind::Flag, "Only mail that wants an acknowledgement").rare(),
        Param::optional("thread_id", ParamKind::Text, "").rare(),
        KIND,
        WORK,
        Param::optional("include_bodies", ParamKind::Flag, "Default true").rare(),
        Param::optional("before_id", ParamKind::Id, "Older than this message").rare(),
        TOKEN,
    ];
    desk.tool(
        "fetch_inbox",
        "Your mail, newest first. Changes nothing.",
        PARAMS,
        Hints::READS,
        |office, arguments| async move {
            let with_bodies = arguments.flag("include_bodies").unwrap_or(true);
            let ask = InboxAsk {
                project_key: arguments.text("project_key"),
                agent: claim(&arguments, "agent_name"),
                unread_only: arguments.flag("unread_only").unwrap_or(false),
                ack_required_only: arguments.flag("urgent_only").unwrap_or(false),
                thread: arguments.opt_text("thread_id").map(|thread| filled("thread_id", thread)).transpose()?,
                about: about(&arguments)?,
                before: arguments.id("before_id").map(MessageId),
                limit: limit(&arguments, 20),
                with_bodies,
            };
            Ok(received(&office.inbox(ask).await?, with_bodies))
        },
    )
}

fn wait_for_mail(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        AGENT,
        Param::optional("timeout_seconds", ParamKind::Number { min: 0, max: LONGEST_WAIT }, "Default 50")
            .mistaken_for(&["timeout", "wait_seconds", "seconds"]),
        LIMIT,
        Param::optional("after_id", ParamKind::Id, "Unread mail newer than this message, even if shown before").rare(),
        Param::optional("not_after", ParamKind::Text, "RFC 3339: return nothing later").rare(),
        TOKEN,
    ];
    desk.tool(
        "wait_for_mail",
        "Unread mail it has not returned yet, oldest first, as soon as there is some; [] when time is up.",
        PARAMS,
        Hints::WRITES,
        |office, arguments| async move {
            let seconds = arguments.number("timeout_seconds").unwrap_or(LONGEST_WAIT);
            let ask = WaitAsk {
                project_key: arguments.text("project_key"),
                agent: claim(&arguments, "agent_name"),
                after: arguments.id("after_id").map(MessageId),
                limit: limit(&arguments, 20),
                at_most: Duration::from_secs(seconds as u64),
                not_after: arguments.opt_text("not_after").map(time).transpose()?,
            };
            Ok(received(&office.wait_for_mail(ask).await?, true))
        },
    )
}

fn mark_message_read(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[PROJECT, AGENT, MESSAGE, TOKEN];
    desk.tool("mark_message_read", "Mark a message read.", PARAMS, Hints::REPEATABLE, |office, arguments| async move {
        let id = arguments.id("message_id").unwrap_or_default();
        let agent = claim(&arguments, "agent_name");
        let state = office.mark_read(arguments.text("project_key"), agent, MessageId(id)).await?;
        Ok(Output::json(&MarkedAnswer::new(id, &state)))
    })
}

fn acknowledge_message(desk: &Desk) -> Tool {
    const PARAMS: &[Param] =
        &[PROJECT, AGENT, MESSAGE, Param::optional("ack_body", ParamKind::Text, "A word to the sender"), TOKEN];
    desk.tool(
        "acknowledge_message",
        "Acknowledge a message; also marks it read.",
        PARAMS,
        Hints::REPEATABLE,
        |office, arguments| async move {
            let id = arguments.id("message_id").unwrap_or_default();
            let agent = claim(&arguments, "agent_name");
            let note = arguments.opt_text("ack_body").unwrap_or_default();
            let state = office.acknowledge(arguments.text("project_key"), agent, MessageId(id), note).await?;
            Ok(Output::json(&MarkedAnswer::new(id, &state)))
        },
    )
}

fn time(text: &str) -> Result<Timestamp, Error> {
    let wanted = "a time such as 2026-01-11T16:33:15Z".to_owned();
    text.parse().map_err(|_| Error::Invalid { what: "not_after", value: mail::error::shown(text), wanted })
}

/// A list of mail.
fn received(entries: &[InboxEntry], with_bodies: bool) -> Output {
    let answers: Vec<MessageAnswer<'_>> =
        entries.iter().map(|entry| MessageAnswer::received(entry, with_bodies)).collect();
    Output::json(&answers)
}
