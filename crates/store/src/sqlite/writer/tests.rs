//! What the writer promises, whatever the jobs are.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use super::super::connection;
use super::*;

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
            Ok(())
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

fn insert(desk: &mut Desk<'_>, x: i64) -> rusqlite::Result<()> {
    desk.connection.execute("INSERT INTO t VALUES (?1)", [x]).map(drop)
}

#[tokio::test]
async fn a_job_that_fails_takes_back_only_its_own_work() {
    let bench = bench(16);
    let go_on = bench.hold();
    let good = bench.writer.submit("insert", |desk| insert(desk, 1));
    let bad = bench.writer.submit("insert twice", |desk| {
        insert(desk, 2)?;
        insert(desk, 1)
    });
    let other = bench.writer.submit("insert", |desk| insert(desk, 3));
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
    let bad = bench.writer.submit("panic", |desk| -> rusqlite::Result<()> {
        insert(desk, 2)?;
        panic!("as the test wants")
    });
    let good = bench.writer.submit("insert", |desk| insert(desk, 1));
    let (bad, good, ()) = tokio::join!(bad, good, async { drop(go_on) });
    good.unwrap();
    assert_eq!(bad.unwrap_err().to_string(), "cannot panic: it panicked: as the test wants");
    assert_eq!(bench.kept(), [1]);
    bench.writer.submit("insert", |desk| insert(desk, 9)).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_fails_keeps_nothing_and_tells_everybody() {
    let bench = bench(16);
    let go_on = bench.hold();
    let good = bench.writer.submit("insert", |desk| insert(desk, 1));
    // A foreign key that is checked only at the end makes the commit itself fail.
    let orphan = bench
        .writer
        .submit("orphan a row", |desk| desk.connection.execute("INSERT INTO child VALUES (77)", []).map(drop));
    let (good, orphan, ()) = tokio::join!(good, orphan, async { drop(go_on) });
    assert!(orphan.is_err());
    assert!(good.unwrap_err().to_string().starts_with("cannot insert: nothing was kept: "));
    assert!(bench.kept().is_empty());
    bench.writer.submit("insert", |desk| insert(desk, 5)).await.unwrap();
    assert_eq!(bench.kept(), [5]);
}

#[tokio::test]
async fn one_more_job_than_may_wait_is_refused_at_once() {
    let bench = bench(2);
    let go_on = bench.hold();
    begin(bench.writer.submit("insert", |desk| insert(desk, 1)));
    begin(bench.writer.submit("insert", |desk| insert(desk, 2)));
    let refused = bench.writer.submit("insert", |desk| insert(desk, 3)).await;
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
    super::super::migrations::migrate(&mut writing, super::super::migrations::ALL).unwrap();
    let writer = Writer::start(writing, 4).unwrap();
    let words = |message| Words { message, scope: "p1".into(), subject: "hello".into(), body: String::new() };
    let failing = words(1);
    let failed = writer.submit("fail", move |desk| {
        desk.words.push(failing);
        Err::<(), _>(rusqlite::Error::QueryReturnedNoRows)
    });
    let kept = words(2);
    let done = writer.submit("index", move |desk| {
        desk.words.push(kept);
        Ok(())
    });
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
