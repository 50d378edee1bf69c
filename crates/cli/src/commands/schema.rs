//! `postrider schema`: the JSON Schema of each type of JSON message, for whoever checks messages elsewhere.
//!
//! The schemas themselves are made in `formats`; this command finds and prints them.

use std::process::ExitCode;

use clap::Args;
use formats::json::{Type, VERSION, schema};
use mail::nearest::nearest;
use serde_json::json;

use crate::output;
use crate::output::text::unbroken;

/// Print the JSON Schema of a type of JSON message.
#[derive(Args, Debug)]
pub struct Schema {
    /// The type, such as task_assignment; without one, the types are listed
    #[arg(value_name = "TYPE")]
    kind: Option<String>,
}

impl Schema {
    /// Prints the schema of the type, or the list of types.
    pub fn run(self, as_json: bool) -> anyhow::Result<ExitCode> {
        let Some(word) = self.kind else {
            let types = Type::ALL.iter().map(|kind| json!({ "type": kind.as_str(), "about": about(*kind) }));
            let json = json!({ "version": VERSION, "types": types.collect::<Vec<_>>() });
            return Ok(output::answer(as_json, &json, || {
                let rows = Type::ALL.iter().map(|kind| vec![kind.to_string(), about(*kind).to_owned()]);
                output::table(&["type", "about"], rows)
            }));
        };
        let schema = schema(known(&word)?);
        Ok(output::answer(as_json, &schema, || format!("{schema:#}")))
    }
}

fn known(word: &str) -> anyhow::Result<Type> {
    if let Some(kind) = Type::parse(word) {
        return Ok(kind);
    }
    let meant = match nearest(word, Type::NAMES, 1).first() {
        Some(near) => format!("did you mean '{near}'?"),
        None => format!("the types are {}", Type::NAMES.join(", ")),
    };
    anyhow::bail!("'{}' is not a type of JSON message; {meant}", unbroken(word))
}

fn about(kind: Type) -> &'static str {
    match kind {
        Type::TaskAssignment => "Delegates a task from one agent to another",
        Type::TaskCompletion => "Tells that a task has been completed, or why it could not be",
        Type::ErrorReport => "Reports an error met while working on a task, or a message that is not valid",
        Type::StatusUpdate => "Tells how a task goes on",
        Type::CoordinationRequest => "Asks several agents to coordinate",
        Type::FileReservation => "Asks for files to be reserved",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_type_is_refused_with_the_nearest_or_with_all() {
        assert_eq!(known("error_report").unwrap(), Type::ErrorReport);
        let near = known("task-assignment").unwrap_err().to_string();
        assert!(near.contains("'task-assignment'") && near.contains("'task_assignment'"), "{near}");
        let far = known("zzz\x1b").unwrap_err().to_string();
        assert!(far.contains("status_update, coordination_request") && !far.contains('\x1b'), "{far}");
    }
}
