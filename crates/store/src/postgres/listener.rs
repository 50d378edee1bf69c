//! Hears what other servers commit, and tells them what this one did.
//!
//! A commit is told after it, not in it: `NOTIFY` inside a transaction makes all commits wait for each other. A server
//! that dies in between has told nobody, and a connection that breaks hears nothing, so the database is also asked now and
//! then. What is told is whom to wake, never what was written.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use mail::events::{Changes, Concerned};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, Client, Connection};

use super::Postgres;
use super::address::Address;
use super::health::Health;
use super::notices::Notices;

/// How often others are told at most.
const TOLD_EVERY: Duration = Duration::from_millis(5);
/// How often the database is asked whether anything was missed.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// How long to wait before connecting again.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Changes with every event and every reservation.
const VERSIONS: &str = "SELECT id, next_seq + lease_version FROM project";
/// A name of their own for all who use the same tables, and this connection, which hears itself too.
const CHANNEL: &str = "SELECT 'postrider_' || left(md5(current_schema()), 16), pg_backend_pid()";

/// Begins to listen, as one of `tasks`. A database that is away is tried again and again, on a new connection: the old one
/// may hang.
pub(super) fn listen(address: Address, health: Health, tasks: &mut JoinSet<()>) -> Arc<Notices> {
    let notices = Arc::new(Notices::default());
    tasks.spawn(listen_always(address, health, notices.clone()));
    notices
}

impl Postgres {
    /// Waits until somebody has committed since `after`, but no longer than `at_most`.
    pub(crate) async fn changes(&self, after: Option<i64>, at_most: Duration) -> Changes {
        let mut stamps = self.notices.stamps();
        let Some(after) = after else {
            return Changes { stamp: *stamps.borrow(), concerned: Concerned::Everybody };
        };
        // The time may pass without a change.
        let _ = tokio::time::timeout(at_most, stamps.wait_for(|stamp| *stamp != after)).await;
        self.notices.after(after)
    }
}

async fn listen_always(address: Address, health: Health, notices: Arc<Notices>) {
    let mut is_known_to_fail = false;
    loop {
        match health.unless_away(async { Ok(address.listen(&notices).await?) }).await {
            Ok(()) => is_known_to_fail = false,
            Err(error) if is_known_to_fail => tracing::debug!(%error, "still cannot listen to the database"),
            Err(error) => {
                is_known_to_fail = true;
                tracing::warn!(%error, "cannot listen to the database; looking for mail more slowly meanwhile");
            }
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

impl Address {
    /// Listens until the connection breaks. `Err` if there was none.
    async fn listen(&self, notices: &Arc<Notices>) -> Result<(), tokio_postgres::Error> {
        let config = self.limited(Duration::from_secs(10), "");
        match &self.tls {
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                listen_on(client, connection, notices).await
            }
            None => {
                let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
                listen_on(client, connection, notices).await
            }
        }
    }
}

async fn listen_on<S, T>(
    client: Client,
    mut connection: Connection<S, T>,
    notices: &Notices,
) -> Result<(), tokio_postgres::Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let (named, own) = (std::sync::OnceLock::new(), std::sync::OnceLock::new());
    let heard = async {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(told) = message
                && own.get() != Some(&told.process_id())
            {
                notices.heard(told.payload());
            }
        }
    };
    let said = async {
        let row = client.query_one(CHANNEL, &[]).await?;
        let channel: &String = named.get_or_init(|| row.get(0));
        own.get_or_init(|| row.get(1));
        client.batch_execute(&format!("LISTEN {channel}")).await?;
        notices.begin(versions(&client).await?);
        tell(&client, channel, notices).await
    };
    // Both end with the connection, which is what is waited for.
    tokio::select! {
        () = heard => Ok(()),
        ended = said => ended,
    }
}

/// Tells others what this server did, and asks now and then what they did.
async fn tell(client: &Client, channel: &str, notices: &Notices) -> Result<(), tokio_postgres::Error> {
    loop {
        let asking = tokio::time::Instant::now() + ASKED_EVERY;
        // Looked at by itself: a server that commits all the time has always something to tell.
        while tokio::time::Instant::now() < asking
            && tokio::time::timeout_at(asking, notices.to_tell.notified()).await.is_ok()
        {
            let (notice, stamp) = notices.untold();
            for word in notice.words() {
                client.execute("SELECT pg_notify($1, $2)", &[&channel, &word]).await?;
            }
            notices.was_told(stamp);
            tokio::time::sleep(TOLD_EVERY).await;
        }
        notices.compare(versions(client).await?);
    }
}

/// How every project stands.
async fn versions(client: &Client) -> Result<BTreeMap<i64, i64>, tokio_postgres::Error> {
    let rows = client.query(VERSIONS, &[]).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}
