//! All mail moves from one engine to the other and back, and nothing of it changes on the way.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mail::Office;
use mail::clock::after_seconds;
use mail::events::EventStore;
use mail::messages::{About, InboxQuery, Message, OpenKey, WhenOpen};
use mail::office::{Claim, Draft, ReserveRequest, Rules, SearchRequest, SessionSign, Sign, WaitRequest, WorkRequest};
use mail::reservations::{Request, ReservationStore, Reserved};
use mail::wake_ups::{WakeClaim, WakeFor, WakeOutcome, WakeUpStore};
use mail::watches::{NewWatch, RunOutcome, WatchStore};
use rusqlite::Connection;
use rusqlite::types::Value;
use store::TABLES;
use store::moving::{Compared, MoveError, MoveProgress, move_mail};
use store::{Engine, Location};
use testing::postgres;

use crate::shop::{self, PROJECT, Shop, draft, named, office_over};
use crate::talk::{self, arrive, post, reply, said, to};
use crate::team;

const LONG: &str = "\\N \\. \\x41 \ttab\r\nline 'quote' \"double\" 漢字 🦀 \u{301}\u{2028} end\\";

/// A store with something in every table, closed.
async fn everything() -> Shop {
    let shop = talk::talking().await;
    let office = &shop.office;
    office.register(named(Some("GreenDog"), None)).await.unwrap();
    office.ensure_project("/projects/öther").await.unwrap();
    office.set_alias("/projects/änother", "/projects/öther", false).await.unwrap();
    let question =
        office.send(draft_of("claude", "[bd-1] PROGRESS: parser", LONG, Some("key'\\1"))).await.unwrap().message;
    office.reply(reply("agent-1", &question)).await.unwrap();
    let done = Draft { ack_required: Some(true), ..draft_of("claude", "[bd-1] DONE: parser", "Branch: x\n", None) };
    let done = office.send(done).await.unwrap().message;
    let keyed = OpenKey::new("disk \\N 漢", WhenOpen::Skip).unwrap();
    office.send(Draft { open_key: Some(keyed), ..draft_of("claude", "Disk", "Full.", None) }).await.unwrap();
    office.acknowledge(PROJECT, Claim::of("agent-1"), done.id, "Gut\\").await.unwrap();
    office
        .send(Draft { cc: vec!["codex".into()], bcc: vec!["gemini".into()], ..to(&["codex-2"], "claude") })
        .await
        .unwrap();
    let malformed = r#"{"type":"status_update","message_id":"m","sender_id":"agent-1","status_summary":"schräg\n'"}"#;
    office.send(draft_of("claude", "x", malformed, None)).await.unwrap();
    office.archive(PROJECT, Claim::of("gemini"), done.id).await.ok();
    office.welcome_person(PROJECT, "Anna").await.unwrap();
    assert!(office.retire(PROJECT, "Anna", "GreenDog").await.unwrap());
    office.post(post("claude", &["codex"], LONG)).await.unwrap();
    arrive(&shop, "msg-20260111-163315-claude-4c78", &said("codex", "all", "from outside")).await;
    office
        .beat(PROJECT, Claim::of("codex"), Sign { state: "AWAKE", substate: None, watcher_pid: Some(7), channel: None })
        .await
        .unwrap();
    office.register(named(None, None)).await.unwrap();
    let sign = SessionSign { key: "claude-1", client: "claude", host: "漢", place: "/p", is_idle: true };
    office.note_session(PROJECT, Claim::of("codex"), sign).await.unwrap();
    office.rename(PROJECT, Claim::of("agent-0"), "Reviewer").await.unwrap();
    reservations_and_watches(&shop, &question).await;
    shop.store.advance_cursor("nats", shop.team.project, 3).await.unwrap();
    shop.store.close().await;
    shop
}

fn draft_of<'a>(from: &'a str, subject: &'a str, body: &'a str, key: Option<&'a str>) -> Draft<'a> {
    Draft { subject, body, idempotency_key: key, ..draft(from, None) }
}

