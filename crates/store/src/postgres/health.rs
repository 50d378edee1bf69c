//! Whether the database is there, and what time it is there.
//!
//! A connection of its own asks once a second. While there is no answer, whoever wants something of the database is refused
//! at once, and whoever waits for it is let go: a database that hangs breaks no connection by itself. Servers ask one
//! database for the time, so that they agree on when a reservation ends, whatever their own clocks say.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use futures_util::future::{BoxFuture, Either, select};
use jiff::Timestamp;
use mail::clock::{Clock, from_micros};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;

use super::address::Address;
use super::taken;
use super::tx::Held;
use crate::error::{Outcome, SqlError};

/// How often the database is asked.
const EVERY: Duration = Duration::from_secs(1);
/// How often, while it is away.
const EVERY_WHILE_AWAY: Duration = Duration::from_millis(250);
/// How long it may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(4);
/// One part in so many is what the clocks of two machines drift apart, at the most.
const DRIFT: u32 = 5_000;

const ASK: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, pg_is_in_recovery()";

/// What is known of the database.
#[derive(Clone)]
pub(crate) struct Health {
    /// Why the database is away; `None` while it is there.
    away: Arc<watch::Sender<Option<String>>>,
    clock: Arc<DatabaseClock>,
}

impl Health {
    /// Asks for the first time, and goes on asking as one of `tasks`.
    /// The connections of `pools` are made again when the database comes back: what hung once may hang on.
    pub(super) async fn begin(address: &Address, pools: Vec<Pool>, tasks: &mut JoinSet<()>) -> Outcome<Self> {
        let connection = address.pool(1, ANSWERS_WITHIN);
        let clock = Arc::new(DatabaseClock(RwLock::new(ask(&connection).await?)));
        let health = Self { away: Arc::new(watch::Sender::new(None)), clock };
        tasks.spawn(health.clone().check(connection, pools));
        Ok(health)
    }

    /// The database's clock.
    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        self.clock.clone()
    }

    /// What `work` comes to, unless the database is away, or goes away meanwhile.
    pub(crate) async fn unless_away<T>(&self, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        match select(self.gone(), pin!(work)).await {
            Either::Left((gone, _)) => Err(gone),
            Either::Right((done, _)) => done,
        }
    }

    /// That the database is away, as soon as it is.
    fn gone(&self) -> BoxFuture<'static, SqlError> {
        let mut away = self.away.subscribe();
        Box::pin(async move {
            let cause = away.wait_for(Option::is_some).await.map(|cause| cause.clone());
            match cause {
                Ok(cause) => SqlError::NoConnection(cause.unwrap_or_default()),
                // The store was closed, and says so itself.
                Err(_) => std::future::pending().await,
            }
        })
    }

    /// As [`Self::unless_away`], and no longer than `at_most`: something between here and there may answer for the database.
    pub(super) async fn within<T>(&self, at_most: Duration, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
        let in_time = async {
            tokio::time::timeout(at_most, work).await.unwrap_or_else(|_| {
                let cause = format!("PostgreSQL does not answer within {at_most:?}");
                tracing::error!("{cause}; its connection is given up");
                Err(SqlError::NoConnection(cause))
            })
        };
        self.unless_away(in_time).await
    }

    async fn check(self, connection: Pool, pools: Vec<Pool>) {
        loop {
            let is_away = self.away.borrow().is_some();
            tokio::time::sleep(if is_away { EVERY_WHILE_AWAY } else { EVERY }).await;
            match ask_again_at_once(&connection).await {
                Ok(answer) => {
                    self.clock.hear(answer);
                    if is_away {
                        tracing::warn!("the database is back");
                        for pool in &pools {
                            pool.retain(|_, _| false);
                        }
                        self.away.send_replace(None);
                    }
                }
                // It is there; those who are connected go on.
                Err(SqlError::Postgres(error)) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) => {}
                Err(error) => {
                    if !is_away {
                        tracing::error!(cause = %error, "the database is away");
                    }
                    self.away.send_replace(Some(error.to_string()));
                }
            }
        }
    }
}

