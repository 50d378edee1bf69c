//! What the rules of `arguments` promise.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const PARAMS: &[Param] = &[
    Param::required("project_key", ParamKind::Text, ""),
    Param::optional("to", ParamKind::Names, "").mistaken_for(&["recipient", "recipients"]),
    Param::optional("limit", ParamKind::Number { min: 1, max: 100 }, ""),
    Param::optional("urgent_only", ParamKind::Flag, ""),
    Param::optional("message_id", ParamKind::Id, ""),
    Param::optional("message_ids", ParamKind::Ids, "").unlisted(),
    Param::optional("importance", ParamKind::Choice(&["low", "normal", "high"]), ""),
];

const FOREIGN: &[Foreign] = &[
    Foreign { tools: &[], name: "human_key", treatment: Treatment::Means("project_key") },
    Foreign { tools: &[], name: "llm_mode", treatment: Treatment::Ignored(ParamKind::Flag, "there is no model here") },
];

fn read(json: Option<&str>) -> Result<(Arguments, Vec<Ignored>), Refusal> {
    super::parse(Takes { params: PARAMS, foreign: FOREIGN }, json)
}

fn parse(json: &str) -> Value {
    Value::Object(read(Some(json)).expect("these arguments are in order").0)
}

fn parse_none(json: Option<&str>) -> Result<(Arguments, Vec<Ignored>), Refusal> {
    super::parse(Takes { params: &[], foreign: &[] }, json)
}

fn refused(json: &str) -> String {
    let refusal = read(Some(json)).expect_err("these arguments are wrong");
    assert_eq!(refusal.code, "INVALID_ARGUMENT");
    format!("{} {}", refusal.message, refusal.hint).trim_end().to_owned()
}

