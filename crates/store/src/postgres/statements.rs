//! Running statements in a transaction, or on a connection that reads.

use std::pin::pin;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt};
use tokio_postgres::Row;

use super::tx::PostgresTx;
use crate::dialect::{for_many, for_postgres};
use crate::error::Outcome;
use crate::row::{self, Value};
use crate::tx::{Many, RowVisitor};

/// How many statements are sent before the first answer is waited for.
const AT_ONCE: usize = 512;

/// What a statement is given: the values of a row, or of each column of many rows.
enum Params<'v> {
    Row(&'v [Value<'v>]),
    Columns(Vec<Vec<Value<'v>>>),
}

impl PostgresTx {
    pub(crate) async fn each(&mut self, sql: &str, values: &[Value<'_>], visit: &mut RowVisitor<'_>) -> Outcome<()> {
        if self.is_reading && has_nul(values) {
            return Ok(());
        }
        let statement = self.client.prepare_cached(&for_postgres(sql)).await?;
        let mut rows = pin!(self.client.query_raw(&statement, values).await?);
        while let Some(row) = rows.next().await {
            self.has_changed.fetch_or(is_change(sql), Ordering::Relaxed);
            if !visit(&row::Row::Postgres(&row?))? {
                break;
            }
        }
        Ok(())
    }

    /// Sends all statements without waiting for the answers between them, each once for all its rows.
    pub(crate) async fn execute_all(&self, all: &[Many<'_>]) -> Outcome<()> {
        let mut sending = Vec::with_capacity(all.len());
        for Many { sql, width, values } in all.iter().filter(|many| !many.values.is_empty()) {
            let one = self.client.prepare_cached(&for_postgres(sql)).await?;
            if values.len() == *width {
                sending.push((one, Params::Row(values)));
            } else {
                let column = |at: usize| values.iter().skip(at).step_by(*width).copied().collect();
                let many = self.client.prepare_cached(&for_many(sql, one.params())).await?;
                sending.push((many, Params::Columns((0..*width).map(column).collect())));
            }
        }
        let sent = sending.iter().map(async |(statement, params)| match params {
            Params::Row(values) => self.client.execute_raw(statement, *values).await,
            Params::Columns(columns) => self.client.execute_raw(statement, columns).await,
        });
        // Whatever comes behind what failed fails too, and says only that: the first error is the one that counts.
        for changed in join_all(sent).await {
            self.has_changed.fetch_or(changed? > 0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Sends a statement for each `width` values without waiting for the answers between them.
    pub(crate) async fn each_of_many(
        &mut self,
        sql: &str,
        width: usize,
        values: &[Value<'_>],
        visit: &mut RowVisitor<'_>,
    ) -> Outcome<()> {
        if values.is_empty() {
            return Ok(());
        }
        let (client, is_reading) = (&self.client, self.is_reading);
        let statement = client.prepare_cached(&for_postgres(sql)).await?;
        self.has_changed.fetch_or(is_change(sql), Ordering::Relaxed);
        for some in values.chunks(AT_ONCE * width) {
            let possible = some.chunks(width).filter(|values| !is_reading || !has_nul(values));
            let asked = possible.map(async |values| client.query_raw(&statement, values).await?.try_collect().await);
            let answers: Vec<Result<Vec<Row>, tokio_postgres::Error>> = join_all(asked).await;
            // Whatever comes behind what failed fails too, and says only that: the first error is the one that counts.
            for rows in answers {
                for row in &rows? {
                    visit(&row::Row::Postgres(row))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Outcome<u64> {
        let statement = self.client.prepare_cached(&for_postgres(sql)).await?;
        let changed = self.client.execute_raw(&statement, values).await?;
        self.has_changed.fetch_or(changed > 0, Ordering::Relaxed);
        Ok(changed)
    }
}

/// Whether a statement changes rows, and does not only read or lock them.
fn is_change(sql: &str) -> bool {
    !sql.trim_start().starts_with("SELECT")
}

/// PostgreSQL takes no text with a NUL, and none that is kept has one: nothing is found by it.
fn has_nul(values: &[Value<'_>]) -> bool {
    values.iter().any(|value| matches!(value, Value::Text(text) if text.contains('\0')))
}
