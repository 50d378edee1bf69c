//! The shared part of a rate limit, in PostgreSQL: one row for each address, one statement for each lot.
//!
//! A row holds the moment up to which the address has used up its rate: at most a second lies between that and now, and
//! every request moves it on. The database's clock decides, so that servers agree. Rows that are older say nothing, and go.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use mail::Stored;
use mail::rate_limit::RateLimitStore;

use super::Postgres;
use crate::error::refused;
use crate::row::values;

/// After how many questions the rows are swept up that say nothing any more.
const SWEEP_AFTER: u32 = 1024;

/// `?1` is the address, `?2` the lot, `?3` how many a second, and `?4` now. Who had to wait for the row may find a time in
/// it that is later than its own.
const TAKE: &str = "
    INSERT INTO pace AS known (address, used_until, granted)
    VALUES (?1, ?4::bigint - 1000000 + (?2::bigint * 1000000 + ?3::bigint - 1) / ?3, ?2)
    ON CONFLICT (address) DO UPDATE SET (used_until, granted) = (
        SELECT since + (lot * 1000000 + ?3 - 1) / ?3, lot FROM (
            SELECT since, least(?2, greatest(?4 - since, 0) * ?3 / 1000000) AS lot
            FROM (SELECT greatest(known.used_until, ?4 - 1000000) AS since) AS used
        ) AS free
    )
    RETURNING granted";

#[async_trait]
impl RateLimitStore for Postgres {
    async fn take(&self, address: &str, lot: u32, per_second: u32) -> Stored<u32> {
        let per_second = i64::from(per_second.max(1));
        let lot = i64::from(lot).min(per_second);
        let now = self.health.clock().now().as_microsecond();
        let taking = async {
            let mut reader = self.reader().await?;
            let tx = &mut reader.tx();
            if self.paced.fetch_add(1, Ordering::Relaxed) % SWEEP_AFTER == SWEEP_AFTER - 1 {
                tx.execute("DELETE FROM pace WHERE used_until < ?1", values![now - 60_000_000]).await?;
            }
            tx.row::<i64>(TAKE, values![address, lot, per_second, now]).await
        };
        let granted = self.health.unless_away(taking).await.map_err(refused("share a rate limit"))?;
        Ok(granted.and_then(|granted| u32::try_from(granted).ok()).unwrap_or_default())
    }
}
