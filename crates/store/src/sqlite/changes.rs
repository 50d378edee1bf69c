//! How a reader hears that somebody committed: the file is asked now and then.

use std::time::Duration;

use mail::StoreError;
use mail::events::{Changes, Concerned};
use tokio::time::Instant;

use super::Sqlite;
use crate::error::{Outcome, refused};

/// How often the file is asked whether anybody committed, while somebody waits: soon enough for whoever waits, and too
/// seldom to be seen among what a machine does.
const ASKED_EVERY: Duration = Duration::from_millis(100);

impl Sqlite {
    /// Waits until somebody has committed since `after`, but no longer than `at_most`.
    pub(crate) async fn changes(&self, after: Option<i64>, at_most: Duration) -> Result<Changes, StoreError> {
        let end = Instant::now() + at_most;
        loop {
            let stamp = self.data_version().await.map_err(refused("look for changes"))?;
            if after != Some(stamp) {
                return Ok(Changes { stamp, concerned: Concerned::Everybody });
            }
            if Instant::now() >= end {
                return Ok(Changes { stamp, concerned: Concerned::NOBODY });
            }
            tokio::time::sleep_until(end.min(Instant::now() + ASKED_EVERY)).await;
        }
    }

    async fn data_version(&self) -> Outcome<i64> {
        // SQLite counts, for each connection, the commits of all others; this one never commits.
        let mut slot = self.watcher.slot().await?;
        Ok(slot.connection().prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }
}
