//! Saying something in a channel, for our own terminal and for watchers: one tool that no list shows.
//!
//! Agents write to a channel with `send_message`; this one takes what only channels have.

use mail::channels::{CHAT, WATCHER};
use mail::office::PostDraft;
use mcp::{Hints, Output, Param, ParamKind, Tool};

use super::{Desk, PROJECT, TOKEN, claim, filled};
use crate::answers::channels::PostedAnswer;
use crate::answers::messages::SentAnswer;

const PARAMS: &[Param] = &[
    PROJECT,
    Param::required("verb", ParamKind::Choice(&["post"]), ""),
    Param::required("sender_name", ParamKind::Text, "Gets a mailbox if it is new"),
    Param::required("channel", ParamKind::Text, "With or without '#'"),
    Param::required("text", ParamKind::Text, ""),
    Param::optional(
        "to",
        ParamKind::Names,
        "Agents, which get a mailbox if they are new, or all; without one, whoever is answered",
    ),
    Param::optional("subject", ParamKind::Text, "The first line of the text without one"),
    Param::optional("type", ParamKind::Text, "chat without one"),
    Param::optional("mode", ParamKind::Choice(&[CHAT, WATCHER]), ""),
    Param::optional("code", ParamKind::Text, ""),
    Param::optional("artifacts", ParamKind::Names, "Files that it speaks of"),
    Param::optional("in_reply_to", ParamKind::Text, "A message's number, or its name in the channel"),
    Param::optional("thread_id", ParamKind::Text, ""),
    Param::optional("idempotency_key", ParamKind::Text, ""),
    TOKEN,
];

pub(super) fn tool(desk: &Desk) -> Tool {
    let tool =
        desk.tool("channel", "Say something in a channel.", PARAMS, Hints::WRITES, |office, arguments| async move {
            let draft = PostDraft {
                project_key: arguments.text("project_key"),
                from: claim(&arguments, "sender_name"),
                channel: arguments.text("channel"),
                to: arguments.names("to"),
                subject: arguments.opt_text("subject").map(|subject| filled("subject", subject)).transpose()?,
                text: filled("text", arguments.text("text"))?,
                code: arguments.opt_text("code"),
                artifacts: arguments.names("artifacts"),
                kind: arguments.opt_text("type").unwrap_or(CHAT),
                mode: arguments.opt_text("mode").unwrap_or(CHAT),
                in_reply_to: arguments.opt_text("in_reply_to"),
                thread: arguments.opt_text("thread_id"),
                idempotency_key: arguments.opt_text("idempotency_key"),
                door: "terminal",
            };
            let sent = office.post(draft).await?;
            let post = office.store().post(sent.message.id).await?;
            let external_id = post.as_ref().map_or("", |post| &post.external_id);
            Ok(Output::json(&PostedAnswer {
                sent: SentAnswer::from(&sent),
                external_id,
                new_mailboxes: &sent.new_mailboxes,
            }))
        });
    tool.unlisted()
}
