//! The verbs of mail at a shell, for our own terminal: one tool that no list shows, so that it costs agents no context.

use mail::provider::native::{Names, Native};
use mail::provider::{Letter, Provider, ProviderError, Words};
use mcp::{Arguments, Call, Hints, Output, Param, ParamKind, Refusal, Tool};

use super::{Desk, LIMIT, PROJECT, TOKEN, limit};
use crate::answers::mailboxes::{CountAnswer, DoneAnswer, LetterAnswer};
use crate::refusal::refusal;

const VERBS: [&str; 11] =
    ["send", "reply", "inbox", "all", "thread", "get", "read", "mark_read", "mark_unread", "archive", "count"];

const PARAMS: &[Param] = &[
    PROJECT,
    Param::required("verb", ParamKind::Choice(&VERBS), ""),
    Param::optional("agent_name", ParamKind::Text, "Who asks"),
    Param::optional("recipient", ParamKind::Text, "Whose mailbox, or whom to write to; empty for everybody's"),
    Param::optional("id", ParamKind::Text, "A letter, or a thread"),
    Param::optional("sender_name", ParamKind::Text, ""),
    Param::optional("subject", ParamKind::Text, ""),
    Param::optional("body_md", ParamKind::Text, ""),
    Param::optional("after", ParamKind::Text, "Letters behind this one"),
    Param::optional("any_name", ParamKind::Flag, "Whoever writes or is written to gets a mailbox"),
    LIMIT,
    TOKEN,
];

pub(super) fn tool(desk: &Desk) -> Tool {
    let office = desk.office.clone();
    let tool = Tool::new("mailbox", "One mailbox, letter by letter.", PARAMS, Hints::WRITES, move |call: Call| {
        let arguments = call.arguments;
        let any_name = arguments.flag("any_name").unwrap_or(false);
        let (names, door) = if any_name { (Names::Any, "exec") } else { (Names::Known, "terminal") };
        let native = Native::new(office.clone(), arguments.text("project_key"), names, door)
            .read_by(arguments.opt_text("agent_name"), arguments.opt_text("registration_token"));
        async move { answer(&native, &arguments).await.map_err(refused) }
    });
    tool.unlisted()
}

async fn answer(native: &Native, arguments: &Arguments) -> Result<Output, ProviderError> {
    let text = |name| arguments.opt_text(name).unwrap_or_default();
    let (recipient, id) = (text("recipient"), text("id"));
    let words = Words { from: text("sender_name"), subject: text("subject"), body: text("body_md") };
    let page = async |unread_only| {
        let letters = native.page(recipient, unread_only, arguments.opt_text("after"), limit(arguments, 500)).await?;
        Ok::<_, ProviderError>(listed(&letters))
    };
    Ok(match arguments.text("verb") {
        "send" => one(&native.send(recipient, words).await?),
        "reply" => one(&native.reply(id, words).await?),
        "inbox" => page(true).await?,
        "all" => page(false).await?,
        "thread" => listed(&native.thread_page(id, arguments.opt_text("after"), limit(arguments, 500)).await?),
        "get" => one(&native.get(id).await?),
        "read" => one(&native.read(id).await?),
        "count" => Output::json(&CountAnswer::from(native.count(recipient).await?)),
        verb => {
            match verb {
                "mark_read" => native.mark_read(id).await?,
                "mark_unread" => native.mark_unread(id).await?,
                "archive" => native.archive(id).await?,
                _ => return Err(ProviderError::Unsupported { verb: "this" }),
            }
            Output::json(&DoneAnswer { done: true })
        }
    })
}

fn one(letter: &Letter) -> Output {
    Output::json(&LetterAnswer::from(letter))
}

fn listed(letters: &[Letter]) -> Output {
    Output::json(&letters.iter().map(LetterAnswer::from).collect::<Vec<_>>())
}

fn refused(error: ProviderError) -> Refusal {
    let hint = error.hint();
    match error {
        ProviderError::Office(error) => refusal(error),
        ProviderError::AlreadyArchived { .. } => Refusal::new("ALREADY_ARCHIVED", error.to_string()).hint(hint),
        ProviderError::NotFound { .. } => Refusal::new("MESSAGE_NOT_FOUND", error.to_string()).hint(hint),
        other => Refusal::new("PROVIDER_FAILED", other.to_string()).hint(hint),
    }
}