async fn reservations_and_watches(shop: &Shop, question: &Message) {
    let now = team::at(0);
    let granted = shop.store.reserve(&shop.team.request(0, "src/**"), now).await.unwrap();
    assert!(matches!(granted, Reserved::Granted(_)), "{granted:?}");
    shop.store.reserve(&shop.team.request(0, "docs/*"), now).await.unwrap();
    let docs = [mail::reservations::pattern::Pattern::parse("docs/*").unwrap()];
    shop.store.release(shop.team.project, shop.team.agents[0], Some(&docs), shop.team.agents[0], now).await.unwrap();
    let wait_until = Some(after_seconds(now, 3600));
    let waiting = Request { wait_until, ..shop.team.request(1, "src/lib.rs") };
    let waiting = shop.store.reserve(&waiting, now).await.unwrap();
    assert!(matches!(waiting, Reserved::Waiting { .. }), "{waiting:?}");
    let agent = shop.team.agents[1];
    let until = after_seconds(now, 60);
    let watch = NewWatch { agent, channel: String::new(), holder: "w".into(), instead_of: None, since: now, until };
    shop.store.begin_watch(&watch, now).await.unwrap();
    shop.office.take_role(PROJECT, Claim::of("codex"), "reviewer", None).await.unwrap();
    shop.store.take_on(agent, "", question.id, now).await.unwrap();
    shop.store.finish_run(agent, question.id, &RunOutcome::Failed("exit 1".into()), now).await.unwrap();
    let (project, delivered) = (shop.team.project, Some(WakeOutcome::Delivered));
    let woken = shop.store.claim_wake_up(project, agent, "claude-1", WakeFor::All, delivered, now).await.unwrap();
    assert!(matches!(woken, WakeClaim::Taken(_)), "{woken:?}");
}

fn file(shop: &Shop) -> PathBuf {
    shop.path().as_ref().to_owned()
}

async fn moved(from: &Location, to: &Location) -> Vec<Compared> {
    let compared = move_mail(from, to, |_| {}).await.unwrap();
    let unequal: Vec<_> = compared.iter().filter(|table| !table.is_equal()).collect();
    assert!(unequal.is_empty(), "{unequal:?}");
    compared
}

/// Every row of every table of a file, read without knowing what the tables are.
fn dump(path: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'message_fts%'";
    let names: Vec<String> =
        connection.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let rows = |name: &str| {
        let mut all = connection.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let count = all.column_count();
        let values = |row: &rusqlite::Row<'_>| (0..count).map(|at| row.get(at)).collect::<Result<Vec<Value>, _>>();
        let mut rows: Vec<String> =
            all.query_map([], values).unwrap().map(|row| format!("{:?}", row.unwrap())).collect();
        rows.sort();
        rows
    };
    names.iter().filter(|name| !name.starts_with("sqlite_stat")).map(|name| (name.clone(), rows(name))).collect()
}

/// What an office answers, in words; nothing is changed by asking.
async fn answers(office: &Office) -> String {
    let mut told = String::new();
    for agent in ["agent-1", "codex", "codex-2", "gemini"] {
        let inbox = office.inbox(PROJECT, Claim::of(agent), &InboxQuery::newest(50)).await.unwrap();
        told += &format!("{inbox:#?}\n");
    }
    for query in ["漢字", "subject:parser", "outside OR quote", "pars*", "from:claude AND line", "\"tab line\""] {
        let request = SearchRequest { project_key: PROJECT, query, about: About::default(), before: None, limit: 50 };
        let found = office.search(request).await.unwrap();
        assert!(!found.is_empty(), "{query}");
        told += &format!("{found:#?}\n");
    }
    let work = WorkRequest { project_key: PROJECT, state: None, agent: None, before: None, limit: 50 };
    told += &format!("{:#?}\n", office.work(work).await.unwrap());
    told += &format!("{:#?}\n", office.reservations(PROJECT, None, 50).await.unwrap());
    told += &format!("{:#?}\n", office.channels(PROJECT).await.unwrap());
    told
}

