//! Nothing is left half done: no `todo!`, no test ignored without a reason, no bare `unwrap` outside tests.
//!
//! The suites of stores and providers are test code that lies in a library, so they may unwrap.

use super::Violation;
use super::house::{House, RustFile};
use super::source::{has_word, tokens};

const SUITES: [&str; 2] = ["crates/mail/src/contract", "crates/mail/src/provider/suite"];

/// Finds what was left for later.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in house.rust() {
        for (line, code) in file.source.code_lines() {
            for name in ["todo", "unimplemented"].iter().filter(|name| has_word(code, name, "!")) {
                found.push(Violation::new(&file.path, line, format!("`{name}!` is left, write what is missing")));
            }
        }
        for line in lines_with(file, &["#", "[", "ignore", "]"]) {
            let what = "a test is ignored without a reason, write `#[ignore = \"why\"]` or run it";
            found.push(Violation::new(&file.path, line, what));
        }
        if may_not_unwrap(file) {
            let lines = lines_with(file, &[".", "unwrap", "(", ")"]);
            for line in lines.into_iter().filter(|line| !file.is_test_line(*line)) {
                let what = "a bare `unwrap`, return the error or say `expect(\"why this cannot fail\")`";
                found.push(Violation::new(&file.path, line, what));
            }
        }
    }
    found
}

fn may_not_unwrap(file: &RustFile) -> bool {
    file.room().is_some() && !SUITES.iter().any(|suite| file.path.starts_with(suite))
}

/// The lines on which this run of tokens ends, wherever the formatter broke it.
fn lines_with(file: &RustFile, wanted: &[&str]) -> Vec<usize> {
    let all: Vec<(usize, &str)> = tokens(&file.source.code).collect();
    let hits = all.windows(wanted.len()).filter(|run| run.iter().map(|(_, token)| token).eq(wanted));
    hits.filter_map(|run| run.last()).map(|(line, _)| *line).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn what_is_left_for_later_is_found_everywhere() {
        let source = "fn a() { todo!() }\nfn b() { unimplemented!(\"x\") }\n#[test]\n#[ignore]\nfn c() {}\n";
        assert_eq!(
            places(check, &[("bench/tests/a.rs", source)]),
            [1, 2, 4].map(|line| format!("bench/tests/a.rs:{line}"))
        );
    }

    #[test]
    fn a_bare_unwrap_in_a_library_is_found() {
        let source = "fn a() { b().unwrap() }\nfn c() {\n    d()\n        .unwrap();\n}\n";
        let path = "crates/cli/src/a.rs";
        assert_eq!(places(check, &[(path, source)]), [1, 4].map(|line| format!("{path}:{line}")));
    }

    #[test]
    fn finished_code_passes() {
        let source = "fn a() { b().expect(\"why\"); c().unwrap_or(1); \"todo!() .unwrap()\"; }\n#[ignore = \"slow\"]\nfn d() {}\n\
                      #[cfg(test)]\nmod tests { fn e() { f().unwrap() } }";
        let unwrapping = "fn a() { b().unwrap() }";
        let files = [
            ("crates/mail/src/a.rs", source),
            ("crates/mail/src/a/tests.rs", unwrapping),
            ("crates/mail/src/contract.rs", unwrapping),
            ("crates/mail/src/contract/messages.rs", unwrapping),
            ("crates/mail/tests/a.rs", unwrapping),
        ];
        assert!(places(check, &files).is_empty());
    }
}
