//! What a key means beside its project: the folder that it names may be a part of the project, or another way to it.

use std::borrow::Cow;

use async_trait::async_trait;

use super::{KeyedBy, Project};
use crate::reservations::pattern::literal;

/// A working tree of git, as somebody saw it who can look at the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkTree {
    /// The top folder of the working tree.
    pub top: String,
    /// The folder of the repository, which all its working trees have in common.
    pub main: String,
    /// The way from the top to the path that was asked about; empty if that is the top.
    pub below: String,
    /// What the repository's own settings say that it came from.
    pub remote: Option<String>,
}

impl WorkTree {
    /// What a project of the repository is made for.
    pub(crate) fn key(&self, keyed_by: KeyedBy) -> &str {
        match (keyed_by, &self.remote) {
            (KeyedBy::Remote, Some(remote)) => remote,
            _ => &self.main,
        }
    }
}

/// Whoever can see what lies around a path.
#[async_trait]
pub trait WorkTrees: Send + Sync {
    /// The working tree around a path, which need not be there. None if there is none, or the path is not of this machine.
    async fn around(&self, path: &str) -> Option<WorkTree>;
}

/// Where the folder that a key names is in its project, when it is not the folder that the project was made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What the caller said.
    pub key: String,
    /// The folder that stands for the top of the project here.
    pub top: String,
    /// The way from there to the folder that was named; empty if it is the same.
    pub below: String,
}

/// A project, as a key named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The project.
    pub project: Project,
    /// Where the named folder is in it; none if it was made for that folder, or goes by its slug.
    pub place: Option<Place>,
}

impl From<Project> for Named {
    fn from(project: Project) -> Self {
        Self { project, place: None }
    }
}

impl Named {
    /// Why the project is another than the key says, in a sentence for whoever named it.
    pub fn note(&self) -> Option<String> {
        let Place { key, top, .. } = self.place.as_ref()?;
        let project = &self.project.human_key;
        Some(match key == top {
            true => format!("'{key}' is another path of the project '{project}'."),
            false => format!("'{key}' is in the repository '{project}', which is one project with all its folders."),
        })
    }
}

impl Place {
    /// A glob that is relative to the folder that was named, or absolute, as the project calls it.
    pub(crate) fn glob<'p>(&self, glob: &'p str) -> Cow<'p, str> {
        if let Some(below) = glob.strip_prefix(self.top.as_str()).filter(|_| glob.starts_with('/')) {
            match below.strip_prefix('/') {
                Some("") => return Cow::Borrowed("."),
                Some(below) => return Cow::Borrowed(below),
                None if below.is_empty() => return Cow::Borrowed("."),
                // The name of another folder only begins so.
                None => {}
            }
        }
        if self.below.is_empty() || glob.is_empty() || glob.starts_with('/') {
            return Cow::Borrowed(glob);
        }
        Cow::Owned(format!("{}/{glob}", literal(&self.below)))
    }

    /// The same of the name of a file.
    pub(crate) fn file<'p>(&self, file: &'p str) -> Cow<'p, str> {
        if self.below.is_empty() { Cow::Borrowed(file) } else { Cow::Owned(format!("{}/{file}", self.below)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reservations::pattern::Pattern;

    fn place(top: &str, below: &str) -> Place {
        Place { key: String::new(), top: top.to_owned(), below: below.to_owned() }
    }

    #[test]
    fn a_glob_is_relative_to_the_folder_that_was_named() {
        let web = place("/side", "web");
        for (glob, whole) in [
            ("src/**", "web/src/**"),
            (".", "web/."),
            ("../docs/*", "web/../docs/*"),
            ("/side/docs/*", "docs/*"),
            ("/side", "."),
            ("/side/", "."),
            ("/sides/x", "/sides/x"),
            ("/app/x", "/app/x"),
        ] {
            assert_eq!(web.glob(glob), whole, "{glob}");
        }
        assert_eq!(place("/side", "").glob("src/**"), "src/**");
        assert_eq!((web.file("a.rs").as_ref(), place("/side", "").file("a.rs").as_ref()), ("web/a.rs", "a.rs"));
    }

    #[test]
    fn a_folder_with_an_odd_name_means_itself_alone() {
        for name in ["[id]", "a*b", "{x,y}", "back\\slash", "what?", "!x", "a,b"] {
            let pattern = Pattern::parse(&place("/app", name).glob("page.tsx")).unwrap();
            assert!(pattern.matches(&format!("{name}/page.tsx")), "{name}");
            assert!(!pattern.matches("i/page.tsx") && !pattern.matches("x/page.tsx"), "{name}");
        }
    }

    #[test]
    fn a_repository_is_keyed_by_its_remote_only_where_that_is_wanted_and_there_is_one() {
        let tree = WorkTree { main: "/app".into(), remote: Some("https://h/app".into()), ..WorkTree::default() };
        assert_eq!((tree.key(KeyedBy::Path), tree.key(KeyedBy::Remote)), ("/app", "https://h/app"));
        assert_eq!(WorkTree { remote: None, ..tree }.key(KeyedBy::Remote), "/app");
    }
}
