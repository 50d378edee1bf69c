//! Reading what the office answers: the content, or the refusal that says why there is none.
//!
//! What the content means is for whoever asked.

use std::fmt;

use api::Verb;
use mail::provider::{ProviderError, ProviderRefusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::hints;

/// What a program is told when nobody said a code.
const NO_CODE: &str = "REFUSED";
/// The code of JSON-RPC for a call that names what there is not.
const INVALID_PARAMS: i64 = -32602;

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

    fn unreadable() -> Self {
        let hint = "Check that the address is the MCP address of a Postrider server.";
        Self::new("UNEXPECTED_ANSWER", "The post office gave an answer that cannot be read", hint)
    }

    /// A server that does not know all that this program asks, or answers less than it reads, is of an earlier version: both are
    /// added to, and nothing is taken away.
    fn older_server(verb: &str) -> Self {
        let message = format!("The server is older than this program and cannot answer '{verb}'");
        Self::new("SERVER_OUTDATED", &message, "Update the server, then try again.")
    }

    /// What a backend that keeps letters refused.
    pub fn of_provider(error: &ProviderError) -> Self {
        let (hint, near) = match error {
            ProviderError::Refused(ProviderRefusal { hint, near, .. }) => (hint.as_str(), near.as_slice()),
            ProviderError::Office(error) => ("", error.near()),
            _ => ("", [].as_slice()),
        };
        let mut refused = Self::new(error.code(), &error.to_string(), hint);
        if !near.is_empty() {
            refused.more.insert("suggestions".to_owned(), json!(near));
        }
        refused.in_our_words()
    }

    /// The same refusal with the next step for a terminal, where the office refused.
    fn in_our_words(mut self) -> Self {
        if let Some(hint) = hints::of_code(&self.code, &self.suggestions()) {
            self.hint = hint;
        }
        self
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

    /// What may have been meant instead, as the refusal names it.
    pub fn suggestions(&self) -> Vec<&str> {
        let named = self.more.get("suggestions").and_then(Value::as_array);
        named.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// Whether the office may be back later, and nothing is wrong with the question.
    pub fn is_passing(&self) -> bool {
        matches!(
            self.code.as_str(),
            "UNREACHABLE"
                | "CONNECTION_LOST"
                | "UNANSWERED"
                | "RATE_LIMITED"
                | "STORE_UNAVAILABLE"
                | "STORE_AWAY"
                | "BUSY"
        )
    }

    /// The refusal as programs read it: `{"error":{"code","message","hint"}}`, and what else it says.
    pub fn to_json(&self) -> Value {
        let Self { code, message, hint, more } = self;
        let mut whole = more.clone();
        whole.insert("error".to_owned(), json!({ "code": code, "message": message, "hint": hint }));
        Value::Object(whole)
    }

    /// A refusal that a tool gave as its result.
    fn of_content(mut content: Value) -> Self {
        let error = content.as_object_mut().and_then(|members| members.remove("error")).unwrap_or_default();
        let member = |name: &str| error[name].as_str().unwrap_or_default();
        let code = Some(member("code")).filter(|code| !code.is_empty());
        let mut refused = Self::new(code.unwrap_or(NO_CODE), member("message"), member("hint"));
        if let Value::Object(more) = content {
            refused.more = more;
        }
        refused.in_our_words()
    }

    /// A refusal of the protocol. Its text may end with the hint and the code in brackets, which then are not said twice.
    fn of_fault(mut fault: Fault) -> Self {
        let mut take = |name: &str| match fault.data.as_object_mut().and_then(|data| data.remove(name)) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (said, hint, _) = (take("code"), take("hint"), take("uri"));
        let (text, bracketed) = without_code(&fault.message);
        let code = [said.as_str(), bracketed].into_iter().find(|code| !code.is_empty()).unwrap_or(NO_CODE);
        let message = text.strip_suffix(hint.as_str()).unwrap_or(text).trim_end();
        let mut refused = Self::new(code, message, &hint);
        if let Value::Object(more) = fault.data {
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

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, message, hint, .. } = self;
        f.write_str(message)?;
        if !message.ends_with(['.', '!', '?', ':']) {
            f.write_str(".")?;
        }
        if !hint.is_empty() {
            write!(f, " {hint}")?;
        }
        write!(f, " [{code}]")
    }
}

impl std::error::Error for Refused {}

#[derive(Deserialize)]
struct RpcAnswer {
    result: Option<Value>,
    error: Option<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
}

impl Fault {
    fn is_unknown_tool(&self) -> bool {
        self.code == INVALID_PARAMS && self.message.starts_with("Unknown tool")
    }
}

/// The answer to a verb that a server was asked.
pub(super) fn of_verb<V: Verb>(line: Option<&str>) -> Result<V::Answer, Refused> {
    let line = line.ok_or_else(Refused::unanswered)?;
    let result = match serde_json::from_str(line) {
        Ok(RpcAnswer { error: Some(fault), .. }) if fault.is_unknown_tool() => {
            return Err(Refused::older_server(V::NAME));
        }
        _ => result_of(line)?,
    };
    if result["isError"] == true {
        let refused = Refused::of_content(result["structuredContent"].clone());
        // Every program asks with what it knows: what the server does not know came later.
        let is_news = refused.code == mcp::INVALID_ARGUMENT && refused.message.starts_with("Unknown argument");
        return Err(if is_news { Refused::older_server(V::NAME) } else { refused });
    }
    // The text is the bare answer; the structured content wraps a list.
    let text = result["content"][0]["text"].as_str().ok_or_else(Refused::unreadable)?;
    serde_json::from_str(text).map_err(|error| {
        tracing::debug!(%error, verb = V::NAME, "an answer cannot be read");
        Refused::older_server(V::NAME)
    })
}

fn result_of(line: &str) -> Result<Value, Refused> {
    match serde_json::from_str(line) {
        Ok(RpcAnswer { error: Some(fault), .. }) => Err(Refused::of_fault(fault)),
        Ok(RpcAnswer { result: Some(result), .. }) if result.is_object() => Ok(result),
        _ => Err(Refused::unreadable()),
    }
}

/// A text, and the code that stood in brackets at its end; empty if none did.
fn without_code(text: &str) -> (&str, &str) {
    let is_code = |code: &str| !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let bracketed = text.strip_suffix(']').and_then(|text| text.rsplit_once(" ["));
    bracketed.filter(|(_, code)| is_code(code)).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(line: &str) -> Result<api::HealthAnswer, Refused> {
        of_verb::<api::HealthCheck>(Some(line))
    }

    fn fault(message: &str, data: Value) -> Refused {
        let line = json!({ "id": 1, "error": { "code": -32602, "message": message, "data": data } });
        answered(&line.to_string()).unwrap_err()
    }

    #[test]
    fn a_refusal_is_the_same_wherever_its_code_and_hint_stand() {
        let text = "The project is gone. Look elsewhere. [PROJECT_NOT_FOUND]";
        let beside = json!({ "code": "PROJECT_NOT_FOUND", "hint": "Look elsewhere." });
        for (message, data) in [(text, json!({})), (text, beside.clone()), ("The project is gone", beside)] {
            let refused = fault(message, data);
            assert_eq!((refused.code.as_str(), refused.to_string().as_str()), ("PROJECT_NOT_FOUND", text));
        }
        assert_eq!(fault("What [is] this [X y]", Value::Null).to_string(), "What [is] this [X y]. [REFUSED]");
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
        let refused = fault("No", json!({ "hint": "Ask." })).advised("Or wait.");
        assert_eq!(refused.to_string(), "No. Ask. Or wait. [REFUSED]");
        let error = json!({ "code": "REFUSED", "message": "No", "hint": "Ask. Or wait." });
        assert_eq!(refused.to_json(), json!({ "error": error }));
    }

    #[test]
    fn only_what_may_pass_is_worth_another_try() {
        let is_passing = |code: &str| {
            let content = json!({ "error": { "code": code, "message": "x", "hint": "" } });
            let line = json!({ "result": { "isError": true, "structuredContent": content } });
            answered(&line.to_string()).unwrap_err().is_passing()
        };
        assert!(is_passing("UNREACHABLE") && is_passing("BUSY"));
        assert!(!is_passing("AGENT_NOT_FOUND") && !is_passing("UNAUTHORIZED"));
    }
}
