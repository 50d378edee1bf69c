//! Projects: making them known, and listing them.

use super::Office;
use crate::error::Error;
use crate::ids::ProjectId;
use crate::projects::{Project, ProjectKey};

impl Office {
    /// Makes sure that a project exists. Only an absolute path can make one.
    pub async fn ensure_project(&self, human_key: &str) -> Result<Project, Error> {
        let key = ProjectKey::parse_path(human_key)?;
        if let Some(project) = self.store.project(&key).await? {
            return Ok(project);
        }
        Ok(self.store.ensure_project(key.as_str(), self.clock.now()).await?)
    }

    /// The project of a path, made if it is new, or of a slug that exists.
    pub(super) async fn project_or_new(&self, key: &str) -> Result<Project, Error> {
        match ProjectKey::parse(key)? {
            ProjectKey::Path(path) => self.ensure_project(&path).await,
            ProjectKey::Slug(_) => self.project(key).await,
        }
    }

    /// A page of all projects, in the order they were made.
    pub async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Result<Vec<Project>, Error> {
        Ok(self.store.projects(after, limit).await?)
    }
}
