//! Made-up repositories for the tests of the checks. There is no git in them.

use std::fs;
use std::ops::Deref;

use tempfile::TempDir;

use super::Violation;
use super::house::House;

/// A repository that lasts as long as this value.
pub struct MadeUp {
    house: House,
    _folder: TempDir,
}

impl Deref for MadeUp {
    type Target = House;

    fn deref(&self) -> &House {
        &self.house
    }
}

/// A repository with these files.
pub fn house(files: &[(&str, &str)]) -> MadeUp {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    MadeUp { house: House::open(folder.path()).unwrap(), _folder: folder }
}

/// Where the check found something, as `path:line`.
pub fn places(check: fn(&House) -> Vec<Violation>, files: &[(&str, &str)]) -> Vec<String> {
    check(&house(files)).into_iter().map(|violation| format!("{}:{}", violation.path, violation.line)).collect()
}
