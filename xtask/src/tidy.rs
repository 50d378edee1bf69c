//! The rules of the house that a machine can check, each in a file of its own.
//!
//! A check reads and reports; it repairs nothing. Each violation says where, what is wrong, and what to do.

mod contract;
mod file_names;
mod fixtures;
mod headers;
mod house;
mod licences;
mod machine;
#[cfg(test)]
mod made_up;
mod names;
mod papers;
mod printing;
mod rooms;
mod sizes;
mod source;
mod sql;
mod type_names;
mod unfinished;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use house::House;

/// One broken rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl Violation {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

const CHECKS: [fn(&House) -> Vec<Violation>; 14] = [
    contract::check,
    file_names::check,
    fixtures::check,
    headers::check,
    licences::check,
    machine::check,
    names::check,
    papers::check,
    printing::check,
    rooms::check,
    sizes::check,
    sql::check,
    type_names::check,
    unfinished::check,
];

/// Prints every violation in the repository at `root`; fails when there is one.
pub fn run(root: &Path) -> Result<()> {
    let house = House::open(root)?;
    let violations = violations(&house);
    for violation in &violations {
        println!("{violation}");
    }
    match violations.len() {
        0 => Ok(()),
        1 => bail!("the house has 1 violation"),
        count => bail!("the house has {count} violations"),
    }
}

/// Every violation, in the order of the files.
fn violations(house: &House) -> Vec<Violation> {
    let mut found: Vec<Violation> = CHECKS.iter().flat_map(|check| check(house)).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::made_up::house;
    use super::*;

    #[test]
    fn a_violation_reads_as_place_and_advice() {
        let violation = Violation::new("a.rs", 3, "too long, split it");
        assert_eq!(violation.to_string(), "a.rs:3: too long, split it");
    }

    #[test]
    fn every_check_of_this_folder_is_run() {
        let declared = include_str!("tidy.rs").lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        let reading = ["house", "made_up", "source"];
        let checks = declared.filter(|name| !reading.contains(name)).count();
        assert_eq!(checks, CHECKS.len());
    }

    #[test]
    fn violations_of_different_checks_come_in_the_order_of_the_files() {
        let house = house(&[("b.rs", "fn a() {}"), ("a/utils.rs", "//! Made up.\n")]);
        let paths: Vec<String> = violations(&house).into_iter().map(|violation| violation.path).collect();
        assert!(paths.is_sorted());
        assert!(paths.contains(&"a/utils.rs".to_owned()) && paths.contains(&"b.rs".to_owned()));
    }
}
