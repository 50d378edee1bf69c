//! Texts that are nearly messages, for every reader: made of the fragments that mean something to one of them, in any
//! order, with long runs between.
//!
//! `cargo xtask fuzz` runs these with many more cases than a plain test does. What only one reader promises is tested
//! beside the others of its kind.

use formats::secrets::Finding;
use formats::{Problem, Typed, json, markdown, secrets};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

/// How many cases a plain test tries; `PROPTEST_CASES` asks for another number.
const FEW_CASES: u32 = 512;
/// A problem shows at most 80 characters of what it found, and one for what it left out.
const LONGEST_FOUND: usize = 81;

fn cases() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = FEW_CASES;
    }
    config
}

/// What means something in Markdown.
#[rustfmt::skip]
const MARKDOWN: &[&str] = &[
    "\n", "\n", "\n\n", "\r\n", "\r", "\u{feff}", "\0", "\u{1b}[0m", "\u{2028}", " ", "\t", "    ",
    "DONE", "done", "BEAD_ACCEPTED", "help_request", "HELP-REQUEST", "Progress", "FAILED:", "SPAWN_ACK", "CHECKPOINT",
    "Re: ", "Fwd:", "AW: ", "[", "]", "[]", "[ol-1]", "[ol-1", "ol-527.1:", "- ", "* ", "> ", "1. ", "+ ",
    "Bead:", "Accepted bead: ", "**Bead:** ", "**Bead**: ", "bead:", "Issue: ", "Title: x", "Step:", "Status: DONE",
    "Context usage: 85%", "Context usage: -1%", "Files touched: a, b", "- Files: a.rs, `b.rs`", "- Tests: PASS",
    "- Commit: abc123def", "Reason: CONTEXT_HIGH", "Type: TESTS_FAIL", "Internal attempts: 99999999999999999999",
    "Starting implementation at: 2026-01-31T10:00:00Z", "Resume: true", "2026-02-30T25:61:61Z",
    "#", "## ", "## Problem", "## What I Tried", "### Question", "## question ##", "####### x", "##Summary",
    "```", "```json", "````", "~~~", "```x```", "`", "---", "***", "\\", "é", "漢字", "\u{301}", "🎉",
];

/// What means something in JSON and in the six types.
#[rustfmt::skip]
const JSON: &[&str] = &[
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "\"\\", "{}", "[]", "null", "true", "1", "-0",
    "1e999", "0.1", "99999999999999999999", "NaN", "{\"", "\":\"", "\",\"", "\":{\"", "\"}", "```json\n", "\n```", "\n",
    "\"type\":", "\"task_assignment\"", "\"task_completion\"", "\"status_update\"", "\"error_report\"",
    "\"file_reservation\"", "\"coordination_request\"", "\"version\":\"1.0.0\"", "\"version\":\"2.0.0\"",
    "\"timestamp\":\"2025-12-25T16:00:00Z\"", "\"message_id\":\"msg-423e4567-e89b-12d3-a456-426614174003\"",
    "\"sender_id\":\"a\"", "\"task_id\":\"bd-1\"", "\"progress\":{\"percentage\":101}", "\u{feff}", "é",
];

/// What means something to the rules for secrets; none of it is one.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    "password", "DB_PASSWORD", "pwd", "apiKey", "client-secret", "\"secret\"", "auth_token", "=", ":", ": ", " = ", ":=",
    "==", "=>", "\"", "'", "`", "\\\"", "\\n", "**", ",", ";", "&", "(", "[", "{", "<", "$", "${", "{{", "%s", "***",
    "k3y0x", "Xk9$mm", "tr0ub4dor-and-3", "a1b2c3d4", "changeme1", "://", "https://", "user:", "@host", "@", "/", ".",
    "Authorization: Bearer ", "AKIA", "ghp_", "github_pat_", "glpat-", "xoxb-", "sk_live_", "sk-ant-", "sk-", "AIza",
    "npm_", "pypi-AgEI", "eyJ", "eyJhbGciOiJIUzI1NiJ9.", "0Q7XZ2MK9VB4TR6Y", "q7Zx2mK9vB4tR6yN1wL8cH3gJ5dF0sPa4Tb2",
    "-----BEGIN ", "-----END ", "PRIVATE KEY-----", "OPENSSH PRIVATE KEY-----", "Private-Lines: 2", "\n", "\r\n", " ", "é",
    "export ", "漢", "_", "-", "TOKEN", "pass", "API key", " is ", " for the db is ", "--token ", "-u ", "curl ", "<secret>",
    "</secret>", "Authorization: Basic ", "YWRtaW46dHIwdWI0", "SG.", "hvs.", "hf_", "https://hooks.slack.com/services/T0/",
];