/// A connection that broke says nothing of the database: it is asked on another.
async fn ask_again_at_once(connection: &Pool) -> Outcome<Answer> {
    let begun = Instant::now();
    match ask(connection).await {
        Err(_) if begun.elapsed() < EVERY => ask(connection).await,
        answer => answer,
    }
}

async fn ask(connection: &Pool) -> Outcome<Answer> {
    let asking = async {
        // What is not answered in time is never used again.
        let mut client = Held::of(taken(connection).await?);
        let statement = client.prepare_cached(ASK).await?;
        let begun = Instant::now();
        let row = client.query_one(&statement, &[]).await?;
        let took = begun.elapsed();
        client.give_back();
        if row.try_get(1)? {
            return Err(SqlError::NoConnection("the server is a standby that only reads".to_owned()));
        }
        Ok(Answer { at: begun + took / 2, time: row.try_get(0)?, error: took / 2 })
    };
    let answer = tokio::time::timeout(ANSWERS_WITHIN, asking).await;
    answer.unwrap_or_else(|_| Err(SqlError::NoConnection("PostgreSQL does not answer".to_owned())))
}

/// What time the database said it is.
#[derive(Clone, Copy)]
struct Answer {
    /// When it was, by the clock of this machine that nobody sets.
    at: Instant,
    /// Microseconds since 1970.
    time: i64,
    /// How far off it may be.
    error: Duration,
}

impl Answer {
    fn time_at(&self, now: Instant) -> i64 {
        let passed = now.saturating_duration_since(self.at).as_micros();
        self.time.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX))
    }

    fn error_at(&self, now: Instant) -> Duration {
        self.error + now.saturating_duration_since(self.at) / DRIFT
    }

    /// Whether this one, which is newer, says more of the time than `known`: it came quickly, or `known` must be wrong.
    fn is_better_than(&self, known: &Self) -> bool {
        let known_error = known.error_at(self.at);
        let apart = Duration::from_micros(self.time.abs_diff(known.time_at(self.at)));
        self.error <= known_error || apart > self.error + known_error
    }
}

/// The time as the database tells it, carried on by this machine's clock between two answers.
struct DatabaseClock(RwLock<Answer>);

impl DatabaseClock {
    fn hear(&self, answer: Answer) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if answer.is_better_than(&known) {
            *known = answer;
        }
    }
}

impl Clock for DatabaseClock {
    fn now(&self) -> Timestamp {
        from_micros(self.0.read().unwrap_or_else(PoisonError::into_inner).time_at(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn answer(at: Instant, time: i64, error_micros: u64) -> Answer {
        Answer { at, time, error: Duration::from_micros(error_micros) }
    }

    #[test]
    fn a_slow_answer_does_not_replace_a_quick_one_until_that_is_as_uncertain() {
        let start = Instant::now();
        let quick = answer(start, 0, 100);
        let soon = start + SECOND;
        assert!(answer(soon, 1_000_050, 300).is_better_than(&quick), "200 µs of drift may have come to it");
        assert!(!answer(soon, 1_000_250, 301).is_better_than(&quick));
        assert!(answer(start + 10 * SECOND, 10_000_250, 2_000).is_better_than(&quick));
    }

    #[test]
    fn a_clock_that_was_set_is_followed_however_slowly_it_answers() {
        let start = Instant::now();
        let known = answer(start, 0, 100);
        for set_to in [1_000_000 + 3_600_000_000, 1_000_000 - 3_600_000_000_i64] {
            assert!(answer(start + SECOND, set_to, 500_000).is_better_than(&known));
        }
    }

    #[test]
    fn time_goes_on_while_nobody_answers() {
        let start = Instant::now();
        assert_eq!(answer(start, 5, 0).time_at(start + 3 * SECOND), 3_000_005);
    }
}
