//! Looking at a database of mail: whether it can be reached, what it is, and what is stuck in it. Nothing is changed.

use mail::Stored;

use super::address::Address;
use super::{PostgresTx, SCHEMA, taken};
use crate::error::{Outcome, refused};

/// What a database is found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The version of PostgreSQL, as it says it.
    pub server: String,
    /// The version of the schema; 0 for a database that no mail was kept in yet.
    pub schema: i64,
    /// The version that this program makes of it.
    pub schema_wanted: i64,
    /// How the connection is encrypted; `None` if it is not.
    pub encryption: Option<String>,
    /// Whether it only follows another server, and takes no mail.
    pub is_standby: bool,
    /// Whether mail is still being moved into it.
    pub is_unfinished: bool,
    /// How much disk all of the database takes.
    pub bytes: u64,
    /// How many connections there are, and how many there may be, to all databases of the server.
    pub connections: (i64, i64),
    /// The characters that it can keep.
    pub encoding: String,
    /// Whether PostgreSQL waits for the disk before it says that something is kept.
    pub is_durable: bool,
    /// For how many seconds the oldest transaction of this database is open.
    pub oldest_transaction: i64,
}

/// Connects to the database of that URL and looks at it.
pub async fn examine(url: &str) -> Stored<Condition> {
    condition(url).await.map_err(refused("look at the database"))
}

async fn condition(url: &str) -> Outcome<Condition> {
    let mut client = PostgresTx::reading(taken(&Address::parse(url)?.pool_of_one()).await?);
    // Also what is asked by mistake changes nothing, and nothing is waited for.
    client.tx().command("SET default_transaction_read_only = on; SET statement_timeout = '10s'").await?;
    let row = client.client.query_one(ABOUT, &[]).await?;
    let tx = &mut client.tx();
    Ok(Condition {
        server: row.try_get(0)?,
        is_standby: row.try_get(1)?,
        bytes: row.try_get::<_, i64>(2)?.unsigned_abs(),
        encryption: row.try_get(3)?,
        connections: (row.try_get(4)?, row.try_get(5)?),
        oldest_transaction: row.try_get(6)?,
        is_durable: row.try_get(7)?,
        encoding: row.try_get(8)?,
        schema: SCHEMA.applied(tx).await?,
        schema_wanted: SCHEMA.newest(),
        is_unfinished: SCHEMA.is_unfinished(tx).await?,
    })
}

const ABOUT: &str = "
    SELECT current_setting('server_version'), pg_is_in_recovery(), pg_database_size(current_database()),
        (SELECT version || ' ' || cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl),
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        current_setting('max_connections')::bigint,
        (SELECT coalesce(max(extract(epoch FROM now() - xact_start)), 0)::bigint FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()),
        current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean,
        current_setting('server_encoding')";
