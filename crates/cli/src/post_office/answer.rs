//! Reading what the office answers: the content, or the refusal that says why there is none.
//!
//! What the content means is for whoever asked.

use std::fmt;

use api::Verb;
use http::StatusCode;
use mail::provider::{ProviderError, ProviderRefusal};
use serde_json::{Value, json};

use super::hints;
use super::message::ClientMessage;

/// What a program is told when nobody said a code.
const NO_CODE: &str = "REFUSED";
const UNREADABLE: &str = "The post office gave an answer that cannot be read";
/// The code of JSON-RPC for a call that names what there is not.
const INVALID_PARAMS: i64 = -32602;
/// The codes of refusals that may be others when asked again.
const PASSING: [&str; 7] =
    ["UNREACHABLE", "CONNECTION_LOST", "UNANSWERED", "RATE_LIMITED", "STORE_UNAVAILABLE", "STORE_AWAY", "BUSY"];

/// A request that the office refused, or that never reached one.
#[derive(Debug)]
pub struct Refused {
    /// A code that programs match on.
    pub code: String,
    /// The fact.
    pub message: String,
    /// What to try next; may be empty.
    pub hint: String,
    /// What else the refusal says, such as suggestions.
    more: serde_json::Map<String, Value>,
}

impl Refused {
    /// A refusal that says no more than this.
    pub fn new(code: &str, message: &str, hint: &str) -> Self {
        let (code, message, hint) = (code.to_owned(), message.to_owned(), hint.to_owned());
        Self { code, message, hint, more: serde_json::Map::new() }
    }

    /// The office went away without a word.
    pub fn unanswered() -> Self {
        Self::new("UNANSWERED", "The post office gave no answer", "Try again.")
    }

    fn unreadable(message: &str) -> Self {
        Self::new("UNEXPECTED_ANSWER", message, "Check that the address is the MCP address of a Postrider server.")
    }

    /// A server that does not know all that this program asks, or answers less than it reads, is of an earlier version: both are
    /// added to, and nothing is taken away.
    fn older_server(verb: &str) -> Self {
        let message = format!("The server is older than this program and cannot answer '{verb}'");
        Self::new("SERVER_OUTDATED", &message, "Update the server, then try again.")
    }

    /// The same refusal with the next step for a terminal, where the office refused.
    pub fn in_our_words(mut self) -> Self {
        if let Some(hint) = hints::of_code(&self.code, &self.suggestions()) {
            self.hint = hint;
        }
        self
    }

    /// Whether there is no such agent or project yet.
    pub fn is_about_nobody(&self) -> bool {
        matches!(self.code.as_str(), "AGENT_NOT_FOUND" | "PROJECT_NOT_FOUND")
    }

    /// The same refusal with a further word of advice.
    pub fn advised(mut self, advice: &str) -> Self {
        if !self.hint.is_empty() {
            self.hint.push(' ');
        }
        self.hint.push_str(advice);
        self
    }

    /// The same refusal with other advice, for somebody to whom the office's says nothing.
    pub fn hinted(mut self, hint: &str) -> Self {
        hint.clone_into(&mut self.hint);
        self
    }

    /// The same refusal, which also says `value` under that name.
    pub fn saying(mut self, name: &str, value: Value) -> Self {
        self.more.insert(name.to_owned(), value);
        self
    }

    /// What else the refusal says under a name.
    pub fn said(&self, name: &str) -> Option<&Value> {
        self.more.get(name)
    }

    /// What may have been meant instead, as the refusal names it.
    pub fn suggestions(&self) -> Vec<&str> {
        let named = self.more.get("suggestions").and_then(Value::as_array);
        named.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether the office may be back later, and nothing is wrong with the question.
    pub fn is_passing(&self) -> bool {
        PASSING.contains(&self.code.as_str())
    }

    /// Whether the office itself refused, for good. Whatever else stands between us and it may let the same request through later.
    pub fn is_of_office(&self) -> bool {
        !self.is_passing() && hints::of_code(&self.code, &[]).is_some()
    }

    /// The refusal as programs read it: `{"error":{"code","message","hint"}}`, and what else it says.
    pub fn to_json(&self) -> Value {
        let Self { code, message, hint, more } = self;
        let mut whole = more.clone();
        whole.insert("error".to_owned(), json!({ "code": code, "message": message, "hint": hint }));
        Value::Object(whole)
    }

    /// A refusal as it stands in an answer: `{"error":{"code","message","hint"}}`, and what else it says.
    pub(super) fn of_content(mut content: Value) -> Self {
        let error = content.as_object_mut().and_then(|members| members.remove("error")).unwrap_or_default();
        let member = |name: &str| error[name].as_str().unwrap_or_default();
        let code = Some(member("code")).filter(|code| !code.is_empty());
        let mut refused = Self::new(code.unwrap_or(NO_CODE), member("message"), member("hint"));
        if let Value::Object(more) = content {
            refused.more = more;
        }
        refused
    }
}

impl From<mail::Error> for Refused {
    /// What an office of our own refused. What went wrong inside the store is logged here, once.
    fn from(error: mail::Error) -> Self {
        server::log_cause(&error);
        let mut refused = Self::new(error.code(), &error.to_string(), "");
        refused.more = api::details(&error);
        refused.in_our_words()
    }
}

impl From<ProviderError> for Refused {
    /// What a backend that keeps mail refused.
    fn from(error: ProviderError) -> Self {
        let mut refused = Self::new(error.code(), &error.to_string(), "");
        if let ProviderError::Refused(ProviderRefusal { hint, near, .. }) = error {
            refused.hint = hint;
            if !near.is_empty() {
                refused.more.insert("suggestions".to_owned(), json!(near));
            }
        }
        refused.in_our_words()
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, hint, .. } = self;
        let stop = if message.ends_with(['.', '!', '?', ':']) { "" } else { "." };
        let blank = if hint.is_empty() { "" } else { " " };
        write!(f, "{message}{stop}{blank}{hint} [{code}]")
    }
}

