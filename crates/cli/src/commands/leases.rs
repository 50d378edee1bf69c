//! The leases of a project as a command reads them, and which of some paths others hold.
//!
//! That a lease has ended is known to the office. What follows from a path that is held is for the command.

use anyhow::Context;
use jiff::Timestamp;
use mail::reservations::pattern::Pattern;
use serde::Deserialize;
use serde_json::Value;

use crate::post_office::{PostOffice, pages, resource};

/// A lease that somebody holds.
#[derive(Clone, Debug)]
pub struct Lease {
    pub holder: String,
    pub pattern: Pattern,
    /// Whether nobody else may write there.
    pub exclusive: bool,
    /// When it ends by itself.
    pub ends_at: Timestamp,
    /// What it is for; may be empty.
    pub reason: String,
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

/// The leases of a project. Where nobody has ever worked with us there are none.
pub async fn read(post_office: &PostOffice, project: &str) -> anyhow::Result<Vec<Lease>> {
    let uri = resource("reservations", project, &[("limit", Some(pages::PAGE))]);
    match pages::read(post_office, uri, "reservations").await {
        Ok(pages) => pages.entries.iter().map(lease).collect(),
        Err(refused) if refused.code == "PROJECT_NOT_FOUND" => Ok(Vec::new()),
        Err(refused) => Err(refused.into()),
    }
}

/// The paths that others than `me` hold exclusively, each with the lease that ends last. Where nobody knows who asks, each
/// lease is another's. A path may have several names; it is told by the first.
pub fn conflicts(leases: &[Lease], me: Option<&str>, paths: &[Vec<String>]) -> Vec<Conflict> {
    let others: Vec<&Lease> =
        leases.iter().filter(|lease| lease.exclusive && me != Some(lease.holder.as_str())).collect();
    let conflict = |names: &Vec<String>| {
        let covers = |lease: &&&Lease| names.iter().any(|name| lease.pattern.matches(name));
        let Lease { holder, pattern, ends_at, reason, .. } =
            others.iter().filter(covers).max_by_key(|lease| lease.ends_at)?;
        Some(Conflict {
            path: names.first()?.clone(),
            holder: holder.clone(),
            pattern: pattern.as_str().to_owned(),
            ends_at: *ends_at,
            reason: reason.clone(),
        })
    };
    paths.iter().filter_map(conflict).collect()
}

/// A lease as the office tells it. One that cannot be read is an error, and not nobody's.
fn lease(told: &Value) -> anyhow::Result<Lease> {
    #[derive(Deserialize)]
    struct Told {
        agent: String,
        path_pattern: String,
        exclusive: bool,
        #[serde(default)]
        reason: String,
        expires_ts: String,
    }
    let told = Told::deserialize(told).context("a reservation cannot be read")?;
    Ok(Lease {
        pattern: Pattern::parse(&told.path_pattern).context("a reservation has a pattern that cannot be read")?,
        ends_at: told.expires_ts.parse().context("a reservation has an end that cannot be read")?,
        holder: told.agent,
        exclusive: told.exclusive,
        reason: told.reason,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(agent: &str, pattern: &str, exclusive: bool, minute: u32) -> Value {
        let expires_ts = format!("2026-01-11T16:{minute:02}:00Z");
        json!({ "id": 1, "agent": agent, "path_pattern": pattern, "exclusive": exclusive, "expires_ts": expires_ts })
    }

    fn held(told: &[Value], me: Option<&str>, paths: &[&str]) -> Vec<(String, String)> {
        let leases: Vec<Lease> = told.iter().map(|told| lease(told).unwrap()).collect();
        let paths: Vec<Vec<String>> = paths.iter().map(|path| vec![(*path).to_owned()]).collect();
        let found = conflicts(&leases, me, &paths);
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
    fn a_path_is_held_by_any_of_its_names() {
        let leases = [lease(&told("Ann", "real.rs", true, 30)).unwrap()];
        let found = conflicts(&leases, None, &[vec!["link.rs".to_owned(), "real.rs".to_owned()]]);
        assert_eq!((found[0].path.as_str(), found[0].pattern.as_str()), ("link.rs", "real.rs"));
    }

    #[test]
    fn a_lease_that_cannot_be_read_is_an_error_and_not_a_pass() {
        for told in [json!({}), json!(null), told("Ann", "src/[", true, 30), told("Ann", "src", true, 99)] {
            assert!(lease(&told).is_err(), "{told}");
        }
    }
}
