//! Projects.

use mail::projects::{Project, ProjectKey, ProjectStore, slug_of, slug_with_hash};

use crate::prelude::*;

const BY_PATH: &str = "SELECT id, slug, human_key, created_at FROM project WHERE human_key = ?1";
const BY_SLUG: &str = "SELECT id, slug, human_key, created_at FROM project WHERE slug = ?1";

#[async_trait]
impl ProjectStore for Engine {
    async fn ensure_project(&self, human_key: &str, now: Timestamp) -> Stored<Project> {
        // Most calls ask for what is there, and need not wait for the disk.
        if let Some(project) = self.read("find a project", async |tx| by_path(tx, human_key).await).await? {
            return Ok(project);
        }
        let human_key = human_key.to_owned();
        let made = in_job!(|tx| ensure(tx, &human_key, slug_of(&human_key), now).await);
        self.write("make a project", Home::Nobody, made).await
    }

    async fn project(&self, key: &ProjectKey) -> Stored<Option<Project>> {
        let (sql, key) = match key {
            ProjectKey::Path(path) => (BY_PATH, path),
            ProjectKey::Slug(slug) => (BY_SLUG, slug),
        };
        self.read("find a project", async |tx| tx.row(sql, values![key]).await).await
    }

    async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Stored<Vec<Project>> {
        let sql = "SELECT id, slug, human_key, created_at FROM project WHERE id > ?1 ORDER BY id LIMIT ?2";
        let values = values![after.map_or(0, |id| id.0), limit];
        self.read("list projects", async |tx| tx.rows(sql, values).await).await
    }
}

/// The project of that path; if there is none it is made, under `slug` if nobody else has it.
pub(crate) async fn ensure(tx: &mut Tx<'_>, human_key: &str, slug: String, now: Timestamp) -> Outcome<Project> {
    tx.lock_projects().await?;
    if let Some(project) = by_path(tx, human_key).await? {
        return Ok(project);
    }
    let is_taken = tx.exists(BY_SLUG, values![&slug]).await?;
    let slug = if is_taken { slug_with_hash(human_key) } else { slug };
    let sql = "INSERT INTO project (slug, human_key, created_at) VALUES (?1, ?2, ?3)
               RETURNING id, slug, human_key, created_at";
    tx.only(sql, values![&slug, human_key, now]).await
}

/// The project of that path.
pub(crate) async fn by_path(tx: &mut Tx<'_>, path: &str) -> Outcome<Option<Project>> {
    tx.row(BY_PATH, values![path]).await
}

from_row! { Project { id, slug, human_key, created_at } }
