//! The promises of the index: the same answers as asking every pattern, in time that hardly depends on their shape.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn index(texts: impl IntoIterator<Item = String>) -> PatternIndex<usize> {
    let mut index = PatternIndex::new();
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
    assert_eq!((index.len(), index.is_empty()), (3, false));
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
            if !index.is_empty() {
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

/// Run with `cargo test --release -p mail -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement of the release build"]
#[expect(clippy::print_stderr, reason = "the figures are what this is for")]
fn a_question_to_ten_thousand_patterns_takes_far_less_than_a_tenth_of_a_millisecond() {
    type Shape = (&'static str, fn(usize) -> String, &'static str, bool);
    let file = |n: usize| format!("src/mod_{}/file_{}.rs", n / 50, n % 50);
    let shapes: [Shape; 14] = [
        ("files", file, "src/mod_7/file_7.rs", true),
        ("files", file, "**/*.zzz", true),
        ("files", file, "src/**", false),
        ("files", file, "src/**/*.toml", true),
        ("files", file, "{docs,tests,bench,xtask}/**/*.{md,txt}", true),
        ("src/a*/x_N/**", |n| format!("src/a*/x_{n}/**"), "src/abc/y/**", true),
        ("**/file_N.rs", |n| format!("**/file_{n}.rs"), "**/file_x.rs", true),
        ("**/file_N.rs", |n| format!("**/file_{n}.rs"), "src/**/file_77.rs", true),
        ("**/file_N*.rs", |n| format!("**/file_{n}*.rs"), "**/other*.rs", true),
        ("src/*_N/**", |n| format!("src/*_{n}/**"), "src/*_x/**", true),
        ("a/b/c/d/e/f/g/x_N/**", |n| format!("a/b/c/d/e/f/g/x_{n}/**"), "a/b/c/d/e/f/g/y/**", true),
        ("a/b/c/d/e/f/g/x_N/**", |n| format!("a/b/c/d/e/f/g/x_{n}/**"), "a/b/c/d/e/f/g/**", false),
        ("x_N.spec.ts", |n| format!("src/x_{n}.spec.ts"), "**/*.test.ts", true),
        ("src/**/x_N/**/y", |n| format!("src/**/x_{n}/**/y"), "src/z/w/y", true),
    ];
    for (name, held, wanted_text, relevant) in shapes {
        let index = index((0..10_000).map(held));
        let wanted = pattern(wanted_text);
        const ROUNDS: u32 = 200;
        let mut times: Vec<Duration> = (0..ROUNDS)
            .map(|_| {
                let began = Instant::now();
                std::hint::black_box(index.meeting(&wanted, |_| relevant).count());
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        let count = index.meeting(&wanted, |_| relevant).count();
        let (median, high) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        eprintln!("{name:>22} ? {wanted_text:<40} found {count:>5}  median {median:>9.1?}  p99 {high:>9.1?}");
        assert!(median < Duration::from_micros(100), "{name} against {wanted_text} took {median:?}");
    }
}
