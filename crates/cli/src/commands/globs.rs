//! What somebody at a shell calls a file, as the globs of the project: files and folders that are there mean themselves,
//! whatever letters they have, and anything else may be a glob.

use std::path::{Path, PathBuf};

use mail::error::shown;
use mail::reservations::pattern::literal;

use super::hook::within;
use crate::post_office::Refused;

/// The letters that make a glob.
const OF_GLOBS: [char; 5] = ['*', '?', '[', '{', '\\'];
/// Stands for any file in a folder whose name is wanted.
const ANY: &str = "any";

/// The globs in the project `key` that somebody means who stands at `here`.
pub fn in_project(key: &str, here: &Path, paths: &[String]) -> Result<Vec<String>, Refused> {
    let mut globs = Vec::new();
    for path in paths {
        let found = globs_of(key, here, path);
        if found.is_empty() {
            let message = format!("'{}' is outside of the project '{}'", shown(path), shown(key));
            return Err(Refused::new(
                "INVALID_PATH",
                &message,
                "Name files of the project, or another project with --project.",
            ));
        }
        globs.extend(found.into_iter().filter(|glob| !globs.contains(glob)).collect::<Vec<_>>());
    }
    Ok(globs)
}

/// The same for giving back: a path without a star that names nothing now may have been a folder, and stands for both.
pub fn to_release(key: &str, here: &Path, paths: &[String]) -> Result<Vec<String>, Refused> {
    let is_gone = |path: &&String| !path.ends_with('/') && here.join(path).symlink_metadata().is_err();
    let as_folders: Vec<String> = paths.iter().filter(is_gone).map(|path| format!("{path}/")).collect();
    let mut globs = in_project(key, here, paths)?;
    // A star in it makes a glob of it, and no folder.
    let folders = as_folders.into_iter().filter(|path| !path.contains(OF_GLOBS)).collect::<Vec<_>>();
    globs.extend(in_project(key, here, &folders)?);
    Ok(globs)
}

fn globs_of(key: &str, here: &Path, path: &str) -> Vec<String> {
    let whole = here.join(path);
    if whole.is_dir() || path.ends_with('/') {
        return folders(key, here, path).iter().map(|folder| joined(&literal(folder), "**")).collect();
    }
    // Where nothing has that name it may be a glob, of which only what stands before the first star is a folder.
    let is_there = whole.symlink_metadata().is_ok();
    match path.split('/').position(|part| part.contains(OF_GLOBS)).filter(|_| !is_there) {
        Some(first) => {
            let parts: Vec<&str> = path.split('/').collect();
            let (before, glob) = parts.split_at(first);
            let before = if before == [""] { "/".to_owned() } else { before.join("/") };
            folders(key, here, &before).iter().map(|folder| joined(&literal(folder), &glob.join("/"))).collect()
        }
        None => files(key, here, path).iter().map(|file| literal(file)).collect(),
    }
}

/// The names of a folder in the project; one of them is empty if it is the project's own.
fn folders(key: &str, here: &Path, folder: &str) -> Vec<String> {
    let folder = Path::new(folder).join(ANY);
    let files = files(key, here, folder.to_str().unwrap_or(ANY)).into_iter();
    files.filter_map(|file| Some(file.strip_suffix(ANY)?.trim_end_matches('/').to_owned())).collect()
}

fn files(key: &str, here: &Path, path: &str) -> Vec<String> {
    let found = within(Path::new(key), here, path);
    // In a project that somebody named, and that is no folder, a path is what it says.
    let is_named =
        !Path::new(key).is_absolute() && Path::new(path).is_relative() && !path.split('/').any(|part| part == "..");
    if !found.is_empty() || !is_named {
        return found;
    }
    let plain: PathBuf = Path::new(path).components().filter(|part| part.as_os_str() != ".").collect();
    plain.to_str().map(str::to_owned).into_iter().collect()
}

