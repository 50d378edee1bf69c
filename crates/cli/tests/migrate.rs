//! `postrider migrate`, `doctor` and `backup` with mail in PostgreSQL, as real programs over a real database.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use testing::postgres;

use crate::harness::mcp::as_agent;
use crate::harness::{self, Place, Ran, Server};

/// Enough for many pages.
const MANY: i64 = 30_000;

/// A home with mail of two agents, and no server.
fn office() -> Place {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake"]);
    for number in 0..5 {
        server.mail("GreenDog", "BlueLake", &format!("[bd-{number}] DONE: Größe \\N"));
    }
    server.call("file_reservation_paths", as_agent("GreenDog", json!({ "paths": ["src/**"], "exclusive": true })));
    let place = server.place.clone();
    server.stop();
    place
}

/// The same with very many messages, each a copy of the first.
fn large_office() -> Place {
    let place = office();
    let connection = Connection::open(place.database()).unwrap();
    let copies = format!("WITH RECURSIVE n (i) AS (SELECT 6 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})");
    connection
        .execute_batch(&format!(
            "BEGIN;
             {copies} INSERT INTO message SELECT i, project_id, sender_id, (SELECT last_message_at FROM project) + i, i,
                 NULL, importance, ack_required, NULL, NULL, door, vouched, external_id, from_name, to_names, cc_names,
                 'letter ' || i, 'the text of letter ' || i || char(9, 10) FROM n, message WHERE id = 1;
             INSERT INTO message_fts (rowid, scope, subject, body)
                 SELECT id, 'p' || project_id || ' a' || sender_id, subject, body FROM message WHERE id > 5;
             INSERT INTO delivery (recipient_id, message_id, role, position, ack_required)
                 SELECT d.recipient_id, m.id, 0, 0, m.ack_required FROM delivery d, message m
                 WHERE d.message_id = 1 AND m.id > 5;
             INSERT INTO event SELECT project_id, (SELECT next_seq FROM project) + id - 6, 'message.sent', id, sender_id,
                 created_at FROM message WHERE id > 5;
             UPDATE project SET next_seq = next_seq + {MANY} - 5, last_message_at = last_message_at + {MANY};
             COMMIT"
        ))
        .unwrap();
    place
}

fn sqlite(place: &Place) -> String {
    format!("sqlite:{}", place.database().display())
}

fn psql(url: &str, sql: &str) -> Option<String> {
    let program = postgres::programs().expect("there is PostgreSQL").join("psql");
    let done = Command::new(program).args(["-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", sql]).output().unwrap();
    done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
}

