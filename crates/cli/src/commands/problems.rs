//! What is wrong with a message, in the words and the JSON that several commands share.
//!
//! Deciding what is wrong is for `formats`; whether it matters is for the command.

use formats::Problem;
use serde_json::{Value, json};

use crate::output;
use crate::output::text::unbroken;

/// All of them in one line.
pub fn said_together(problems: &[Problem]) -> String {
    let sentences: Vec<String> = problems.iter().map(ToString::to_string).collect();
    sentences.join("; ")
}

/// Problems for programs.
pub fn told(problems: &[Problem]) -> Vec<Value> {
    let told = |problem: &Problem| {
        json!({
            "path": problem.path, "found": problem.found, "wanted": problem.wanted, "message": problem.to_string(),
        })
    };
    problems.iter().map(told).collect()
}

/// The refusal of a coordination message of this type, for programs.
pub fn malformed(type_name: &str, problems: &[Problem], hint: &str) -> Value {
    json!({ "error": {
        "code": "MALFORMED_MESSAGE",
        "message": format!("parse error: malformed {type_name} message: {}", said_together(problems)),
        "hint": hint,
        "problems": told(problems),
    } })
}

/// A table of problems for people; `whole` is what one is called that is about the whole.
pub fn table(problems: &[Problem], whole: &str) -> String {
    let rows = problems.iter().map(|problem| {
        let place = if problem.path.is_empty() { whole } else { &problem.path };
        vec![place.to_owned(), unbroken(&problem.to_string())]
    });
    output::table(&["field", "problem"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_tells_every_problem_in_words_and_in_parts() {
        let problems = [Problem::missing("bead_id", "an id"), Problem::wrong("", "[]", "an object")];
        let refusal = malformed("DONE", &problems, "Try again.");
        let message =
            "parse error: malformed DONE message: Missing required field: bead_id; found '[]', wanted an object";
        assert_eq!(refusal["error"]["message"], message);
        let parts = json!({ "path": "bead_id", "found": null, "wanted": "an id", "message": "Missing required field: bead_id" });
        assert_eq!(refusal["error"]["problems"][0], parts);
        assert_eq!(refusal["error"]["problems"][1]["found"], "[]");
    }
}
