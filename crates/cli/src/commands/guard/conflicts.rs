//! Which of some paths others hold, and until when.
//!
//! Leases come as the office tells them; that a lease has ended is known there. Nothing is asked or shown here.

use anyhow::Context;
use jiff::Timestamp;
use mail::reservations::pattern::Pattern;
use serde::Deserialize;
use serde_json::Value;

/// A lease that speaks against a commit.
pub struct Lease {
    holder: String,
    pattern: Pattern,
    ends_at: Timestamp,
    reason: String,
}

/// A path that somebody else holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The path, as the project calls it.
    pub path: String,
    /// Who holds it.
    pub holder: String,
    /// The pattern of the lease.
    pub pattern: String,
    /// When the lease ends by itself.
    pub ends_at: Timestamp,
    /// What it is for; may be empty.
    pub reason: String,
}

/// A lease as the office tells it.
#[derive(Deserialize)]
struct Told {
    agent: String,
    path_pattern: String,
    exclusive: bool,
    #[serde(default)]
    reason: String,
    expires_ts: String,
}

/// The lease that the office tells of, if it speaks against a commit of `agent`: it is exclusive and another's. Where
/// nobody knows who commits, each one is another's.
pub fn against(told: &Value, agent: Option<&str>) -> anyhow::Result<Option<Lease>> {
    let told = Told::deserialize(told).context("a reservation cannot be read")?;
    if !told.exclusive || agent == Some(told.agent.as_str()) {
        return Ok(None);
    }
    let pattern = Pattern::parse(&told.path_pattern).context("a reservation has a pattern that cannot be read")?;
    let ends_at = told.expires_ts.parse().context("a reservation has an end that cannot be read")?;
    Ok(Some(Lease { holder: told.agent, pattern, ends_at, reason: told.reason }))
}

/// The paths that are held, each with the lease that ends last.
pub fn conflicts(paths: Vec<String>, leases: &[Lease]) -> Vec<Conflict> {
    let conflict = |path: String| {
        let lease = leases.iter().filter(|lease| lease.pattern.matches(&path)).max_by_key(|lease| lease.ends_at)?;
        let Lease { holder, pattern, ends_at, reason } = lease;
        let (holder, pattern, reason) = (holder.clone(), pattern.as_str().to_owned(), reason.clone());
        Some(Conflict { path, holder, pattern, ends_at: *ends_at, reason })
    };
    paths.into_iter().filter_map(conflict).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(agent: &str, pattern: &str, exclusive: bool, minute: u32) -> Value {
        let expires_ts = format!("2026-01-11T16:{minute:02}:00Z");
        json!({ "id": 1, "agent": agent, "path_pattern": pattern, "exclusive": exclusive, "expires_ts": expires_ts })
    }

    fn held(told: &[Value], agent: Option<&str>, paths: &[&str]) -> Vec<(String, String)> {
        let leases: Vec<Lease> = told.iter().filter_map(|told| against(told, agent).unwrap()).collect();
        let found = conflicts(paths.iter().map(|path| (*path).to_owned()).collect(), &leases);
        found.into_iter().map(|conflict| (conflict.path, conflict.pattern)).collect()
    }

    fn pair(path: &str, pattern: &str) -> (String, String) {
        (path.to_owned(), pattern.to_owned())
    }

    #[test]
    fn only_what_another_holds_for_itself_is_a_conflict() {
        let told = [told("Ann", "src/**", true, 30), told("Ann", "docs/**", false, 30)];
        let paths = ["src/a.rs", "docs/a.md", "README.md"];
        assert_eq!(held(&told, Some("Bob"), &paths), [pair("src/a.rs", "src/**")]);
        assert_eq!(held(&told, None, &paths), [pair("src/a.rs", "src/**")], "whoever is not known is another");
        assert!(held(&told, Some("Ann"), &paths).is_empty());
    }

    #[test]
    fn of_several_leases_on_a_path_the_one_that_ends_last_is_told() {
        let told =
            [told("Ann", "src/**", true, 30), told("Ann", "src/a.rs", true, 50), told("Ann", "*/a.rs", true, 40)];
        assert_eq!(held(&told, None, &["src/a.rs"]), [pair("src/a.rs", "src/a.rs")]);
    }

    #[test]
    fn a_lease_that_cannot_be_read_is_an_error_and_not_a_pass() {
        for told in [json!({}), json!(null), told("Ann", "src/[", true, 30), told("Ann", "src", true, 99)] {
            assert!(against(&told, None).is_err(), "{told}");
        }
    }
}
