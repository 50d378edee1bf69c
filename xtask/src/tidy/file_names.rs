//! A file name that stands in three crates or more is a noun of the post office, and means that noun in each of them.
//!
//! Everything else is named after what it is about, so that a name finds one file, or two.

use std::collections::{BTreeMap, BTreeSet};

use super::Violation;
use super::house::House;

/// What every crate calls by the same name.
const NOUNS: [&str; 19] = [
    "agents",
    "channels",
    "events",
    "mailboxes",
    "messages",
    "overview",
    "presence",
    "projects",
    "rate_limit",
    "reservations",
    "roles",
    "search",
    "sessions",
    "threads",
    "transfer",
    "wake_ups",
    "watches",
    "work",
    "nats",
];
/// Names that Cargo and the compiler give.
const GIVEN: [&str; 4] = ["lib", "main", "mod", "tests"];
const MOST_CRATES: usize = 2;

/// Finds files whose name means several things.
pub fn check(house: &House) -> Vec<Violation> {
    let mut named: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in house.rust().iter().filter(|file| !file.is_test) {
        let Some(room) = file.room() else { continue };
        let name = file.path.rsplit('/').next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
        // The promises of a noun lie in a folder of their own.
        if !GIVEN.contains(&name) && !NOUNS.contains(&name) && !file.path.contains("/contract/") {
            named.entry(name).or_default().push((room, &file.path));
        }
    }
    let mut found = Vec::new();
    for (name, places) in named {
        let rooms: BTreeSet<&str> = places.iter().map(|(room, _)| *room).collect();
        if rooms.len() > MOST_CRATES {
            let rooms = rooms.into_iter().collect::<Vec<_>>().join(", ");
            let what = format!("`{name}.rs` stands in {rooms} and is no noun of all: name each file after its subject");
            found.extend(places.iter().map(|(_, path)| Violation::new(path, 1, what.clone())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn a_noun_may_stand_everywhere_and_another_name_in_two_crates() {
        let files = [
            ("crates/mail/src/agents.rs", ""),
            ("crates/store/src/agents.rs", ""),
            ("crates/server/src/web/agents.rs", ""),
            ("crates/mail/src/text.rs", ""),
            ("crates/cli/src/text.rs", ""),
        ];
        assert!(places(check, &files).is_empty());
    }

    #[test]
    fn a_name_in_three_crates_is_found_in_each() {
        let files = [
            ("crates/mail/src/text.rs", ""),
            ("crates/cli/src/output/text.rs", ""),
            ("crates/server/src/web/text.rs", ""),
            ("crates/server/src/web/tests.rs", ""),
        ];
        let expected =
            ["crates/cli/src/output/text.rs:1", "crates/mail/src/text.rs:1", "crates/server/src/web/text.rs:1"];
        assert_eq!(places(check, &files), expected);
    }
}
