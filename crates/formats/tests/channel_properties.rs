//! What holds for every document, name and text of a channel.

use formats::channel::{ChannelMessage, Place, Verdict, read, read_value};
use formats::mention::{candidates, is_for, mentions, openings, opens};
use formats::presence::Heartbeat;
use jiff::Timestamp;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

fn without_files() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

fn name() -> impl Strategy<Value = String> {
    let letter = prop_oneof![select(vec!['a', 'B', '1', '-', '_', '.', '@', ' ', 'é', '*']), any::<char>()];
    vec(letter.prop_filter("a letter", |letter| !letter.is_control()), 1..12)
        .prop_map(String::from_iter)
        .prop_filter("not blank", |name| !name.trim().is_empty())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![vec(inner.clone(), 0..4).prop_map(Value::from), map_of(inner).prop_map(Value::Object)]
    })
}

fn map_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-zé ]{1,6}", value, 0..4).prop_map(Map::from_iter)
}

fn metadata() -> impl Strategy<Value = Map<String, Value>> {
    let known = btree_map(select(vec!["mode", "turn", "in_reply_to"]), option::of(any::<String>()), 0..3);
    (known, map_of(value())).prop_map(|(known, mut metadata)| {
        metadata.extend(known.into_iter().map(|(name, value)| (name.to_owned(), json!(value))));
        metadata
    })
}

/// Fields beyond the format, in the document and in its content.
fn extra() -> impl Strategy<Value = Map<String, Value>> {
    let unknown = |map: Map<String, Value>| -> Map<String, Value> {
        let known = ["id", "from", "to", "type", "text", "code"];
        map.into_iter().filter(|(name, _)| !known.contains(&name.as_str())).collect()
    };
    (map_of(value()), map_of(value())).prop_map(move |(extra, content)| {
        let (mut extra, content) = (unknown(extra), unknown(content));
        if !content.is_empty() {
            extra.insert("content".to_owned(), Value::Object(content));
        }
        extra
    })
}

fn message() -> impl Strategy<Value = ChannelMessage> {
    // The years 0 to 9999.
    let time = (-62_167_219_200_000i64..253_402_207_200_000).prop_map(|ms| Timestamp::from_millisecond(ms).unwrap());
    let names = (name(), name(), name(), name(), name());
    let content = (any::<String>(), option::of(any::<String>()), vec(value(), 0..3));
    (names, time, content, metadata(), extra()).prop_map(|(names, timestamp, content, metadata, extra)| {
        let ((id, session_id, from, to, kind), (text, code, artifacts)) = (names, content);
        ChannelMessage { id, timestamp, session_id, from, to, kind, text, code, artifacts, metadata, extra }
    })
}

/// How many names end within a name, itself among them.
fn parts(name: &str) -> usize {
    let ends = |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '_' | '-');
    name.chars().skip(1).filter(|letter| ends(*letter)).count() + 1
}

proptest! {
    #![proptest_config(without_files())]

    #[test]
    fn what_is_written_is_read_back_and_written_the_same(message in message()) {
        let written = message.to_json();
        let read = read_value(&written);
        prop_assert_eq!(read.as_ref(), Some(&message));
        prop_assert_eq!(read.map(|message| message.to_json()), Some(written));
    }

    #[test]
    fn a_document_that_is_cut_short_anywhere_is_looked_at_again(message in message(), at in any::<Index>(), zeros in 0..9usize) {
        let written = message.to_json();
        let mut cut = written.as_bytes()[..at.index(written.len() - 1)].to_vec();
        cut.extend(vec![0; zeros]);
        prop_assert_eq!(read(&cut, Place::default()).verdict, Verdict::Retry);
    }

    #[test]
    fn a_document_that_is_used_says_so_and_any_other_has_a_problem(bytes in vec(any::<u8>(), 0..64), message in message(), at in any::<Index>()) {
        let mut damaged = message.to_json().into_bytes();
        let at = at.index(damaged.len());
        damaged.splice(at..at, bytes);
        let reading = read(&damaged, Place { file: Some("msg-20260111-163315-a-4c78.json"), channel: Some("x") });
        let is_used = matches!(reading.verdict, Verdict::Ok | Verdict::Warn);
        prop_assert_eq!(reading.message.is_some(), is_used);
        prop_assert_eq!(reading.problems.is_empty(), reading.verdict == Verdict::Ok);
    }

    #[test]
    fn a_name_that_is_mentioned_is_among_the_candidates(name in name(), before in ".{0,12}", after in ".{0,12}") {
        let text = format!("{before}@{name}{after}");
        if parts(&name) <= 8 && mentions(&name, &text) {
            prop_assert!(candidates(&text).contains(&name.as_str()), "{:?} in {:?}", name, text);
        }
        let text = format!("{name}{after}");
        if parts(&name) <= 8 && opens(&name, &text) {
            prop_assert!(openings(&text).contains(&name.as_str()), "{:?} opens {:?}", name, text);
        }
    }

    #[test]
    fn a_candidate_is_a_name_that_the_text_calls(text in "[@a\\-_ .\né]{0,40}") {
        for name in candidates(&text) {
            prop_assert!(mentions(name, &text) && is_for(name, "all", &text), "{:?} in {:?}", name, text);
        }
        prop_assert!(openings(&text).iter().all(|name| opens(name, &text)));
    }

    #[test]
    fn a_heartbeat_is_read_back_as_it_was_written(agent_id in name(), state in option::of("[A-Z]{1,9}"), ms in option::of(0i64..9_999_999_999_999), pid in any::<Option<i64>>()) {
        let timestamp = ms.map(|ms| Timestamp::from_millisecond(ms).unwrap());
        let beat = Heartbeat { agent_id, timestamp, substate: state.clone(), channel: state.clone(), state, watcher_pid: pid };
        prop_assert_eq!(Heartbeat::read(beat.to_json().as_bytes()), Some(beat));
    }
}
