//! Looking after the file: versions, checks, backups and restores.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mail::events::EventStore;
use mail::messages::{InboxQuery, MessageStore};
use rusqlite::Connection;
use store::ownership::Ownership;
use store::{Options, Sqlite, upkeep};

use crate::team::{self, open, send, team};

/// A database with this many messages for the second agent of the team.
async fn filled(path: &Path, messages: usize) -> team::Team {
    let store = open(path);
    let team = team(&store, 2).await;
    for number in 0..messages {
        send(&store, &team.message(0, &[1], &format!("body {number}"))).await;
    }
    store.close().await;
    team
}

async fn bodies(path: &Path, team: &team::Team) -> usize {
    let store = Sqlite::open_read_only(path).unwrap();
    store.inbox(team.agents[1], &InboxQuery::newest(100_000)).await.unwrap().len()
}

fn problems(path: &Path) -> Vec<String> {
    upkeep::integrity_check(path).unwrap()
}

#[tokio::test]
async fn closing_leaves_one_file_and_opening_it_again_finds_the_mail() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    let team = filled(&path, 3).await;
    let log = folder.path().join("mail.db-wal");
    assert!(!log.exists() || fs::metadata(log).unwrap().len() == 0);
    assert_eq!(bodies(&path, &team).await, 3);
    assert_eq!(upkeep::schema_version(&path).unwrap(), 13);
}

#[tokio::test]
async fn a_newer_or_changed_schema_is_refused_by_every_way_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    filled(&path, 1).await;
    for damage in ["UPDATE migration SET checksum = x'00'", "INSERT INTO migration VALUES (99, 'later', x'00')"] {
        let copy = folder.path().join("copy.db");
        fs::copy(&path, &copy).unwrap();
        Connection::open(&copy).unwrap().execute(damage, []).unwrap();
        assert!(Sqlite::open(&copy, &Options::default()).is_err(), "{damage}");
        assert!(Sqlite::open_read_only(&copy).is_err(), "{damage}");
        assert!(upkeep::restore(&copy, &folder.path().join("restored.db"), "1").is_err(), "{damage}");
    }
}

#[tokio::test]
async fn a_check_finds_damage_and_dangling_rows_and_a_broken_search_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    filled(&path, 50).await;
    assert_eq!(problems(&path), Vec::<String>::new());
    let copy = |name: &str| {
        let copy = folder.path().join(name);
        fs::copy(&path, &copy).unwrap();
        copy
    };
    let dangling = copy("dangling.db");
    let sql = "PRAGMA foreign_keys = OFF; UPDATE delivery SET recipient_id = 77 WHERE message_id = 3";
    Connection::open(&dangling).unwrap().execute_batch(sql).unwrap();
    assert_eq!(problems(&dangling), ["a row of 'delivery' points at a row of 'agent' that is not there"]);

    let garbled = copy("garbled.db");
    let sql = "UPDATE message_fts_data SET block = zeroblob(length(block)) WHERE id > 10";
    Connection::open(&garbled).unwrap().execute(sql, []).unwrap();
    assert!(!problems(&garbled).is_empty());

    let unfindable = copy("unfindable.db");
    let sql = "INSERT INTO message_fts (message_fts) VALUES ('delete-all')";
    Connection::open(&unfindable).unwrap().execute(sql, []).unwrap();
    assert_eq!(problems(&unfindable), ["the search index knows 0 of the 50 messages of 'projects-shop'"]);

    let torn = copy("torn.db");
    let mut bytes = fs::read(&torn).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 8192].fill(0xa5);
    fs::write(&torn, bytes).unwrap();
    assert!(!problems(&torn).is_empty());

    let text = copy("text.db");
    fs::write(&text, "this is no database, though long enough to be read as one".repeat(20)).unwrap();
    assert!(!problems(&text).is_empty());
    assert!(upkeep::integrity_check(&folder.path().join("nowhere.db")).is_err());
}

