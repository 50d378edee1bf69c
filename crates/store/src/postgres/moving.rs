//! What is PostgreSQL's own in a move: who may have the database, and how numbers and indexes come to be.

use super::address::Address;
use super::tx::{Held, PostgresTx};
use super::{SCHEMA, taken};
use crate::Location;
use crate::TABLES;
use crate::error::{Outcome, refused};
use crate::moving::{MoveError, Own};
use crate::tx::Tx;

/// What PostgreSQL says in words of its own.
pub(crate) const OWN: Own = Own {
    schema: SCHEMA,
    // The lock comes first: what is read from here on is as it is under it.
    lock: "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = '10s';
           LOCK TABLE project IN EXCLUSIVE MODE",
    // PostgreSQL notices a lost connection in its own time.
    release: "ROLLBACK; SELECT pg_advisory_unlock_all()",
    last_ticket: "SELECT greatest((SELECT coalesce(max(ticket), 0) FROM reservation_wait),
         coalesce(pg_sequence_last_value(pg_get_serial_sequence('reservation_wait', 'ticket')::regclass), 0))",
};
/// The index of words is made at once when all words are there, which takes a fraction of the time.
pub(crate) const WITHOUT_INDEX: &str = "DROP INDEX message_words";
/// As the schema has it.
const WITH_INDEX: &str = "SET maintenance_work_mem = '256MB';
     CREATE INDEX IF NOT EXISTS message_words ON message USING gin (words)";
/// What counts by itself: a table and its number.
const COUNTED: [(&str, &str); 7] = [
    ("project", "id"),
    ("agent", "id"),
    ("agent_token", "id"),
    ("message", "id"),
    ("reservation", "id"),
    ("reservation_wait", "ticket"),
    ("channel", "id"),
];

/// Connects to the database, which nobody else may use meanwhile.
pub(crate) async fn open(url: &str, at: &Location) -> Result<PostgresTx, MoveError> {
    let opening = async {
        let mut tx = PostgresTx::over(Held::of(taken(&Address::parse(url)?.pool_of_one()).await?), false);
        let is_alone = super::address::take_alone(&mut tx.tx()).await?;
        Ok(is_alone.then_some(tx))
    };
    let opened = opening.await.map_err(refused("connect to the database"))?;
    let who = "a server or a command that is connected".to_owned();
    opened.ok_or_else(|| MoveError::InUse { place: at.to_string(), who })
}

/// Lets new numbers begin behind those that are there, and makes what was left out for the time of the move.
pub(crate) async fn settle(tx: &mut Tx<'_>, last_ticket: i64) -> Outcome<()> {
    for (table, column) in COUNTED {
        let sequence = match table {
            "message" => "'message_number'".to_owned(),
            _ => format!("pg_get_serial_sequence('{table}', '{column}')"),
        };
        let at_least = if table == "reservation_wait" { last_ticket } else { 0 };
        // Where nothing was counted yet, 1 is the next number and not the last one.
        let sql = format!(
            "SELECT setval({sequence}, greatest(last, 1), last > 0) FROM (
                 SELECT greatest(coalesce(max({column}), 0), {at_least}) AS last FROM {table}) AS counted"
        );
        tx.row::<i64>(&sql, &[]).await?;
    }
    tx.command(WITH_INDEX).await?;
    // Otherwise the first questions are answered without knowing how much there is.
    let tables: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    tx.command(&format!("ANALYZE {}", tables.join(", "))).await
}