/// A command whose mail is in PostgreSQL.
fn over(place: &Place, url: &str, arguments: &[&str]) -> Ran {
    place.command(arguments).env("POSTRIDER_DATABASE", url).output().expect("the binary runs").into()
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

/// Begins to migrate, and kills the program with -9 as soon as some messages have come over.
fn begin_and_kill(place: &Place, from: &str, to: &str, arrived: impl Fn() -> i64) {
    let mut command = place.command(&["migrate", "--from", from, "--to", to]);
    let mut process = command.stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while arrived() == 0 {
        assert!(begun.elapsed() < harness::DEADLINE, "nothing comes over");
        thread::sleep(Duration::from_millis(1));
    }
    process.kill().unwrap();
    assert_eq!(process.wait().unwrap().code(), None, "it was killed in the middle");
}

fn messages_in_file(path: &Path) -> i64 {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    file.and_then(|file| file.query_row("SELECT count(*) FROM message", [], |row| row.get(0))).unwrap_or(0)
}

fn messages_in_database(url: &str) -> i64 {
    psql(url, "SELECT count(*) FROM message").and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[test]
fn a_migration_that_is_killed_goes_on_and_comes_to_the_same_there_and_back() {
    let Some(url) = postgres::fresh_url() else { return };
    let (first, back) = (large_office(), Place::new());
    begin_and_kill(&first, &sqlite(&first), &url, || messages_in_database(&url));
    assert!(messages_in_database(&url) > 0);
    // PostgreSQL may take a moment to notice that the one who moved the mail is gone.
    let end = Instant::now() + harness::DEADLINE;
    let refused = loop {
        let refused = over(&back, &url, &["serve", "--port", "0"]);
        if !refused.stderr.contains("is being moved") || Instant::now() > end {
            break refused;
        }
    };
    assert!(refused.code == Some(1) && refused.stderr.contains("MIGRATION_UNFINISHED"), "{}", refused.stderr);
    let other = office();
    let refused = other.run(&["migrate", "--from", &sqlite(&other), "--to", &url, "--json"]);
    assert_eq!(json_of(&refused)["error"]["code"], "MIGRATION_OF_ANOTHER_SOURCE", "{}", refused.stdout);
    let there = first.json(&["migrate", "--from", &sqlite(&first), "--to", &url]);
    assert_eq!(there["verified"], true, "{there}");
    let target = sqlite(&back);
    begin_and_kill(&back, &url, &target, || messages_in_file(&back.database()));
    let refused = back.run(&["export"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("MIGRATION_UNFINISHED"), "{}", refused.stderr);
    let again = over(&back, &url, &["migrate", "--from", "postgres:", "--to", "sqlite:", "--json"]);
    let again = json_of(&again);
    assert_eq!((&again["verified"], &again["tables"]), (&json!(true), &there["tables"]));
    assert!(first.kept() == back.kept(), "what came back is not what went");
    assert_eq!(back.json(&["doctor"])["ok"], true);
    let server = back.serve();
    assert_eq!(server.mail("GreenDog", "BlueLake", "next"), MANY + 1);
}

#[test]
fn what_cannot_be_migrated_is_refused_with_a_code_and_the_next_step() {
    let Some(url) = postgres::fresh_url() else { return };
    let (place, other) = (office(), office());
    let before = place.kept();
    let told = place.done(&["migrate", "--from", &sqlite(&place), "--to", &url]);
    assert!(told.contains("message") && told.contains("equal") && told.contains("`database`"), "{told}");
    let (home, others, secret) = (sqlite(&place), sqlite(&other), url.replace("postgres@", "postgres:s3cret@"));
    let server = other.serve();
    for (from, to, code, told) in [
        (home.as_str(), secret.as_str(), "MIGRATION_TARGET_HOLDS_MAIL", "holds mail"),
        (&secret, &home, "MIGRATION_TARGET_HOLDS_MAIL", "postrider.db"),
        (&secret, &secret, "MIGRATION_SAME_STORE", "both"),
        ("sqlite:/no/such/file", &secret, "MIGRATION_NO_MAIL", "/no/such/file"),
        (&others, &secret, "MIGRATION_IN_USE", server.address.as_str()),
        ("mysql:s3cret", &secret, "MIGRATION_UNKNOWN_STORE", "--from"),
        (&home, "postgres:", "MIGRATION_UNKNOWN_STORE", "--to"),
    ] {
        let ran = place.run(&["migrate", "--from", from, "--to", to, "--json"]);
        let error = json_of(&ran)["error"].clone();
        assert_eq!((ran.code, &error["code"]), (Some(1), &json!(code)), "{error}");
        assert!(error["message"].as_str().unwrap().contains(told), "{error}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("s3cret"), "{}{}", ran.stdout, ran.stderr);
    }
    assert!(place.kept() == before, "the source stays as it is");
}

#[test]
fn a_server_on_the_database_keeps_it_from_being_moved_and_serves_it_afterwards() {
    let Some(url) = postgres::fresh_url() else { return };
    let (place, elsewhere) = (office(), Place::new());
    place.json(&["migrate", "--from", &sqlite(&place), "--to", &url]);
    let server = elsewhere.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    let copy = format!("sqlite:{}", place.file("copy.db").display());
    let refused = place.run(&["migrate", "--from", &url, "--to", &copy, "--json"]);
    assert_eq!(json_of(&refused)["error"]["code"], "MIGRATION_IN_USE");
    assert_eq!(server.mail("GreenDog", "BlueLake", "next"), 6);
    let query = json!({ "project_key": harness::mcp::PROJECT, "query": "größe" });
    assert_eq!(server.call("search_messages", query).as_array().map(Vec::len), Some(5));
    server.stop();
    assert_eq!(place.json(&["migrate", "--from", &url, "--to", &copy])["verified"], true);
}

#[test]
fn a_doctor_looks_at_the_database_and_changes_nothing() {
    // The one that tests share does not wait for the disk, which a doctor finds.
    let Some(database) = postgres::Private::start() else { return };
    let url = database.url();
    let (place, secret) = (office(), url.replace("postgres@", "postgres:s3cret@"));
    let empty = over(&place, &secret, &["doctor", "--json"]);
    let report = json_of(&empty);
    assert_eq!(
        (&report["ok"], &report["database"]["schema"], &report["counts"]),
        (&json!(true), &json!(null), &json!(null))
    );
    assert_eq!(psql(&url, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").as_deref(), Some("0"));
    place.json(&["migrate", "--from", &sqlite(&place), "--to", &url]);
    let report = json_of(&over(&place, &secret, &["doctor", "--json"]));
    assert_eq!((&report["ok"], &report["counts"]["messages"]), (&json!(true), &json!(5)), "{report}");
    let database = &report["database"];
    assert!(database["server"].as_str().is_some_and(|version| version.starts_with(char::is_numeric)), "{database}");
    assert!(database["encryption"].is_null() && database["connections"].is_number(), "{database}");
    assert_eq!(report["integrity_checked"], false, "that is PostgreSQL's own affair");
    let told = over(&place, &secret, &["doctor"]).stdout;
    assert!(
        told.contains("PostgreSQL") && told.contains("not encrypted") && told.ends_with("All is well.\n"),
        "{told}"
    );
    let gone = url.replace("%2Fpostrider-pg", "%2Fnowhere").replace("postgres@", "postgres:s3cret@");
    let ran = over(&place, &gone, &["doctor"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("not reached") && ran.stdout.contains("POSTRIDER_DATABASE"));
    assert!(!format!("{report}{told}{}{}", ran.stdout, ran.stderr).contains("s3cret"), "{}", ran.stdout);
    let shared = postgres::fresh_url().expect("PostgreSQL is installed");
    let ran = over(&place, &shared, &["doctor"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("does not wait for the disk"), "{}", ran.stdout);
    psql(&url, "CREATE TABLE unfinished_migration (source TEXT NOT NULL)").unwrap();
    let ran = over(&place, &url, &["doctor"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("postrider migrate"), "{}", ran.stdout);
}

#[test]
fn a_backup_of_mail_in_postgresql_is_refused_with_what_to_run_instead() {
    let place = office();
    let url = "postgres://me:s3cret@db.example/mail?sslmode=disable";
    let file = place.file("copy.db");
    for (arguments, program) in [(&["backup"][..], "pg_dump"), (&["restore", file.to_str().unwrap()], "pg_restore")] {
        let ran = over(&place, url, &[arguments, &["--json"]].concat());
        let error = json_of(&ran)["error"].clone();
        assert_eq!((ran.code, &error["code"]), (Some(1), &json!("MAIL_IN_POSTGRESQL")), "{error}");
        let hint = error["hint"].as_str().unwrap();
        assert!(hint.contains(program) && hint.contains("postrider migrate"), "{hint}");
        assert!(hint.contains("'postgres://me@db.example/mail?sslmode=disable'"), "{hint}");
        assert!(!ran.stdout.contains("s3cret"), "{}", ran.stdout);
    }
    assert!(!place.home().join("backups").exists(), "the file that lies here was not copied");
}
