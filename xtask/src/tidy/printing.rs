//! Only the terminal prints, and only it reads the environment: `crates/cli`, with these commands and the benchmarks.
//!
//! A library that printed would spoil a protocol on standard output; one that read the environment could not be tested
//! twice in one process. Tests may read the environment, for that is how they learn what the machine offers.

use super::Violation;
use super::house::{House, RustFile};
use super::source::has_word;

const PRINTING: [&str; 5] = ["println", "eprintln", "print", "eprint", "dbg"];

/// Finds printing and reading of the environment where neither belongs.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in house.rust().iter().filter(|file| !is_terminal(file)) {
        for (line, code) in file.source.code_lines() {
            for name in PRINTING.iter().filter(|name| has_word(code, name, "!")) {
                let what = format!("`{name}!` outside crates/cli, return the text or trace it");
                found.push(Violation::new(&file.path, line, what));
            }
            if reads_environment(code) && !file.is_test_line(line) {
                let what = "the environment is read outside crates/cli, take the value as a parameter";
                found.push(Violation::new(&file.path, line, what));
            }
        }
    }
    found
}

fn is_terminal(file: &RustFile) -> bool {
    // A build script speaks to cargo by printing.
    let is_build_script = file.path.rsplit('/').next() == Some("build.rs");
    is_build_script || ["crates/cli/", "xtask/", "bench/"].iter().any(|room| file.path.starts_with(room))
}

/// `std::env`, or `env::…` after a `use`; the macro `env!` is read at build time and passes.
fn reads_environment(code: &str) -> bool {
    has_word(code, "env", "::") || has_word(code, "std::env", "")
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn printing_in_a_library_is_found_in_its_tests_too() {
        let source =
            "fn f() { println!(\"a\") }\nfn g() { dbg!(1); }\n#[cfg(test)]\nmod tests { fn h() { eprint!(\"\") } }";
        let path = "crates/mail/src/a.rs";
        assert_eq!(places(check, &[(path, source)]), [1, 2, 4].map(|line| format!("{path}:{line}")));
    }

    #[test]
    fn reading_the_environment_in_a_library_is_found() {
        let source = "use std::env;\nfn f() { std::env::var(\"A\"); }\nfn g() { env::args(); }\n";
        let path = "crates/server/src/a.rs";
        assert_eq!(places(check, &[(path, source)]), [1, 2, 3].map(|line| format!("{path}:{line}")));
    }

    #[test]
    fn both_pass_where_they_belong() {
        let source = "fn f() { println!(\"a\"); std::env::args(); }";
        let reading = "fn f() { std::env::var(\"A\"); } // println!()\n";
        let files = [
            ("crates/cli/src/a.rs", source),
            ("xtask/src/a.rs", source),
            ("bench/src/a.rs", source),
            ("crates/cli/build.rs", source),
            ("crates/mail/tests/a.rs", reading),
            ("crates/mail/src/a.rs", "const V: &str = env!(\"V\"); fn pretty_print() { \"println!()\" }"),
        ];
        assert!(places(check, &files).is_empty());
    }
}
