//! What the conformance suite calls stays out of the product: no manifest but that of its own server turns the feature on,
//! and no recipe of a package names it.

use super::Violation;
use super::house::House;

const FEATURE: &str = "conformance-fixtures";
/// The server of the suite.
const ITS_SERVER: &str = "xtask/conformance/Cargo.toml";
/// The line that says there is such a feature.
const DECLARED: &str = "conformance-fixtures = []";

/// Finds manifests and recipes that name the feature.
pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    for path in house.files().filter(|path| builds(path)) {
        let text = house.text(path).unwrap_or_default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| line.contains(FEATURE) && *line != DECLARED) {
            let what = format!("`{}` lets fixtures into a product, only {ITS_SERVER} may", line.trim());
            found.push(Violation::new(path, at + 1, what));
        }
    }
    found
}

fn builds(path: &str) -> bool {
    let is_manifest = path.ends_with("Cargo.toml") && path != ITS_SERVER;
    is_manifest || [".cargo/", ".ci/", "deploy/"].iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::super::made_up::places;
    use super::*;

    #[test]
    fn only_the_server_of_the_suite_turns_the_feature_on() {
        let on = "[features]\nconformance-fixtures = [\"mcp/conformance-fixtures\"]\n";
        let files = [
            ("crates/mcp/Cargo.toml", "[features]\nconformance-fixtures = []\n"),
            ("xtask/conformance/Cargo.toml", on),
            ("xtask/src/conformance.rs", "//! Builds with conformance-fixtures.\n"),
        ];
        assert!(places(check, &files).is_empty());
        let files = [
            ("crates/cli/Cargo.toml", "[features]\ndefault = [\"mcp/conformance-fixtures\"]\n"),
            ("crates/server/Cargo.toml", on),
            ("deploy/Dockerfile", "RUN cargo build --features conformance-fixtures\n"),
        ];
        assert_eq!(
            places(check, &files),
            ["crates/cli/Cargo.toml:2", "crates/server/Cargo.toml:2", "deploy/Dockerfile:1"]
        );
    }
}
