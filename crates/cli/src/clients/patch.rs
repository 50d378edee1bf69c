//! Which files a call of a tool writes: one that it names, or those of a patch of Codex.
//!
//! A patch names its files on lines of their own; lines of a file begin with `+`, `-` or a blank. What is done to the
//! files does not matter here, and whether the patch fits is for Codex to say.

use std::collections::HashSet;
use std::path::Path;

/// How many files are looked at: more than any patch has that somebody could review.
const MOST: usize = 1_000;
/// What stands before the name of a file.
const MARKERS: [&str; 4] = ["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];

/// The one file that is named, if one is.
pub(crate) fn path(name: &str) -> Vec<String> {
    if name.is_empty() { Vec::new() } else { vec![name.to_owned()] }
}

/// The files that `patch` adds, changes, deletes or moves, each once, as it names them.
pub(crate) fn paths(patch: &str) -> Vec<String> {
    let named = patch.trim_start_matches('\u{feff}').lines().filter_map(|line| {
        let line = line.trim();
        let path = MARKERS.iter().find_map(|marker| line.strip_prefix(marker))?.trim();
        (!path.is_empty()).then_some(path)
    });
    let mut seen = HashSet::new();
    named.filter(|path| seen.insert(*path)).take(MOST).map(str::to_owned).collect()
}

/// The files of the patch in a shell command that Codex takes for a patch: `apply_patch <<'EOF'`, also in another folder.
///
/// Codex tells of it as of any command, and applies it as a patch. What else a command writes is not known.
pub(crate) fn paths_at_a_shell(command: &str) -> Vec<String> {
    let command = command.trim_start();
    let elsewhere = command.strip_prefix("cd ").and_then(|rest| rest.split_once("&&"));
    let (folder, command) = elsewhere.map_or(("", command), |(folder, rest)| (folder, rest.trim_start()));
    if !["apply_patch", "applypatch"].iter().any(|name| command.starts_with(name)) {
        return Vec::new();
    }
    let folder = shlex::split(folder).unwrap_or_default().pop().unwrap_or_default();
    let named = paths(command).into_iter();
    named.map(|path| Path::new(&folder).join(path).to_string_lossy().into_owned()).collect()
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
        assert_eq!(paths("\u{feff}*** Add File: a.rs\n+x"), ["a.rs"]);
        assert!(paths("").is_empty() && paths("ls *** Add File: x").is_empty());
    }

    #[test]
    fn a_command_that_is_a_patch_names_its_files_from_where_it_runs() {
        let patch = "<<'EOF'\n*** Begin Patch\n*** Add File: a.rs\n+x\n*** Update File: /b.rs\n*** End Patch\nEOF";
        for (before, paths) in [
            ("apply_patch", ["a.rs", "/b.rs"].as_slice()),
            ("  applypatch ", &["a.rs", "/b.rs"]),
            ("cd 'my src' && apply_patch ", &["my src/a.rs", "/b.rs"]),
            ("cat > note && apply_patch ", &[]),
            ("cd src && cat ", &[]),
            ("cat ", &[]),
        ] {
            assert_eq!(paths_at_a_shell(&format!("{before}{patch}")), paths, "{before}");
        }
    }

    #[test]
    fn a_patch_without_end_is_looked_at_only_so_far() {
        let patch: String = (0..5_000).map(|number| format!("*** Add File: {number}\n")).collect();
        assert_eq!(paths(&patch).len(), MOST);
    }
}
