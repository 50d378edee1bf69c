//! Projects: the walls between one team's mail and another's.
//!
//! A project is known by the absolute path of its working directory, or by the URL of a repository, and by a slug made from
//! it. Other paths may be named as its own, and a path inside a working tree of git means the repository. Nothing here
//! looks at the disk: a path is only a name, and what lies around it is told by whoever can see it ([`WorkTrees`]).

mod place;
mod remote;

use async_trait::async_trait;
use jiff::Timestamp;

use crate::error::{Error, Stored};
use crate::ids::ProjectId;
pub use place::{Named, Place, WorkTree, WorkTrees};
pub use remote::remote_key;

/// The longest path that names a project, in bytes.
pub const LONGEST_KEY: usize = 4096;
/// The longest path that is another name of a project, in bytes.
pub const LONGEST_ALIAS: usize = 1024;

/// A project as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The store's number for it.
    pub id: ProjectId,
    /// Its name in addresses; unique, and never changed.
    pub slug: String,
    /// The absolute path or the URL it was made for.
    pub human_key: String,
    /// When it was first ensured.
    pub created_at: Timestamp,
}

/// A path that somebody named as another one of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The path.
    pub path: String,
    /// The project that it means.
    pub project: Project,
    /// When it was named.
    pub created_at: Timestamp,
}

/// What a repository is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyedBy {
    /// The path of its main working tree.
    #[default]
    Path,
    /// The URL of its remote, so that two clones are one project; its path if it has none.
    Remote,
}

/// How a caller names a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectKey {
    /// An absolute path, without a slash at its end.
    Path(String),
    /// The URL of a repository, as [`remote_key`] writes it.
    Remote(String),
    /// The slug of a project that exists.
    Slug(String),
}

impl ProjectKey {
    /// Reads a key that names a project which may exist already: a path or a slug.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if let Ok(path) = Self::parse_path(text) {
            return Ok(path);
        }
        let is_slug = !text.is_empty()
            && text.len() <= LONGEST_KEY
            && text.chars().all(|c| c == '-' || (c.is_alphanumeric() && !c.is_uppercase()));
        if is_slug { Ok(Self::Slug(text.to_owned())) } else { Err(invalid(text)) }
    }

    /// Reads a key that may make a project: an absolute path, of Unix or of Windows, or the URL of a repository.
    pub fn parse_path(text: &str) -> Result<Self, Error> {
        if remote::is_url(text) {
            return remote_key(text).map(Self::Remote).ok_or_else(|| invalid(text));
        }
        let mut letters = text.chars();
        let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
            && letters.next() == Some(':')
            && matches!(letters.next(), Some('/' | '\\'));
        let climbs = text.split(['/', '\\']).any(|part| part == "..");
        if !(text.starts_with('/') || drive) || text.len() > LONGEST_KEY || text.chars().any(char::is_control) || climbs
        {
            return Err(invalid(text));
        }
        let trimmed = text.trim_end_matches('/');
        Ok(Self::Path(if trimmed.is_empty() { "/" } else { trimmed }.to_owned()))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Path(text) | Self::Remote(text) | Self::Slug(text) => text,
        }
    }
}

fn invalid(text: &str) -> Error {
    Error::InvalidProjectKey(crate::error::shown(text))
}

/// The slug of a path: lower case, every run of other characters one hyphen, none at the ends. The scheme of a URL is left out.
pub fn slug_of(path: &str) -> String {
    let path = path.strip_prefix(remote::SCHEME).unwrap_or(path);
    let mut slug = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter.is_alphanumeric() {
            slug.extend(letter.to_lowercase().filter(|c| c.is_alphanumeric()));
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let trimmed = slug.trim_end_matches('-');
    if trimmed.is_empty() { "root".to_owned() } else { trimmed.to_owned() }
}

/// The slug for a path whose plain slug belongs to another one: a short hash stands behind it, after two hyphens, which
/// no plain slug has.
pub fn slug_with_hash(path: &str) -> String {
    let hash = blake3::hash(path.as_bytes()).to_hex();
    format!("{}--{}", slug_of(path), &hash.as_str()[..8])
}

/// What keeps projects.
#[async_trait]
pub trait ProjectStore: Send + Sync {
    /// Returns the project of `human_key`, or the one that it is an alias of, and makes it if there is none.
    ///
    /// The slug is [`slug_of`] the key, or [`slug_with_hash`] when another project has that slug. Ensuring a project
    /// again changes nothing.
    async fn ensure_project(&self, human_key: &str, now: Timestamp) -> Stored<Project>;

    /// The project of that key, if it exists. A path that is an alias means the project that it was named for, even if it has
    /// a project of its own, which is then found by its slug.
    async fn project(&self, key: &ProjectKey) -> Stored<Option<Project>>;

    /// Projects in the order they were made, those with a number above `after`, at most `limit`.
    async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Stored<Vec<Project>>;

    /// Names `path` as another one of a project. A path that was named before means this project from now on.
    async fn set_alias(&self, path: &str, project: ProjectId, now: Timestamp) -> Stored<()>;

    /// Takes such a name back; whether there was one.
    async fn remove_alias(&self, path: &str) -> Stored<bool>;

    /// All such names, by their paths.
    async fn aliases(&self) -> Stored<Vec<Alias>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_lower_case_with_single_hyphens_inside() {
        assert_eq!(slug_of("/data/projects/brenner_bot"), "data-projects-brenner-bot");
        assert_eq!(slug_of("/home/user/My  Project!/"), "home-user-my-project");
        assert_eq!(slug_of("/"), "root");
        assert_eq!(slug_of("/Größe/Ärger"), "größe-ärger");
        assert_eq!(slug_of("https://git.example/Team/app"), "git-example-team-app");
    }

    #[test]
    fn two_paths_with_one_slug_differ_by_their_hash() {
        assert_eq!(slug_of("/a/b"), slug_of("/a_b"));
        assert_ne!(slug_with_hash("/a/b"), slug_with_hash("/a_b"));
    }

    #[test]
    fn a_key_is_an_absolute_path_or_a_slug() {
        assert_eq!(ProjectKey::parse("/a/b/").unwrap(), ProjectKey::Path("/a/b".into()));
        assert_eq!(ProjectKey::parse("C:\\work").unwrap(), ProjectKey::Path("C:\\work".into()));
        assert_eq!(ProjectKey::parse("a-b").unwrap(), ProjectKey::Slug("a-b".into()));
        for bad in ["", "./a", "a/b", "../a", "/a/../b", "A B", "/a\u{0}b"] {
            assert_eq!(ProjectKey::parse(bad).unwrap_err().code(), "INVALID_PROJECT_KEY", "{bad:?}");
        }
        let remote = ProjectKey::Remote("https://git.example/team/app".into());
        for url in ["https://git.example/team/app.git", "git@git.example:team/app", "ssh://git@git.example/team/app/"] {
            assert_eq!(ProjectKey::parse_path(url).unwrap(), remote, "{url}");
        }
        assert!(ProjectKey::parse_path("a-b").is_err());
    }

    #[test]
    fn every_slug_is_read_back_as_a_slug() {
        for path in ["/data/x_1", "/Größe/İstanbul", "/漢字/かな"] {
            assert_eq!(ProjectKey::parse(&slug_of(path)).unwrap(), ProjectKey::Slug(slug_of(path)));
        }
    }
}
