//! What the writer promises, whatever the jobs are.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mail::ids::MessageId;

use super::super::connection;
use super::*;
use crate::job::in_job;
use crate::row::values;

struct Bench {
    _folder: tempfile::TempDir,
    reader: Connection,
    writer: Arc<Writer>,
}

fn bench(queue: usize) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    connection::make_file(&path).unwrap();
    let writing = connection::writing(&path).unwrap();
    writing
        .execute_batch(
            "CREATE TABLE t (x INTEGER PRIMARY KEY);
             CREATE TABLE child (x INTEGER REFERENCES t (x) DEFERRABLE INITIALLY DEFERRED);",
        )
        .unwrap();
    let reader = connection::reading(&path).unwrap();
    Bench { _folder: folder, reader, writer: Arc::new(Writer::start(writing, queue).unwrap()) }
}

impl Writer {
    /// Queues `work` and waits until it is on disk.
    async fn submit<T: Send + 'static>(&self, doing: &'static str, work: impl Work<T>) -> Result<T, StoreError> {
        self.hand_in(doing, work)?.await.unwrap_or_else(|_| Err(closed(doing)))
    }
}

impl Bench {
    fn kept(&self) -> Vec<i64> {
        let mut statement = self.reader.prepare("SELECT x FROM t ORDER BY x").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    /// Holds the writer inside a job; what is queued meanwhile becomes one batch. Dropping the sender lets it go on.
    fn hold(&self) -> std::sync::mpsc::Sender<()> {
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let (tell, begun) = std::sync::mpsc::channel();
        let held = self.writer.submit("hold the writer", move |_| {
            tell.send(()).unwrap();
            let _ = wait.recv();
            async { Ok(()) }.boxed()
        });
        begin(held);
        begun.recv().unwrap();
        go_on
    }
}

/// Queues the job of a future, and then goes away like a caller that lost patience.
fn begin(future: impl Future) {
    let _ = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

fn insert<'a>(tx: &'a mut Tx<'_>, x: i64) -> BoxFuture<'a, Outcome<()>> {
    async move { tx.execute("INSERT INTO t VALUES (?1)", values![x]).await.map(drop) }.boxed()
}

/// Keeps a message, and has it made findable.
async fn keep(tx: &mut Tx<'_>, message: i64) -> Outcome<()> {
    let sql =
        "INSERT INTO message (id, project_id, sender_id, created_at, thread, importance, ack_required, door, vouched,
                   from_name, to_names, cc_names, subject, body)
               VALUES (?1, 1, 7, ?1, 't', 1, 0, 'mcp', 'claimed', 'alice', 'alice', '', 'hello', 'b')";
    tx.execute(sql, values![message]).await?;
    let Tx::Sqlite(tx) = tx else { panic!("it is SQLite's") };
    tx.make_findable([MessageId(message)].into_iter());
    Ok(())
}

#[tokio::test]
async fn a_job_that_fails_takes_back_only_its_own_work() {
    let bench = bench(16);
    let go_on = bench.hold();
    let good = bench.writer.submit("insert", |tx| insert(tx, 1));
    let bad = bench.writer.submit("insert twice", |tx| {
        async {
            insert(tx, 2).await?;
            insert(tx, 1).await
        }
        .boxed()
    });
    let other = bench.writer.submit("insert", |tx| insert(tx, 3));
    let (good, bad, other, ()) = tokio::join!(good, bad, other, async { drop(go_on) });
    good.unwrap();
    other.unwrap();
    assert!(bad.unwrap_err().to_string().starts_with("cannot insert twice: "));
    assert_eq!(bench.kept(), [1, 3]);
}

#[tokio::test]
async fn a_job_that_panics_takes_back_only_its_own_work() {
    let bench = bench(16);
    let go_on = bench.hold();
    let bad = bench.writer.submit::<()>("panic", |tx| {
        async {
            insert(tx, 2).await?;
            panic!("as the test wants")
        }
        .boxed()
    });
    let good = bench.writer.submit("insert", |tx| insert(tx, 1));
    let (bad, good, ()) = tokio::join!(bad, good, async { drop(go_on) });
    good.unwrap();
    assert_eq!(bad.unwrap_err().to_string(), "cannot panic: it panicked: as the test wants");
    assert_eq!(bench.kept(), [1]);
    bench.writer.submit("insert", |tx| insert(tx, 9)).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_fails_keeps_nothing_and_tells_everybody() {
    let bench = bench(16);
    let go_on = bench.hold();
    let good = bench.writer.submit("insert", |tx| insert(tx, 1));
    // A foreign key that is checked only at the end makes the commit itself fail.
    let orphan = bench.writer.submit("orphan a row", |tx| {
        async { tx.execute("INSERT INTO child VALUES (77)", &[]).await.map(drop) }.boxed()
    });
    let (good, orphan, ()) = tokio::join!(good, orphan, async { drop(go_on) });
    assert!(orphan.is_err());
    assert!(good.unwrap_err().to_string().starts_with("cannot insert: nothing was kept: "));
    assert!(bench.kept().is_empty());
    bench.writer.submit("insert", |tx| insert(tx, 5)).await.unwrap();
    assert_eq!(bench.kept(), [5]);
}

#[tokio::test]
async fn one_more_job_than_may_wait_is_refused_at_once() {
    let bench = bench(2);
    let go_on = bench.hold();
    begin(bench.writer.submit("insert", |tx| insert(tx, 1)));
    begin(bench.writer.submit("insert", |tx| insert(tx, 2)));
    let refused = bench.writer.submit("insert", |tx| insert(tx, 3)).await;
    assert!(matches!(refused, Err(StoreError::Busy)), "{refused:?}");
    drop(go_on);
    bench.writer.close();
    assert_eq!(bench.kept(), [1, 2], "closing finishes what waits, even when the callers went away");
}

#[tokio::test]
async fn what_failed_leaves_no_words_behind_to_be_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    connection::make_file(&path).unwrap();
    let mut writing = connection::writing(&path).unwrap();
    now(super::super::SCHEMA.migrate(&mut super::super::tx_over(&mut writing))).unwrap();
    writing
        .execute_batch(
            "INSERT INTO project (id, slug, human_key, created_at) VALUES (1, 'a', '/a', 1);
             INSERT INTO agent VALUES (7, 1, 'alice', '', '', '', 1, 1, NULL);",
        )
        .unwrap();
    let writer = Writer::start(writing, 4).unwrap();
    let failing = in_job!(|tx| {
        keep(tx, 1).await?;
        Err::<(), _>(rusqlite::Error::QueryReturnedNoRows.into())
    });
    let failed = writer.submit("fail", failing);
    let done = writer.submit("index", in_job!(|tx| keep(tx, 2).await));
    let (failed, done) = tokio::join!(failed, done);
    assert!(failed.is_err() && done.is_ok());
    let reader = connection::reading(&path).unwrap();
    let found: Vec<i64> = reader
        .prepare("SELECT rowid FROM message_fts('hello')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(found, [2]);
}
