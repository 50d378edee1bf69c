//! What the rules of `wire` promise.

use proptest::prelude::*;

use super::*;

fn code(body: &str) -> i32 {
    read(body.as_bytes()).expect_err("the message should be refused").fault.code
}

#[test]
fn a_batch_is_refused_before_anything_else_is_looked_at() {
    assert_eq!(code(" \n[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"), -32600);
    assert_eq!(code("[not even json"), -32600);
    assert_eq!(read(b"[\xff").expect_err("a batch").fault.code, -32600);
}

#[test]
fn what_is_not_json_is_a_parse_error_and_what_is_no_object_an_invalid_request() {
    assert_eq!(code(""), -32700);
    assert_eq!(code("{\"id\":1"), -32700);
    assert_eq!(code("{} {}"), -32700);
    assert_eq!(read(b"{\"method\":\"\xff\"}").expect_err("not UTF-8").fault.code, -32700);
    assert_eq!(code("5"), -32600);
    assert_eq!(code("\"ping\""), -32600);
    assert_eq!(code("null"), -32600);
    assert_eq!(code("{}"), -32600);
}

#[test]
fn the_jsonrpc_member_may_be_absent_but_not_wrong() {
    assert!(matches!(read(br#"{"id":1,"method":"ping"}"#), Ok(Incoming::Request(_))));
    assert_eq!(code(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#), -32600);
    assert_eq!(code(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#), -32600);
}

#[test]
fn an_id_is_kept_byte_for_byte() {
    for id in ["1", "-7", "1.50", "12345678901234567890123", "\"a\\u0041\"", "\"\""] {
        let body = format!(r#"{{"jsonrpc":"2.0","id": {id} ,"method":"ping"}}"#);
        let Ok(Incoming::Request(request)) = read(body.as_bytes()) else { panic!("{body} is a request") };
        assert_eq!(request.id, id);
    }
}

#[test]
fn an_id_of_another_kind_is_refused_rather_than_taken_for_a_notification() {
    for id in ["null", "true", "{}", "[1]"] {
        assert_eq!(code(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)), -32600);
    }
}

#[test]
fn a_message_with_an_id_and_no_method_is_a_clients_answer() {
    assert!(matches!(read(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Incoming::ClientAnswer)));
}

#[test]
fn params_must_be_an_object_and_the_refusal_carries_the_id() {
    let refused = read(br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}"#).expect_err("positional params");
    assert_eq!((refused.fault.code, refused.id), (-32602, Some("7")));
    assert!(read(br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":null}"#).is_ok());
}

#[test]
fn nesting_is_refused_exactly_beyond_the_limit() {
    // The envelope itself is the first level and `params` the second.
    let nested = |levels: usize| {
        format!(r#"{{"id":1,"method":"ping","params":{{"x":{}{}}}}}"#, "[".repeat(levels), "]".repeat(levels))
    };
    assert!(read(nested(MAX_DEPTH - 2).as_bytes()).is_ok());
    assert_eq!(code(&nested(MAX_DEPTH - 1)), -32700);
    assert_eq!(code(&nested(1_000_000)), -32700);
}

#[test]
fn brackets_inside_strings_are_no_nesting() {
    let body = format!(r#"{{"id":1,"method":"ping","params":{{"x":"\"\\{}"}}}}"#, "[".repeat(1000));
    assert!(read(body.as_bytes()).is_ok());
}

#[test]
fn a_quoted_text_is_shortened_between_characters() {
    assert_eq!(quoted("héllo"), "'héllo'");
    assert_eq!(quoted(&"é".repeat(500)), format!("'{}…'", "é".repeat(MAX_QUOTED_CHARS)));
}

#[test]
fn an_error_without_an_id_leaves_the_member_out() {
    let json = error(None, &Fault::parse_error("no"));
    assert_eq!(json, r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#);
}

proptest! {
    #[test]
    fn any_text_survives_being_written_as_json(text in any::<String>()) {
        let mut json = String::new();
        push_text(&mut json, &text);
        prop_assert_eq!(serde_json::from_str::<String>(&json).expect("valid JSON"), text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&body);
    }
}