fn psql(url: &str, sql: &str) -> String {
    let program = postgres::programs().expect("there is PostgreSQL").join("psql");
    let done = Command::new(program).args(["-XqAt", "-v", "ON_ERROR_STOP=1", url, "-c", sql]).output().unwrap();
    assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn everything_goes_there_and_comes_back_equal_in_every_table() {
    let Some(url) = postgres::fresh_url() else { return };
    let shop = everything().await;
    let (first, database) = (Location::File(file(&shop)), Location::Postgres(url));
    let back = Location::File(file(&shop).with_file_name("back.db"));
    let compared = moved(&first, &database).await;
    for table in &compared {
        assert!(table.source.rows > 0, "nothing was put into '{}', so that this proves nothing", table.table);
    }
    assert_eq!(moved(&database, &back).await, compared);
    let Location::File(path) = &back else { unreachable!() };
    assert_eq!(dump(path), dump(&file(&shop)));
    assert_eq!(store::upkeep::integrity_check(path).unwrap(), [""; 0], "every message can be found");
    let mut told = Vec::new();
    for location in [&first, &database, &back] {
        let engine = Engine::open(location).await.unwrap();
        told.push(answers(&office_over(engine.store(), shop.clock.clone())).await);
        engine.close().await;
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[0], told[2]);
}

#[tokio::test]
async fn after_a_move_the_office_goes_on_as_if_nothing_had_happened() {
    let Some(url) = postgres::fresh_url() else { return };
    let shop = everything().await;
    let database = Location::Postgres(url);
    moved(&Location::File(file(&shop)), &database).await;
    let engine = Engine::open(&database).await.unwrap();
    let office = office_over(engine.store(), shop.clock.clone());
    let repeated = office.send(draft_of("claude", "[bd-1] PROGRESS: parser", LONG, Some("key'\\1"))).await.unwrap();
    assert!(!repeated.is_new && repeated.message.id.0 == 1, "{repeated:?}");
    let newest: i64 = 8;
    let new = office.send(draft("claude", None)).await.unwrap().message;
    assert_eq!(new.id.0, newest + 1, "numbers go on");
    let request = WaitRequest {
        project_key: PROJECT,
        agent: Claim::of("agent-1"),
        after: None,
        limit: 50,
        at_most: Duration::ZERO,
        not_after: None,
    };
    let waited = office.wait_for_mail(request).await.unwrap();
    assert_eq!(waited.last().map(|entry| entry.message.id), Some(new.id), "{waited:?}");
    let paths = ["src/main.rs".to_owned()];
    let request = ReserveRequest {
        project_key: PROJECT,
        agent: Claim::of("codex"),
        paths: &paths,
        ttl_seconds: 60,
        exclusive: true,
        reason: "",
        wait: Duration::ZERO,
    };
    let refused = office.reserve(request).await.unwrap_err();
    assert_eq!(refused.code(), "FILE_RESERVATION_CONFLICT");
    let other = ["other.rs".to_owned()];
    let granted = office.reserve(ReserveRequest { paths: &other, ..request }).await.unwrap();
    assert_eq!(granted[0].id.0, 3, "numbers of reservations go on");
    office.register(named(Some("newcomer"), None)).await.unwrap();
    office.ensure_project("/projects/third").await.unwrap();
    office.post(post("newcomer", &[], "hello")).await.unwrap();
}

#[tokio::test]
async fn a_ticket_is_never_given_twice_also_when_the_line_was_empty_at_the_move() {
    let Some(url) = postgres::fresh_url() else { return };
    let shop = everything().await;
    let path = file(&shop);
    Connection::open(&path).unwrap().execute("DELETE FROM reservation_wait", []).unwrap();
    let (database, back) = (Location::Postgres(url.clone()), Location::File(path.with_file_name("back.db")));
    moved(&Location::File(path.clone()), &database).await;
    assert_eq!(psql(&url, "SELECT nextval(pg_get_serial_sequence('reservation_wait', 'ticket'))").trim(), "2");
    moved(&database, &back).await;
    let sequence = &dump(&path.with_file_name("back.db"))["sqlite_sequence"];
    assert!(sequence[0].contains("Integer(2)"), "{sequence:?}");
}

#[tokio::test]
async fn a_target_with_mail_of_its_own_is_refused_and_left_as_it_is() {
    let Some(url) = postgres::fresh_url() else { return };
    let (shop, other) = (everything().await, everything().await);
    let database = Location::Postgres(url.clone());
    moved(&Location::File(file(&shop)), &database).await;
    let before = psql(&url, "SELECT * FROM message ORDER BY id");
    for (from, to) in [
        (Location::File(file(&other)), database.clone()),
        (Location::File(file(&shop)), database.clone()),
        (database.clone(), Location::File(file(&other))),
    ] {
        let refused = move_mail(&from, &to, |_| {}).await.unwrap_err();
        assert_eq!(refused.code(), "MIGRATION_TARGET_HOLDS_MAIL", "{refused}");
    }
    assert_eq!(psql(&url, "SELECT * FROM message ORDER BY id"), before);
    let same = move_mail(&database, &database, |_| {}).await.unwrap_err();
    assert!(matches!(same, MoveError::Same(_)), "{same}");
    let nothing = Location::File(file(&shop).with_file_name("nothing.db"));
    let refused = move_mail(&nothing, &Location::Postgres(url), |_| {}).await.unwrap_err();
    assert_eq!(refused.code(), "MIGRATION_NO_MAIL");
}

#[tokio::test]
async fn a_damaged_row_is_noticed_and_its_table_named_and_no_office_opens_the_target() {
    for (sql, table) in [
        ("UPDATE message SET body = body || ' ' WHERE id = 1", "message"),
        ("UPDATE agent SET last_active_at = last_active_at + 1 WHERE id = 1", "agent"),
        ("DELETE FROM agent_token WHERE id = 1", "agent_token"),
    ] {
        let Some(url) = postgres::fresh_url() else { return };
        let shop = everything().await;
        let (first, database) = (Location::File(file(&shop)), Location::Postgres(url.clone()));
        let mut is_done = false;
        let damage = |progress: MoveProgress| {
            if progress.table == "idempotency" && !std::mem::replace(&mut is_done, true) {
                psql(&url, sql);
            }
        };
        let compared = move_mail(&first, &database, damage).await.unwrap();
        let unequal: Vec<&str> = compared.iter().filter(|one| !one.is_equal()).map(|one| one.table).collect();
        assert_eq!(unequal, [table], "{sql}");
        let refused = Engine::open(&database).await.err().unwrap().to_string();
        assert!(refused.contains("MIGRATION_UNFINISHED") && refused.contains("postrider migrate"), "{refused}");
        let onward = Location::File(file(&shop).with_file_name("onward.db"));
        assert_eq!(move_mail(&database, &onward, |_| {}).await.unwrap_err().code(), "MIGRATION_UNFINISHED");
    }
}

#[tokio::test]
async fn nobody_moves_mail_that_is_in_use_and_nobody_uses_mail_that_is_being_moved() {
    let Some(url) = postgres::fresh_url() else { return };
    let shop = everything().await;
    let (first, database) = (Location::File(file(&shop)), Location::Postgres(url.clone()));
    let engine = Engine::open(&database).await.unwrap();
    for (from, to) in [(&first, &database), (&database, &first)] {
        assert_eq!(move_mail(from, to, |_| {}).await.unwrap_err().code(), "MIGRATION_IN_USE");
    }
    engine.close().await;
    drop(engine);
    let served = store::ownership::Ownership::take(&file(&shop), "http://127.0.0.1:1").unwrap();
    let refused = move_mail(&first, &database, |_| {}).await.unwrap_err();
    assert!(refused.to_string().contains("http://127.0.0.1:1"), "{refused}");
    drop(served);
    let (mut told, path) = (Vec::new(), file(&shop));
    let look = |progress: MoveProgress| {
        if progress.table == "delivery" && told.is_empty() {
            told.push(opened(&url));
            let writer = Connection::open(&path).unwrap();
            writer.busy_timeout(Duration::ZERO).unwrap();
            told.push(writer.execute("UPDATE agent SET model = 'x'", []).unwrap_err().to_string());
        }
    };
    move_mail(&first, &database, look).await.unwrap();
    assert!(told[0].contains("being moved"), "{told:?}");
    assert!(told[1].contains("locked"), "{told:?}");
    assert_eq!(opened(&url), "", "afterwards anybody may");
}

/// What is told to an office that opens the database.
fn opened(url: &str) -> String {
    let url = Location::Postgres(url.to_owned());
    let trying = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(Engine::open(&url)).err().map_or_else(String::new, |error| error.to_string())
    };
    std::thread::scope(|scope| scope.spawn(trying).join().unwrap())
}

