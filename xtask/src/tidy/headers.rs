//! Every Rust module opens with `//!`: what it is for and what it deliberately does not do.

use super::Violation;
use super::house::House;

/// Finds modules that do not say what they are for.
pub fn check(house: &House) -> Vec<Violation> {
    house
        .rust()
        .iter()
        .filter(|file| !is_build_script(&file.path) && !file.text.starts_with("//!"))
        .map(|file| Violation::new(&file.path, 1, "the module does not open with `//!`, say there what it is for"))
        .collect()
}

fn is_build_script(path: &str) -> bool {
    path.rsplit('/').next() == Some("build.rs")
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn a_module_without_a_header_is_found() {
        let files = [("a.rs", "//! Says why.\n"), ("b.rs", "\n//! Too late.\n"), ("c.rs", "// No.\n"), ("d.rs", "")];
        assert_eq!(places(check, &files), ["b.rs:1", "c.rs:1", "d.rs:1"]);
    }

    #[test]
    fn a_build_script_needs_none() {
        assert!(places(check, &[("crates/cli/build.rs", "fn main() {}")]).is_empty());
    }
}
