//! What a client is told, in the words that it understands.
//!
//! Codex refuses an answer with a member that it does not know, so nothing is said that is not needed.

use serde_json::{Value, json};

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
pub(crate) fn specific(reply: &HookReply, event: &'static str) -> Value {
    match reply {
        HookReply::Context(text) | HookReply::Warn(text) => context(text, event),
        HookReply::Refuse(reason) => json!({ "hookSpecificOutput": {
            "hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason,
        } }),
        HookReply::GoOn(reason) => json!({ "decision": "block", "reason": reason }),
    }
}

/// The shape of Gemini: a decision and its reason. A warning has no way to the model here; the person is told.
pub(crate) fn decision(reply: &HookReply, event: &'static str) -> Value {
    match reply {
        HookReply::Context(text) => context(text, event),
        HookReply::Warn(text) => json!({ "systemMessage": text }),
        HookReply::Refuse(reason) | HookReply::GoOn(reason) => json!({ "decision": "deny", "reason": reason }),
    }
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
            let mut answer = (CODEX.reply)(&reply, event);
            assert!(schema.is_valid(&answer), "{answer}");
            answer["suppressOutput"] = true.into();
            assert!(!schema.is_valid(&answer), "{answer}");
        }
    }
}
