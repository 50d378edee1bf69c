//! The promises of the query language.

use std::fmt::{self, Write};

use proptest::prelude::*;

use super::*;

impl Field {
    fn prefix(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Subject => "subject:",
            Self::Body => "body:",
        }
    }
}

/// Writes a query that parses back to the same tree, unless spelling it out makes it longer than [`LONGEST`].
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Behind a filter a word may look like an operator or another filter.
            Self::Word { text, field: Field::Any }
                if text.starts_with('{') || Self::parse(text).ok().as_ref() != Some(self) =>
            {
                write!(f, "{{subject body}}:{text}")
            }
            Self::Word { text, field } => write!(f, "{}{text}", field.prefix()),
            Self::Prefix { text, field } => write!(f, "{}\"{text}\"*", field.prefix()),
            Self::Start { sequence, field } => write!(f, "{}^{sequence}", field.prefix()),
            Self::Near { sequences, most_between, field } => {
                let sequences: Vec<_> = sequences.iter().map(ToString::to_string).collect();
                write!(f, "{}NEAR({}, {most_between})", field.prefix(), sequences.join(" "))
            }
            Self::Phrase { text, field } => write!(f, "{}\"{text}\"", field.prefix()),
            Self::From(name) => write!(f, "from:\"{name}\""),
            Self::And(parts) => write_joined(f, parts, " AND ", |part| matches!(part, Self::Or(_))),
            Self::Or(parts) => write_joined(f, parts, " OR ", |_| false),
            Self::Not(negated) => {
                f.write_str("NOT ")?;
                write_part(f, negated, matches!(**negated, Self::And(_) | Self::Or(_)))
            }
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

fn write_joined(
    f: &mut fmt::Formatter<'_>,
    parts: &[Query],
    joint: &str,
    needs_parentheses: impl Fn(&Query) -> bool,
) -> fmt::Result {
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            f.write_str(joint)?;
        }
        write_part(f, part, needs_parentheses(part))?;
    }
    Ok(())
}

fn write_part(f: &mut fmt::Formatter<'_>, part: &Query, in_parentheses: bool) -> fmt::Result {
    if !in_parentheses {
        return write!(f, "{part}");
    }
    f.write_char('(')?;
    write!(f, "{part}")?;
    f.write_char(')')
}

