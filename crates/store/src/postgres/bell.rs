//! Hears what other servers commit, and tells them what this one did.
//!
//! A commit is told after it, not in it: `NOTIFY` inside a transaction makes all commits wait for each other. A server
//! that dies in between has told nobody, and a connection that breaks hears nothing, so the database is also asked now and
//! then. Nothing is carried but that something changed.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Connection};

use super::address::Address;

/// How often others are told at most.
const TOLD_EVERY: Duration = Duration::from_millis(10);
/// How often the database is asked whether anything was missed.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// How long to wait before connecting again.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// Changes with every event and every lease.
const SUM: &str = "SELECT coalesce(sum(next_seq + lease_version), 0)::bigint, pg_backend_pid() FROM project";

/// The bell of one open store.
pub(super) struct Bell {
    changes: Arc<Changes>,
    task: JoinHandle<()>,
}

struct Changes {
    /// Counts what changed, here or elsewhere.
    count: watch::Sender<i64>,
    /// Woken when there is something to tell.
    told: Notify,
    /// Which process of the database serves this connection: it hears itself too.
    own: AtomicI32,
}

impl Changes {
    fn heard(&self) {
        self.count.send_modify(|count| *count += 1);
    }
}

impl Bell {
    /// Begins to listen. A database that is away is tried again and again.
    pub(super) fn hang(address: Address) -> Self {
        let changes = Arc::new(Changes { count: watch::Sender::new(0), told: Notify::new(), own: AtomicI32::new(0) });
        let task = tokio::spawn(listen_always(address, changes.clone()));
        Self { changes, task }
    }

    /// Notes that this server committed something.
    pub(super) fn ringer(&self) -> impl Fn() + Send + Sync + 'static {
        let changes = self.changes.clone();
        move || {
            changes.heard();
            changes.told.notify_one();
        }
    }

    /// A number that changes with every commit.
    pub(super) fn stamp(&self) -> i64 {
        *self.changes.count.borrow()
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn listen_always(address: Address, changes: Arc<Changes>) {
    let mut is_known_to_fail = false;
    loop {
        match address.listen(&changes).await {
            Ok(()) => is_known_to_fail = false,
            Err(error) if is_known_to_fail => tracing::debug!(%error, "still cannot listen to the database"),
            Err(error) => {
                is_known_to_fail = true;
                tracing::warn!(%error, "cannot listen to the database; looking for mail more slowly meanwhile");
            }
        }
        // Something may have been missed.
        changes.heard();
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

impl Address {
    /// Listens until the connection breaks. `Err` if there was none.
    async fn listen(&self, changes: &Arc<Changes>) -> Result<(), tokio_postgres::Error> {
        let config = self.limited(Duration::from_secs(10), "");
        let (client, driving) = match &self.tls {
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                (client, tokio::spawn(drive(connection, changes.clone())))
            }
            None => {
                let (client, connection) = config.connect(tokio_postgres::NoTls).await?;
                (client, tokio::spawn(drive(connection, changes.clone())))
            }
        };
        client.batch_execute("LISTEN postrider").await?;
        // Ends with the connection, which is what is waited for.
        let _ = tell(&client, changes).await;
        driving.abort();
        Ok(())
    }
}

/// Hands on what is heard, and keeps the connection going.
async fn drive<S, T>(mut connection: Connection<S, T>, changes: Arc<Changes>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notification(told) = message
            && told.process_id() != changes.own.load(Ordering::Relaxed)
        {
            changes.heard();
        }
    }
}

/// Tells others what this server did, and asks now and then what they did.
async fn tell(client: &Client, changes: &Changes) -> Result<(), tokio_postgres::Error> {
    let mut last = None;
    loop {
        let row = client.query_one(SUM, &[]).await?;
        changes.own.store(row.try_get(1)?, Ordering::Relaxed);
        let sum: i64 = row.try_get(0)?;
        if last.replace(sum) != Some(sum) {
            changes.heard();
        }
        let asking = tokio::time::Instant::now() + ASKED_EVERY;
        while tokio::time::timeout_at(asking, changes.told.notified()).await.is_ok() {
            client.batch_execute("NOTIFY postrider").await?;
            tokio::time::sleep(TOLD_EVERY).await;
        }
    }
}
