//! The promises of patterns: tables of tricky cases, and comparisons with brute force and with `globset`.

use proptest::prelude::*;

use super::segment::CharSet;
use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(text: &str) -> PatternProblem {
    Pattern::parse(text).expect_err(text).problem
}

#[test]
fn a_pattern_is_put_in_order() {
    for (text, ordered) in [
        ("./src//lib.rs", "src/lib.rs"),
        ("src/./lib.rs", "src/lib.rs"),
        ("src/../lib.rs", "lib.rs"),
        ("a/b/../../c", "c"),
        ("src/", "src/**"),
        ("src/**/", "src/**"),
        ("src/**/**/x", "src/**/x"),
        (".", "**"),
        ("a/..", "**"),
        ("{a,b}//c", "{a,b}/c"),
        ("{a/,b}", "{a/,b}"),
        ("a\\*b", "a\\*b"),
    ] {
        assert_eq!(pattern(text).as_str(), ordered, "{text}");
        assert_eq!(pattern(ordered).alternatives, pattern(text).alternatives, "{text}");
    }
}

#[test]
fn a_text_that_is_no_pattern_is_refused_with_its_reason() {
    use PatternProblem as P;
    for (text, expected) in [
        ("", P::Empty),
        ("{,}", P::Empty),
        ("a\nb", P::ControlCharacter),
        ("/etc/passwd", P::Absolute),
        ("{/etc,a}", P::Absolute),
        ("../x", P::ClimbsOut),
        ("a/../../x", P::ClimbsOut),
        ("\\.\\./x", P::ClimbsOut),
        ("a/{b,../../c}", P::ClimbsOut),
        ("*/../x", P::ClimbsFromWildcard),
        ("**/..", P::ClimbsFromWildcard),
        ("{a,b}/..", P::ClimbsFromWildcard),
        ("[abc", P::Unclosed('[')),
        ("[]", P::Unclosed('[')),
        ("[a-", P::Unclosed('[')),
        ("[\\", P::Unclosed('[')),
        ("{a,b", P::Unclosed('{')),
        ("a}", P::Unopened),
        ("a\\", P::DanglingEscape),
        ("[z-a]", P::BackwardRange),
        ("[/]", P::EmptyClass),
        ("[!\0-\u{10FFFF}]", P::ControlCharacter),
        ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", P::TooComplex),
    ] {
        assert_eq!(problem(text), expected, "{text}");
    }
    assert_eq!(problem(&"{".repeat(200)), P::TooComplex);
    assert_eq!(problem(&"a".repeat(LONGEST + 1)), P::TooLong);
    assert_eq!(problem(&format!("{}/", "a".repeat(LONGEST - 1))), P::TooLong);
    assert!(Pattern::parse(&"a".repeat(LONGEST)).is_ok());
}

#[test]
fn a_refusal_names_the_text_and_the_reason() {
    let said = |text: &str| Pattern::parse(text).expect_err(text).to_string();
    assert_eq!(said("[abc"), "'[abc' has an unclosed '['");
    assert_eq!(said("../x"), "'../x' climbs out of the project");
    assert_eq!(said("a}"), "'a}' has a '}' without its '{'; write '\\}' for the character itself");
    assert!(said(&"é".repeat(5000)).len() < 400);
    assert!(!said("a\u{1b}[31m").contains('\u{1b}'));
}

#[test]
fn an_absolute_path_below_the_root_is_cut_and_any_other_refused() {
    let within = |text: &str| Pattern::parse_within("/home/me/app", text).map(|pattern| pattern.as_str().to_owned());
    assert_eq!(within("/home/me/app/src/**"), Ok("src/**".into()));
    assert_eq!(within("/home/me/app"), Ok("**".into()));
    assert_eq!(within("/home/me/app//"), Ok("**".into()));
    assert_eq!(within("src/lib.rs"), Ok("src/lib.rs".into()));
    for (text, expected) in [
        ("/home/me/apple/x", PatternProblem::Absolute),
        ("/home/me", PatternProblem::Absolute),
        ("/etc/passwd", PatternProblem::Absolute),
        ("/home/me/app/../secret", PatternProblem::ClimbsOut),
        ("", PatternProblem::Empty),
    ] {
        let error = Pattern::parse_within("/home/me/app", text).expect_err(text);
        assert_eq!((error.text.as_str(), error.problem), (text, expected));
    }
    assert_eq!(Pattern::parse_within("/", "/etc/x").unwrap().as_str(), "etc/x");
}

