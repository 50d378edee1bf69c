//! Projects, in PostgreSQL.

use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::Timestamp;
use mail::StoreError;
use mail::ids::ProjectId;
use mail::projects::{Project, ProjectKey, ProjectStore, slug_of, slug_with_hash};
use tokio_postgres::Row;

use super::Postgres;
use super::desk::Desk;
use super::rows::{Outcome, limit_of, time};

const BY_PATH: &str = "SELECT id, slug, human_key, created_at FROM project WHERE human_key = $1";
const BY_SLUG: &str = "SELECT id, slug, human_key, created_at FROM project WHERE slug = $1";
/// Nobody's project: what is done under it holds no project's lock.
pub(super) const NONE: ProjectId = ProjectId(0);
/// The key of the lock under which projects are made.
const MAKING: i64 = 0x706f_7374_7072_6f6a;

#[async_trait]
impl ProjectStore for Postgres {
    async fn ensure_project(&self, human_key: &str, now: Timestamp) -> Result<Project, StoreError> {
        // Most calls ask for what is there, and need not wait for the disk.
        let found = self.read_as("find a project", BY_PATH, &[&human_key], project_of).await?;
        if let Some(project) = found.into_iter().next() {
            return Ok(project);
        }
        let human_key = human_key.to_owned();
        self.write("make a project", NONE, move |desk| {
            async move { ensure(desk, &human_key, slug_of(&human_key), now).await }.boxed()
        })
        .await
    }

    async fn project(&self, key: &ProjectKey) -> Result<Option<Project>, StoreError> {
        let (sql, value) = match key {
            ProjectKey::Path(path) => (BY_PATH, path),
            ProjectKey::Slug(slug) => (BY_SLUG, slug),
        };
        Ok(self.read_as("find a project", sql, &[value], project_of).await?.into_iter().next())
    }

    async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Result<Vec<Project>, StoreError> {
        let sql = "SELECT id, slug, human_key, created_at FROM project WHERE id > $1 ORDER BY id LIMIT $2";
        self.read_as("list projects", sql, &[&after.map_or(0, |id| id.0), &limit_of(limit)], project_of).await
    }
}

/// The project of that path; if there is none it is made, under `slug` if nobody else has it.
pub(super) async fn ensure(desk: &Desk, human_key: &str, slug: String, now: Timestamp) -> Outcome<Project> {
    // Held until the commit, so that one at a time looks and makes.
    desk.execute("SELECT pg_advisory_xact_lock($1)", &[&MAKING]).await?;
    if let Some(row) = desk.rows(BY_PATH, &[&human_key]).await?.first() {
        return project_of(row);
    }
    let is_taken = !desk.rows(BY_SLUG, &[&slug]).await?.is_empty();
    let slug = if is_taken { slug_with_hash(human_key) } else { slug };
    let made = desk
        .changed_rows(
            "INSERT INTO project (slug, human_key, created_at) VALUES ($1, $2, $3)
             RETURNING id, slug, human_key, created_at",
            &[&slug, &human_key, &now.as_microsecond()],
        )
        .await?;
    project_of(&made[0])
}

pub(super) fn project_of(row: &Row) -> Outcome<Project> {
    Ok(Project {
        id: ProjectId(row.try_get(0)?),
        slug: row.try_get(1)?,
        human_key: row.try_get(2)?,
        created_at: time(row, 3)?,
    })
}
