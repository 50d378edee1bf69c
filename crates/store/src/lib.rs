//! Where mail is kept: the engines behind the ports of `mail`.
//!
//! An engine holds SQL and nothing else: it decides nothing that a rule of `mail` could decide, and invents no ids that
//! a row does not have, no times and no defaults. [`Sqlite`] is the engine for one machine; [`upkeep`] looks after its
//! file, and [`ownership`] sees to it that one server at a time serves it. [`Postgres`] is the engine for many,
//! which [`postgres_upkeep`] looks at; [`moving`] takes all mail from one engine to the other. [`Beads`] and [`Exec`]
//! are no engines but providers: mail that a city keeps beside its work, and mail that somebody else's script keeps.

mod agents;
mod beads;
mod channels;
mod colleagues;
mod dialect;
mod engine;
mod error;
mod events;
mod exec;
mod job;
mod ledger;
mod mailboxes;
mod messages;
mod migration;
pub mod moving;
mod open_keys;
mod overview;
pub mod ownership;
mod postgres;
mod prelude;
mod presence;
mod projects;
mod reservations;
mod roles;
mod row;
mod search;
mod sessions;
mod sqlite;
mod threads;
mod times;
mod transfer;
mod tx;
mod undelivered;
mod values;
mod wake_ups;
mod watches;
mod words;
mod work;

pub use beads::Beads;
pub use engine::{Engine, Location};
pub use exec::Exec;
pub use postgres::upkeep as postgres_upkeep;
pub use postgres::{Postgres, PostgresOptions};
pub use sqlite::upkeep;
pub use sqlite::{Options, Sqlite};

use moving::{Table, table};

/// What the schema has grown by since both engines take one text for it: the name of each step and its SQL, in SQLite's words
/// (`INTEGER`, `BLOB`, `STRICT`). Steps are added at the end and never changed.
const SHARED_STEPS: &[migration::Migration] = &[
    ("open_keys", include_str!("../migrations/shared/0001_open_keys.sql")),
    ("json_mail", include_str!("../migrations/shared/0002_json_mail.sql")),
    ("sessions", include_str!("../migrations/shared/0003_sessions.sql")),
    ("roles", include_str!("../migrations/shared/0004_roles.sql")),
    ("project_alias", include_str!("../migrations/shared/0005_project_alias.sql")),
    ("wake_ups", include_str!("../migrations/shared/0006_wake_ups.sql")),
];

/// Every table that a store keeps, in an order in which each comes after those that it points at: [`moving`] goes by it. A
/// test compares it with both schemas.
#[rustfmt::skip] // a table on a line or two, as it would be told
pub const TABLES: &[Table] = &[
    table("office", 1, "id"),
    table("project", 1, "id, slug, human_key, created_at, next_seq, last_message_at, lease_version, acks"),
    table("project_alias", 1, "path, project_id, created_at"),
    table("agent", 1, "id, project_id, name, program, model, task_description, registered_at, last_active_at, \
        retired_at"),
    table("agent_token", 1, "id, agent_id, hash, created_at"),
    table("message", 1, "id, project_id, sender_id, created_at, reply_to, importance, ack_required, thread, kind, \
        work_id, door, vouched, from_name, to_names, cc_names, subject, body"),
    table("own_id", 2, "project_id, own_id, message_id"),
    table("fault", 1, "message_id, problems"),
    table("delivery", 2, "recipient_id, message_id, role, position, ack_required, shown_at, read_at, acked_at, \
        archived_at, kind, ack_note"),
    table("idempotency", 2, "sender_id, key, fingerprint, message_id"),
    table("open_key", 3, "sender_id, key, message_id"),
    table("reservation", 1, "id, project_id, holder_id, pattern, exclusive, reason, granted_at, ends_at, \
        released_at"),
    table("reservation_wait", 1, "ticket, project_id, agent_id, patterns, exclusive, since, until"),
    table("event", 2, "project_id, seq, kind, reference, agent_id, at"),
    table("cursor", 2, "sink, project_id, seq, holder, held_until"),
    table("work", 2, "project_id, work_id, newest"),
    table("work_word", 5, "project_id, work_id, kind, sender_id, place, message_id"),
    table("channel", 1, "id, project_id, name, created_at"),
    table("post", 1, "message_id, channel_id, seq, hops, sent_at, external_id, cited_as, kind, mode, origin, answers, \
        document"),
    table("arrival", 2, "channel_id, key, message_id"),
    table("presence", 1, "agent_id, project_id, state, substate, since, seen_at, source, watcher_pid, channel"),
    table("role", 2, "project_id, name, mailbox_id, holder_id, since, held_until"),
    table("watch", 2, "agent_id, channel, position, holder, held_until"),
    table("watch_run", 2, "agent_id, message_id, channel, state, tries, note, at"),
    table("session", 2, "agent_id, key, project_id, client, host, place, is_idle, began_at, seen_at, ended_at"),
    table("wake_up", 2, "agent_id, number, session, first, up_to, tries, claimed_at, outcome, settled_at"),
    table("generated_name", 1, "agent_id, project_id, handed_over"),
    table("former_name", 2, "project_id, name, agent_id"),
];
