//! Every promise of `crates/mail/src/contract` is run on every engine of `crates/store`.
//!
//! A suite function that the macro forgets, or an engine that forgets the macro, would never fail. The macro may list
//! promises in parts, each a macro of its own whose name begins like the macro's: a part that the macro does not call lists
//! nothing. Until the contract exists there is nothing to check.

use std::collections::HashSet;

use super::Violation;
use super::house::{House, RustFile};
use super::source::tokens;

const MACRO_FILE: &str = "crates/mail/src/contract.rs";
const PARTS: &str = "store_contract_";
const SUITES: &str = "crates/mail/src/contract/";
const ENGINES: &str = "crates/store/src/";
const ENGINE_TESTS: &str = "crates/store/tests/contract.rs";
/// A folder of the store is an engine when it is one of these; others hold what engines share.
const KNOWN_ENGINES: [&str; 2] = ["sqlite", "postgres"];

/// Finds promises and engines that were forgotten.
pub fn check(house: &House) -> Vec<Violation> {
    let Some(macro_file) = house.rust_file(MACRO_FILE) else { return Vec::new() };
    let mut found = forgotten_promises(house, macro_file);
    found.extend(forgotten_engines(house));
    found
}

fn forgotten_promises(house: &House, macro_file: &RustFile) -> Vec<Violation> {
    let Some(listed) = block_after(macro_file, &["macro_rules", "!", "store_contract", "{"]) else {
        return vec![Violation::new(
            MACRO_FILE,
            1,
            "`macro_rules! store_contract` is missing, list every promise in it",
        )];
    };
    let suites: Vec<&RustFile> = house.rust().iter().filter(|file| file.path.starts_with(SUITES)).collect();
    let parts = listed.windows(2).filter(|run| run[0].starts_with(PARTS) && run[1] == "!").map(|run| run[0]);
    let parts = parts.flat_map(|part| {
        suites.iter().filter_map(move |file| block_after(file, &["macro_rules", "!", part, "{"])).flatten()
    });
    let listed: Vec<&str> = listed.iter().copied().chain(parts).collect();
    let listed = listed_promises(&listed);
    let mut found = Vec::new();
    for suite in suites {
        let noun = suite.path[SUITES.len()..].trim_end_matches(".rs");
        for (line, function) in promises(suite) {
            if !listed.contains(&(noun, function)) {
                let what = format!("no engine runs `{noun}::{function}`, list it in `store_contract!` of {MACRO_FILE}");
                found.push(Violation::new(&suite.path, line, what));
            }
        }
    }
    found
}

/// Each noun with each of its promises, from `noun::promise` and from `noun: [promise, …]`.
fn listed_promises<'a>(tokens: &[&'a str]) -> HashSet<(&'a str, &'a str)> {
    let mut listed = HashSet::new();
    let mut group = None;
    for (index, token) in tokens.iter().enumerate() {
        match (*token, &tokens[..index]) {
            ("[", [.., noun, ":"]) => group = Some(*noun),
            ("]", _) => group = None,
            (promise, [.., noun, ":", ":"]) => _ = listed.insert((*noun, promise)),
            (promise, _) => _ = group.map(|noun| listed.insert((noun, promise))),
        }
    }
    listed
}

/// The functions that are `pub async fn`, with their lines.
fn promises(suite: &RustFile) -> Vec<(usize, &str)> {
    let all: Vec<(usize, &str)> = tokens(&suite.source.code).collect();
    let public = all.windows(4).filter(|run| run[0].1 == "pub" && run[1].1 == "async" && run[2].1 == "fn");
    public.map(|run| run[3]).collect()
}

fn forgotten_engines(house: &House) -> Vec<Violation> {
    let engines = KNOWN_ENGINES.iter().filter(|engine| {
        let (folder, file) = (format!("{ENGINES}{engine}/"), format!("{ENGINES}{engine}.rs"));
        house.files().any(|path| path.starts_with(&folder) || path == file)
    });
    let tests = house.rust_file(ENGINE_TESTS);
    if tests.is_none() {
        return vec![Violation::new(ENGINE_TESTS, 1, "the file is missing, run the contract on every engine there")];
    }
    let runs = |engine: &str| {
        let block = tests.and_then(|tests| block_after(tests, &["mod", engine, "{"]));
        block.is_some_and(|block| block.windows(2).any(|run| run == ["store_contract", "!"]))
    };
    let forgotten = engines.filter(|engine| !runs(engine));
    let what = |engine: &str| {
        format!("the engine `{engine}` does not run the contract, add `mod {engine} {{ mail::store_contract!(…); }}`")
    };
    forgotten.map(|engine| Violation::new(ENGINE_TESTS, 1, what(engine))).collect()
}

