//! No Rust file is longer than 400 lines, and no function longer than 60.
//!
//! Tests count like everything else: a file that grows with its tests moves them to `tests.rs`.

use super::Violation;
use super::house::House;

const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 60;

/// Finds what is too long.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in house.rust() {
        let lines = file.source.lines;
        if lines > LONGEST_FILE {
            let what = format!("the file has {lines} lines of at most {LONGEST_FILE}, split it by subject");
            found.push(Violation::new(&file.path, LONGEST_FILE + 1, what));
        }
        for function in file.source.functions().iter().filter(|function| function.lines > LONGEST_FUNCTION) {
            let (name, lines) = (&function.name, function.lines);
            let what = format!("`{name}` has {lines} lines of at most {LONGEST_FUNCTION}, name its parts as functions");
            found.push(Violation::new(&file.path, function.line, what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn a_file_may_have_400_lines_and_not_one_more() {
        let (fits, too_long) = ("\n".repeat(400), "\n".repeat(401));
        assert!(places(check, &[("a.rs", &fits), ("long.md", &too_long)]).is_empty());
        assert_eq!(places(check, &[("a.rs", &too_long)]), ["a.rs:401"]);
    }

    #[test]
    fn a_function_may_have_60_lines_and_not_one_more() {
        let function = |lines: usize| format!("\nfn f() {{\n{}}}\n", "let brace = '}';\n".repeat(lines - 2));
        assert!(places(check, &[("a.rs", &function(60))]).is_empty());
        assert_eq!(places(check, &[("a.rs", &function(61))]), ["a.rs:2"]);
    }
}