impl std::error::Error for Refused {}

/// The answer to a verb that a server was asked.
pub fn of_verb<V: Verb>(line: Option<&str>) -> Result<V::Answer, Refused> {
    serde_json::from_str(&text_of(V::NAME, line)?).map_err(|error| {
        tracing::debug!(%error, verb = V::NAME, "an answer cannot be read");
        Refused::older_server(V::NAME)
    })
}

/// The text of the answer to a call.
fn text_of(verb: &str, line: Option<&str>) -> Result<String, Refused> {
    let answer: Value = serde_json::from_str(line.ok_or_else(Refused::unanswered)?).unwrap_or_default();
    let (result, fault) = (&answer["result"], &answer["error"]);
    if fault.is_object() {
        let message = fault["message"].as_str().unwrap_or_default();
        let is_unknown = fault["code"] == INVALID_PARAMS && message.starts_with("Unknown tool");
        return Err(if is_unknown { Refused::older_server(verb) } else { Refused::new(NO_CODE, message, "") });
    }
    if result["isError"] == true {
        let refused = Refused::of_content(result["structuredContent"].clone());
        // Every program asks with what it knows: what the server does not know came later.
        let is_newer_request = refused.code == mcp::INVALID_ARGUMENT && refused.message.starts_with("Unknown argument");
        return Err(if is_newer_request { Refused::older_server(verb) } else { refused.in_our_words() });
    }
    // The text is the bare answer; the structured content wraps a list.
    let text = result["content"][0]["text"].as_str().ok_or_else(|| Refused::unreadable(UNREADABLE))?;
    Ok(text.to_owned())
}

/// The code of JSON-RPC for a failure that is not the caller's.
const INTERNAL_ERROR: i32 = -32603;

impl Refused {
    /// The server was there, and then it was not.
    pub fn connection_lost(url: &str) -> Self {
        let hint =
            "The outcome is unknown: look before you call again, or repeat a send with the same idempotency_key.";
        Self::new("CONNECTION_LOST", &format!("The connection to '{url}' broke before the answer came"), hint)
    }

    /// There is no office to go to. Nothing was sent.
    pub fn unreachable(why: &anyhow::Error) -> Self {
        let message = format!("No post office can be reached: {why:#}");
        Self::new("UNREACHABLE", &message, "Nothing was sent. Start the server again, then repeat the call.")
    }

    /// The answer is too large to be passed on.
    pub fn too_large(url: &str) -> Self {
        let hint = "Ask for less at once, with a smaller limit.";
        Self::new("ANSWER_TOO_LARGE", &format!("The answer of '{url}' is too large to be passed on"), hint)
    }

    /// What a server said that did not answer with a JSON-RPC message.
    pub fn of_http(url: &str, status: StatusCode, body: &[u8]) -> Self {
        let content: Value = serde_json::from_slice(body).unwrap_or_default();
        if ["code", "message"].iter().all(|member| content["error"][member].is_string()) {
            return Self::of_content(content);
        }
        Self::unreadable(&format!("'{url}' answered with HTTP {status} and no message"))
    }

    /// The line that says so to the client; none if the message wanted no answer.
    pub fn line(&self, message: &ClientMessage) -> Option<String> {
        let id = message.id.as_deref().filter(|_| message.is_request())?;
        let Self { code, message: fact, hint, .. } = self;
        let text = format!("{}. {hint} [{code}]", fact.trim_end_matches('.'));
        if message.method != "tools/call" {
            let error = json!({ "code": INTERNAL_ERROR, "message": text, "data": { "code": code, "hint": hint } });
            return Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#));
        }
        let error = json!({ "error": { "code": code, "message": fact, "hint": hint } });
        let content = json!([{ "type": "text", "text": text }]);
        let mut result = json!({ "content": content, "structuredContent": error, "isError": true });
        if message.is_modern() {
            result["resultType"] = "complete".into();
        }
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }
}

