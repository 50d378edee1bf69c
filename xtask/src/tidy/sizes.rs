//! No file of code is longer than 400 lines, no function longer than 60, and no line of a page longer than 160 characters.
//!
//! Rust, the templates of pages, scripts and style sheets count; how wide Rust is, rustfmt decides.
//! Tests count like everything else: a file that grows with its tests moves them to `tests.rs`.

use super::Violation;
use super::house::House;

const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 60;
const WIDEST_LINE: usize = 160;
/// What pages are made of.
const PAGE_FILES: [&str; 3] = [".html", ".css", ".js"];

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
    for path in
        house.files().filter(|path| path.starts_with("crates/") && PAGE_FILES.iter().any(|end| path.ends_with(end)))
    {
        let text = house.text(path).unwrap_or_default();
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            let what = format!("the file has {lines} lines of at most {LONGEST_FILE}, split it by subject");
            found.push(Violation::new(path, LONGEST_FILE + 1, what));
        }
        for (number, line) in (1..).zip(text.lines()) {
            let width = line.chars().count();
            if width > WIDEST_LINE {
                let what = format!("the line has {width} characters of at most {WIDEST_LINE}, break it");
                found.push(Violation::new(path, number, what));
            }
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

    #[test]
    fn a_line_of_a_page_may_have_160_characters_and_not_one_more() {
        let (fits, too_wide) = ("ä".repeat(160), format!("\n{}", "ä".repeat(161)));
        assert!(places(check, &[("crates/a/x.html", &fits), ("docs/x.html", &too_wide)]).is_empty());
        assert_eq!(places(check, &[("crates/a/x.css", &too_wide)]), ["crates/a/x.css:2"]);
    }
}
