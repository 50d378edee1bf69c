//! No file names a folder of the machine it was written on, or a package host that only some machines can reach.
//!
//! Files that are not text are left out. The index address that cargo writes into `Cargo.lock` is none of these.

use super::Violation;
use super::house::House;

/// Spelled in two halves, so that this file does not find itself.
const FOLDERS: [&str; 2] = [concat!("/ro", "ot/"), concat!("/wo", "rk/")];
const HOSTS: [&str; 4] = [
    concat!("crates.io", "/api"),
    concat!("registry.", "npmjs"),
    concat!("deb.debian", ".org"),
    concat!("pypi", ".org/"),
];

/// Finds such paths and hosts.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for path in house.files() {
        let Some(text) = house.text(path) else { continue };
        for (index, line) in text.lines().enumerate() {
            for name in FOLDERS.iter().filter(|name| has_folder(line, name)) {
                let what =
                    format!("`{name}` is a folder of one machine, use a path from the repository or a made-up one");
                found.push(Violation::new(path, index + 1, what));
            }
            for name in HOSTS.iter().filter(|name| line.contains(**name)) {
                let what = format!("`{name}` is a package host, leave the choice to the tool's own settings");
                found.push(Violation::new(path, index + 1, what));
            }
        }
    }
    found
}

/// Whether `folder` stands in `line` as the start of a path, not as a part of a longer one or of our own addresses.
fn has_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = &line[..at];
        let goes_on = before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || "_-.~}".contains(c));
        !goes_on && !before.ends_with("resource:/")
    })
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn a_folder_of_a_machine_is_found_in_any_text() {
        for folder in FOLDERS {
            let text = format!("fine\nsee {folder}main\nfile://{folder}x\n");
            assert_eq!(places(check, &[("docs/a.md", &text)]), ["docs/a.md:2", "docs/a.md:3"]);
        }
    }

    #[test]
    fn a_package_host_is_found() {
        for host in HOSTS {
            assert_eq!(places(check, &[("a.lock", &format!("https://{host}"))]), ["a.lock:1"]);
        }
    }

    #[test]
    fn paths_below_another_folder_and_the_index_of_cargo_and_our_own_addresses_pass() {
        let text =
            format!("~{}x /home/me{}x registry+https://github.com/rust-lang/crates.io-index", FOLDERS[0], FOLDERS[1]);
        assert!(places(check, &[("Cargo.lock", &text)]).is_empty());
        assert!(places(check, &[("docs/a.md", &format!("resource:/{}app", FOLDERS[1]))]).is_empty());
    }
}
