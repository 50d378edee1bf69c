//! What passes through the door and tells who is there: the client's program, and the agent that works in it.
//!
//! Only read here.

use api::Actor;
use mail::projects::slug_of;
use serde_json::Value;

use crate::clients::{self, Client};
use crate::post_office::message::ClientMessage;
use crate::post_office::repository_of;

/// The calls after which the caller is known.
const REGISTERING: [&str; 3] = ["register_agent", "macro_start_session", "macro_prepare_thread"];

/// The client that a message introduces, if it is one of the table.
pub fn client(message: &ClientMessage) -> Option<&'static Client> {
    let said: Value = serde_json::from_str(&message.text).unwrap_or_default();
    let ways = ["/params/clientInfo/name", "/params/_meta/io.modelcontextprotocol~1clientInfo/name"];
    let name = ways.iter().find_map(|way| said.pointer(way)).and_then(Value::as_str)?.to_lowercase();
    clients::ALL.into_iter().find(|client| name.contains(client.name))
}

/// The agent that was registered, if `message` asked for that and `answer` grants it; its project as hooks and commands call it.
pub fn registered(message: &ClientMessage, answer: &str) -> Option<Actor> {
    message.tool().filter(|tool| REGISTERING.contains(tool))?;
    let asked: Value = serde_json::from_str(&message.text).ok()?;
    let answered: Value = serde_json::from_str(answer).ok()?;
    let content = answered.pointer("/result/structuredContent")?;
    // The agent itself, or what surrounds it. A refusal is neither.
    let agent = content.get("agent").unwrap_or(content);
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let asked = text(asked.pointer("/params/arguments/project_key"))?;
    let project = content.get("project");
    let slug = text(project).or_else(|| text(project?.get("slug")));
    // A folder of a repository may have been a project before there was that.
    let is_itself = slug.is_some_and(|slug| slug == slug_of(&asked));
    Some(Actor {
        project_key: if is_itself { asked } else { repository_of(&asked) },
        agent_name: text(agent.get("name"))?,
        registration_token: text(agent.get("registration_token")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(method: &str, params: Value) -> ClientMessage {
        ClientMessage::read(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
    }

    #[test]
    fn a_client_is_known_by_its_name_in_either_era_and_nobody_else_is() {
        let known = |message: &ClientMessage| client(message).map(|client| client.name);
        let old = |name: &str| message("initialize", json!({ "clientInfo": { "name": name } }));
        for name in ["claude-code", "Claude Desktop", "my-CLAUDE"] {
            assert_eq!(known(&old(name)), Some("claude"), "{name}");
        }
        assert_eq!(known(&old("codex-mcp-client")), Some("codex"));
        assert_eq!(known(&old("somebody")), None);
        let claude = json!({ "io.modelcontextprotocol/clientInfo": { "name": "claude-code" } });
        assert_eq!(known(&message("server/discover", json!({ "_meta": claude }))), Some("claude"));
        assert_eq!(known(&message("initialize", json!({}))), None);
        assert_eq!(known(&message("initialize", json!({ "clientInfo": { "name": ["claude"] } }))), None);
        assert_eq!(known(&ClientMessage::read("[".repeat(10_000))), None);
    }

    #[test]
    fn the_caller_is_known_after_it_was_registered_and_not_after_a_refusal() {
        let call = |tool: &str| message("tools/call", json!({ "name": tool, "arguments": { "project_key": "/p" } }));
        let answer = |content: Value| json!({ "id": 1, "result": { "structuredContent": content } }).to_string();
        let agent = json!({ "id": 3, "name": "Anna", "registration_token": "t" });
        let anna = ("/p".to_owned(), "Anna".to_owned(), Some("t".to_owned()));
        let registered = |message: &ClientMessage, answer: &str| {
            let agent = registered(message, answer)?;
            Some((agent.project_key, agent.agent_name, agent.registration_token))
        };
        assert_eq!(registered(&call("register_agent"), &answer(agent.clone())), Some(anna.clone()));
        let session = answer(json!({ "project": { "slug": "p" }, "agent": agent.clone() }));
        assert_eq!(registered(&call("macro_start_session"), &session), Some(anna.clone()));
        assert_eq!(registered(&call("macro_prepare_thread"), &session), Some(anna));
        assert_eq!(registered(&call("whois"), &answer(agent.clone())), None);
        let home = tempfile::tempdir().unwrap();
        let top = home.path().canonicalize().unwrap();
        std::fs::create_dir(top.join(".git")).unwrap();
        let (top, src) = (top.to_str().unwrap(), format!("{}/src", top.display()));
        let params = json!({ "name": "register_agent", "arguments": { "project_key": src } });
        for (slug, project) in [(slug_of(top), top), (slug_of(&src), src.as_str())] {
            let agent = json!({ "name": "Anna", "project": slug });
            let found = registered(&message("tools/call", params.clone()), &answer(agent));
            assert_eq!(found.map(|(project, ..)| project).as_deref(), Some(project), "hooks call it so");
        }
        let refusal = answer(json!({ "error": { "code": "PROJECT_NOT_FOUND", "message": "x", "hint": "y" } }));
        assert_eq!(registered(&call("register_agent"), &refusal), None);
        let nowhere = message("tools/call", json!({ "name": "register_agent", "arguments": {} }));
        assert_eq!(registered(&nowhere, &answer(agent)), None);
    }
}
