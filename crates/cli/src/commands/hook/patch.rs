//! Which files a patch of Codex writes.
//!
//! A patch names its files on lines of their own; lines of a file begin with `+`, `-` or a blank. What is done to the
//! files does not matter here, and whether the patch fits is for Codex to say.

use std::collections::HashSet;

/// How many files are looked at: more than any patch has that somebody could review.
const MOST: usize = 1_000;
/// What stands before the name of a file.
const MARKERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The files that `patch` adds, changes, deletes or moves, each once, as it names them.
pub fn paths(patch: &str) -> Vec<&str> {
    let named = patch.lines().filter_map(|line| {
        let line = line.trim();
        let path = MARKERS.iter().find_map(|marker| line.strip_prefix(marker))?.trim();
        (!path.is_empty()).then_some(path)
    });
    let mut seen = HashSet::new();
    named.filter(|path| seen.insert(*path)).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_a_patch_is_named_once() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b c.rs\r\n@@ fn x\n-old\n+new\n\
                     *** Add File: d.rs\n+*** Delete File: not-me.rs\n*** Delete File:e.rs\n*** Update File: a.rs\n\
                     *** Add File:\n*** End Patch";
        assert_eq!(paths(patch), ["a.rs", "b c.rs", "d.rs", "e.rs"]);
        assert!(paths("").is_empty() && paths("ls *** Add File: x").is_empty());
    }

    #[test]
    fn a_patch_without_end_is_looked_at_only_so_far() {
        let patch: String = (0..5_000).map(|number| format!("*** Add File: {number}\n")).collect();
        assert_eq!(paths(&patch).len(), MOST);
    }
}
