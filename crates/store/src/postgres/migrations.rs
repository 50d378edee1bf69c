//! How the schema came to be what it is: numbered steps, each applied once, under a lock that servers which start at the
//! same time wait for.

use crate::dialect;
use crate::migration::Schema;

/// Every step, in order, and how they are applied to a database. The number of the lock was chosen at random once.
pub(crate) const SCHEMA: Schema<'static> = Schema {
    steps: &[
        ("mail", include_str!("../../migrations/postgres/0001_mail.sql")),
        ("page", include_str!("../../migrations/postgres/0002_page.sql")),
    ],
    shared: crate::SHARED_STEPS,
    translate: dialect::schema,
    tables: "SELECT CAST(tablename AS TEXT) AS name FROM pg_tables WHERE schemaname = current_schema()",
    begin: "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;
            SELECT pg_advisory_xact_lock(8101821198635721829)",
    noting: "CREATE TABLE IF NOT EXISTS migration (
                 version BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum BYTEA NOT NULL
             )",
    foreign: "the database has tables, but none that keep mail; use an empty one",
    empty: "no mail was kept in it yet",
    older: "it has schema version {found}, and this program uses {known}; start a server of this version",
};
