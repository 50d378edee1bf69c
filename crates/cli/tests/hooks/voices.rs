//! How each client speaks: a row each, for the promises that are kept to all of them. What is not in a row, the client does not offer.

use serde_json::{Value, json};

/// A client, by the names of the examples of what it says.
#[derive(Clone, Copy, Debug)]
pub struct Voice {
    pub client: &'static str,
    /// A session begins.
    pub start: &'static str,
    /// Events at which something that is told reaches the model, but the start.
    pub told: &'static [&'static str],
    /// Whether what is told at the start reaches the model.
    pub hears_start: bool,
    /// The agent is done, and may be held.
    pub stop: Option<&'static str>,
    /// Writes to `src/lib.rs`, which may be refused.
    pub writes: &'static [&'static str],
    /// The conversation was cleared: what is said of the session that ends, if anything is, and of the one that begins.
    pub clear: Option<(Option<&'static str>, &'static str)>,
    /// The session ends.
    pub end: Option<&'static str>,
    /// A sub-agent begins, and calls a tool.
    pub below: Option<[&'static str; 2]>,
    /// Where the input has the session.
    session: &'static str,
}

const USUAL: Voice = Voice {
    client: "claude",
    start: "SessionStart",
    told: &["UserPromptSubmit", "PostToolUse"],
    hears_start: true,
    stop: Some("Stop"),
    writes: &["PreToolUse"],
    clear: Some((Some("SessionEnd-clear"), "SessionStart-clear")),
    end: Some("SessionEnd"),
    below: Some(["SubagentStart", "PostToolUse-subagent"]),
    session: "session_id",
};

const OPENCODE: Voice = Voice {
    client: "opencode",
    start: "session.created",
    told: &["chat.message", "tool.execute.after"],
    stop: Some("session.idle"),
    writes: &["tool.execute.before", "tool.execute.before-edit", "tool.execute.before-patch"],
    clear: Some((None, "session.created-clear")),
    end: Some("session.deleted"),
    below: Some(["session.created-subagent", "tool.execute.after-subagent"]),
    ..USUAL
};

/// Every client.
pub const VOICES: [Voice; 9] = [
    USUAL,
    Voice {
        client: "codex",
        writes: &["PreToolUse", "PreToolUse-patch-at-a-shell"],
        clear: Some((None, "SessionStart-clear")),
        below: None,
        ..USUAL
    },
    Voice {
        client: "gemini",
        told: &["BeforeAgent", "AfterTool"],
        stop: Some("AfterAgent"),
        writes: &["BeforeTool", "BeforeTool-replace"],
        below: None,
        ..USUAL
    },
    Voice { client: "qwen", writes: &["PreToolUse", "PreToolUse-edit"], ..USUAL },
    OPENCODE,
    Voice { client: "kilo", ..OPENCODE },
    Voice {
        client: "copilot",
        start: "sessionStart",
        told: &["userPromptSubmitted", "postToolUse"],
        stop: Some("agentStop"),
        writes: &["preToolUse", "preToolUse-edit", "PreToolUse-as-claude"],
        clear: Some((Some("sessionEnd-clear"), "sessionStart-clear")),
        end: Some("sessionEnd"),
        below: Some(["subagentStart", "postToolUse-subagent"]),
        session: "sessionId",
        ..USUAL
    },
    Voice {
        client: "cline",
        start: "TaskStart",
        told: &["PostToolUse"],
        hears_start: false,
        stop: None,
        writes: &[],
        clear: None,
        end: None,
        below: None,
        session: "sessionContext",
    },
    Voice {
        client: "kimi",
        told: &["UserPromptSubmit"],
        hears_start: false,
        stop: None,
        clear: None,
        end: None,
        below: None,
        ..USUAL
    },
];

impl Voice {
    /// The members that say which session it is.
    pub fn session(&self, id: &str) -> Value {
        match self.session {
            "sessionContext" => json!({ "sessionContext": { "rootSessionId": id } }),
            name => json!({ name: id }),
        }
    }
}

/// What an answer tells the model.
pub fn context_in(answer: &Value) -> Option<&str> {
    let places =
        ["/hookSpecificOutput/additionalContext", "/additionalContext", "/context", "/contextModification", ""];
    places.into_iter().find_map(|place| answer.pointer(place)?.as_str())
}

/// Why an answer refuses a call of a tool.
pub fn refusal_in(answer: &Value) -> Option<&str> {
    let places = ["/hookSpecificOutput/permissionDecisionReason", "/permissionDecisionReason", "/reason", "/refuse"];
    places.into_iter().find_map(|place| answer.pointer(place)?.as_str())
}

/// Why an answer holds an agent that is done.
pub fn hold_in(answer: &Value) -> Option<&str> {
    ["/reason", "/go_on"].into_iter().find_map(|place| answer.pointer(place)?.as_str())
}
