//! `parse`, `validate` and `schema`: what programs get line by line, and what people see.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread;

use serde_json::{Map, Value, json};

use crate::harness::{Place, Ran, within_deadline};

const COORDINATION: &str = include_str!("../../formats/tests/vectors/coordination.json");
const JSON_FORMATS: &str = include_str!("../../formats/tests/vectors/json-formats.json");

/// Runs a command with this standard input.
fn fed(arguments: &[&str], input: impl Into<Vec<u8>>) -> Ran {
    let place = Place::new();
    let mut command = place.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let (mut stdin, input) = (child.stdin.take().expect("a pipe"), input.into());
    // A command that refuses its arguments does not read its input.
    let writer = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the binary ends");
    writer.join().expect("writing does not panic");
    output.into()
}

/// The answers to lines, each read as JSON.
fn answers(arguments: &[&str], input: impl Into<Vec<u8>>) -> Vec<Value> {
    let ran = fed(arguments, input);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}"))).collect()
}

fn parsed(lines: &[String]) -> Vec<Value> {
    answers(&["parse", "--jsonl"], lines.join("\n"))
}

fn vectors(file: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(file).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

/// The members of a vector that are part of the message.
fn line_of(vector: &Value) -> String {
    let given = ["subject", "body", "thread_id", "timestamp", "ack_required", "acked", "note"];
    let members = given.iter().filter_map(|name| Some(((*name).to_owned(), vector.get(name)?.clone())));
    Value::Object(members.collect::<Map<_, _>>()).to_string()
}

#[test]
fn every_coordination_vector_is_read_as_expected_in_one_run() {
    let vectors = vectors(COORDINATION);
    let answers = parsed(&vectors.iter().map(line_of).collect::<Vec<_>>());
    assert_eq!(answers.len(), vectors.len());
    for (vector, mut answer) in vectors.iter().zip(answers) {
        let problems = answer.as_object_mut().unwrap().remove("problems").expect("problems are always told");
        assert!(problems.is_array());
        assert_eq!(answer, vector["expected"], "{}", vector["name"]);
    }
}

#[test]
fn every_json_vector_gets_its_verdict_in_one_run() {
    let vectors = vectors(JSON_FORMATS);
    let text = |vector: &Value| vector["raw"].as_str().map_or_else(|| vector["message"].to_string(), str::to_owned);
    let lines: Vec<String> = vectors.iter().map(text).collect();
    let answers = answers(&["validate", "--jsonl"], lines.join("\n") + "\n");
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(answers) {
        let name = &vector["name"];
        assert_eq!(answer["valid"], vector["valid"], "{name}: {answer}");
        assert_eq!(answer.as_object().unwrap().len(), 3, "{answer}");
        let problems = answer["problems"].as_array().unwrap();
        assert_eq!(answer["valid"], problems.is_empty(), "{name}");
        if let Some(part) = vector["error_contains"].as_str() {
            let said = |problem: &Value| problem["message"].as_str().unwrap().contains(part);
            assert!(problems.iter().any(said), "{name}: no '{part}' in {answer}");
        }
        let rejection = &answer["rejection"];
        assert_eq!(rejection.is_null(), vector["valid"] == true, "{name}");
        if let Some(rejection) = rejection.as_object() {
            assert_eq!(rejection.keys().collect::<Vec<_>>(), ["details", "error", "message_id"]);
            let id = vector["message"]["message_id"].as_str().filter(|id| !id.is_empty());
            assert_eq!(rejection["message_id"].as_str(), id, "{name}");
        }
    }
}

#[test]
fn the_rejection_is_in_the_words_of_the_format() {
    let mut message = vectors(JSON_FORMATS)[0]["message"].clone();
    message.as_object_mut().unwrap().remove("task_id");
    let answer = answers(&["validate", "--jsonl"], message.to_string()).remove(0);
    let details = "Missing required field: task_id";
    let wanted = json!({ "error": "invalid_format", "details": details, "message_id": message["message_id"] });
    assert_eq!(answer["rejection"], wanted);
    assert_eq!(answer["problems"], json!([{ "path": "task_id", "message": details }]));
}

#[test]
fn a_bad_line_gets_an_error_and_the_next_one_is_read() {
    let good = r#"{"subject":"[a-1] DONE","unknown":[1]}"#;
    let mut input = Vec::new();
    for line in [
        good.as_bytes(),
        b"null",
        b"",
        b"[1]",
        b"\"x\"",
        b"{\"subject\":",
        b"\xff\xfe",
        b"{\"body\":7}",
        good.as_bytes(),
    ] {
        input.extend_from_slice(line);
        input.extend_from_slice(b"\r\n");
    }
    for arguments in [&["parse", "--jsonl"][..], &["parse", "--jsonl", "--json"]] {
        let answers = answers(arguments, input.clone());
        assert_eq!(answers.len(), 9, "one answer a line");
        for good in [&answers[0], &answers[8]] {
            assert_eq!((&good["type"], &good["parsed"]), (&json!("DONE"), &json!({ "bead_id": "a-1" })));
        }
        assert_eq!(answers[1]["error"]["message"], "parse error: nil message");
        for bad in &answers[1..8] {
            let error = bad["error"].as_object().unwrap_or_else(|| panic!("{bad}"));
            assert!(error["code"] == "INVALID_INPUT" && error["hint"].is_string(), "{bad}");
        }
        assert!(answers[3]["error"]["message"].as_str().unwrap().contains("found '[1]'"));
        assert!(answers[6]["error"]["message"].as_str().unwrap().contains("UTF-8"));
        assert!(answers[7]["error"]["message"].as_str().unwrap().contains("body: found '7'"));
    }
    let nil = answers(&["parse", "--jsonl", "--strict"], "null\n").remove(0);
    assert_eq!(nil["error"]["message"], "parse error: nil message");
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_read() {
    let mut input = vec![b'x'; (32 << 20) + 1];
    input.extend_from_slice(b"\n{\"subject\":\"DONE\"}");
    let parsed = answers(&["parse", "--jsonl"], input.clone());
    assert_eq!((parsed.len(), &parsed[1]["type"]), (2, &json!("DONE")));
    assert!(parsed[0]["error"]["message"].as_str().unwrap().contains("33554432 bytes"), "{}", parsed[0]);
    let verdicts = answers(&["validate", "--jsonl"], input);
    assert_eq!((verdicts.len(), &verdicts[0]["valid"]), (2, &json!(false)));
    assert!(verdicts[0]["rejection"]["details"].as_str().unwrap().contains("33554432 bytes"), "{}", verdicts[0]);
}

#[test]
fn ten_thousand_lines_are_answered_in_order() {
    let lines: Vec<String> =
        (0..10_000).map(|n| json!({ "subject": format!("[a-{n}] PROGRESS") }).to_string()).collect();
    let answers = parsed(&lines);
    assert_eq!(answers.len(), 10_000);
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(answer["parsed"]["bead_id"], format!("a-{n}"));
    }
}

#[test]
fn an_answer_comes_before_the_next_line_is_asked_for() {
    for command in ["parse", "validate"] {
        let place = Place::new();
        let mut process = place.command(&[command, "--jsonl"]);
        let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        within_deadline("each line is answered at once", move || {
            let mut answers = BufReader::new(stdout).lines();
            for _ in 0..3 {
                stdin.write_all(b"{}\n").unwrap();
                let answer = answers.next().expect("an answer").unwrap();
                assert!(answer.starts_with('{'), "{answer}");
            }
        });
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let place = Place::new();
    let mut process = place.command(&["parse", "--jsonl"]);
    process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(b"{}\n").unwrap();
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    // The command ends at its next answer, so the rest of the input finds nobody.
    let _ = stdin.write_all(&b"{}\n".repeat(100_000));
    drop(stdin);
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn strict_refuses_what_is_malformed_and_nothing_else() {
    let body = "Bead: a-1\nStatus: DONE\n\n## Changes\n- Commit: c\n\n## Self-Validation\n- Tests: PASS\n- Lint: PASS\n\
                - Build: PASS\n\n## Summary\nx";
    let lines = [
        json!({ "subject": "DONE", "body": body }),
        json!({ "subject": "DONE", "body": body.replace("- Lint: PASS\n", "") }),
        json!({ "subject": "hello" }),
        json!({ "subject": "DONE", "body": body, "timestamp": "yesterday" }),
    ];
    let input = lines.map(|line| line.to_string()).join("\n");
    let strict = answers(&["parse", "--jsonl", "--strict"], input.clone());
    assert_eq!((&strict[0]["type"], &strict[0]["problems"]), (&json!("DONE"), &json!([])));
    for (answer, path) in strict[1..].iter().zip(["lint_pass", "subject", "timestamp"]) {
        let error = &answer["error"];
        assert_eq!((answer.as_object().unwrap().len(), &error["code"]), (1, &json!("MALFORMED_MESSAGE")), "{answer}");
        assert_eq!(error["problems"][0]["path"], path);
        assert!(error["message"].as_str().unwrap().contains(path) && error["hint"].is_string(), "{answer}");
    }
    let lenient = answers(&["parse", "--jsonl"], input);
    for (lenient, strict) in lenient.iter().zip(&strict).skip(1) {
        assert_eq!(lenient["problems"], strict["error"]["problems"], "the same problems in both modes");
    }
    let names: Vec<_> = lenient[1]["problems"][0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["found", "message", "path", "wanted"]);
}

#[test]
fn a_person_sees_the_fields_of_a_message_and_what_is_wrong() {
    let body = "Bead: a-1\n\n## Failure\nType: LOST\nReason: no \x1b[31mluck";
    let told = fed(&["parse", "--subject", "FAILED"], body);
    assert_eq!(told.code, Some(0));
    for part in ["FAILED", "bead_id", "a-1", "failure_type", "TESTS_FAIL | BUILD_FAIL"] {
        assert!(told.stdout.contains(part), "no '{part}' in {}", told.stdout);
    }
    assert!(!told.stdout.contains('\x1b'));
    let strict = fed(&["parse", "--subject", "FAILED", "--strict"], body);
    assert_eq!((strict.code, &strict.stdout), (Some(1), &told.stdout));
    let line = json!({ "subject": "FAILED", "body": body }).to_string();
    let json = fed(&["parse", "--subject", "FAILED", "--json"], body);
    assert_eq!(serde_json::from_str::<Value>(&json.stdout).unwrap(), parsed(&[line])[0]);
    let refused = fed(&["parse", "--subject", "FAILED", "--json", "--strict"], body);
    let refused: (Option<i32>, Value) = (refused.code, serde_json::from_str(&refused.stdout).unwrap());
    assert_eq!((refused.0, &refused.1["error"]["code"]), (Some(1), &json!("MALFORMED_MESSAGE")));
    let place = Place::new();
    std::fs::write(place.file("body.md"), body).unwrap();
    assert_eq!(place.done(&["parse", "--subject", "FAILED", "--file", "body.md"]), told.stdout);
    let neither = place.run(&["parse"]);
    assert_eq!(neither.code, Some(1), "a subject or --jsonl");
    assert!(neither.stderr.contains("--subject") && !neither.stderr.contains("--home"), "{}", neither.stderr);
}

#[test]
fn mail_that_was_fetched_is_read_as_it_is() {
    let fetched =
        json!({ "id": 7, "subject": "[a-1] HELP_RESPONSE", "body_md": "Bead: a-2\n\nIn lib.", "from": "Chief" });
    let answer = parsed(&[fetched.to_string()]).remove(0);
    assert_eq!((&answer["parsed"], &answer["problems"]), (&json!({ "bead_id": "a-2" }), &json!([])), "{answer}");
}

#[test]
fn a_person_with_a_json_message_is_told_who_checks_it() {
    let message = vectors(JSON_FORMATS)[0]["message"].to_string();
    let advice = "The body is a JSON message of type 'status_update'; 'postrider validate' checks it.";
    for body in [message.clone(), format!("```json\n{message}\n```\n")] {
        let told = fed(&["parse", "--subject", "half way"], body.clone());
        assert!(told.code == Some(0) && told.stdout.trim_end().ends_with(advice), "{}", told.stdout);
        let program = fed(&["parse", "--subject", "half way", "--json"], body);
        let members = serde_json::from_str::<Map<String, Value>>(&program.stdout).unwrap();
        let names = ["is_completion", "is_pending", "is_success", "parsed", "problems", "type"];
        assert_eq!(members.keys().collect::<Vec<_>>(), names);
    }
    for other in ["Bead: a-1", "{\"type\":\"chat\"}", "{\"type\":"] {
        let told = fed(&["parse", "--subject", "half way"], other);
        assert!(!told.stdout.contains("postrider validate"), "{}", told.stdout);
    }
}

#[test]
fn a_person_sees_whether_a_message_is_valid() {
    let valid = vectors(JSON_FORMATS)[0]["message"].to_string();
    for input in [valid.clone(), format!("```json\n{valid}\n```\n")] {
        let told = fed(&["validate"], input);
        let praise = "Valid: status_update from 'database-engineer' about 'bd-47'\n";
        assert_eq!((told.code, told.stdout.as_str()), (Some(0), praise));
    }
    let invalid = valid.replace("progress\"", "status\u{202e}\"");
    let told = fed(&["validate", "-"], invalid.clone());
    assert_eq!(told.code, Some(1));
    assert!(
        told.stdout.contains("update_type") && told.stdout.contains("progress, milestone, blocker"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("invalid_format") && !told.stdout.contains('\u{202e}'), "{}", told.stdout);
    let json = fed(&["validate", "--json"], invalid.clone());
    assert_eq!(json.code, Some(1));
    assert_eq!(serde_json::from_str::<Value>(&json.stdout).unwrap(), answers(&["validate", "--jsonl"], invalid)[0]);
    assert_eq!(Place::new().run(&["validate", "no-such-file"]).code, Some(1));
}

#[test]
fn the_sender_of_an_invalid_message_can_be_told_in_a_valid_one() {
    let valid = vectors(JSON_FORMATS)[0]["message"].to_string();
    let invalid = valid.replace("progress\"", "status\"");
    let arguments = ["validate", "--jsonl", "--error-report", "--sender", "Postmaster"];
    let told = answers(&arguments, format!("{valid}\n{invalid}\n[]\n{invalid}\n"));
    assert_eq!(told[0]["error_report"], Value::Null);
    for answer in &told[1..] {
        let report = &answer["error_report"];
        assert_eq!(answers(&["validate", "--jsonl"], report.to_string())[0]["valid"], true, "{report}");
        assert_eq!((&report["type"], &report["sender_id"]), (&json!("error_report"), &json!("Postmaster")));
        assert_eq!(report["error"]["message"], answer["rejection"]["details"]);
    }
    assert_eq!(told[1]["error_report"]["error"]["context"]["message_id"], told[1]["rejection"]["message_id"]);
    assert_ne!(
        told[1]["error_report"]["message_id"], told[3]["error_report"]["message_id"],
        "each has an id of its own"
    );
    assert_eq!(fed(&["validate", "--sender", ""], valid).code, Some(0), "nobody has to be named without a report");
}

#[test]
fn a_report_is_all_that_a_person_can_pipe_on() {
    let valid = vectors(JSON_FORMATS)[0]["message"].to_string();
    let invalid = valid.replace("progress\"", "status\"");
    let arguments = ["validate", "--error-report", "--sender", "Postmaster"];
    let told = fed(&arguments, invalid.clone());
    let report: Value = serde_json::from_str(&told.stdout).expect("the report alone");
    assert_eq!((told.code, &report["type"]), (Some(1), &json!("error_report")));
    assert!(told.stderr.contains("Not valid") && told.stderr.contains("update_type"), "{}", told.stderr);
    assert!(!told.stderr.contains("error_report"), "{}", told.stderr);
    let praised = fed(&arguments, valid);
    assert_eq!((praised.code, praised.stdout.as_str()), (Some(0), ""), "there is nothing to report");
    assert!(praised.stderr.starts_with("Valid: status_update"), "{}", praised.stderr);
    let program = fed(&[&arguments[..], &["--json"]].concat(), invalid);
    assert_eq!(program.stderr, "");
    assert_eq!(serde_json::from_str::<Value>(&program.stdout).unwrap()["error_report"]["type"], "error_report");
    for nobody in [&["validate", "--error-report"][..], &["validate", "--error-report", "--sender", ""]] {
        let told = fed(nobody, "{}");
        assert_eq!((told.code, told.stdout.as_str()), (Some(1), ""), "somebody has to report");
        for part in ["--error-report has to say who reports", "POSTRIDER_AGENT", "Usage: postrider validate"] {
            assert!(told.stderr.contains(part), "no '{part}' in {}", told.stderr);
        }
    }
}

#[test]
fn each_type_has_a_schema_that_agrees_with_the_verdict() {
    let place = Place::new();
    let list = place.json(&["schema"]);
    let types: Vec<&str> =
        list["types"].as_array().unwrap().iter().map(|kind| kind["type"].as_str().unwrap()).collect();
    assert_eq!(types.len(), 6);
    let shown = place.done(&["schema"]);
    for kind in types {
        assert!(shown.contains(kind), "{shown}");
        let schema: Value = serde_json::from_str(&place.done(&["schema", kind])).unwrap();
        assert_eq!(schema, place.json(&["schema", kind]));
        let schema = jsonschema::JSONSchema::compile(&schema).expect("a schema");
        for vector in vectors(JSON_FORMATS).iter().filter(|vector| vector["message"]["type"] == kind) {
            assert_eq!(schema.is_valid(&vector["message"]), vector["valid"] == true, "{}", vector["name"]);
        }
    }
    let refused = place.run(&["schema", "task_asignment"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("'task_assignment'"), "{}", refused.stderr);
}
