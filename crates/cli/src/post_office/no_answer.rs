//! Refusals that are ours: what a client is told when the post office itself could not answer.
//!
//! They look like the office's own, so that a model reads one kind of refusal: a code, the fact, and the next step.

use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::answer::Refused;
use super::message::ClientMessage;

/// The code of JSON-RPC for a failure that is not the caller's.
const INTERNAL_ERROR: i32 = -32603;

/// Why a message was not answered by the office.
#[derive(Debug, Deserialize)]
pub struct NoAnswer {
    code: String,
    message: String,
    #[serde(default)]
    hint: String,
}

#[derive(Deserialize)]
struct Problem {
    error: NoAnswer,
}

impl NoAnswer {
    fn new(code: &str, message: String, hint: &str) -> Self {
        Self { code: code.to_owned(), message, hint: hint.to_owned() }
    }

    /// The server was there, and then it was not.
    pub fn connection_lost(url: &str) -> Self {
        let hint =
            "The outcome is unknown: look before you call again, or repeat a send with the same idempotency_key.";
        Self::new("CONNECTION_LOST", format!("The connection to '{url}' broke before the answer came"), hint)
    }

    /// There is no office to go to. Nothing was sent.
    pub fn unreachable(why: &anyhow::Error) -> Self {
        let message = format!("No post office can be reached: {why:#}");
        Self::new("UNREACHABLE", message, "Nothing was sent. Start the server again, then repeat the call.")
    }

    /// The answer is too large to be passed on.
    pub fn too_large(url: &str) -> Self {
        let hint = "Ask for less at once, with a smaller limit.";
        Self::new("ANSWER_TOO_LARGE", format!("The answer of '{url}' is too large to be passed on"), hint)
    }

    /// What a server said that did not answer with a JSON-RPC message.
    pub fn of_answer(url: &str, status: StatusCode, body: &[u8]) -> Self {
        if let Ok(Problem { error }) = serde_json::from_slice(body) {
            return error;
        }
        let hint = "Check that the address is the MCP address of a Postrider server.";
        Self::new("UNEXPECTED_ANSWER", format!("'{url}' answered with HTTP {status} and no message"), hint)
    }

    /// The same as a command is told it.
    pub fn told(&self) -> Refused {
        Refused::new(&self.code, &self.message, &self.hint)
    }

    /// The line that says so to the client; none if the message wanted no answer.
    pub fn line(&self, message: &ClientMessage) -> Option<String> {
        let id = message.id.as_deref().filter(|_| message.is_request());
        let Self { code, message: fact, hint } = self;
        let text = format!("{}. {hint} [{code}]", fact.trim_end_matches('.'));
        if message.method == "tools/call" {
            let error = json!({ "error": { "code": code, "message": fact, "hint": hint } });
            let mut result = json!({
                "content": [{ "type": "text", "text": text }],
                "structuredContent": error,
                "isError": true,
            });
            if message.is_modern() {
                result["resultType"] = "complete".into();
            }
            return id.map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
        }
        let error = json!({ "code": INTERNAL_ERROR, "message": text, "data": { "code": code, "hint": hint } });
        id.map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
    }
}

/// The answer to a line that could not even be carried.
pub fn unreadable(code: i32, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } }).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn line(refusal: &NoAnswer, message: &str) -> Value {
        let line = refusal.line(&ClientMessage::read(message.to_owned())).expect("a request is answered");
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).expect("a line is JSON")
    }

    #[test]
    fn a_tool_call_is_refused_in_its_result() {
        let answer = line(&NoAnswer::connection_lost("http://h"), r#"{"id":"7","method":"tools/call"}"#);
        assert_eq!(answer["id"], "7");
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "CONNECTION_LOST");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("idempotency_key") && text.ends_with("[CONNECTION_LOST]"), "{text}");
        assert!(answer["result"].get("resultType").is_none());
    }

    #[test]
    fn a_modern_refusal_is_a_complete_result() {
        let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        let call = format!(r#"{{"id":7,"method":"tools/call","params":{meta}}}"#);
        assert_eq!(line(&NoAnswer::connection_lost("http://h"), &call)["result"]["resultType"], "complete");
    }

    #[test]
    fn other_requests_are_refused_with_an_error_and_notifications_not_at_all() {
        let refusal = NoAnswer::of_answer("http://h", StatusCode::BAD_GATEWAY, b"<html>");
        let answer = line(&refusal, r#"{"id":1,"method":"tools/list"}"#);
        assert_eq!(answer["error"]["code"], -32603);
        assert_eq!(answer["error"]["data"]["code"], "UNEXPECTED_ANSWER");
        assert!(answer["error"]["message"].as_str().unwrap().contains("502"));
        assert!(refusal.line(&ClientMessage::read(r#"{"method":"tools/call"}"#.to_owned())).is_none());
        assert!(refusal.line(&ClientMessage::read("junk".to_owned())).is_none());
    }

    #[test]
    fn what_the_server_says_of_itself_is_passed_on() {
        let body = br#"{"error":{"code":"UNAUTHORIZED","message":"The bearer token is missing","hint":"Send it."}}"#;
        let refusal = NoAnswer::of_answer("http://h", StatusCode::UNAUTHORIZED, body);
        let answer = line(&refusal, r#"{"id":1,"method":"tools/call"}"#);
        let error = json!({"code": "UNAUTHORIZED", "message": "The bearer token is missing", "hint": "Send it."});
        assert_eq!(answer["result"]["structuredContent"]["error"], error);
    }
}
