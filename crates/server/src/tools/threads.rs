//! Finding what was said, and summing up a conversation.

use mail::ids::MessageId;
use mail::office::SearchAsk;
use mcp::{Hints, Output, Param, ParamKind, Tool};

use super::{Desk, KIND, LIMIT, PROJECT, WORK, about, filled, limit};
use crate::answers::threads::{FoundAnswer, SummaryAnswer};

pub(super) const THREAD: Param =
    Param::required("thread_id", ParamKind::Text, "").mistaken_for(&["thread", "id", "message_id"]);

pub(super) fn tools(desk: &Desk) -> Vec<Tool> {
    vec![search_messages(desk), summarize_thread(desk)]
}

fn search_messages(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[
        PROJECT,
        Param::required("query", ParamKind::Text, "words \"a phrase\" AND OR NOT pre* ( ) subject: from:")
            .mistaken_for(&["q", "text", "search"]),
        LIMIT,
        KIND,
        WORK,
        Param::optional("before_id", ParamKind::Id, "").rare(),
    ];
    desk.tool(
        "search_messages",
        "Search the project's mail, newest first.",
        PARAMS,
        Hints::READS,
        |office, arguments| async move {
            let ask = SearchAsk {
                project_key: arguments.text("project_key"),
                query: arguments.text("query"),
                about: about(&arguments)?,
                before: arguments.id("before_id").map(MessageId),
                limit: limit(&arguments, 20),
            };
            let found = office.search(ask).await?;
            let answers: Vec<FoundAnswer<'_>> = found.iter().map(FoundAnswer::from).collect();
            Ok(Output::json(&answers))
        },
    )
}

fn summarize_thread(desk: &Desk) -> Tool {
    const PARAMS: &[Param] = &[PROJECT, THREAD];
    desk.tool(
        "summarize_thread",
        "Participants, key points, action items and open questions of a thread.",
        PARAMS,
        Hints::READS,
        |office, arguments| async move {
            let thread = filled("thread_id", arguments.text("thread_id"))?;
            let (thread, summary) = office.summarize(arguments.text("project_key"), thread).await?;
            Ok(Output::json(&SummaryAnswer::new(&thread, &summary)))
        },
    )
}
