//! What doctor looks at when mail is in PostgreSQL. What files alone have (permissions, torn pages) is PostgreSQL's own.

use serde_json::{Value, json};
use store::postgres_upkeep::{Condition, examine};

use super::Examined;
use crate::commands::small_runtime;

/// A transaction that is open for so many seconds is worth a word.
const LONG: i64 = 600;

impl Examined {
    /// Looks at the database itself; whether there is mail in it that can be looked at further.
    pub(super) fn look_at_database(&mut self, url: &str) -> anyhow::Result<bool> {
        match small_runtime()?.block_on(examine(url)) {
            Ok(condition) => {
                let is_ready = self.judge(&condition);
                self.bytes = condition.bytes;
                self.schema = Some(condition.schema).filter(|schema| *schema > 0);
                self.condition = Some(condition);
                Ok(is_ready)
            }
            Err(error) => {
                let todo = "Check `database` (POSTRIDER_DATABASE), and that PostgreSQL runs and lets this machine in.";
                self.find(error.to_string(), todo);
                Ok(false)
            }
        }
    }

    /// Says what is wrong; whether the mail can be opened without changing anything.
    fn judge(&mut self, condition: &Condition) -> bool {
        let (schema, wanted) = (condition.schema, condition.schema_wanted);
        if condition.is_unfinished {
            let todo = "Run postrider migrate again with the same --from and --to: it goes on, if the source was not used since.";
            self.find("not all mail was moved here yet".to_owned(), todo);
        }
        if condition.is_standby {
            let what = "the server is a standby that only reads".to_owned();
            self.find(what, "Let `database` name the primary server, or promote this one.");
        }
        if 0 < schema && schema < wanted {
            let what = format!("the database has schema version {schema}, and this program uses {wanted}");
            self.find(what, "Start a server of this version: it brings the schema up to date.");
        }
        if condition.encoding != "UTF8" {
            let what = format!(
                "the database is made for the characters of '{}', and mail has all there are",
                condition.encoding
            );
            self.find(what, "Recreate it: createdb --encoding UTF8 --template template0.");
        }
        if !condition.is_durable {
            let what = "PostgreSQL does not wait for the disk: a crash of its machine may lose mail that was accepted"
                .to_owned();
            self.find(what, "Set fsync and full_page_writes to on.");
        }
        let (used, most) = condition.connections;
        if used * 10 >= most * 9 {
            let what = format!("{used} of {most} connections are in use");
            self.find(what, "Raise max_connections, or run fewer servers.");
        }
        if condition.oldest_transaction >= LONG {
            let what = format!("a transaction has been open for {} seconds", condition.oldest_transaction);
            self.find(what, "Find it in pg_stat_activity and end it: rows that were replaced pile up meanwhile.");
        }
        schema == wanted && !condition.is_unfinished
    }
}

/// What programs are told of the database.
pub(super) fn report(url: &str, examined: &Examined) -> Value {
    let known = examined.condition.as_ref();
    json!({
        "url": url,
        "bytes": examined.bytes,
        "schema": examined.schema,
        "server": known.map(|known| &known.server),
        "encryption": known.map(|known| &known.encryption),
        "connections": known.map(|known| known.connections.0),
        "max_connections": known.map(|known| known.connections.1),
        "oldest_transaction_seconds": known.map(|known| known.oldest_transaction),
    })
}

/// What people are told of it.
pub(super) fn rows(url: &str, examined: &Examined) -> Vec<(&'static str, String)> {
    let Some(known) = &examined.condition else { return vec![("database", format!("{url} (not reached)"))] };
    let database = match examined.schema {
        Some(schema) => format!("{url} ({} bytes, schema {schema})", examined.bytes),
        None => format!("{url} (no mail yet)"),
    };
    let encryption = known.encryption.as_deref().unwrap_or("not encrypted");
    let (used, most) = known.connections;
    let server = format!("{}, {encryption}, {used} of {most} connections", known.server);
    vec![("database", database), ("PostgreSQL", server)]
}