/// Text of fragments, with a long run of one of them now and then.
fn made_of(fragments: &'static [&'static str]) -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        16 => select(fragments).prop_map(str::to_owned),
        2 => any::<char>().prop_map(String::from),
        1 => (select(fragments), 1..200usize).prop_map(|(fragment, times)| fragment.repeat(times)),
    ];
    vec(fragment, 0..32).prop_map(|fragments| fragments.concat())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![made_of(MARKDOWN), made_of(JSON), made_of(SECRETS), any::<String>()]
}

/// The bodies of the shared vectors, and JSON messages as they would stand in a body.
fn vector_bodies() -> Vec<String> {
    let read = |file: &str| -> Vec<Value> {
        serde_json::from_str::<Value>(file).unwrap()["vectors"].as_array().unwrap().clone()
    };
    let markdown = read(include_str!("vectors/coordination.json")).into_iter().map(|vector| vector["body"].clone());
    let json = read(include_str!("vectors/json-formats.json")).into_iter().map(|vector| vector["message"].clone());
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    markdown.chain(json).map(text).collect()
}

/// A vector's body with a part taken out, doubled or replaced, once or several times.
fn damaged_vectors() -> impl Strategy<Value = String> {
    let piece = prop_oneof![made_of(JSON), made_of(MARKDOWN), Just(String::new())];
    let damage = (any::<Index>(), any::<Index>(), piece, any::<bool>());
    (select(vector_bodies()), vec(damage, 1..4)).prop_map(|(mut text, damages)| {
        for (one, other, piece, keep) in damages {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let (one, other) = (places[one.index(places.len())], places[other.index(places.len())]);
            let range = one.min(other)..one.max(other);
            let kept = if keep { text[range.clone()].to_owned() } else { String::new() };
            text.replace_range(range, &[kept.as_str(), &piece, &kept].concat());
        }
        text
    })
}

fn check_problems(problems: &[Problem]) -> Result<(), TestCaseError> {
    for problem in problems {
        let found = problem.found.as_deref().unwrap_or_default();
        prop_assert!(found.chars().count() <= LONGEST_FOUND && !found.contains(char::is_control), "{:?}", problem);
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_near_miss_is_read_as_either_format_and_its_problems_can_be_shown(subject in made_of(MARKDOWN), body in any_text()) {
        let typed = Typed::read(&subject, &body);
        check_problems(&typed.problems)?;
        let id_can_be_used = typed.value.work_id().is_none_or(|id| markdown::usable_id(id) == Some(id));
        prop_assert!(id_can_be_used, "{:?}", typed.value);
        let as_markdown = markdown::read(&subject, &body);
        check_problems(&as_markdown.problems)?;
        if let Typed::Markdown(message) = typed.value {
            prop_assert_eq!(message, as_markdown.value);
        }
    }

    #[test]
    fn a_damaged_message_is_read_and_what_was_understood_can_be_written(text in damaged_vectors()) {
        let read = json::read(&text);
        check_problems(&read.problems)?;
        prop_assert_eq!(read.value.is_none(), serde_json::from_str::<serde_json::Map<_, Value>>(&text).is_err());
        if let Some(message) = read.value {
            prop_assert_eq!(json::read(&message.write()).value, Some(message));
        }
        for kind in markdown::Kind::ALL {
            let parsed = markdown::read(kind.as_str(), &text);
            check_problems(&parsed.problems)?;
            prop_assert_eq!(parsed.value.kind(), Some(kind));
            let written = parsed.value.write();
            prop_assert_eq!(markdown::read(&written.subject, &written.body).value.kind(), Some(kind));
        }
    }

    #[test]
    fn a_near_miss_of_json_is_none_or_all_of_it(text in made_of(JSON)) {
        let read = json::read(&text);
        check_problems(&read.problems)?;
        prop_assert!(read.value.is_some() || !read.problems.is_empty());
    }

    #[test]
    fn the_json_found_in_a_body_is_a_part_of_it_and_found_again(body in any_text()) {
        if let Some(found) = json::find_in(&body) {
            prop_assert!(body.contains(found) && found.trim() == found);
            let is_object = found.starts_with('{');
            prop_assert!(!is_object || json::find_in(found) == Some(found));
        }
    }

    #[test]
    fn secrets_are_found_in_order_and_the_first_whatever_follows(text in prop_oneof![4 => made_of(SECRETS), 1 => any_text()]) {
        let found = secrets::find(&text);
        prop_assert!(found.len() <= secrets::MOST_FINDINGS);
        prop_assert!(found.is_sorted_by_key(|finding| finding.line));
        prop_assert!(found.iter().all(|finding| (1..=text.split('\n').count()).contains(&finding.line)));
        let token = concat!("ghp_", "q7Zx2mK9vB4tR6yN1wL8cH3gJ5dF0sPa4Tb2");
        let first = secrets::find(&format!("{token}\n{text}")).first().copied();
        prop_assert_eq!(first, Some(Finding { rule: secrets::Rule::GithubToken, line: 1 }));
    }
}
