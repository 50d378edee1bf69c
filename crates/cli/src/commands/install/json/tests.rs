//! Edits of JSON, text against text.

use super::*;

fn entry() -> New<'static> {
    New::Object(vec![("n", New::Number(1)), ("l", New::List(vec![New::Text("x")]))])
}

fn appended(text: &str) -> String {
    append(text, &[], Some("k"), &entry()).unwrap()
}

#[test]
fn a_member_is_added_in_the_manner_of_its_file() {
    for (text, whole) in [
        ("", "{\n  \"k\": {\n    \"n\": 1,\n    \"l\": [\"x\"]\n  }\n}\n"),
        ("{}", "{\n  \"k\": {\n    \"n\": 1,\n    \"l\": [\"x\"]\n  }\n}"),
        ("{\"a\":1}", "{\"a\":1,\"k\":{\"n\":1,\"l\":[\"x\"]}}"),
        ("{ \"a\": 1 }", "{ \"a\": 1, \"k\": {\"n\": 1, \"l\": [\"x\"]} }"),
        ("{\n\t\"a\": 1\n}\n", "{\n\t\"a\": 1,\n\t\"k\": {\n\t\t\"n\": 1,\n\t\t\"l\": [\"x\"]\n\t}\n}\n"),
        ("{\r\n \"a\": 1\r\n}", "{\r\n \"a\": 1,\r\n \"k\": {\r\n  \"n\": 1,\r\n  \"l\": [\"x\"]\r\n }\r\n}"),
        (
            "{\n  \"a\": 1, // why\n  // more\n}",
            "{\n  \"a\": 1, // why\n  // more\n  \"k\": {\n    \"n\": 1,\n    \"l\": [\"x\"]\n  },\n}",
        ),
        (
            "{\n  \"a\": 1 // why, and {\n}",
            "{\n  \"a\": 1, // why, and {\n  \"k\": {\n    \"n\": 1,\n    \"l\": [\"x\"]\n  }\n}",
        ),
        ("{\"a\":1 // why\n}", "{\"a\":1, // why\n\"k\":{\n  \"n\":1,\n  \"l\":[\"x\"]\n}\n}"),
        ("{ // none yet\n}", "{ // none yet\n  \"k\": {\n    \"n\": 1,\n    \"l\": [\"x\"]\n  }\n}"),
        ("// only words", "// only words\n{\n  \"k\": {\n    \"n\": 1,\n    \"l\": [\"x\"]\n  }\n}\n"),
    ] {
        assert_eq!(appended(text), whole, "{text}");
        assert_eq!(read(&appended(text)).unwrap()["k"]["l"][0], "x", "{text}");
    }
}

#[test]
fn what_was_added_is_removed_without_a_trace() {
    for text in [
        "{\"a\":1}",
        "{ \"a\": 1 }",
        "{\n\t\"a\": 1\n}\n",
        "{\r\n \"a\": 1\r\n}",
        "{\n  \"a\": 1, // why\n  // more\n}",
        "{\n  \"a\": [1, 2] // why\n}",
        "{\"a\":1 // why\n}",
        "{ // none yet\n}",
        "{}",
        "[1]",
    ] {
        let (name, step) =
            if text.starts_with('[') { (None, PathStep::Item(1)) } else { (Some("k"), PathStep::Member("k")) };
        let added = append(text, &[], name, &entry()).unwrap();
        assert_eq!(remove(&added, &[step]).unwrap(), text);
    }
}

#[test]
fn a_removal_keeps_what_stands_around_it() {
    for (text, path, left) in [
        ("{\"k\":1,\"a\":2}", &[PathStep::Member("k")][..], "{\"a\":2}"),
        (
            "{\n  \"a\": 1,\n  \"k\": 2, // mine\n  \"b\": 3\n}",
            &[PathStep::Member("k")],
            "{\n  \"a\": 1, // mine\n  \"b\": 3\n}",
        ),
        ("{ // c\n\"k\":1, \"a\":2}", &[PathStep::Member("k")], "{ // c\n \"a\":2}"),
        ("{\"l\": [1, 2, 3]}", &[PathStep::Member("l"), PathStep::Item(1)], "{\"l\": [1, 3]}"),
        ("{\"l\": [1, 2, 3]}", &[PathStep::Member("l"), PathStep::Item(2)], "{\"l\": [1, 2]}"),
        ("{\"l\": [ 1 ]}", &[PathStep::Member("l"), PathStep::Item(0)], "{\"l\": []}"),
        ("{\"l\": [1]}", &[PathStep::Member("l"), PathStep::Item(7)], "{\"l\": [1]}"),
        ("{\"l\": [1]}", &[PathStep::Member("no"), PathStep::Member("no")], "{\"l\": [1]}"),
        ("{\"k\": 1, \"k\": 2}", &[PathStep::Member("k")], "{\"k\": 1}"),
    ] {
        assert_eq!(remove(text, path).unwrap(), left, "{text}");
    }
}

#[test]
fn a_value_is_replaced_and_nothing_else() {
    let text = "{ \"a\": [ { \"b\" : 1 /* c */ } ] }";
    let path = [PathStep::Member("a"), PathStep::Item(0), PathStep::Member("b")];
    assert_eq!(replace(text, &path, "2").unwrap(), "{ \"a\": [ { \"b\" : 2 /* c */ } ] }");
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    for (text, line, column) in [
        ("{\n  \"a\" 1\n}", 2, 7),
        ("{\n  \"a\": 1\n  \"b\": 2\n}", 2, 9),
        ("{", 1, 1),
        ("{'a': 1}", 1, 2),
        ("{a: 1}", 1, 2),
        ("{} {}", 1, 4),
        ("{\"é\": nope}", 1, 7),
        ("\u{0}", 1, 1),
    ] {
        let fault = read(text).unwrap_err();
        assert_eq!((fault.line, fault.column), (line, column), "{text}: {}", fault.what);
    }
    let deep = "[".repeat(200_000);
    assert!(read(&deep).unwrap_err().what.contains("depth"));
}
