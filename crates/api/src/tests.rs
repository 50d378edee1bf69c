//! `docs/tools.md` and `docs/tools.schema.json` are made from the verbs themselves, and checked here to be up to date.
//!
//! Run `UPDATE_DOCS=1 cargo test -p api` after a verb changed, and commit what it wrote.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use mail::search::query::LANGUAGE;
use mcp::{Foreign, Param, ParamKind, Treatment};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::{Ask, Offered, Visitor, visit_all};

const INTRODUCTION: &str = "\
# Tools

Made from the code by `UPDATE_DOCS=1 cargo test -p api`; do not edit. The answers as JSON Schema are in
[tools.schema.json](tools.schema.json).

An answer comes twice: as JSON in `content[0].text`, and as `structuredContent`, in which a list is wrapped as
`{\"result\": […]}`. A refusal has `isError: true`, its text, and `structuredContent` of the form
`{\"error\": {\"code\", \"message\", \"hint\"}}`: the code is stable, the message says what is wrong, the hint what to do next.
Beside `error` there may be `suggestions` (names that may have been meant), `conflicts` with `granted: []` (who holds the
files), `circle` (who waits for whom) and `retryable: true` (the same call may succeed later).

`send_message` and `reply_message` answer a client that said who it is (a session, or `clientInfo` in `_meta`) without what it wrote
itself: `id`, `to`, `cc`, `bcc`, `thread_id`, `created_ts`, and of the other members those that say something new.

A parameter may be left out unless it is required; `null` counts as left out. One name may stand for a list of one.
`limit` is 20 when it is left out. Times are RFC 3339 in UTC.
";

/// What is told of a listed verb.
struct Documented {
    name: &'static str,
    about: &'static str,
    params: &'static [Param],
    answer: Value,
}

/// Gathers the verbs that agents are told of.
#[derive(Default)]
struct Listed(Vec<Documented>);

impl Visitor for Listed {
    fn verb<V: Ask>(&mut self, offered: Offered) {
        if matches!(offered, Offered::Lean | Offered::Full) {
            let answer = schema::<V::Answer>();
            self.0.push(Documented { name: V::NAME, about: V::ABOUT, params: V::PARAMS, answer });
        }
    }
}

fn listed() -> Vec<Documented> {
    let mut listed = Listed::default();
    visit_all(&mut listed);
    listed.0
}

#[test]
fn the_page_of_the_tools_is_up_to_date() {
    let sections: Vec<String> = listed().iter().map(section).collect();
    check("tools.md", &format!("{INTRODUCTION}\n{}\n{}", sections.join("\n"), foreign_section()));
}

/// What clients of other servers send.
fn foreign_section() -> String {
    let mut text = String::from(
        "## What clients of other servers send\n\n\
         In no list, and understood all the same. A number or a flag may come as text everywhere.\n\n\
         | argument | at | what becomes of it |\n|---|---|---|\n",
    );
    for Foreign { tools, name, treatment } in crate::FOREIGN {
        let at = tools.iter().map(|tool| format!("`{tool}`")).collect::<Vec<_>>().join(", ");
        let at = if at.is_empty() { "every tool with what it means".to_owned() } else { at };
        let about = match treatment {
            Treatment::Means(meant) => format!("means `{meant}`"),
            Treatment::Parameter => unlisted_about(tools[0], name).to_owned(),
            Treatment::Ignored(_, why) => format!("a warning: {why}"),
        };
        let _ = writeln!(text, "| `{name}` | {at} | {about} |");
    }
    for tool in crate::FOREIGN_TOOLS {
        let _ = writeln!(text, "\nThe tool `{}` answers `{}` and does nothing.", tool.name, tool.answer);
    }
    text
}

/// What is said of a parameter that no list shows.
fn unlisted_about(tool: &str, name: &str) -> &'static str {
    let verb = listed().into_iter().find(|verb| verb.name == tool).expect("the tool is there");
    verb.params.iter().find(|param| param.name == name).expect("it takes that").about
}