fn joined(folder: &str, glob: &str) -> String {
    if folder.is_empty() { glob.to_owned() } else { format!("{folder}/{glob}") }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn globs(key: &Path, here: &Path, path: &str) -> Result<Vec<String>, String> {
        in_project(key.to_str().unwrap(), here, &[path.to_owned()]).map_err(|refused| refused.to_string())
    }

    #[test]
    fn a_path_is_from_the_current_folder_and_a_folder_means_all_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().canonicalize().unwrap();
        fs::create_dir_all(app.join("src/[id]")).unwrap();
        for file in ["src/a.rs", "src/[id]/page.tsx", "src/b*.rs"] {
            fs::write(app.join(file), "").unwrap();
        }
        let src = app.join("src");
        for (here, path, glob) in [
            (&src, "a.rs", "src/a.rs"),
            (&src, "new.rs", "src/new.rs"),
            (&src, "../docs/*.md", "docs/*.md"),
            (&src, "*.rs", "src/*.rs"),
            (&src, "**", "src/**"),
            (&src, ".", "src/**"),
            (&src, "..", "**"),
            (&app, ".", "**"),
            (&app, "src", "src/**"),
            (&app, "new/", "new/**"),
            (&app, "src/b*.rs", "src/b\\*.rs"),
            (&app, "src/[id]", "src/\\[id]/**"),
            (&app, "src/[id]/page.tsx", "src/\\[id]/page.tsx"),
            (&app, "src/{a,b}.rs", "src/{a,b}.rs"),
        ] {
            assert_eq!(globs(&app, here, path), Ok(vec![glob.to_owned()]), "{path}");
        }
        assert_eq!(globs(&app, &app.join("src/[id]"), "*.tsx"), Ok(vec!["src/\\[id]/*.tsx".to_owned()]));
        let whole = src.join("*.rs");
        assert_eq!(globs(&app, Path::new("/"), whole.to_str().unwrap()), Ok(vec!["src/*.rs".to_owned()]));
    }

    #[test]
    fn what_is_given_back_may_have_been_a_folder_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().canonicalize().unwrap();
        fs::write(app.join("a.rs"), "").unwrap();
        for (path, globs) in
            [("gone", &["gone", "gone/**"][..]), ("a.rs", &["a.rs"]), ("gone/", &["gone/**"]), ("gone/*", &["gone/*"])]
        {
            let found = to_release(app.to_str().unwrap(), &app, &[path.to_owned()]);
            assert_eq!(
                found.map_err(|refused| refused.to_string()),
                Ok(globs.iter().map(|&glob| glob.to_owned()).collect())
            );
        }
    }

    #[test]
    fn what_is_outside_of_the_project_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for path in ["/etc/hosts", "../x", "/etc/*.conf"] {
            let told = globs(folder.path(), folder.path(), path).unwrap_err();
            assert!(told.contains(path) && told.contains("outside"), "{told}");
        }
    }

    #[test]
    fn in_a_project_that_has_a_slug_a_path_is_what_it_says() {
        let folder = tempfile::tempdir().unwrap();
        let slug = Path::new("data-app");
        for (path, glob) in [("./src/a.rs", "src/a.rs"), ("src/*.rs", "src/*.rs"), ("src/", "src/**")] {
            assert_eq!(globs(slug, folder.path(), path), Ok(vec![glob.to_owned()]), "{path}");
        }
        assert!(globs(slug, folder.path(), "../x").is_err());
    }

    #[test]
    fn a_file_of_a_worktree_has_the_name_that_it_has_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("app/.git/worktrees/side")).unwrap();
        fs::write(home.join("app/.git/worktrees/side/commondir"), "../..\n").unwrap();
        fs::create_dir_all(home.join("side/src")).unwrap();
        fs::write(home.join("side/.git"), format!("gitdir: {}/app/.git/worktrees/side\n", home.display())).unwrap();
        assert_eq!(globs(&home.join("app"), &home.join("side/src"), "*.rs"), Ok(vec!["src/*.rs".to_owned()]));
        assert_eq!(globs(Path::new("app"), &home.join("side/src"), "a.rs"), Ok(vec!["src/a.rs".to_owned()]));
    }
}