/// The tokens from behind `opening`, which ends in a brace, to the brace that closes it.
fn block_after<'a>(file: &'a RustFile, opening: &[&str]) -> Option<Vec<&'a str>> {
    let all: Vec<&str> = tokens(&file.source.code).map(|(_, token)| token).collect();
    let start = all.windows(opening.len()).position(|run| run == opening)? + opening.len();
    let mut depth = 1_usize;
    let inside = all[start..].iter().take_while(|token| {
        match **token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        depth > 0
    });
    Some(inside.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    const MACRO: &str = "#[macro_export]\nmacro_rules! store_contract {\n ($fresh:path) => {\n \
                         promise!(messages::a_message_is_kept, $fresh);\n all! { agents: [an_agent_is_known, other] } } }\n\
                         // messages::only_in_a_comment\n";
    const MESSAGES: &str = "pub async fn a_message_is_kept() {}\nasync fn part() {}\npub(super) async fn other() {}\n";
    const TESTS: &str = "mod sqlite { mail::store_contract!(super::fresh::sqlite); }\nmod postgres { }\n";

    fn tree<'a>(messages: &'a str, tests: &'a str, engine: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            (MACRO_FILE, MACRO),
            ("crates/mail/src/contract/messages.rs", messages),
            ("crates/mail/src/contract/agents.rs", "pub async fn an_agent_is_known() {}"),
            (ENGINE_TESTS, tests),
            (engine, ""),
        ]
    }

    #[test]
    fn a_contract_that_every_engine_runs_passes() {
        assert!(places(check, &tree(MESSAGES, TESTS, "crates/store/src/sqlite/messages.rs")).is_empty());
    }

    #[test]
    fn a_promise_that_the_macro_forgets_is_found() {
        let messages = "pub async fn a_message_is_kept() {}\npub async fn an_agent_is_known() {}\n\
                        pub async fn a_message() {}\npub async fn only_in_a_comment() {}\n";
        let found = places(check, &tree(messages, TESTS, "crates/store/src/sqlite.rs"));
        assert_eq!(found, [2, 3, 4].map(|line| format!("crates/mail/src/contract/messages.rs:{line}")));
    }

    #[test]
    fn a_part_lists_promises_if_the_macro_calls_it() {
        let part =
            "//! Made up.\nmacro_rules! store_contract_of_mail { () => { all! { agents: [an_agent_is_known] } } }";
        let places_with = |listed: &str| {
            let listed = format!("macro_rules! store_contract {{ ($fresh:path) => {{ {listed} }} }}");
            let tree = [
                (MACRO_FILE, listed.as_str()),
                ("crates/mail/src/contract/agents.rs", "pub async fn an_agent_is_known() {}"),
                ("crates/mail/src/contract/listed/mail.rs", part),
                (ENGINE_TESTS, TESTS),
            ];
            places(check, &tree)
        };
        assert!(places_with("$crate::store_contract_of_mail! {}").is_empty());
        let forgotten = ["crates/mail/src/contract/agents.rs:1"];
        assert_eq!(places_with("$crate::store_contract_of_work! {}"), forgotten);
        assert_eq!(places_with("store_contract_of_mail"), forgotten, "what is not called");
    }

    #[test]
    fn an_engine_that_forgets_the_macro_is_found() {
        let expected = [format!("{ENGINE_TESTS}:1")];
        assert_eq!(places(check, &tree(MESSAGES, TESTS, "crates/store/src/postgres/pool.rs")), expected);
        assert_eq!(places(check, &tree(MESSAGES, "", "crates/store/src/sqlite/pool.rs")), expected);
    }

    #[test]
    fn a_missing_half_is_found_and_no_contract_is_fine() {
        let expected = [MACRO_FILE, ENGINE_TESTS].map(|path| format!("{path}:1"));
        assert_eq!(places(check, &[(MACRO_FILE, "//! Made up.")]), expected);
        assert!(places(check, &[("crates/store/src/sqlite/messages.rs", "")]).is_empty());
    }
}