#[tokio::test]
async fn a_database_that_was_filled_has_the_indexes_of_one_that_was_made() {
    let (Some(made), Some(filled)) = (postgres::fresh_url(), postgres::fresh_url()) else { return };
    Engine::open(&Location::Postgres(made.clone())).await.unwrap();
    moved(&Location::File(file(&everything().await)), &Location::Postgres(filled.clone())).await;
    let sql = "SELECT replace(indexdef, schemaname, '') FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1";
    assert_eq!(psql(&filled, sql), psql(&made, sql));
}

/// What only one engine has: its index of words, its own bookkeeping, what servers keep of the last seconds, and a column
/// that nobody ever filled.
const ONLY_IN_SQLITE: &[&str] = &["message.external_id", "migration."];
const ONLY_IN_POSTGRES: &[&str] = &["message.words", "migration.", "pace."];

#[tokio::test]
async fn every_column_of_both_schemas_is_moved() {
    let Some(url) = postgres::fresh_url() else { return };
    let shop = shop::shop(Rules::default()).await;
    Engine::open(&Location::Postgres(url.clone())).await.unwrap();
    let mut moved: Vec<String> = TABLES
        .iter()
        .flat_map(|table| table.columns.split(", ").map(|name| format!("{}.{name}", table.name)))
        .collect();
    moved.sort();
    let others = |all: Vec<String>, only: &[&str]| -> Vec<String> {
        let mut all: Vec<String> =
            all.into_iter().filter(|column| !only.iter().any(|known| column.starts_with(known))).collect();
        all.sort();
        all
    };
    let connection = Connection::open(shop.path()).unwrap();
    let sql = "SELECT t.name || '.' || c.name FROM sqlite_schema t, pragma_table_info(t.name) c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'message_fts%'";
    let in_sqlite =
        connection.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(others(in_sqlite, ONLY_IN_SQLITE), moved);
    let sql = "SELECT table_name || '.' || column_name FROM information_schema.columns
               WHERE table_schema = current_schema()";
    let in_postgres = psql(&url, sql).lines().map(str::to_owned).collect();
    assert_eq!(others(in_postgres, ONLY_IN_POSTGRES), moved);
}
