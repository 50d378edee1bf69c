//! No module is named for being a drawer: `utils`, `common`, `helpers` and `types` collect what has no home.

use super::Violation;
use super::house::House;
use super::source::tokens;

const DRAWERS: [&str; 4] = ["utils", "common", "helpers", "types"];

/// Finds modules, as files, folders or inline, with such a name.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in house.rust() {
        let parts = file.path.trim_end_matches(".rs").split('/');
        if let Some(name) = parts.into_iter().find(|part| DRAWERS.contains(part)) {
            found.push(violation(&file.path, 1, name));
        }
        let mut previous = "";
        let mut declared = Vec::new();
        for (line, token) in tokens(&file.source.code) {
            match token {
                // The file behind `mod utils;` is found by its own name.
                "{" => found.extend(declared.drain(..).map(|(line, name)| violation(&file.path, line, name))),
                name if previous == "mod" && DRAWERS.contains(&name) => declared.push((line, name)),
                _ => declared.clear(),
            }
            previous = token;
        }
    }
    found
}

fn violation(path: &str, line: usize, name: &str) -> Violation {
    Violation::new(path, line, format!("a module named `{name}` says nothing, name it after its one subject"))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn a_drawer_is_found_as_file_folder_and_inline() {
        let files = [
            ("a.rs", "mod fine {}\nmod helpers {\n}\n"),
            ("crates/mail/src/utils.rs", ""),
            ("crates/mail/tests/common/mod.rs", ""),
            ("crates/mail/src/types/ids.rs", ""),
        ];
        let expected = [
            "a.rs:2",
            "crates/mail/src/types/ids.rs:1",
            "crates/mail/src/utils.rs:1",
            "crates/mail/tests/common/mod.rs:1",
        ];
        assert_eq!(places(check, &files), expected);
    }

    #[test]
    fn names_that_only_contain_such_a_word_pass() {
        let files = [("common_mark.rs", "mod types_of_mail {}\nuse utils::x; // mod utils {"), ("common.md", "")];
        assert!(places(check, &files).is_empty());
    }
}
