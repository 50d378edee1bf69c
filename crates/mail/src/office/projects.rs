//! Projects: which one a key means, making one, and naming other paths for it.
//!
//! A path means the project that was made for it. Else it means the repository around it, if somebody here can see one: all
//! its working trees and folders are one project. A project that is known is never looked for on the disk.

use std::time::Instant;

use super::{NEAR_MISS_POOL, Office, near_misses};
use crate::error::{Error, shown};
use crate::ids::ProjectId;
use crate::overview::ProjectSum;
use crate::projects::{Alias, LONGEST_ALIAS, Named, Place, Project, ProjectKey};

/// What a key was found to mean.
pub(super) enum Found {
    /// A project that is there.
    Project(Named),
    /// None; what one would be made for, and where the folder that was named would be in it.
    Missing { key: ProjectKey, place: Option<Place> },
}

impl Office {
    /// The project that `key` names.
    pub async fn project(&self, key: &str) -> Result<Project, Error> {
        Ok(self.named(key).await?.project)
    }

    /// The project that `key` names, and where in it the folder is that the key names.
    pub async fn named(&self, key: &str) -> Result<Named, Error> {
        let now = Instant::now();
        if let Some(named) = self.directory.project(key, now) {
            return Ok(named);
        }
        let parsed = ProjectKey::parse(key)?;
        if let Found::Project(named) = self.find_project(&parsed).await? {
            self.directory.learn_project(key, &named, now);
            return Ok(named);
        }
        let known = self.store.projects(None, NEAR_MISS_POOL).await?;
        let names = known.iter().map(|project| match parsed {
            ProjectKey::Path(_) | ProjectKey::Remote(_) => project.human_key.as_str(),
            ProjectKey::Slug(_) => project.slug.as_str(),
        });
        Err(Error::UnknownProject { key: shown(key), near: near_misses(parsed.as_str(), names) })
    }

    /// Makes sure that a project exists. Only an absolute path or the URL of a repository can make one.
    pub async fn ensure_project(&self, human_key: &str) -> Result<Project, Error> {
        Ok(self.ensure_named(human_key).await?.project)
    }

    /// The same, and where in the project the folder is that the key names.
    pub async fn ensure_named(&self, human_key: &str) -> Result<Named, Error> {
        match self.find_project(&ProjectKey::parse_path(human_key)?).await? {
            Found::Project(named) => Ok(named),
            Found::Missing { key, place } => {
                let project = self.store.ensure_project(key.as_str(), self.clock.now()).await?;
                Ok(Named { project, place })
            }
        }
    }

    /// The project of a path, made if it is new, or of a slug that exists.
    pub(super) async fn project_or_new(&self, key: &str) -> Result<Named, Error> {
        match ProjectKey::parse(key)? {
            ProjectKey::Slug(_) => self.named(key).await,
            ProjectKey::Path(_) | ProjectKey::Remote(_) => self.ensure_named(key).await,
        }
    }

    /// What a key means, as the store and the disk tell now.
    pub(super) async fn find_project(&self, key: &ProjectKey) -> Result<Found, Error> {
        if let Some(project) = self.store.project(key).await? {
            return Ok(Found::Project(Named { place: place_of_alias(key, &project), project }));
        }
        let missing = |key: &ProjectKey, place| Ok(Found::Missing { key: key.clone(), place });
        let (ProjectKey::Path(path), Some(trees)) = (key, &self.trees) else { return missing(key, None) };
        let Some(tree) = trees.around(path).await else { return missing(key, None) };
        // The path comes first: a project that is there stays what it is, whatever repositories are known by.
        let known_by = [tree.main.as_str(), tree.key(self.rules.keyed_by)];
        let place = Some(Place { key: path.clone(), top: tree.top.clone(), below: tree.below.clone() });
        let mut key = key.clone();
        for known_as in known_by {
            key = ProjectKey::parse_path(known_as)?;
            if key.as_str() == path {
                // The folder that was named is the repository, and has no project.
                continue;
            }
            if let Some(project) = self.store.project(&key).await? {
                return Ok(Found::Project(Named { project, place }));
            }
        }
        let is_itself = key.as_str() == path;
        missing(&key, place.filter(|_| !is_itself))
    }

    /// A page of all projects, in the order they were made.
    pub async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Result<Vec<Project>, Error> {
        Ok(self.store.projects(after, limit).await?)
    }

    /// The same, and how much is in each.
    pub async fn project_sums(&self, after: Option<ProjectId>, limit: usize) -> Result<Vec<ProjectSum>, Error> {
        Ok(self.store.project_sums(after, limit).await?)
    }

    /// Names a path as another one of the project `of`. A path whose own project has mail is given only to who says so: that
    /// mail is found by the slug alone from then on. What the path means now, and what it meant before.
    pub async fn set_alias(&self, path: &str, of: &str, anyway: bool) -> Result<(Project, Option<Project>), Error> {
        self.require_person()?;
        let key = match ProjectKey::parse_path(path)? {
            ProjectKey::Path(path) if path.len() <= LONGEST_ALIAS => path,
            _ => {
                return Err(Error::invalid("path", path, format!("an absolute path of at most {LONGEST_ALIAS} bytes")));
            }
        };
        let project = self.project(of).await?;
        if project.human_key == key {
            return Err(Error::invalid("path", path, "another path than the project's own"));
        }
        let before = self.store.project(&ProjectKey::Path(key.clone())).await?;
        if let Some(own) = before.as_ref().filter(|own| own.human_key == key && !anyway) {
            let after = Some(ProjectId(own.id.0 - 1));
            let sums = self.store.project_sums(after, 1).await?;
            if let Some(sum) = sums.into_iter().find(|sum| sum.project.id == own.id && sum.messages > 0) {
                return Err(Error::HasMail { path: shown(path), slug: own.slug.clone(), messages: sum.messages });
            }
        }
        self.store.set_alias(&key, project.id, self.clock.now()).await?;
        self.directory.forget_paths();
        Ok((project, before))
    }

    /// Takes another name of a project back; whether there was one.
    pub async fn remove_alias(&self, path: &str) -> Result<bool, Error> {
        self.require_person()?;
        let key = ProjectKey::parse_path(path)?;
        let was_there = self.store.remove_alias(key.as_str()).await?;
        self.directory.forget_paths();
        Ok(was_there)
    }

    /// All other names of projects, by their paths.
    pub async fn aliases(&self) -> Result<Vec<Alias>, Error> {
        Ok(self.store.aliases().await?)
    }
}

/// Where an alias is in its project: it stands for the top.
fn place_of_alias(key: &ProjectKey, project: &Project) -> Option<Place> {
    match key {
        ProjectKey::Path(path) if *path != project.human_key => {
            Some(Place { key: path.clone(), top: path.clone(), below: String::new() })
        }
        _ => None,
    }
}
