//! Every engine of `crates/store` runs the promises of `crates/mail/src/contract`.
//!
//! An engine whose tests forget the macro would never fail. The macro itself has every promise.

use super::Violation;
use super::house::{House, RustFile};
use super::source::tokens;

const CONTRACT: &str = "crates/mail/src/contract.rs";
const ENGINES: &str = "crates/store/src/";
const ENGINE_TESTS: &str = "crates/store/tests/contract.rs";
/// A folder of the store is an engine when it is one of these; others hold what engines share.
const KNOWN_ENGINES: [&str; 2] = ["sqlite", "postgres"];

/// Finds engines that were forgotten. Until the contract exists there is nothing to check.
pub fn check(house: &House) -> Vec<Violation> {
    if !house.has(CONTRACT) {
        return Vec::new();
    }
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
        format!(
            "the engine `{engine}` does not run the contract, add `mod {engine} {{ testing::store_contract!(…); }}`"
        )
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

    const TESTS: &str = "mod sqlite { testing::store_contract!(super::fresh::sqlite); }\nmod postgres { }\n";

    #[test]
    fn an_engine_that_forgets_the_macro_is_found() {
        let tree = |tests, engine| [(CONTRACT, ""), (ENGINE_TESTS, tests), (engine, "")];
        let found = |tests, engine| places(check, &tree(tests, engine));
        assert!(found(TESTS, "crates/store/src/sqlite/messages.rs").is_empty());
        assert_eq!(found(TESTS, "crates/store/src/postgres/pool.rs"), [format!("{ENGINE_TESTS}:1")]);
        assert_eq!(found("", "crates/store/src/sqlite.rs"), [format!("{ENGINE_TESTS}:1")]);
    }

    #[test]
    fn missing_tests_are_found_and_no_contract_is_fine() {
        assert_eq!(places(check, &[(CONTRACT, "")]), [format!("{ENGINE_TESTS}:1")]);
        assert!(places(check, &[("crates/store/src/sqlite/messages.rs", "")]).is_empty());
    }
}
