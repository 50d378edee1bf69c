//! How many of the scenarios that a revision requires a server passes, read from what the suite said at its end.
//!
//! What the suite runs without scoring does not count.

use std::fmt;

/// The scored scenarios of one run.
#[derive(Debug, PartialEq, Eq)]
pub struct Score {
    required: usize,
    /// Those that did not pass, or did not run.
    missing: Vec<String>,
}

impl Score {
    /// Reads the suite's list of required scenarios, and its summary.
    pub fn read(requirements: &str, summary: &str) -> Self {
        let required = required(requirements);
        let missing = required.iter().filter(|scenario| !passed(scenario, summary)).map(|name| (*name).to_owned());
        Self { required: required.len(), missing: missing.collect() }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} scored", self.required - self.missing.len(), self.required)?;
        if self.missing.is_empty() { Ok(()) } else { write!(f, ", without {}", self.missing.join(", ")) }
    }
}

/// The entries of the list `server`.
fn required(requirements: &str) -> Vec<&str> {
    let list = requirements.lines().skip_while(|line| *line != "server:").skip(1);
    let list = list.take_while(|line| line.is_empty() || line.starts_with([' ', '#']));
    list.filter_map(|line| line.trim().strip_prefix("- ")).collect()
}

/// A scenario passes that ran and is named among no failures. A warning is a failure to the suite, though the line of the
/// scenario does not count it.
fn passed(scenario: &str, summary: &str) -> bool {
    let names = |line: &str| line.split(':').next() == Some(scenario);
    let ran = summary.lines().filter_map(|line| line.strip_prefix("✓ ")).any(names);
    let mut failures = summary.lines().filter_map(|line| line.strip_prefix("  ~ ").or(line.strip_prefix("  ✗ ")));
    ran && !failures.any(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIREMENTS: &str =
        "# list\n\nserver:\n  - ping\n  - tools-list\n  # new\n  - caching\n\nclient:\n  - other\n";

    #[test]
    fn only_what_is_required_counts() {
        let summary = "=== SUMMARY ===\n✓ ping: 1 passed, 0 failed\n✓ tools-list: 2 passed, 0 failed\n\
            ✓ caching: 3 passed, 0 failed\n✗ tasks: 0 passed, 9 failed\n";
        assert_eq!(Score::read(REQUIREMENTS, summary).to_string(), "3 of 3 scored");
    }

    #[test]
    fn what_failed_only_warned_or_did_not_run_is_named() {
        let summary = "✗ ping: 1 passed, 1 failed\n✓ caching: 3 passed, 0 failed\n\n\
            Expected failures (in baseline):\n  ~ ping:a-check\n\nUnexpected failures:\n  ✗ caching\n";
        assert_eq!(Score::read(REQUIREMENTS, summary).to_string(), "0 of 3 scored, without ping, tools-list, caching");
    }
}