fn query(text: &str) -> Query {
    Query::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn word(text: &str) -> Query {
    Query::Word { text: text.to_owned(), field: Field::Any }
}

fn error(text: &str) -> (usize, String) {
    let error = Query::parse(text).expect_err(text);
    (error.position, error.message)
}

#[test]
fn and_binds_tighter_than_or_and_may_be_left_out() {
    let expected = Query::Or(vec![Query::And(vec![word("a"), word("b")]), word("c")]);
    assert_eq!(query("a AND b OR c"), expected);
    assert_eq!(query("a b OR c"), expected);
    assert_eq!(query("a (b OR c)"), Query::And(vec![word("a"), Query::Or(vec![word("b"), word("c")])]));
    assert_eq!(query("(a b) AND (c d)"), Query::And(["a", "b", "c", "d"].map(word).to_vec()));
}

#[test]
fn operators_are_upper_case_only() {
    assert_eq!(query("a and not b"), Query::And(["a", "and", "not", "b"].map(word).to_vec()));
    assert_eq!(query("NEAR near {b c}"), Query::And(["NEAR", "near", "{b", "c}"].map(word).to_vec()));
}

#[test]
fn a_dash_before_a_word_negates_it_and_no_other_dash_does() {
    let not_b = Query::Not(Box::new(word("b")));
    assert_eq!(query("a -b"), Query::And(vec![word("a"), not_b.clone()]));
    assert_eq!(query("a NOT b"), Query::And(vec![word("a"), not_b]));
    assert_eq!(query("a - b"), Query::And(vec![word("a"), word("b")]));
    assert_eq!(query("--release well-known"), Query::And(vec![word("--release"), word("well-known")]));
    assert_eq!(query("-(a)"), query("NOT a"));
}

#[test]
fn filters_bind_to_the_next_word_phrase_or_group() {
    let subject = |text: &str| Query::Word { text: text.to_owned(), field: Field::Subject };
    assert_eq!(query("subject:a b"), Query::And(vec![subject("a"), word("b")]));
    assert_eq!(query("subject:(a OR b)"), Query::Or(vec![subject("a"), subject("b")]));
    assert_eq!(query("body:\"a b\""), Query::Phrase { text: "a b".into(), field: Field::Body });
    assert_eq!(query("body:pre*"), Query::Prefix { text: "pre".into(), field: Field::Body });
    assert_eq!(query("from:\"Green Dog\""), Query::From("Green Dog".into()));
    assert_eq!(query("-from:bob"), Query::Not(Box::new(Query::From("bob".into()))));
    assert_eq!(query("from:🦊"), Query::From("🦊".into()));
    assert_eq!(query("subject:from:x"), subject("from:x"));
}

#[test]
fn what_looks_like_a_filter_but_is_none_is_a_word() {
    for text in ["http://x", "std::fs", "src/lib.rs:40", "foo:bar", "subjects:x"] {
        assert_eq!(query(text), word(text));
    }
}

#[test]
fn a_stray_character_is_never_an_error() {
    for stray in
        ["*", "^", "'", ";", "{", "}", ":", "-", "--", "\"\"", "\"*\"", "()", "𝄞", "\u{0}", "NOT ;", "subject:;"]
    {
        assert_eq!(query(&format!("{stray} a")), word("a"), "{stray}");
        assert_eq!(query(&format!("a AND {stray} ")), word("a"), "{stray}");
        assert_eq!(error(stray), (0, "the query has no word in it".into()), "{stray}");
    }
    assert_eq!(query("a*b"), word("a*b"));
    assert_eq!(query("\"a b\" *"), Query::Phrase { text: "a b".into(), field: Field::Any });
    assert_eq!(query("main()"), word("main"));
}

fn sequence(text: &str) -> Sequence {
    let is_prefix = text.ends_with('*');
    Sequence { text: text.trim_end_matches('*').to_owned(), is_prefix }
}

fn near(texts: &[&str], most_between: u32, field: Field) -> Query {
    Query::Near { sequences: texts.iter().map(|text| sequence(text)).collect(), most_between, field }
}

#[test]
fn near_takes_words_phrases_and_prefixes_and_a_number() {
    assert_eq!(query("NEAR(a b)"), near(&["a", "b"], 10, Field::Any));
    assert_eq!(query("NEAR(\"a b\" c* , 3 )"), near(&["a b", "c*"], 3, Field::Any));
    assert_eq!(query("NEAR (\"a b\"* ; c,0)"), near(&["a b*", "c"], 0, Field::Any));
    assert_eq!(query("NEAR(a + b c)"), near(&["a b", "c"], 10, Field::Any));
    assert_eq!(query("subject:NEAR(a b)"), near(&["a", "b"], 10, Field::Subject));
    assert_eq!(query("body : (NEAR(a b, 2) OR c)").to_string(), "body:NEAR(\"a\" \"b\", 2) OR body:c");
    assert_eq!(query("NEAR(a, 5)"), query("\"a\""), "one word is near itself");
    assert_eq!(query("NOT NEAR(a b) c").to_string(), "NOT NEAR(\"a\" \"b\", 10) AND c");
    for text in ["NEAR", "NEAR a", "near(a b)", "NEARBY(a)", "from:NEAR"] {
        assert!(!matches!(query(text), Query::Near { .. }), "{text}");
    }
}

#[test]
fn a_caret_asks_for_the_beginning_and_a_plus_joins_words() {
    let start = |text, field| Query::Start { sequence: sequence(text), field };
    assert_eq!(query("^a"), start("a", Field::Any));
    assert_eq!(query("^\"a b\" c"), Query::And(vec![start("a b", Field::Any), word("c")]));
    assert_eq!(query("subject:^pre*"), start("pre*", Field::Subject));
    assert_eq!(query("{subject}: (^a OR ^b)"), Query::Or(vec![start("a", Field::Subject), start("b", Field::Subject)]));
    assert_eq!(query("from:^a"), Query::From("^a".into()));
    assert_eq!(query("^^a x^y"), Query::And(vec![word("^^a"), word("x^y")]));
    let phrase = |text: &str| Query::Phrase { text: text.into(), field: Field::Any };
    assert_eq!(query("a + b + \"c d\""), phrase("a b c d"));
    assert_eq!(query("^a + b*"), start("a b*", Field::Any));
    assert_eq!(query("a + b*"), Query::Prefix { text: "a b".into(), field: Field::Any });
    assert_eq!(query("\"a b\"*"), Query::Prefix { text: "a b".into(), field: Field::Any });
    assert_eq!(query("c++ + +1 +").to_string(), "\"c++ +1\"");
}

#[test]
fn columns_may_be_written_as_others_write_them() {
    let subject = Query::Word { text: "a".into(), field: Field::Subject };
    let body = Query::Word { text: "a".into(), field: Field::Body };
    for text in ["subject : a", "Subject: a", "{subject}:a", "{ subject } : a", "{subject subject}: a"] {
        assert_eq!(query(text), subject, "{text}");
    }
    for text in ["body:a", "body_md:a", "BODY_MD : a", "{body body_md}: a"] {
        assert_eq!(query(text), body, "{text}");
    }
    assert_eq!(query("{subject body}: (a OR b)"), query("a OR b"));
    assert_eq!(query("{body_md}:\"a b\""), query("body:\"a b\""));
    assert_eq!(query("from : bob"), query("from:bob"));
    assert_eq!(query("-subject:a"), Query::Not(Box::new(subject.clone())));
    assert_eq!(query("-subject : a"), Query::Not(Box::new(subject)));
}

#[test]
fn what_only_looks_like_a_filter_is_words() {
    for text in [
        "https://x/y",
        "body://x",
        "12:30",
        "std::fmt",
        "body::fmt",
        "to::string",
        "fix:typo",
        "a:b",
        "subjects:x",
        "text://x",
        "x-to:y",
        "{err}:msg",
    ] {
        assert_eq!(query(text), word(text), "{text}");
    }
    for text in ["fix: typo", "how to: deploy", "error text: none", "kind: x", "{err}: x", "{a b} c", "- to: bob"] {
        assert!(matches!(query(text), Query::And(_)), "{text}");
    }
    assert_eq!(query("subject:to:x"), Query::Word { text: "to:x".into(), field: Field::Subject });
    assert_eq!(query("\"to:x\""), Query::Phrase { text: "to:x".into(), field: Field::Any });
}

#[test]
fn what_nobody_can_search_for_is_refused_with_the_place_and_what_to_do() {
    for (text, position, message) in [
        ("é title:x", 2, "'title:' at position 2 is no filter: use subject:, or put it in quotes to find the word"),
        ("title: x", 0, "'title:' at position 0 is no filter: use subject:"),
        ("a to:x", 2, "'to:' at position 2 is no filter: recipients are not searched"),
        ("To : x", 0, "'To:' at position 0 is no filter"),
        ("-thread:x", 1, "'thread:' at position 1 is no filter: read the thread instead"),
        ("sender:x", 0, "use from:"),
        ("{subject title}: x", 9, "'title' at position 9 is no column: the columns are subject and body"),
        ("{from}: x", 1, "'from' at position 1 is no column: write from:NAME by itself"),
        (
            "a - {subject body}: x",
            2,
            "write NOT before the filter, or name the other column, instead of '-' at position 2",
        ),
        ("-{subject}: x", 0, "instead of '-' at position 0"),
        ("- subject : x", 0, "instead of '-' at position 0"),
        ("NEAR(a b", 0, "unclosed NEAR( that starts at position 0"),
        ("NEAR(a b,", 0, "unclosed NEAR( that starts at position 0"),
        ("NEAR(a b, 5", 0, "unclosed NEAR( that starts at position 0"),
        ("NEAR()", 5, "expected a word in NEAR at position 5"),
        ("NEAR(;, 3)", 6, "expected a word in NEAR at position 6"),
        ("NEAR(a, b)", 6, "expected a number up to 10000 and ')' behind the comma at position 6"),
        ("NEAR(a b, 10001)", 8, "expected a number up to 10000"),
        ("NEAR(a b, -1)", 8, "expected a number up to 10000"),
        ("NEAR(a b, 5 c)", 8, "expected a number up to 10000"),
        ("NEAR(a OR b)", 7, "NEAR takes words, prefixes and phrases alone; expected one at position 7"),
        ("NEAR(a (b c))", 7, "expected one at position 7"),
        ("NEAR(a -b)", 7, "expected one at position 7"),
        ("NEAR(^a b)", 5, "expected one at position 5"),
        ("NEAR(subject:a b)", 5, "a filter stands before NEAR, as in subject:NEAR(a b); expected a word at position 5"),
        ("a NEAR/5 b", 2, "NEAR/N is written NEAR(a b, N); expected that at position 2"),
        ("a* + b", 3, "only the last of the words that + joins may end in a star, at position 3"),
    ] {
        let (place, told) = error(text);
        assert_eq!(place, position, "{text}: {told}");
        assert!(told.contains(message), "{text}: {told}");
    }
}

#[test]
fn an_unfinished_query_is_refused_with_the_place() {
    for (text, position, message) in [
        ("", 0, "the query has no word in it"),
        ("foo AND", 7, "expected a word after AND at position 7"),
        ("é OR OR b", 5, "expected a word after OR at position 5"),
        ("a NOT", 5, "expected a word after NOT at position 5"),
        ("OR a", 0, "expected a word before OR at position 0"),
        ("(AND a)", 1, "expected a word before AND at position 1"),
        ("éa \"b", 3, "unclosed quote that starts at position 3"),
        ("a (b", 2, "unclosed '(' that starts at position 2"),
        ("a (", 2, "unclosed '(' that starts at position 2"),
        ("a) b", 1, "the ')' at position 1 closes nothing"),
        (")", 0, "the ')' at position 0 closes nothing"),
        ("a from:", 7, "expected a name after from: at position 7"),
        ("from:(a)", 5, "expected a name after from: at position 5"),
        ("(subject:)", 9, "expected a word, a phrase or a group after subject: at position 9"),
    ] {
        assert_eq!(error(text), (position, message.to_owned()), "{text}");
    }
}

#[test]
fn parentheses_are_written_where_they_are_needed_and_nowhere_else() {
    for text in
        ["a AND (b OR c)", "a AND b OR c", "NOT (a AND b)", "NOT a AND b", "NOT NOT a", "subject:a OR from:\"b\""]
    {
        assert_eq!(query(text).to_string(), text);
    }
    assert_eq!(query("((a)) ((b) c)").to_string(), "a AND b AND c");
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(error(&"a".repeat(LONGEST + 1)).0, LONGEST);
    assert!(Query::parse(&"a".repeat(LONGEST)).is_ok());
    assert!(Query::parse(&"a ".repeat(MOST_TERMS)).is_ok());
    assert_eq!(error(&"a ".repeat(MOST_TERMS + 1)), (128, "more than 64 words at position 128".into()));
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(query(&nested(DEEPEST)), word("a"));
    assert_eq!(error(&nested(DEEPEST + 1)), (32, "nested more than 32 deep at position 32".into()));
    assert_eq!(error(&"NOT ".repeat(200)).1, "nested more than 32 deep at position 128");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_a_place_within_it(text in "\\PC{0,40}") {
        if let Err(error) = Query::parse(&text) {
            prop_assert!(error.position <= text.chars().count());
        }
    }

    #[test]
    fn a_query_is_written_as_it_is_read(text in prop_oneof![loose_pieces(), well_formed()]) {
        if let Ok(read) = Query::parse(&text) {
            let written = read.to_string();
            prop_assert_eq!(Query::parse(&written), Ok(read), "{}", written);
        }
    }

    #[test]
    fn a_well_formed_query_is_read(text in well_formed()) {
        prop_assert!(Query::parse(&text).is_ok(), "{text}");
    }
}

fn loose_pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b*",
        "\"c d\"",
        " AND ",
        " OR ",
        " NOT ",
        " -",
        "(",
        ")",
        " ",
        "subject:",
        "from:",
        "body:",
        ";",
        "--x",
        "é",
        "AND",
        "from:x*",
        "*",
        "NEAR(",
        ", 3)",
        "^",
        "+",
        "{subject body}:",
        " : ",
        "title:",
        "body",
    ]);
    prop::collection::vec(piece, 1..16).prop_map(|pieces| pieces.concat())
}

fn well_formed() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "b*",
        "\"c d\"",
        "--x",
        "subject:é",
        "from:\"x y\"",
        "body:\"AND\"",
        "NEAR(a \"b c\"* d, 4)",
        "^a",
        "a + \"b c\"",
        "body_md : ^\"a\"*",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} {b}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} OR {b}")),
            inner.clone().prop_map(|a| format!("NOT ({a})")),
            inner.clone().prop_map(|a| format!("-{a}")),
            inner.prop_map(|a| format!("subject:({a})")),
        ]
    })
}
