//! What a client is told, in the words that it understands.
//!
//! Codex refuses an answer with a member that it does not know, so nothing is said that is not needed.

use serde_json::{Value, json};

use crate::output::text::{self, json_line};

/// What we have to say about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookReply {
    /// The agent is told something, and goes on.
    Context(String),
    /// The tool must not be called, for this reason.
    Refuse(String),
    /// The tool may be called, but somebody should know this.
    Warn(String),
    /// The agent must not stop yet, for this reason.
    GoOn(String),
}

/// The shape of Claude Code and Codex: most answers stand in an object that names the event.
pub(crate) fn specific(reply: &HookReply, event: &'static str) -> String {
    json_line(&match reply {
        HookReply::Context(text) | HookReply::Warn(text) => context(text, event),
        HookReply::Refuse(reason) => denied(reason, event),
        HookReply::GoOn(reason) => json!({ "decision": "block", "reason": reason }),
    })
}

/// The shape of Gemini: a decision and its reason. A warning has no way to the model here; the person is told.
pub(crate) fn decision(reply: &HookReply, event: &'static str) -> String {
    json_line(&match reply {
        HookReply::Context(text) => context(text, event),
        HookReply::Warn(text) => json!({ "systemMessage": text }),
        HookReply::Refuse(reason) | HookReply::GoOn(reason) => json!({ "decision": "deny", "reason": reason }),
    })
}

/// The shape of Copilot: what is told stands at the top. In the hooks of Claude Code, whose events begin with a capital, a refusal
/// stands where that client has it.
pub(crate) fn topmost(reply: &HookReply, event: &'static str) -> String {
    json_line(&match reply {
        HookReply::Context(text) | HookReply::Warn(text) => json!({ "additionalContext": text }),
        HookReply::Refuse(reason) if event.starts_with(char::is_uppercase) => denied(reason, event),
        HookReply::Refuse(reason) => json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }),
        HookReply::GoOn(reason) => json!({ "decision": "block", "reason": reason }),
    })
}

/// What our own plugins read.
pub(crate) fn plugin(reply: &HookReply, _: &'static str) -> String {
    json_line(&match reply {
        HookReply::Context(text) | HookReply::Warn(text) => json!({ "context": text }),
        HookReply::Refuse(reason) => json!({ "refuse": reason }),
        HookReply::GoOn(reason) => json!({ "go_on": reason }),
    })
}

/// The shape of Kimi: what is told at a prompt is shown to the model as it is, JSON or not.
pub(crate) fn plain_at_prompts(reply: &HookReply, event: &'static str) -> String {
    match reply {
        HookReply::Context(text) => text::lines(text),
        other => specific(other, event),
    }
}

/// The shape of Cline. There is no refusal: it would end the whole run.
pub(crate) fn modification(reply: &HookReply, _: &'static str) -> String {
    let (HookReply::Context(text) | HookReply::Warn(text) | HookReply::Refuse(text) | HookReply::GoOn(text)) = reply;
    json_line(&json!({ "contextModification": text }))
}

fn denied(reason: &str, event: &'static str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason,
    } })
}

fn context(text: &str, event: &'static str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

#[cfg(test)]
mod tests {
    use jsonschema::JSONSchema;

    use super::*;
    use crate::clients::tests::examples;
    use crate::clients::{ALL, CODEX, Event};

    /// Every answer that we can give, and to which event.
    fn replies() -> Vec<(Event, HookReply)> {
        let (context, reason) = (HookReply::Context("told".to_owned()), "why".to_owned());
        vec![
            (Event::SessionStart, context.clone()),
            (Event::Prompt, context.clone()),
            (Event::AfterTool, context),
            (Event::BeforeTool, HookReply::Refuse(reason.clone())),
            (Event::BeforeTool, HookReply::Warn(reason.clone())),
            (Event::Stop, HookReply::GoOn(reason)),
        ]
    }

    #[test]
    fn each_client_is_answered_in_its_own_words() {
        for client in ALL {
            let told: Vec<String> = replies()
                .iter()
                .filter(|(event, _)| !client.event_name(*event).is_empty() && client.hears(*event))
                .map(|(event, reply)| (client.event_name(*event), reply))
                .map(|(event, reply)| format!("{event}: {}", (client.reply)(reply, event)))
                .collect();
            insta::assert_snapshot!(format!("replies_{}", client.name), told.join("\n"));
        }
    }

    #[test]
    fn codex_accepts_every_answer_and_would_refuse_one_with_more_in_it() {
        for (event, reply) in replies() {
            let event = CODEX.event_name(event);
            let schema = examples::codex_schema(event);
            let schema = JSONSchema::compile(&schema).expect("a schema");
            let mut answer: Value = serde_json::from_str(&(CODEX.reply)(&reply, event)).expect("an answer is JSON");
            assert!(schema.is_valid(&answer), "{answer}");
            answer["suppressOutput"] = true.into();
            assert!(!schema.is_valid(&answer), "{answer}");
        }
    }
}