#[tokio::test]
async fn a_backup_is_one_whole_file_and_never_replaces_another() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("mail.db"), folder.path().join("backup.db"));
    let team = filled(&path, 200).await;
    let mut reports = Vec::new();
    upkeep::backup(&path, &copy, |remaining, total| reports.push((remaining, total))).unwrap();
    assert!(reports.last().is_some_and(|(remaining, total)| *remaining == 0 && *total > 0));
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name.to_string_lossy().starts_with("backup"));
    assert_eq!(names, ["backup.db"], "nothing else is needed, and nothing half done is left");
    assert_eq!(bodies(&copy, &team).await, 200);

    let before = fs::read(&copy).unwrap();
    assert!(upkeep::backup(&path, &copy, |_, _| {}).is_err());
    assert_eq!(fs::read(&copy).unwrap(), before);
    assert!(upkeep::backup(&folder.path().join("nowhere.db"), &folder.path().join("b.db"), |_, _| {}).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_finished_and_whole_while_writes_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("mail.db"), folder.path().join("backup.db"));
    let store = open(&path);
    let team = team(&store, 2).await;
    for _ in 0..100 {
        send(&store, &team.message(0, &[1], &"long ".repeat(10_000))).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (store, stop, message) = (store.clone(), stop.clone(), team.message(0, &[1], "meanwhile"));
        async move {
            let mut sent = 0;
            while !stop.load(Ordering::Relaxed) {
                send(&store, &message).await;
                sent += 1;
            }
            sent
        }
    });
    let (from, to) = (path.clone(), copy.clone());
    tokio::task::spawn_blocking(move || upkeep::backup(&from, &to, |_, _| {})).await.unwrap().unwrap();
    stop.store(true, Ordering::Relaxed);
    let sent = writer.await.unwrap();
    let kept = bodies(&copy, &team).await;
    assert!((100..=100 + sent).contains(&kept), "{kept} of 100 to {}", 100 + sent);
    assert_eq!(problems(&copy), Vec::<String>::new());
    let reader = Sqlite::open_read_only(&copy).unwrap();
    let events = reader.events(team.project, 0, 100_000).await.unwrap();
    assert!(events.iter().map(|event| event.seq).eq(1..=kept as i64 + 2), "a snapshot of one moment");
}

#[tokio::test]
async fn a_backup_does_not_begin_anew_when_somebody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.db");
    filled(&path, 0).await;
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("CREATE TABLE ballast (x); INSERT INTO ballast VALUES (zeroblob(8000000))").unwrap();
    let mut steps = 0;
    upkeep::backup(&path, &folder.path().join("backup.db"), |_, total| {
        steps += 1;
        assert!(steps <= total / 512 + 1, "it began again");
        writer.execute("UPDATE project SET created_at = created_at + 1", []).unwrap();
    })
    .unwrap();
    assert!(steps > 2, "there were writes between its steps");
}

#[tokio::test]
async fn a_restore_puts_the_backup_in_place_and_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("mail.db"), folder.path().join("backup.db"));
    let team = filled(&path, 5).await;
    upkeep::backup(&path, &copy, |_, _| {}).unwrap();
    let store = open(&path);
    send(&store, &team.message(0, &[1], "after the backup")).await;
    drop(store);

    let first = upkeep::restore(&copy, &path, "2026-01-11T16:00").unwrap().unwrap();
    assert_eq!(bodies(&path, &team).await, 5);
    assert_eq!(bodies(&first, &team).await, 6);
    let second = upkeep::restore(&copy, &path, "2026-01-11T16:00").unwrap().unwrap();
    assert_ne!(first, second, "a name that is taken is not taken again");
    assert_eq!((bodies(&first, &team).await, bodies(&second, &team).await), (6, 5));

    let store = open(&path);
    send(&store, &team.message(0, &[1], "after the restore")).await;
    assert_eq!(upkeep::restore(&copy, &folder.path().join("new/mail.db"), "x").unwrap(), None);
    assert_eq!(bodies(&folder.path().join("new/mail.db"), &team).await, 5);
}

#[tokio::test]
async fn a_database_in_use_or_a_damaged_backup_is_not_restored() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("mail.db"), folder.path().join("backup.db"));
    let team = filled(&path, 5).await;
    upkeep::backup(&path, &copy, |_, _| {}).unwrap();

    let _owned = Ownership::take(&path, "restore").unwrap();
    let store = open(&path);
    store.inbox(team.agents[1], &InboxQuery::newest(1)).await.unwrap();
    assert!(upkeep::restore(&copy, &path, "x").is_err(), "somebody has it open");
    send(&store, &team.message(0, &[1], "still here")).await;
    drop(store);

    let half = folder.path().join("half.db");
    fs::write(&half, &fs::read(&copy).unwrap()[..40_960]).unwrap();
    assert!(upkeep::restore(&half, &path, "x").is_err());
    assert_eq!(bodies(&path, &team).await, 6, "what was refused changed nothing");
}

#[tokio::test]
async fn a_damaged_database_can_be_replaced_and_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("mail.db"), folder.path().join("backup.db"));
    let team = filled(&path, 5).await;
    upkeep::backup(&path, &copy, |_, _| {}).unwrap();
    fs::write(&path, "ruined").unwrap();
    fs::write(folder.path().join("mail.db-wal"), "ruined too").unwrap();
    let aside = upkeep::restore(&copy, &path, "7").unwrap().unwrap();
    assert_eq!(fs::read(&aside).unwrap(), b"ruined");
    let store = open(&path);
    send(&store, &team.message(0, &[1], "goes on")).await;
    assert_eq!(store.events(team.project, 0, 100).await.unwrap().len(), 2 + 6);
}
