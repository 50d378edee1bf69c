//! What passes through the door and tells who is there: the client's program, and the agent that works in it.
//!
//! Only read here, but for one member that is added to an answer; the rest of it stays as it was written.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::post_office::message::ClientMessage;

/// The experimental capability that makes Claude Code listen.
const CAPABILITY: &str = "claude/channel";

/// The calls after which the caller is known.
const REGISTERING: [&str; 3] = ["register_agent", "macro_start_session", "macro_prepare_thread"];

/// An object of which one member is changed and the others are kept byte for byte.
type Members = BTreeMap<String, Box<RawValue>>;

/// An agent, as calls name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agent {
    /// The project, as the agent named it.
    pub project: String,
    /// The name of the agent.
    pub name: String,
    /// What proves the name, where it has to be proved.
    pub token: Option<String>,
}

/// Whether a message that introduces its client says that it is Claude.
pub fn is_claude(message: &ClientMessage) -> bool {
    #[derive(Deserialize)]
    struct Introduction {
        params: ClientParams,
    }
    #[derive(Deserialize)]
    struct ClientParams {
        #[serde(rename = "clientInfo")]
        client: Option<Client>,
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/clientInfo")]
        client: Option<Client>,
    }
    #[derive(Deserialize)]
    struct Client {
        name: String,
    }
    let Ok(Introduction { params }) = serde_json::from_str(&message.text) else {
        return false;
    };
    let client = params.client.or_else(|| params.meta?.client);
    client.is_some_and(|client| client.name.to_lowercase().contains("claude"))
}

/// The answer to an introduction, with the channel among the capabilities; none if the answer is a refusal.
pub fn with_channel(answer: &str) -> Option<String> {
    let mut envelope: Members = serde_json::from_str(answer).ok()?;
    let mut result = members(envelope.get("result")?)?;
    let mut capabilities = members(result.get("capabilities")?)?;
    let mut experimental = capabilities.get("experimental").and_then(|member| members(member)).unwrap_or_default();
    experimental.insert(CAPABILITY.to_owned(), to_raw_value(&Members::new()).ok()?);
    capabilities.insert("experimental".to_owned(), to_raw_value(&experimental).ok()?);
    result.insert("capabilities".to_owned(), to_raw_value(&capabilities).ok()?);
    envelope.insert("result".to_owned(), to_raw_value(&result).ok()?);
    serde_json::to_string(&envelope).ok()
}

/// The agent that was registered, if `message` asked for that and `answer` grants it.
pub fn registered(message: &ClientMessage, answer: &str) -> Option<Agent> {
    #[derive(Deserialize)]
    struct Asked {
        params: ClientParams,
    }
    #[derive(Deserialize)]
    struct ClientParams {
        arguments: Arguments,
    }
    #[derive(Deserialize)]
    struct Arguments {
        project_key: String,
    }
    #[derive(Deserialize)]
    struct Answered {
        result: Registration,
    }
    #[derive(Deserialize)]
    struct Registration {
        #[serde(rename = "structuredContent")]
        content: Content,
    }
    /// The agent itself, or what surrounds it. A refusal is neither.
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Content {
        Alone(Registered),
        Within { agent: Registered },
    }
    #[derive(Deserialize)]
    struct Registered {
        name: String,
        registration_token: Option<String>,
    }
    message.tool().filter(|tool| REGISTERING.contains(tool))?;
    let asked: Asked = serde_json::from_str(&message.text).ok()?;
    let answered: Answered = serde_json::from_str(answer).ok()?;
    let (Content::Alone(agent) | Content::Within { agent }) = answered.result.content;
    let project = asked.params.arguments.project_key;
    Some(Agent { project, name: agent.name, token: agent.registration_token })
}

fn members(object: &RawValue) -> Option<Members> {
    serde_json::from_str(object.get()).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(method: &str, params: Value) -> ClientMessage {
        ClientMessage::read(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
    }

    #[test]
    fn claude_is_known_by_its_name_in_either_era_and_nobody_else_is() {
        let old = |name: &str| message("initialize", json!({ "clientInfo": { "name": name } }));
        assert!(is_claude(&old("claude-code")) && is_claude(&old("Claude Desktop")) && is_claude(&old("my-CLAUDE")));
        assert!(!is_claude(&old("codex-mcp-client")));
        let client = json!({ "io.modelcontextprotocol/clientInfo": { "name": "claude-code" } });
        assert!(is_claude(&message("server/discover", json!({ "_meta": client }))));
        assert!(!is_claude(&message("initialize", json!({}))));
        assert!(!is_claude(&message("initialize", json!({ "clientInfo": { "name": ["claude"] } }))));
        assert!(!is_claude(&ClientMessage::read("[".repeat(10_000))));
    }

    #[test]
    fn the_channel_is_added_and_the_rest_of_the_answer_stays_as_it_was_written() {
        let answer =
            r#"{"id":1.50,"result":{"capabilities":{"tools":{},"experimental":{"x":{"a":1e2}}},"s":"\u0061"}}"#;
        let offered = with_channel(answer).unwrap();
        assert!(offered.contains(r#""id":1.50"#) && offered.contains(r#""x":{"a":1e2}"#), "{offered}");
        assert!(offered.contains(r#""s":"\u0061""#) && offered.contains(r#""tools":{}"#), "{offered}");
        let offered: Value = serde_json::from_str(&offered).unwrap();
        assert_eq!(offered["result"]["capabilities"]["experimental"]["claude/channel"], json!({}));
        for refusal in [r#"{"id":1,"error":{"code":-32603}}"#, r#"{"result":{}}"#, r#"{"result":[1]}"#, "", "[]"] {
            assert_eq!(with_channel(refusal), None, "{refusal}");
        }
    }

    #[test]
    fn the_caller_is_known_after_it_was_registered_and_not_after_a_refusal() {
        let call = |tool: &str| message("tools/call", json!({ "name": tool, "arguments": { "project_key": "/p" } }));
        let answer = |content: Value| json!({ "id": 1, "result": { "structuredContent": content } }).to_string();
        let agent = json!({ "id": 3, "name": "Anna", "registration_token": "t" });
        let anna = Agent { project: "/p".to_owned(), name: "Anna".to_owned(), token: Some("t".to_owned()) };
        assert_eq!(registered(&call("register_agent"), &answer(agent.clone())), Some(anna.clone()));
        let session = answer(json!({ "project": { "slug": "p" }, "agent": agent.clone() }));
        assert_eq!(registered(&call("macro_start_session"), &session), Some(anna.clone()));
        assert_eq!(registered(&call("macro_prepare_thread"), &session), Some(anna));
        assert_eq!(registered(&call("whois"), &answer(agent.clone())), None);
        let refusal = answer(json!({ "error": { "code": "PROJECT_NOT_FOUND", "message": "x", "hint": "y" } }));
        assert_eq!(registered(&call("register_agent"), &refusal), None);
        let nowhere = message("tools/call", json!({ "name": "register_agent", "arguments": {} }));
        assert_eq!(registered(&nowhere, &answer(agent)), None);
    }
}
