//! Whether somebody else has reserved what is about to be written.
//!
//! Decides nothing about leases: the office says who holds what, and the pattern says what it covers.

use mail::reservations::pattern::Pattern;
use serde::Deserialize;

use super::fence;

/// How many files are named when a write is held up.
const MOST_NAMED: usize = 3;

/// A lease that somebody holds.
#[derive(Clone, Debug, Deserialize)]
pub struct Lease {
    /// Who.
    pub agent: String,
    /// On what.
    pub path_pattern: String,
    /// Whether nobody else may write there.
    pub exclusive: bool,
    /// When it ends by itself.
    pub expires_ts: String,
}

/// Why `me` should not write `paths`; nothing if nobody else has an exclusive lease on any.
///
/// Each path stands with all the names that it has in the project.
pub fn objection(me: &str, leases: &[Lease], paths: &[Vec<String>]) -> Option<String> {
    let others = leases.iter().filter(|lease| lease.exclusive && lease.agent != me);
    let others: Vec<(&Lease, Pattern)> =
        others.filter_map(|lease| Some((lease, Pattern::parse(&lease.path_pattern).ok()?))).collect();
    let held = paths.iter().filter_map(|names| {
        let covers = |pattern: &Pattern| names.iter().any(|name| pattern.matches(name));
        let (lease, _) = others.iter().find(|(_, pattern)| covers(pattern))?;
        Some((names.first()?.as_str(), *lease))
    });
    let held: Vec<(&str, &Lease)> = held.collect();
    let (_, first) = held.first()?;
    let mut facts: Vec<String> = held.iter().take(MOST_NAMED).map(|(path, lease)| fact(path, lease)).collect();
    if held.len() > MOST_NAMED {
        facts.push(format!("{} more files are reserved.", held.len() - MOST_NAMED));
    }
    let facts = facts.join(" ");
    let holder = fence::line(&first.agent);
    Some(format!(
        "{facts} Do other work, or wait for it: file_reservation_paths with wait_seconds returns when you have it. \
         To ask '{holder}' for it, use send_message."
    ))
}

fn fact(path: &str, lease: &Lease) -> String {
    let Lease { agent, path_pattern, expires_ts, .. } = lease;
    let [path, agent, pattern, until] = [path, agent, path_pattern, expires_ts].map(fence::line);
    format!("'{path}' is reserved by '{agent}' ('{pattern}') until {until}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(agent: &str, pattern: &str, exclusive: bool) -> Lease {
        let (agent, path_pattern) = (agent.to_owned(), pattern.to_owned());
        Lease { agent, path_pattern, exclusive, expires_ts: "2026-01-11T16:33:15Z".to_owned() }
    }

    fn paths(paths: &[&str]) -> Vec<Vec<String>> {
        paths.iter().map(|path| vec![(*path).to_owned()]).collect()
    }

    #[test]
    fn a_write_into_the_lease_of_another_is_held_up_with_who_what_and_until_when() {
        let held = [lease("BlueLake", "src/**", true)];
        insta::assert_snapshot!(objection("GreenDog", &held, &paths(&["docs/a.md", "src/lib.rs"])).unwrap());
        assert_eq!(objection("GreenDog", &held, &paths(&["docs/a.md"])), None);
        assert_eq!(objection("GreenDog", &held, &[]), None);
    }

    #[test]
    fn own_leases_and_shared_ones_hold_up_nobody() {
        let held = [lease("GreenDog", "src/**", true), lease("BlueLake", "**", false)];
        assert_eq!(objection("GreenDog", &held, &paths(&["src/lib.rs"])), None);
    }

    #[test]
    fn a_file_is_covered_by_any_of_its_names() {
        let held = [lease("BlueLake", "real.rs", true)];
        let names = [vec!["link.rs".to_owned(), "real.rs".to_owned()]];
        let told = objection("GreenDog", &held, &names).unwrap();
        assert!(told.starts_with("'link.rs' is reserved by 'BlueLake' ('real.rs')"), "{told}");
    }

    #[test]
    fn a_patch_of_many_files_names_a_few() {
        let held = [lease("BlueLake", "**", true), lease("RedFox", "[", true)];
        let told = objection("GreenDog", &held, &paths(&["a", "b", "c", "d", "e"])).unwrap();
        assert!(told.contains("'c' is") && !told.contains("'d' is") && told.contains("2 more files"), "{told}");
    }
}