/// The answer to a line that could not even be carried.
pub fn unreadable(code: i32, message: &str) -> String {
    json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> Result<api::HealthAnswer, Refused> {
        of_verb::<api::HealthCheck>(Some(line))
    }

    fn refused(content: &Value) -> Refused {
        let line = json!({ "result": { "isError": true, "structuredContent": content } });
        answered(&line.to_string()).unwrap_err()
    }

    #[test]
    fn what_is_no_answer_is_refused_and_not_taken_for_one() {
        let empty = [r#"{"result":{}}"#, r#"{"result":[]}"#, r#"{"result":{"contents":[{"text":"{"}]}}"#];
        for line in ["", "[]", "null", "{}", "x"].into_iter().chain(empty) {
            assert_eq!(answered(line).unwrap_err().code, "UNEXPECTED_ANSWER", "{line}");
        }
        assert_eq!(of_verb::<api::HealthCheck>(None).unwrap_err().code, "UNANSWERED");
    }

    #[test]
    fn a_server_that_knows_less_than_this_program_is_to_be_updated() {
        let unknown = json!({ "code": "INVALID_ARGUMENT", "message": "Unknown argument 'colour'.", "hint": "" });
        for line in [
            json!({ "error": { "code": -32602, "message": "Unknown tool 'health_check'." } }),
            json!({ "result": { "isError": true, "structuredContent": { "error": unknown } } }),
            json!({ "result": { "content": [{ "text": "{\"status\":\"ready\"}" }] } }),
        ] {
            let refused = answered(&line.to_string()).unwrap_err();
            assert_eq!(refused.code, "SERVER_OUTDATED", "{line}");
            assert!(refused.to_string().contains("Update the server"), "{refused}");
        }
    }

    #[test]
    fn an_answer_of_another_shape_is_refused_and_never_counts_as_nothing() {
        let runs = |text: &str| {
            let line = json!({ "result": { "content": [{ "type": "text", "text": text }] } }).to_string();
            of_verb::<api::ListRuns>(Some(&line)).map(|runs| runs.len()).map_err(|refused| refused.code)
        };
        assert_eq!(runs("[]"), Ok(0));
        for text in ["", "null", "{}", "[{}]", r#"{"runs":[]}"#] {
            assert_eq!(runs(text), Err("SERVER_OUTDATED".to_owned()), "{text}");
        }
    }

    #[test]
    fn advice_comes_behind_the_hint() {
        let refused = refused(&json!({ "error": { "message": "No", "hint": "Ask." } })).advised("Or wait.");
        assert_eq!(refused.to_string(), "No. Ask. Or wait. [REFUSED]");
        let error = json!({ "code": "REFUSED", "message": "No", "hint": "Ask. Or wait." });
        assert_eq!(refused.to_json(), json!({ "error": error }));
    }

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        let is_passing =
            |code: &str| refused(&json!({ "error": { "code": code, "message": "x", "hint": "" } })).is_passing();
        assert!(is_passing("UNREACHABLE") && is_passing("BUSY"));
        assert!(!is_passing("AGENT_NOT_FOUND") && !is_passing("UNAUTHORIZED"));
    }

    #[test]
    fn only_the_office_refuses_for_good() {
        let is_of_office = |code: &str| Refused::new(code, "x", "").is_of_office();
        for code in
            ["AGENT_NOT_FOUND", "IDENTITY_REQUIRED", "INVALID_ARGUMENT", "NO_RECIPIENTS", "IDEMPOTENCY_CONFLICT"]
        {
            assert!(is_of_office(code), "{code}");
        }
        let others = [
            "UNAUTHORIZED",
            "SERVER_OUTDATED",
            "UNEXPECTED_ANSWER",
            "HOST_NOT_ALLOWED",
            "TOO_SLOW",
            "REFUSED",
            "SANDBOXED",
            "INTERNAL",
            "STORE_AWAY",
            "STORE_UNAVAILABLE",
            "BUSY",
            "UNREACHABLE",
        ];
        for code in others {
            assert!(!is_of_office(code), "{code}");
        }
    }

    fn line(refusal: &Refused, message: &str) -> Value {
        let line = refusal.line(&ClientMessage::read(message.to_owned())).expect("a request is answered");
        assert!(!line.contains('\n'));
        serde_json::from_str(&line).expect("a line is JSON")
    }

    #[test]
    fn a_tool_call_is_refused_in_its_result() {
        let answer = line(&Refused::connection_lost("http://h"), r#"{"id":"7","method":"tools/call"}"#);
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
        assert_eq!(line(&Refused::connection_lost("http://h"), &call)["result"]["resultType"], "complete");
    }

    #[test]
    fn other_requests_are_refused_with_an_error_and_notifications_not_at_all() {
        let refusal = Refused::of_http("http://h", StatusCode::BAD_GATEWAY, b"<html>");
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
        let refusal = Refused::of_http("http://h", StatusCode::UNAUTHORIZED, body);
        let answer = line(&refusal, r#"{"id":1,"method":"tools/call"}"#);
        let error = json!({"code": "UNAUTHORIZED", "message": "The bearer token is missing", "hint": "Send it."});
        assert_eq!(answer["result"]["structuredContent"]["error"], error);
    }
}
