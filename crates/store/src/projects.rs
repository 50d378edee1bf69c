//! Projects, and their other names.

use mail::projects::{Alias, Project, ProjectKey, ProjectStore, slug_of, slug_with_hash};

use crate::prelude::*;

const BY_PATH: &str = "SELECT id, slug, human_key, created_at FROM project WHERE human_key = ?1";
/// The same, where a path that was named as another one of a project means that project.
const MEANT_BY_PATH: &str = "SELECT id, slug, human_key, created_at FROM project WHERE id =
    coalesce((SELECT project_id FROM project_alias WHERE path = ?1), (SELECT id FROM project WHERE human_key = ?1))";
const BY_SLUG: &str = "SELECT id, slug, human_key, created_at FROM project WHERE slug = ?1";

#[async_trait]
impl ProjectStore for Engine {
    async fn ensure_project(&self, human_key: &str, now: Timestamp) -> Stored<Project> {
        // Most calls ask for what is there, and need not wait for the disk.
        let found = self.read("find a project", async |tx| tx.row(MEANT_BY_PATH, values![human_key]).await).await?;
        if let Some(project) = found {
            return Ok(project);
        }
        let human_key = human_key.to_owned();
        let made = in_job!(|tx| {
            // Another process may have named it meanwhile.
            tx.lock_projects().await?;
            match tx.row(MEANT_BY_PATH, values![&human_key]).await? {
                Some(project) => Ok(project),
                None => ensure(tx, &human_key, slug_of(&human_key), now).await,
            }
        });
        self.write("make a project", Home::Nobody, made).await
    }

    async fn project(&self, key: &ProjectKey) -> Stored<Option<Project>> {
        let (sql, key) = match key {
            ProjectKey::Path(path) | ProjectKey::Remote(path) => (MEANT_BY_PATH, path),
            ProjectKey::Slug(slug) => (BY_SLUG, slug),
        };
        self.read("find a project", async |tx| tx.row(sql, values![key]).await).await
    }

    async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Stored<Vec<Project>> {
        let sql = "SELECT id, slug, human_key, created_at FROM project WHERE id > ?1 ORDER BY id LIMIT ?2";
        let values = values![after.map_or(0, |id| id.0), limit];
        self.read("list projects", async |tx| tx.rows(sql, values).await).await
    }

    async fn set_alias(&self, path: &str, project: ProjectId, now: Timestamp) -> Stored<()> {
        let path = path.to_owned();
        let naming = in_job!(|tx| {
            tx.lock_projects().await?;
            let sql = "INSERT INTO project_alias (path, project_id, created_at) VALUES (?1, ?2, ?3)
                       ON CONFLICT (path) DO UPDATE SET project_id = ?2, created_at = ?3";
            tx.execute(sql, values![&path, project, now]).await.map(drop)
        });
        self.write("name a project", Home::Nobody, naming).await
    }

    async fn remove_alias(&self, path: &str) -> Stored<bool> {
        let path = path.to_owned();
        let removing = in_job!(|tx| {
            let sql = "DELETE FROM project_alias WHERE path = ?1";
            Ok(tx.execute(sql, values![&path]).await? > 0)
        });
        self.write("take a name of a project back", Home::Nobody, removing).await
    }

    async fn aliases(&self) -> Stored<Vec<Alias>> {
        let sql = "SELECT n.path, p.id, p.slug, p.human_key, p.created_at, n.created_at
                   FROM project_alias n CROSS JOIN project p ON p.id = n.project_id";
        let mut aliases: Vec<Alias> =
            self.read("list the names of projects", async |tx| tx.rows(sql, &[]).await).await?;
        // Sorted here, since a database may have an order of its own for text.
        aliases.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(aliases)
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

from_row! {
    Project { id, slug, human_key, created_at }
    Alias { path, project, created_at }
}