#[test]
fn a_pattern_matches_what_it_says() {
    for (text, matching, other) in [
        ("*.rs", "lib.rs", "src/lib.rs"),
        ("**/*.rs", "lib.rs", "lib.rc"),
        ("**/*.rs", "a/b/lib.rs", "a/b.rs/c"),
        ("src/**", "src/a/b", "src"),
        ("src/", "src/a", "srca"),
        ("**", "a", ""),
        ("a/**/b", "a/b", "ab"),
        ("a/**/b", "a/x/y/b", "a/x/y/c"),
        ("a**b", "axxb", "a/b"),
        ("***", "a", "a/b"),
        ("?", "é", "ab"),
        ("[a-c]x", "bx", "dx"),
        ("[!a-c]x", "dx", "ax"),
        ("[^a]", "b", "/"),
        ("[]a]", "]", "b"),
        ("[a-]", "-", "b"),
        ("[\\]]", "]", "\\"),
        ("x[!a]y", "xby", "x/y"),
        ("{a,b/c,{d,e}}.x", "e.x", "f.x"),
        ("{a,b/c}", "b/c", "b"),
        ("a{,b}", "a", "ac"),
        ("{*,a}*", "a", "a/b"),
        ("{[,],x}", ",", "["),
        ("a,b", "a,b", "a"),
        ("\\*", "*", "a"),
        ("Read.me", "Read.me", "read.me"),
        ("a*b*c", "axbxbc", "axbxb"),
    ] {
        assert!(pattern(text).matches(matching), "{text} takes {matching}");
        assert!(!pattern(text).matches(other), "{text} leaves {other}");
    }
    for not_a_path in ["", "/", "/a", "a/", "a//b"] {
        assert!(!pattern("**").matches(not_a_path), "{not_a_path}");
    }
}

#[test]
fn tricky_pairs_are_decided_exactly() {
    for (left, right, meets) in [
        ("src/*", "src/lib.rs", true),
        ("src/*", "src/a/b", false),
        ("src/**", "src", false),
        ("src/**", "**/lib.rs", true),
        ("src/**", "src/*", true),
        ("*.rs", "*.toml", false),
        ("a*", "*b", true),
        ("a*b", "a", false),
        ("ab*ba", "aba", false),
        ("?", "??", false),
        ("?*", "*?*", true),
        ("[a-m]*", "[n-z]*", false),
        ("[a-m]*", "*[n-z]", true),
        ("[!a]", "a", false),
        ("[!a]", "[!b]", true),
        ("[!a]", "[a]", false),
        ("**/a/**", "**/b/**", true),
        ("**/a", "**/b", false),
        ("a/**/b", "a/b", true),
        ("a/**/b/*", "a/b", false),
        ("*/*", "**/x", true),
        ("*/*", "a/*/b", false),
        ("a/**", "*/b", true),
        ("{a,b}/c", "{c,b}/*", true),
        ("{a,b}/c", "{c,d}/*", false),
        ("{a/b,c}", "a/*", true),
        ("src/", "src/deep/er.rs", true),
        ("\\*", "a", false),
        ("\\*", "*", true),
        ("Src/**", "src/**", false),
    ] {
        assert_eq!(pattern(left).may_meet(&pattern(right)), meets, "{left} and {right}");
        assert_eq!(pattern(right).may_meet(&pattern(left)), meets, "{right} and {left}");
    }
}

#[test]
fn a_hostile_pair_is_decided_in_time() {
    let left = pattern(&"*a".repeat(LONGEST / 2));
    let right = pattern(&"a?".repeat(LONGEST / 2));
    let deep = pattern(&format!("{}b", "**/a/".repeat(200)));
    let flat = pattern(&"a/".repeat(LONGEST / 2 - 2));
    let began = std::time::Instant::now();
    left.may_meet(&right);
    deep.may_meet(&flat);
    left.matches(&"a".repeat(LONGEST));
    // A search that grows with the power of the wildcards would not end in a lifetime.
    assert!(began.elapsed() < std::time::Duration::from_secs(5));
}

/// A path that both patterns match, found by walking through all pairs of positions.
fn witness(left: &Pattern, right: &Pattern) -> Option<String> {
    let pairs = left.alternatives.iter().flat_map(|l| right.alternatives.iter().map(move |r| (l, r)));
    pairs.into_iter().find_map(|(l, r)| {
        walk(l, r, Entry::is_wild, |a, b| match (a, b) {
            (Some(Step::One(a)), Some(Step::One(b))) => name(a, b),
            (Some(Step::One(one)), None) | (None, Some(Step::One(one))) => name(one, &[Atom::Star]),
            _ => None,
        })
        .map(|names| names.join("/"))
    })
}

fn name(left: &[Atom], right: &[Atom]) -> Option<String> {
    // No name is empty.
    let atoms =
        |segment: &[Atom]| if segment == [Atom::Star] { vec![Atom::AnyChar, Atom::Star] } else { segment.to_vec() };
    let is_star = |atom: &Atom| *atom == Atom::Star;
    walk(&atoms(left), &atoms(right), is_star, |a, b| match (a, b) {
        (Some(Atom::Char(c)), Some(other)) | (Some(other), Some(Atom::Char(c))) => match other {
            Atom::Class(set) => set.some_shared_char(&CharSet::new(&[(*c, *c)], false).ok()?),
            Atom::Char(d) => (c == d).then_some(*c),
            _ => Some(*c),
        },
        (Some(Atom::Class(a)), Some(Atom::Class(b))) => a.some_shared_char(b),
        (Some(Atom::Char(c)), None) | (None, Some(Atom::Char(c))) => Some(*c),
        (Some(Atom::Class(set)), _) | (_, Some(Atom::Class(set))) => Some(set.some_char()),
        _ => Some('q'),
    })
    .map(|chars| chars.into_iter().collect())
}