#[test]
fn what_a_query_may_hold_is_told_by_the_same_sentence_everywhere() {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    for page in ["README.md", "docs/tools.md"] {
        let text = std::fs::read_to_string(top.join(page)).expect("the page is there");
        assert!(text.contains(LANGUAGE), "{page} does not say: {LANGUAGE}");
    }
    let search = listed().into_iter().find(|verb| verb.name == "search_messages").expect("it is a tool");
    assert!(search.params.iter().any(|param| param.about == LANGUAGE));
}

#[test]
fn the_schemas_of_the_answers_are_up_to_date() {
    let answers: BTreeMap<&str, Value> = listed().into_iter().map(|verb| (verb.name, verb.answer)).collect();
    let text = serde_json::to_string_pretty(&answers).expect("schemas are JSON");
    check("tools.schema.json", &format!("{text}\n"));
}

/// Compares a file in `docs/` with what it should be, or writes it when asked to.
fn check(name: &str, wanted: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("docs/")).expect("docs/ can be made");
        std::fs::write(&path, wanted).expect("docs/ can be written to");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/{name} is not up to date: run UPDATE_DOCS=1 cargo test -p api, and commit it");
}

/// The schema of what is sent, which need not be that of what would be read.
fn schema<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>().to_value()
}

fn section(Documented { name, about, params, answer }: &Documented) -> String {
    let mut text = format!("## {name}\n\n{about}\n\n");
    if params.is_empty() {
        text.push_str("No parameters.\n");
    } else {
        text.push_str("| parameter | type | required | about |\n|---|---|---|---|\n");
        params.iter().filter(|param| param.listed).for_each(|param| text.push_str(&parameter_row(param)));
    }
    let item = answer.get("items").map(|item| resolved(item, answer));
    text.push_str(if item.is_some() { "\nAnswers a list of:\n\n" } else { "\nAnswers:\n\n" });
    text.push_str("| field | type | about |\n|---|---|---|\n");
    push_fields(&mut text, "", item.unwrap_or(answer), answer);
    text
}

fn parameter_row(param: &Param) -> String {
    let required = if param.required { "yes" } else { "" };
    let about = param.about.replace('|', "\\|");
    format!("| `{}` | {} | {required} | {about} |\n", param.name, parameter_type(param.kind))
}

fn parameter_type(kind: ParamKind) -> String {
    match kind {
        ParamKind::Text => "string".to_owned(),
        ParamKind::Flag => "true or false".to_owned(),
        ParamKind::Number { min, max } => format!("{min} to {max}"),
        ParamKind::Names => "list of strings".to_owned(),
        ParamKind::Id => "integer, or digits in a string".to_owned(),
        ParamKind::Ids => "list of integers".to_owned(),
        ParamKind::Choice(choices) => choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", "),
    }
}

/// One row for each field, and for each field of what it holds.
fn push_fields(text: &mut String, before: &str, object: &Value, root: &Value) {
    let none = Map::new();
    let fields = object.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<&str> = object["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in fields {
        let about = field["description"].as_str().unwrap_or_default();
        let field = resolved(field, root);
        let left_out = if required.contains(&name.as_str()) { "" } else { " May be left out." };
        let _ = writeln!(text, "| `{before}{name}` | {} | {about}{left_out} |", type_name(field));
        let is_list = field["type"] == "array";
        let inner = if is_list { field.get("items").map_or(field, |item| resolved(item, root)) } else { field };
        let path = if is_list { format!("{before}{name}[].") } else { format!("{before}{name}.") };
        push_fields(text, &path, inner, root);
    }
}

fn type_name(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(name) if name == "array" => "list".to_owned(),
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    }
}

/// What a reference points to.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|pointer| root.pointer(pointer.trim_start_matches('#')));
    target.unwrap_or(schema)
}
