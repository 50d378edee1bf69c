//! The promises of the index: the same answers as asking every pattern, in time that hardly depends on their shape.

use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn index(texts: impl IntoIterator<Item = String>) -> PatternIndex<usize> {
    let mut index = PatternIndex::default();
    for (number, text) in texts.into_iter().enumerate() {
        index.insert(pattern(&text), number);
    }
    index
}

fn found(index: &PatternIndex<usize>, wanted: &str) -> Vec<usize> {
    let wanted = pattern(wanted);
    let mut found: Vec<usize> = index.meeting(&wanted, |_| true).map(|(_, value)| *value).collect();
    found.sort_unstable();
    found
}

#[test]
fn only_relevant_patterns_that_meet_are_found() {
    let index = index(["src/**", "docs/*", "**/lib.rs", "src/a.rs"].map(str::to_owned));
    assert_eq!(found(&index, "src/lib.rs"), [0, 2]);
    let wanted = pattern("src/lib.rs");
    let relevant: Vec<_> = index.meeting(&wanted, |value| *value != 0).collect();
    assert_eq!(relevant, [(&pattern("**/lib.rs"), &2)]);
}

#[test]
fn removing_takes_one_equal_pattern_with_the_right_value() {
    let mut index = index(["src/**", "src/**", "./src/**", "docs/*"].map(str::to_owned));
    assert_eq!(index.remove(&pattern("src/"), |value| *value == 1), Some(1));
    assert_eq!(index.remove(&pattern("src/"), |value| *value == 1), None);
    assert_eq!(index.remove(&pattern("src/*"), |_| true), None);
    assert_eq!(found(&index, "src/x"), [0, 2]);
    assert_eq!(index.len(), 3);
}

#[test]
fn retaining_keeps_the_rest_findable() {
    let mut index = index((0..200).map(|number| format!("src/f{number}.rs")));
    index.retain(|value| value % 3 == 0);
    assert_eq!(index.len(), 67);
    for number in 0..200 {
        let expected: Vec<usize> = if number % 3 == 0 { vec![number] } else { vec![] };
        assert_eq!(found(&index, &format!("src/f{number}.rs")), expected);
    }
}

fn segment() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a",
        "ab",
        "abcdefghij",
        "abcdefghik",
        "é",
        "*",
        "**",
        "a*",
        "*b",
        "?",
        "[ab]*",
        "{a,ab}",
        "{a/b,é*}",
        "x{,y}",
        "abcdef*",
        "*cdefghij",
    ])
}

fn some_pattern() -> impl Strategy<Value = String> {
    prop::collection::vec(segment(), 1..11).prop_map(|segments| segments.join("/"))
}

proptest! {
    #[test]
    fn the_index_finds_what_asking_every_pattern_finds(
        held in prop::collection::vec(some_pattern(), 0..150),
        wanted in some_pattern(),
        removed in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let readable = |text: &String| Pattern::parse(text).is_ok();
        let Ok(wanted) = Pattern::parse(&wanted) else { return Ok(()) };
        let mut index = index(held.into_iter().filter(readable));
        for place in removed {
            if index.len() > 0 {
                let (pattern, number) = index.held[place.index(index.len())].clone();
                prop_assert_eq!(index.remove(&pattern, |value| *value == number), Some(number));
            }
        }
        let quick: Vec<usize> = index.meeting(&wanted, |_| true).map(|(_, value)| *value).collect();
        let asked = index.held.iter().filter(|(held, _)| held.may_meet(&wanted));
        let slow: Vec<usize> = asked.map(|(_, value)| *value).collect();
        prop_assert_eq!(quick, slow);
    }
}