/// Walks breadth first from the start of both sequences to their ends and returns the items on the way.
///
/// `item` gives an item that both entries stand for; `None` in place of an entry is a wildcard.
fn walk<T, I: Clone>(
    left: &[T],
    right: &[T],
    is_wild: impl Fn(&T) -> bool,
    item: impl Fn(Option<&T>, Option<&T>) -> Option<I>,
) -> Option<Vec<I>> {
    let mut seen = vec![false; (left.len() + 1) * (right.len() + 1)];
    let mut queue = std::collections::VecDeque::from([(0, 0, Vec::new())]);
    while let Some((i, j, items)) = queue.pop_front() {
        if std::mem::replace(&mut seen[i * (right.len() + 1) + j], true) {
            continue;
        }
        if (i, j) == (left.len(), right.len()) {
            return Some(items);
        }
        let (l, r) = (left.get(i), right.get(j));
        let (l_wild, r_wild) = (l.is_some_and(&is_wild), r.is_some_and(&is_wild));
        let mut go = |to: (usize, usize), found: Option<I>| {
            let Some(found) = found else { return };
            let mut items = items.clone();
            items.push(found);
            queue.push_back((to.0, to.1, items));
        };
        match (l_wild, r_wild) {
            (true, false) if r.is_some() => go((i, j + 1), item(None, r)),
            (false, true) if l.is_some() => go((i + 1, j), item(l, None)),
            (false, false) if l.is_some() && r.is_some() => go((i + 1, j + 1), item(l, r)),
            _ => {}
        }
        if l_wild {
            queue.push_back((i + 1, j, items.clone()));
        }
        if r_wild {
            queue.push_back((i, j + 1, items));
        }
    }
    None
}

fn short_paths() -> impl Iterator<Item = String> {
    (1..=6_u32).flat_map(|length| {
        (0..3_u32.pow(length)).map(move |number| {
            (0..length).map(|place| char::from(b"ab/"[(number / 3_u32.pow(place) % 3) as usize])).collect()
        })
    })
}

fn small_pattern() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a", "b", "/", "/", "*", "?", "[ab]", "[!a]", "**", "**/", "/**", "/**/", "{a,b}", "{a/b,}", "{*,b/**}", "{,?}",
    ]);
    prop::collection::vec(piece, 1..7).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn patterns_meet_exactly_when_some_path_matches_both(left in small_pattern(), right in small_pattern()) {
        let (Ok(left), Ok(right)) = (Pattern::parse(&left), Pattern::parse(&right)) else { return Ok(()) };
        let meets = left.may_meet(&right);
        let shared = short_paths().find(|path| left.matches(path) && right.matches(path));
        prop_assert!(meets || shared.is_none(), "{left} and {right} share {shared:?}");
        let witness = witness(&left, &right);
        prop_assert_eq!(meets, witness.is_some(), "{} and {}: {:?}", left, right, witness);
        if let Some(path) = witness {
            prop_assert!(left.matches(&path) && right.matches(&path), "{left} and {right} both match {path}");
        }
    }

    #[test]
    fn any_text_is_read_or_refused_and_reads_the_same_again(text in "[ab*?{},/\\\\.!^\\-\\[\\]é ]{0,24}") {
        if let Ok(read) = Pattern::parse(&text) {
            let again = pattern(read.as_str());
            prop_assert_eq!(&read, &again);
            prop_assert_eq!(&read.alternatives, &again.alternatives);
        }
    }

    /// Where we differ on purpose: a trailing slash means what lies below, `.` and `..` are resolved, a star in a
    /// segment of its own takes no empty name (all three show only with slashes at odd places, so that segments here
    /// are never empty), `**` in braces, and a backslash escapes in a class too.
    #[test]
    fn matching_agrees_with_globset(
        segments in prop::collection::vec(
            prop::sample::select(vec!["a", "*", "**", "?b", "[ab]*", "a*b", "[!a]?", "{a,b}", "{aa,b*}", "*a*", "\\a"]),
            1..4,
        ),
    ) {
        let text = segments.join("/");
        let theirs = globset::GlobBuilder::new(&text)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .unwrap()
            .compile_matcher();
        let ours = pattern(&text);
        for path in short_paths() {
            if path.split('/').all(|name| !name.is_empty()) {
                prop_assert_eq!(ours.matches(&path), theirs.is_match(&path), "{} on {}", text, path);
            }
        }
    }
}
