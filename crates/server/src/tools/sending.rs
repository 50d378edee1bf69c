//! Sending messages and answering them.

use mail::Error;
use mail::ids::MessageId;
use mail::messages::Importance;
use mail::office::{Draft, ReplyDraft};
use mcp::{Arguments, Hints, Output, Param, ParamKind, Tool};

use super::{Desk, PROJECT, TOKEN, claim, filled};
use crate::answers::messages::SentAnswer;

const SENDER: Param = Param::required("sender_name", ParamKind::Text, "Your registered name").mistaken_for(&[
    "from",
    "agent_name",
    "sender",
    "name",
]);
const BODY: Param =
    Param::required("body_md", ParamKind::Text, "Markdown").mistaken_for(&["body", "message", "content", "text"]);
const CC: Param = Param::optional("cc", ParamKind::Names, "").rare();
const BCC: Param = Param::optional("bcc", ParamKind::Names, "").rare();
const ACK: Param = Param::optional("ack_required", ParamKind::Flag, "Ask for an acknowledgement");
const IMPORTANCE: Param = Param::optional("importance", ParamKind::Choice(&Importance::NAMES), "").rare();
const KEY: Param =
    Param::optional("idempotency_key", ParamKind::Text, "Makes a retry safe: the same key sends once").rare();

pub(super) fn tools(desk: &Desk) -> Vec<Tool> {
    vec![send_message(desk), reply_message(desk)]
}

fn send_message(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        SENDER,
        Param::required("to", ParamKind::Names, "Agents, all or #channel").mistaken_for(&["recipient", "recipients"]),
        Param::required("subject", ParamKind::Text, "").mistaken_for(&["title"]),
        BODY,
        Param::optional("thread_id", ParamKind::Text, "Conversation, e.g. a work item").mistaken_for(&["thread"]),
        CC,
        BCC,
        IMPORTANCE,
        ACK,
        KEY,
        Param::optional("strict", ParamKind::Flag, "Refuse unless a faultless typed message").rare(),
        TOKEN,
    ];
    desk.tool(
        "send_message",
        "Send a message to agents of the project. It is on disk when this returns.",
        PARAMS,
        Hints::WRITES,
        |office, arguments| async move {
            let draft = Draft {
                subject: filled("subject", arguments.text("subject"))?,
                thread: arguments.opt_text("thread_id"),
                strict: arguments.flag("strict").unwrap_or(false),
                ..draft(&arguments)?
            };
            Ok(Output::json(&SentAnswer::from(&office.send(draft).await?)))
        },
    )
}

fn reply_message(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        Param::required("message_id", ParamKind::Id, "").mistaken_for(&["id", "reply_to", "in_reply_to"]),
        SENDER,
        BODY,
        Param::optional("to", ParamKind::Names, "Instead of the sender").rare(),
        CC,
        BCC,
        Param::optional("subject", ParamKind::Text, "").rare(),
        IMPORTANCE,
        ACK,
        KEY,
        TOKEN,
    ];
    desk.tool(
        "reply_message",
        "Answer a message, in its thread.",
        PARAMS,
        Hints::WRITES,
        |office, arguments| async move {
            let reply = ReplyDraft {
                reply_to: MessageId(arguments.id("message_id").unwrap_or_default()),
                subject: arguments.opt_text("subject").map(|subject| filled("subject", subject)).transpose()?,
                draft: draft(&arguments)?,
            };
            Ok(Output::json(&SentAnswer::from(&office.reply(reply).await?)))
        },
    )
}

/// What both tools take.
fn draft(arguments: &Arguments) -> Result<Draft<'_>, Error> {
    Ok(Draft {
        project_key: arguments.text("project_key"),
        from: claim(arguments, "sender_name"),
        to: arguments.names("to"),
        cc: arguments.names("cc"),
        bcc: arguments.names("bcc"),
        subject: "",
        body: filled("body_md", arguments.text("body_md"))?,
        thread: None,
        importance: arguments.opt_text("importance").and_then(Importance::parse).unwrap_or_default(),
        ack_required: arguments.flag("ack_required"),
        idempotency_key: arguments.opt_text("idempotency_key"),
        strict: false,
        door: "mcp",
    })
}
