//! How the schema came to be what it is: numbered steps, each applied once, under a lock that servers which start at the
//! same time wait for.
//!
//! Steps are added, never changed. There is no link back: an older program refuses a newer database.

use tokio_postgres::Client;

use crate::error::{Outcome, SqlError};
use crate::migration::{Migration, UNFINISHED, applied};
use crate::moving::MARK;

/// Every step, in order.
pub(super) const ALL: &[Migration] = &[
    Migration { version: 1, name: "mail", sql: include_str!("../../migrations/postgres/0001_mail.sql") },
    Migration { version: 2, name: "page", sql: include_str!("../../migrations/postgres/0002_page.sql") },
];

/// The key of the lock, chosen at random once.
const LOCK: i64 = 0x706f_7374_7269_6465;

/// Applies what is missing, all of it or nothing.
pub(super) async fn migrate(client: &Client, all: &[Migration]) -> Outcome<()> {
    if done(client, all).await? == Migration::newest(all) {
        return Ok(());
    }
    client.batch_execute("BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").await?;
    let migrated = apply(client, all).await;
    client.batch_execute(if migrated.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    migrated
}

async fn apply(client: &Client, all: &[Migration]) -> Outcome<()> {
    client.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    // Asked again under the lock: another server may have been quicker.
    let done = done(client, all).await?;
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS migration (
                 version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum BYTEA NOT NULL
             )",
        )
        .await?;
    for step in all.iter().filter(|step| step.version > done) {
        client.batch_execute(step.sql).await?;
        let sum = step.checksum();
        client
            .execute(
                "INSERT INTO migration (version, name, checksum) VALUES ($1, $2, $3)",
                &[&step.version, &step.name, &sum.as_slice()],
            )
            .await?;
    }
    Ok(())
}

/// Succeeds if nothing is missing.
pub(super) async fn check_newest(client: &Client, all: &[Migration]) -> Outcome<()> {
    match (done(client, all).await?, Migration::newest(all)) {
        (done, newest) if done == newest => Ok(()),
        (0, _) => Err(SqlError::Unknown("no mail was kept in it yet".to_owned())),
        (done, newest) => {
            let why =
                format!("it has schema version {done}, and this program uses {newest}; start a server of this version");
            Err(SqlError::Unknown(why))
        }
    }
}

/// Succeeds unless mail is still being moved into the database.
pub(super) async fn check_finished(client: &Client) -> Outcome<()> {
    match is_unfinished(client).await? {
        true => Err(SqlError::Unknown(UNFINISHED.to_owned())),
        false => Ok(()),
    }
}

/// Whether mail is still being moved into the database.
pub(super) async fn is_unfinished(client: &Client) -> Outcome<bool> {
    let sql = "SELECT count(*) > 0 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1";
    Ok(client.query_one(sql, &[&MARK]).await?.try_get(0)?)
}

/// The version of the database, after comparing what was applied with what is known.
pub(super) async fn done(client: &Client, all: &[Migration]) -> Outcome<i64> {
    let tables = client
        .query_one(
            "SELECT count(*), count(*) FILTER (WHERE tablename = 'migration') FROM pg_tables
             WHERE schemaname = current_schema()",
            &[],
        )
        .await?;
    let (tables, ours): (i64, i64) = (tables.try_get(0)?, tables.try_get(1)?);
    if ours == 0 {
        let foreign = "the database has tables, but none that keep mail; use an empty one";
        return if tables == 0 { Ok(0) } else { Err(SqlError::Unknown(foreign.to_owned())) };
    }
    let kept = client.query("SELECT version, checksum FROM migration ORDER BY version", &[]).await?;
    let kept = kept.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect::<Outcome<Vec<_>>>()?;
    applied(all, &kept).map_err(|error| SqlError::Unknown(error.to_string()))
}
