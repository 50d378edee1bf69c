//! Whether `uninstall` leaves every file of the client as it was before `install`, byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::super::bench::Bench;
use super::super::table::Row;
use super::super::workplace::{Place, heard};

/// Our own files, which stay, and our program.
const OURS: [&str; 2] = [".postrider", "bin"];

/// Installs and uninstalls for the project and for the user, over the settings that are there.
pub fn prove(bench: &Bench, row: &'static Row) -> Result<String> {
    let place = Place::without_us(bench, row)?;
    let before = files(place.home())?;
    let mut written = 0;
    for scope in row.scopes {
        heard(&mut place.postrider(&["install", row.name, "--scope", scope]))?;
        let between = files(place.home())?;
        let changed = between.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).count();
        ensure!(changed > 0, "for the {scope} nothing was written");
        written += changed;
        heard(&mut place.postrider(&["uninstall", row.name, "--scope", scope]))?;
        same(&before, &files(place.home())?).with_context(|| format!("for the {scope}"))?;
    }
    Ok(format!("{written} files are as they were, or gone again"))
}

/// Every file below a folder and what is in it, without ours.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() && !OURS.iter().any(|ours| path.ends_with(ours)) {
                folders.push(path);
            } else if kind.is_file() {
                found.insert(path.clone(), fs::read(&path)?);
            }
        }
    }
    Ok(found)
}

fn same(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let paths = before.keys().chain(after.keys());
    let differs: Vec<String> =
        paths.filter(|path| before.get(*path) != after.get(*path)).map(|path| path.display().to_string()).collect();
    ensure!(differs.is_empty(), "not as before: {}", differs.join(", "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_a_new_file_and_a_lost_one_are_found_and_ours_are_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".claude/settings.json", "{}");
        let before = files(folder.path()).unwrap();
        write(".postrider/mail.db", "mail");
        assert!(same(&before, &files(folder.path()).unwrap()).is_ok());
        write(".claude/settings.json", "{ }");
        assert!(same(&before, &files(folder.path()).unwrap()).is_err());
        write(".claude/settings.json", "{}");
        write("new", "");
        assert!(same(&before, &files(folder.path()).unwrap()).is_err());
        assert!(same(&files(folder.path()).unwrap(), &before).is_err());
    }
}
