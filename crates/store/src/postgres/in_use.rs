//! Who uses the database: every connection of an open store holds a lock that any number of them share.
//!
//! Whoever moves all mail in or out holds it alone. Then nobody else has the mail open, and nobody opens it. The lock is
//! PostgreSQL's own and ends with its connection, however that ends.

use std::time::Duration;

use deadpool_postgres::HookError;
use tokio_postgres::{Client, Error};

/// The number of the lock, chosen at random once. Stores in other schemas of the database have locks of their own.
const LOCK: i64 = 0x6d61_696c_0000_0000;
const OF_SCHEMA: &str = "$1 + coalesce((SELECT oid::bigint FROM pg_namespace WHERE nspname = current_schema()), 0)";

/// PostgreSQL notices after a moment that somebody has gone; a lock that is still taken then is in use.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Notes that this connection uses the mail.
pub(super) async fn note(client: &Client) -> Result<(), HookError> {
    let sql = format!("SELECT pg_try_advisory_lock_shared({OF_SCHEMA})");
    let row = client.query_one(&sql, &[&LOCK]).await.map_err(HookError::Backend)?;
    match row.try_get(0).map_err(HookError::Backend)? {
        true => Ok(()),
        false => Err(HookError::message("its mail is being moved (`postrider migrate`). Try again when that is done.")),
    }
}

/// Takes the mail for this connection alone. `false` if somebody uses it.
pub(super) async fn take_alone(client: &Client) -> Result<bool, Error> {
    let sql = format!("SELECT pg_try_advisory_lock({OF_SCHEMA})");
    for _ in 0..TRIES {
        if client.query_one(&sql, &[&LOCK]).await?.try_get(0)? {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    }
    Ok(false)
}