/// One wrong argument beside the required one.
fn refused_with(member: &str) -> String {
    refused(&format!(r#"{{"project_key":"/p",{member}}}"#))
}

#[test]
fn every_kind_is_read() {
    let json = r#"{"project_key":"/a\u00e9\n","to":["x","y"],"limit":20,"urgent_only":true,"message_id":7,
        "importance":"high"}"#;
    let wanted = json!({
        "project_key": "/aé\n", "to": ["x", "y"], "limit": 20, "urgent_only": true, "message_id": 7, "importance": "high",
    });
    assert_eq!(parse(json), wanted);
}

#[test]
fn what_is_absent_or_null_was_not_given() {
    for json in [
        r#"{"project_key":"/p"}"#,
        r#"{"project_key":"/p","to":null,"limit":null,"importance":null,"of_another_server":null}"#,
    ] {
        assert_eq!(parse(json), json!({ "project_key": "/p" }));
    }
}

#[test]
fn a_bare_string_is_a_list_of_one_name() {
    assert_eq!(parse(r#"{"project_key":"/p","to":"alice"}"#)["to"], json!(["alice"]));
}

#[test]
fn an_id_is_a_number_or_a_string_of_digits() {
    assert_eq!(parse(r#"{"project_key":"/p","message_id":"42"}"#)["message_id"], 42);
    for wrong in ["\"-1\"", "\"\"", "\"msg-1\"", "\"99999999999999999999\"", "1.5", "[1]"] {
        let text = refused_with(&format!(r#""message_id":{wrong}"#));
        assert!(text.starts_with("Argument 'message_id' must be a whole number or a string of digits, not "), "{text}");
    }
}

#[test]
fn a_number_that_is_written_as_a_float_is_still_whole() {
    assert_eq!(parse(r#"{"project_key":"/p","limit":20.0}"#)["limit"], 20);
    assert_eq!(
        refused_with(r#""limit":20.5"#),
        "Argument 'limit' must be a whole number from 1 to 100, not the number '20.5'."
    );
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    assert_eq!(parse(r#"{"project_key":"/p","limit":100}"#)["limit"], 100);
    assert_eq!(refused_with(r#""limit":101"#), "Argument 'limit' is 101, which is not from 1 to 100.");
    assert_eq!(refused_with(r#""limit":0"#), "Argument 'limit' is 0, which is not from 1 to 100.");
}

#[test]
fn an_unknown_name_is_refused_with_the_one_that_was_meant() {
    assert_eq!(refused_with(r#""recipient":"x""#), "Unknown argument 'recipient'. Did you mean 'to'?");
    assert_eq!(refused_with(r#""urgentonly":true"#), "Unknown argument 'urgentonly'. Did you mean 'urgent_only'?");
    assert_eq!(
        refused_with(r#""colour":1"#),
        "Unknown argument 'colour'. This tool takes: project_key, to, limit, urgent_only, message_id, importance."
    );
    let none = parse_none(Some(r#"{"x":1}"#)).expect_err("no argument is known");
    assert_eq!(none.hint, "This tool takes no arguments.");
}

#[test]
fn text_for_a_number_or_a_flag_is_taken_where_it_means_one_thing() {
    assert_eq!(parse(r#"{"project_key":"/p","limit":"5"}"#)["limit"], 5);
    assert_eq!(parse(r#"{"project_key":"/p","limit":" 5.0 "}"#)["limit"], 5);
    assert_eq!(parse(r#"{"project_key":"/p","urgent_only":"true"}"#)["urgent_only"], true);
    assert_eq!(parse(r#"{"project_key":"/p","urgent_only":"False"}"#)["urgent_only"], false);
    assert_eq!(
        refused_with(r#""limit":"five""#),
        "Argument 'limit' must be a whole number from 1 to 100, not the string 'five'."
    );
    assert_eq!(refused_with(r#""limit":"500""#), "Argument 'limit' is 500, which is not from 1 to 100.");
    assert!(refused_with(r#""limit":"""#).contains("must be a whole number"));
}

#[test]
fn a_foreign_name_stands_for_the_parameter_it_means() {
    assert_eq!(parse(r#"{"human_key":"/p"}"#), json!({ "project_key": "/p" }));
    for json in [r#"{"human_key":"/p","project_key":null}"#, r#"{"project_key":"/p","human_key":null}"#] {
        assert_eq!(parse(json), json!({ "project_key": "/p" }), "{json}");
    }
    assert_eq!(parse(r#"{"human_key":"/p","project_key":"/p"}"#), json!({ "project_key": "/p" }));
    assert_eq!(refused(r#"{"human_key":5}"#), "Argument 'human_key' must be a string, not the number '5'.");
    for json in [r#"{"human_key":"/p","project_key":"/q"}"#, r#"{"project_key":"/q","human_key":"/p"}"#] {
        let said = "Arguments 'human_key' and 'project_key' mean the same and differ. Give 'project_key' alone.";
        assert_eq!(refused(json), said);
    }
}

#[test]
fn what_is_not_acted_on_is_told_when_it_asks_for_something() {
    let ignored = |value: &str| {
        let json = format!(r#"{{"project_key":"/p","llm_mode":{value}}}"#);
        let (arguments, ignored) = read(Some(&json)).expect("these arguments are in order");
        assert_eq!(Value::Object(arguments), json!({ "project_key": "/p" }));
        ignored.len()
    };
    assert_eq!([ignored("true"), ignored("\"true\""), ignored("false"), ignored("null")], [1, 1, 0, 0]);
    assert!(refused_with(r#""llm_mode":[1]"#).contains("must be true or false"));
}

#[test]
fn a_missing_argument_is_named() {
    assert_eq!(refused("{}"), "Argument 'project_key' is missing. Give a string.");
    assert_eq!(refused(r#"{"project_key":null}"#), "Argument 'project_key' is missing. Give a string.");
    assert!(read(None).is_err());
    assert!(parse_none(None).is_ok());
}

#[test]
fn a_value_of_the_wrong_type_is_told_with_what_was_found() {
    assert_eq!(refused(r#"{"project_key":5}"#), "Argument 'project_key' must be a string, not the number '5'.");
    assert_eq!(
        refused_with(r#""urgent_only":"yes""#),
        "Argument 'urgent_only' must be true or false, not the string 'yes'."
    );
    assert_eq!(refused_with(r#""to":{"a":1}"#), "Argument 'to' must be a list of strings, not an object.");
    assert_eq!(
        refused_with(r#""to":["a",1]"#),
        "Argument 'to' must be a list of strings, but item 2 is the number '1'."
    );
    assert_eq!(
        refused_with(r#""message_ids":["7",true]"#),
        "Argument 'message_ids' must be a list of whole numbers, but item 2 is true."
    );
    assert_eq!(
        refused(r#"{"project_key":"\ud800"}"#),
        "Argument 'project_key' must be a string, not a string that is not Unicode."
    );
    assert_eq!(refused("[1]"), "'arguments' must be an object, not a list.");
    assert!(refused(r#"{"project_key":"/p"} x"#).starts_with("'arguments' cannot be read"));
}

#[test]
fn a_choice_names_the_choices_and_the_nearest() {
    assert_eq!(
        refused_with(r#""importance":"hihg""#),
        "Argument 'importance' is 'hihg', which is not one of: low, normal, high. Did you mean 'high'?"
    );
    assert_eq!(
        refused_with(r#""importance":3"#),
        "Argument 'importance' must be one of: low, normal, high, not the number '3'."
    );
}

#[test]
fn a_long_value_is_not_repeated_in_full() {
    let text = refused_with(&format!(r#""limit":"{}""#, "x".repeat(100_000)));
    assert!(text.len() < 300, "{} bytes", text.len());
    let name = "y".repeat(100_000);
    assert!(refused_with(&format!(r#""{name}":1"#)).len() < 300);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(json in any::<String>()) {
        let _ = read(Some(&json));
    }

    #[test]
    fn any_value_is_read_or_refused(name in 0..PARAMS.len(), value in r#"[\[\]{}",:0-9a-z.eE+-]{0,20}"#) {
        let _ = read(Some(&format!("{{\"{}\":{value}}}", PARAMS[name].name)));
    }
}
