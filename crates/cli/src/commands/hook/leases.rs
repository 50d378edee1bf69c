//! What an agent is told of files that somebody else has reserved.
//!
//! Who holds what is found out elsewhere; what becomes of the write is for `events`.

use mail::clock::rfc3339;

use super::fence;
use crate::commands::leases::Conflict;

/// How many files are named when a write is held up.
const MOST_NAMED: usize = 3;

/// Why files should not be written; nothing if nobody holds any of them.
pub fn objection(held: &[Conflict]) -> Option<String> {
    let first = held.first()?;
    let mut facts: Vec<String> = held.iter().take(MOST_NAMED).map(fact).collect();
    if held.len() > MOST_NAMED {
        facts.push(format!("{} more files are reserved.", held.len() - MOST_NAMED));
    }
    let facts = facts.join(" ");
    let holder = fence::line(&first.holder);
    Some(format!(
        "{facts} Do other work, or wait for it: file_reservation_paths with wait_seconds returns when you have it. \
         To ask '{holder}' for it, use send_message."
    ))
}

fn fact(conflict: &Conflict) -> String {
    let Conflict { path, holder, pattern, ends_at, .. } = conflict;
    let [path, holder, pattern] = [path, holder, pattern].map(|text| fence::line(text));
    format!("'{path}' is reserved by '{holder}' ('{pattern}') until {}.", rfc3339(*ends_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(path: &str) -> Conflict {
        let ends_at = "2026-01-11T16:33:15.5Z".parse().unwrap();
        let (holder, pattern, reason) = ("BlueLake".to_owned(), "src/**".to_owned(), String::new());
        Conflict { path: path.to_owned(), holder, pattern, ends_at, reason }
    }

    #[test]
    fn a_write_into_the_lease_of_another_is_held_up_with_who_what_and_until_when() {
        insta::assert_snapshot!(objection(&[held("src/lib.rs")]).unwrap());
        assert_eq!(objection(&[]), None);
    }

    #[test]
    fn a_patch_of_many_files_names_a_few() {
        let told = objection(&["a", "b", "c", "d", "e"].map(held)).unwrap();
        assert!(told.contains("'c' is") && !told.contains("'d' is") && told.contains("2 more files"), "{told}");
    }
}
