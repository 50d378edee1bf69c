//! What a client is told, in the words that it understands.
//!
//! Codex refuses an answer with a member that it does not know, so nothing is said that is not needed.

use serde_json::{Value, json};

use super::client::{Client, Event};

/// What we have to say about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The agent is told something, and goes on.
    Context(String),
    /// The tool must not be called, for this reason.
    Refuse(String),
    /// The tool may be called, but somebody should know this.
    Warn(String),
    /// The agent must not stop yet, for this reason.
    GoOn(String),
}

impl Reply {
    /// The answer to an event of a client.
    pub fn json(&self, client: Client, event: Event) -> Value {
        let name = client.event_name(event);
        let context =
            |text: &str| json!({ "hookSpecificOutput": { "hookEventName": name, "additionalContext": text } });
        match (self, client) {
            (Self::Context(text), _) => context(text),
            // Gemini has no ear for the model here; the person is told.
            (Self::Warn(text), Client::Gemini) => json!({ "systemMessage": text }),
            (Self::Warn(text), _) => context(text),
            (Self::Refuse(reason) | Self::GoOn(reason), Client::Gemini) => {
                json!({ "decision": "deny", "reason": reason })
            }
            (Self::Refuse(reason), _) => json!({ "hookSpecificOutput": {
                "hookEventName": name, "permissionDecision": "deny", "permissionDecisionReason": reason,
            } }),
            (Self::GoOn(reason), _) => json!({ "decision": "block", "reason": reason }),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use jsonschema::JSONSchema;

    use super::super::examples;
    use super::*;

    /// Every answer that we can give, and to which event.
    fn replies() -> Vec<(Event, Reply)> {
        let (context, reason) = (Reply::Context("told".to_owned()), "why".to_owned());
        vec![
            (Event::SessionStart, context.clone()),
            (Event::Prompt, context.clone()),
            (Event::AfterTool, context),
            (Event::BeforeTool, Reply::Refuse(reason.clone())),
            (Event::BeforeTool, Reply::Warn(reason.clone())),
            (Event::Stop, Reply::GoOn(reason)),
        ]
    }

    #[test]
    fn each_client_is_answered_in_its_own_words() {
        for client in Client::value_variants() {
            let told: Vec<String> = replies()
                .iter()
                .map(|(event, reply)| format!("{}: {}", client.event_name(*event), reply.json(*client, *event)))
                .collect();
            insta::assert_snapshot!(format!("replies_{}", client.name()), told.join("\n"));
        }
    }

    #[test]
    fn codex_accepts_every_answer_and_would_refuse_one_with_more_in_it() {
        for (event, reply) in replies() {
            let schema = examples::codex_schema(Client::Codex.event_name(event));
            let schema = JSONSchema::compile(&schema).expect("a schema");
            let mut answer = reply.json(Client::Codex, event);
            assert!(schema.is_valid(&answer), "{answer}");
            answer["suppressOutput"] = true.into();
            assert!(!schema.is_valid(&answer), "{answer}");
        }
    }
}
