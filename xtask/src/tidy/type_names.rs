//! A type name stands in at most two crates: the third reader has to guess which of them is meant.
//!
//! What is counted is what is declared in `crates/*/src` outside of tests. Associated types belong to their trait and are
//! not counted.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::house::House;
use super::source::tokens;

const MOST_CRATES: usize = 2;

/// Finds names that too many crates declare.
pub fn check(house: &House) -> Vec<Violation> {
    let mut declared: BTreeMap<&str, Vec<(&str, &str, usize)>> = BTreeMap::new();
    for file in house.rust() {
        let Some(room) = file.room() else { continue };
        let at_margin: BTreeSet<usize> =
            file.source.code_lines().filter(|(_, text)| !text.starts_with(' ')).map(|(line, _)| line).collect();
        let mut previous = "";
        for (line, token) in tokens(&file.source.code) {
            let is_type = ["struct", "enum", "trait", "union"].contains(&previous)
                || previous == "type" && at_margin.contains(&line);
            if is_type && token.starts_with(|first: char| first.is_ascii_uppercase()) && !file.is_test_line(line) {
                declared.entry(token).or_default().push((room, &file.path, line));
            }
            previous = token;
        }
    }
    declared.iter().flat_map(|(name, places)| violations(name, places)).collect()
}

fn violations(name: &str, places: &[(&str, &str, usize)]) -> Vec<Violation> {
    let rooms: BTreeSet<&str> = places.iter().map(|(room, ..)| *room).collect();
    if rooms.len() <= MOST_CRATES {
        return Vec::new();
    }
    let rooms = rooms.into_iter().collect::<Vec<_>>().join(", ");
    let what =
        format!("`{name}` is a type of {rooms}: give each the name of what it is, at most two crates may share one");
    places.iter().map(|(_, path, line)| Violation::new(path, *line, what.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn two_crates_may_share_a_name_and_three_may_not() {
        let [a, b, c] = ["mail", "store", "cli"].map(|room| format!("crates/{room}/src/lib.rs"));
        let two = [(a.as_str(), "pub struct Page;"), (b.as_str(), "enum Page {}")];
        assert!(places(check, &two).is_empty());
        let three = [two[0], two[1], (c.as_str(), "\nfn f() {\n    struct Page;\n}\n")];
        let expected = ["crates/cli/src/lib.rs:3", "crates/mail/src/lib.rs:1", "crates/store/src/lib.rs:1"];
        assert_eq!(places(check, &three), expected);
    }

    #[test]
    fn associated_types_and_tests_do_not_count() {
        let files = [
            ("crates/mail/src/a.rs", "type Answer = i32;"),
            ("crates/store/src/a.rs", "trait T {\n    type Answer;\n}"),
            ("crates/cli/src/a.rs", "#[cfg(test)]\nmod tests {\n    struct Answer;\n}"),
            ("crates/mcp/tests/a.rs", "struct Answer;"),
            ("crates/relay/src/a.rs", "struct Answer;"),
        ];
        assert!(places(check, &files).is_empty());
    }
}
