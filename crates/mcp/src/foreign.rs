//! Arguments that clients of other servers send, which no list shows: a server has one table of them.
//!
//! A row names an argument and what becomes of it. Deliberately absent: what a value means, which the tool knows.

use serde_json::{Map, Value, json};

use crate::params::ParamKind;

/// The code of the warning that an argument was not acted on.
const ARGUMENT_IGNORED: &str = "ARGUMENT_IGNORED";

/// One argument that clients of other servers send.
#[derive(Debug, Clone, Copy)]
pub struct Foreign {
    /// The tools that take it. None named: all that have the parameter it means.
    pub tools: &'static [&'static str],
    /// The name that those clients use.
    pub name: &'static str,
    /// What becomes of it.
    pub treatment: Treatment,
}

/// What becomes of a foreign argument.
#[derive(Debug, Clone, Copy)]
pub enum Treatment {
    /// It is another name of this parameter.
    Means(&'static str),
    /// It is a parameter of the tool, in no list.
    Parameter,
    /// It must have this form, and nothing is done with it. When it asks for something, a warning says why it was not done.
    Ignored(ParamKind, &'static str),
}

/// A foreign argument that asked for something which is not done here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ignored {
    pub name: &'static str,
    pub why: &'static str,
}

/// Whether a value asks for anything: not `false`, no empty text or list.
pub(crate) fn asks(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(wanted) => *wanted,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Number(_) | Value::Object(_) => true,
    }
}

/// Adds a warning of each to the `warnings` of an answer.
pub(crate) fn warn(answer: &mut Map<String, Value>, ignored: &[Ignored]) {
    let warnings = answer.entry("warnings").or_insert_with(|| json!([]));
    let Value::Array(warnings) = warnings else { return };
    warnings.extend(ignored.iter().map(|Ignored { name, why }| {
        let message = format!("Argument '{name}' was not acted on: {why}.");
        json!({ "code": ARGUMENT_IGNORED, "message": message, "hint": "Leave it out." })
    }));
}
