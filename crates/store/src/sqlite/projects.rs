//! Projects, in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use mail::StoreError;
use mail::clock::from_micros;
use mail::ids::ProjectId;
use mail::projects::{Project, ProjectKey, ProjectStore, slug_of, slug_with_hash};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{Sqlite, limit_of};

#[async_trait]
impl ProjectStore for Sqlite {
    async fn ensure_project(&self, human_key: &str, now: Timestamp) -> Result<Project, StoreError> {
        // Most calls ask for what is there, and need not wait for the disk.
        if let Some(project) = self.read("find a project", |connection| by_path(connection, human_key))? {
            return Ok(project);
        }
        let human_key = human_key.to_owned();
        self.write("make a project", move |desk| {
            let slug = slug_of(&human_key);
            ensure(desk.connection, &human_key, slug, now)
        })
        .await
    }

    async fn project(&self, key: &ProjectKey) -> Result<Option<Project>, StoreError> {
        self.read("find a project", |connection| match key {
            ProjectKey::Path(path) => by_path(connection, path),
            ProjectKey::Slug(slug) => by_slug(connection, slug),
        })
    }

    async fn projects(&self, after: Option<ProjectId>, limit: usize) -> Result<Vec<Project>, StoreError> {
        self.read("list projects", |connection| {
            connection
                .prepare_cached(
                    "SELECT id, slug, human_key, created_at FROM project WHERE id > ?1 ORDER BY id LIMIT ?2",
                )?
                .query_map((after.map_or(0, |id| id.0), limit_of(limit)), project_of)?
                .collect()
        })
    }
}

/// The project of that path; if there is none it is made, under `slug` if nobody else has it.
pub(super) fn ensure(
    connection: &Connection,
    human_key: &str,
    slug: String,
    now: Timestamp,
) -> rusqlite::Result<Project> {
    if let Some(project) = by_path(connection, human_key)? {
        return Ok(project);
    }
    let taken = by_slug(connection, &slug)?.is_some();
    let slug = if taken { slug_with_hash(human_key) } else { slug };
    connection
        .prepare_cached(
            "INSERT INTO project (slug, human_key, created_at) VALUES (?1, ?2, ?3)
             RETURNING id, slug, human_key, created_at",
        )?
        .query_row((slug, human_key, now.as_microsecond()), project_of)
}

pub(super) fn by_path(connection: &Connection, path: &str) -> rusqlite::Result<Option<Project>> {
    connection
        .prepare_cached("SELECT id, slug, human_key, created_at FROM project WHERE human_key = ?1")?
        .query_row([path], project_of)
        .optional()
}

fn by_slug(connection: &Connection, slug: &str) -> rusqlite::Result<Option<Project>> {
    connection
        .prepare_cached("SELECT id, slug, human_key, created_at FROM project WHERE slug = ?1")?
        .query_row([slug], project_of)
        .optional()
}

fn project_of(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        id: ProjectId(row.get(0)?),
        slug: row.get(1)?,
        human_key: row.get(2)?,
        created_at: from_micros(row.get(3)?),
    })
}
