//! The papers that a visitor looks for first are there, and the one command of the build machine can be run.

use super::Violation;
use super::house::House;

const PAPERS: [&str; 6] =
    ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE", BUILD_COMMAND];
const BUILD_COMMAND: &str = ".ci/run";

/// Finds which of them are missing.
pub fn check(house: &House) -> Vec<Violation> {
    let missing = PAPERS.iter().filter(|path| !house.has(path));
    let mut found: Vec<Violation> =
        missing.map(|path| Violation::new(path, 1, "the file is missing, write it")).collect();
    if house.has(BUILD_COMMAND) && !is_executable(house) {
        found.push(Violation::new(BUILD_COMMAND, 1, "the file cannot be run, set its executable bit"));
    }
    found
}

#[cfg(unix)]
fn is_executable(house: &House) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(house.root().join(BUILD_COMMAND));
    metadata.is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_house: &House) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::super::made_up::house;
    use super::*;

    fn problems(files: &[(&str, &str)], executable: bool) -> Vec<String> {
        let house = house(files);
        #[cfg(unix)]
        if executable {
            use std::os::unix::fs::PermissionsExt as _;
            let command = house.root().join(BUILD_COMMAND);
            std::fs::set_permissions(command, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        check(&house).into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn a_missing_paper_is_found() {
        let all = PAPERS.map(|path| (path, ""));
        assert!(problems(&all, true).is_empty());
        assert_eq!(problems(&all[1..], true), ["README.md"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_build_command_that_cannot_be_run_is_found() {
        assert_eq!(problems(&PAPERS.map(|path| (path, "")), false), [BUILD_COMMAND]);
    }
}
