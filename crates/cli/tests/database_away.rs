//! A database that goes away, hangs, or breaks in the middle: everybody is told at once and may try again, what was
//! accepted is there afterwards, and no server has to be restarted.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::postgres::Private;

use crate::database_proxy::{Proxy, Way};
use crate::harness::mcp::{PROJECT, Refused, answer_of, as_agent, message, tool_call, with};
use crate::harness::{self, DEADLINE, Place, Server};

const PASSWORD: &str = "s3cret-w0rd";

/// The database's URL with a password, which it does not ask for.
fn url_of(database: &Private) -> String {
    database.url().replace("postgres@", &format!("postgres:{PASSWORD}@"))
}

fn serve(url: &str) -> Server {
    Place::new().serve_with(&[], &[("POSTRIDER_DATABASE", url), ("POSTRIDER_LOG", "trace")])
}

/// Looks until it is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "never: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn until_ready(server: &Server) {
    until("the server is ready", || server.get("/health/readiness").status == 200);
}

fn until_away(server: &Server) {
    until("the server says that it is not ready", || server.get("/health/readiness").status == 503);
}

fn subjects(server: &Server, agent: &str) -> Vec<String> {
    let inbox = server.call("fetch_inbox", as_agent(agent, json!({ "limit": 100 })));
    inbox.as_array().unwrap().iter().map(|mail| mail["subject"].as_str().unwrap().to_owned()).collect()
}

fn try_call(server: &Server, tool: &str, arguments: &Value) -> Result<Value, Refused> {
    answer_of(&server.post(tool_call(tool, arguments)))
}

fn must_be_away(refused: &Refused, what: &str) {
    assert_eq!((refused.code.as_str(), &refused.structured["retryable"]), ("STORE_AWAY", &json!(true)), "{what}");
    assert_eq!(refused.message, "The mail database cannot be reached");
    assert!(refused.hint.contains("Nothing was changed. Try again"), "{}", refused.hint);
}

#[test]
fn while_the_database_is_away_every_call_says_so_and_afterwards_all_is_well() {
    let Some(database) = Private::start() else { return };
    let server = serve(&url_of(&database));
    let calls = harness::calls::one_of_each(&server);
    server.mail("BlueLake", "GreenDog", "accepted before");
    assert!(server.get("/metrics").body.contains("postrider_store_up 1\n"));
    database.crash();
    until_away(&server);
    for (tool, arguments) in &calls {
        must_be_away(&server.refused(tool, arguments.clone()), tool);
    }
    let unready = server.get("/health/readiness");
    assert_eq!((unready.status, &unready.json()["code"]), (503, &json!("STORE_AWAY")), "{unready:?}");
    assert_eq!(unready.json()["why"], "The mail database cannot be reached");
    assert_eq!(server.get("/health/liveness").status, 200);
    assert!(server.get("/metrics").body.contains("postrider_store_up 0\n"));
    database.recover();
    until_ready(&server);
    for (tool, arguments) in calls {
        server.call(tool, arguments);
    }
    assert!(subjects(&server, "GreenDog").contains(&"accepted before".to_owned()));
    assert!(server.get("/metrics").body.contains("postrider_store_up 1\n"));
    let log = server.place.log();
    assert!(log.contains("the database is away") && log.contains("the database is back"), "{log}");
    assert!(!log.contains(PASSWORD), "a password is in the log");
    assert!(!log.contains("accepted before"), "mail is in the log");
}

#[test]
fn a_database_that_hangs_is_away_and_nothing_waits_for_its_end() {
    let Some(database) = Private::start() else { return };
    let server = serve(&url_of(&database));
    server.register(&["GreenDog", "BlueLake"]);
    database.freeze();
    let keyed = |number: usize| {
        with(message("GreenDog", "BlueLake", &format!("m{number}")), json!({ "idempotency_key": format!("k{number}") }))
    };
    // More than there are connections, some of which were never used.
    let pending: Vec<_> = (0..100)
        .map(|number| match number % 2 {
            0 => server.begin("send_message", &keyed(number)),
            _ => server.begin("fetch_inbox", &as_agent("BlueLake", json!({}))),
        })
        .collect();
    for call in pending {
        let refused = call.answer().expect_err("nobody can have answered");
        assert_eq!(refused.structured["retryable"], true, "{refused:?}");
    }
    must_be_away(&server.refused("fetch_inbox", as_agent("BlueLake", json!({}))), "once it is known");
    assert_eq!(server.get("/health/liveness").status, 200);
    assert!(server.get("/metrics").body.contains("postrider_store_up 0\n"));
    database.thaw();
    until_ready(&server);
    for number in (0..100).step_by(2) {
        server.call("send_message", keyed(number));
    }
    let mut known = subjects(&server, "BlueLake");
    known.sort();
    known.dedup();
    assert_eq!((known.len(), subjects(&server, "BlueLake").len()), (50, 50), "each is there once");
}

#[test]
fn whoever_waits_for_mail_outlasts_a_restart_of_the_database() {
    let Some(database) = Private::start() else { return };
    let (server, other) = (serve(&database.url()), serve(&database.url()));
    server.register(&["GreenDog", "BlueLake"]);
    let waiting = server.begin("wait_for_mail", &as_agent("BlueLake", json!({ "timeout_seconds": 50 })));
    server.until_under_way(1);
    // It has looked once when others have been answered many times.
    for _ in 0..20 {
        server.call("health_check", json!({}));
    }
    database.crash();
    until_away(&server);
    database.recover();
    until_ready(&other);
    other.mail("GreenDog", "BlueLake", "after the restart");
    assert_eq!(waiting.answer().expect("the wait goes on")[0]["subject"], "after the restart");
}

#[test]
fn a_commit_that_breaks_is_told_as_in_doubt_and_the_same_key_settles_it() {
    let Some(database) = Private::start() else { return };
    let proxy = Proxy::to(database.folder());
    let server = serve(&proxy.url());
    server.register(&["GreenDog", "BlueLake"]);
    for (way, subject) in [(Way::CutAfterCommit, "kept"), (Way::CutBeforeCommit, "lost")] {
        let keyed = with(message("GreenDog", "BlueLake", subject), json!({ "idempotency_key": subject }));
        proxy.set(way);
        let refused = server.refused("send_message", keyed.clone());
        assert_eq!((refused.code.as_str(), &refused.structured["retryable"]), ("STORE_UNAVAILABLE", &json!(true)));
        assert!(refused.hint.contains("not known whether it was kept"), "{}", refused.hint);
        assert!(refused.hint.contains("same idempotency_key"), "{}", refused.hint);
        proxy.set(Way::Open);
        until_ready(&server);
        let is_kept = subjects(&server, "BlueLake").contains(&subject.to_owned());
        assert_eq!(is_kept, way == Way::CutAfterCommit, "{subject}");
        server.call("send_message", keyed);
        let count = subjects(&server, "BlueLake").iter().filter(|known| *known == subject).count();
        assert_eq!(count, 1, "'{subject}' is there once");
    }
}

#[test]
fn connections_that_fall_silent_are_given_up_and_made_anew() {
    let Some(database) = Private::start() else { return };
    let proxy = Proxy::to(database.folder());
    let server = serve(&proxy.url());
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "before");
    proxy.set(Way::Silent);
    let refused = server.refused("fetch_inbox", as_agent("BlueLake", json!({})));
    must_be_away(&refused, "a call whose question vanished");
    must_be_away(&server.refused("send_message", message("GreenDog", "BlueLake", "meanwhile")), "a call after it");
    proxy.set(Way::Open);
    until_ready(&server);
    for number in 0..20 {
        server.mail("GreenDog", "BlueLake", &format!("after {number}"));
    }
    assert_eq!(subjects(&server, "BlueLake").len(), 21);
}

#[test]
fn a_table_that_is_locked_holds_up_its_own_calls_alone_and_not_for_long() {
    let Some(database) = Private::start() else { return };
    let server = serve(&database.url());
    server.register(&["GreenDog", "BlueLake"]);
    server.mail("GreenDog", "BlueLake", "before");
    let holding = database.holding("LOCK TABLE message IN ACCESS EXCLUSIVE MODE");
    let sends: Vec<_> =
        (0..30).map(|_| server.begin("send_message", &message("GreenDog", "BlueLake", "held up"))).collect();
    let search = json!({ "project_key": PROJECT, "query": "words" });
    let refused = server.refused("search_messages", search.clone());
    assert_eq!((refused.code.as_str(), &refused.structured["retryable"]), ("SEARCH_TOO_SLOW", &json!(true)));
    for tool in ["whois", "wait_for_mail"] {
        let arguments = as_agent("GreenDog", if tool == "whois" { json!({}) } else { json!({ "timeout_seconds": 0 }) });
        server.call(tool, arguments);
    }
    assert_eq!(server.get("/health/readiness").status, 200);
    for send in sends {
        let refused = send.answer().expect_err("nothing can be written");
        assert_eq!((refused.code.as_str(), &refused.structured["retryable"]), ("BUSY", &json!(true)), "{refused:?}");
    }
    drop(holding);
    until("a message can be sent", || {
        try_call(&server, "send_message", &message("GreenDog", "BlueLake", "after")).is_ok()
    });
    assert_eq!(subjects(&server, "BlueLake"), ["after", "before"], "what was refused is not there");
    server.call("search_messages", search);
}

#[test]
fn a_server_does_not_start_without_its_database_and_says_what_to_do() {
    let Some(database) = Private::start() else { return };
    database.crash();
    let url = url_of(&database);
    let place = Place::new();
    let mut command = place.command(&["serve", "--port", "0"]);
    let output = harness::within_deadline("the server gives up", move || {
        command.env("POSTRIDER_DATABASE", url).output().expect("the binary runs")
    });
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("the database is away") && told.contains("start the database"), "{told}");
    assert!(!told.contains(PASSWORD), "{told}");
}

#[test]
fn one_connection_that_is_ended_is_not_the_database_that_went_away() {
    let Some(database) = Private::start() else { return };
    let server = serve(&database.url());
    server.register(&["GreenDog"]);
    let asks =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%clock_timestamp()%' AND pid <> pg_backend_pid()";
    let end = asks.replace("count(*)", "count(pg_terminate_backend(pid))");
    for _ in 0..3 {
        until("the server asks for the time", || database.told(asks) == "1");
        assert_eq!(database.told(&end), "1");
        server.call("fetch_inbox", as_agent("GreenDog", json!({})));
    }
    until("the server asks for the time", || database.told(asks) == "1");
    assert!(!server.place.log().contains("the database is away"), "{}", server.place.log());
}

#[test]
fn an_import_whose_commit_breaks_says_that_it_may_have_been_kept() {
    let Some(database) = Private::start() else { return };
    let proxy = Proxy::to(database.folder());
    let (from, to) = (Server::start(), serve(&database.url()));
    from.register(&["GreenDog", "BlueLake"]);
    from.mail("GreenDog", "BlueLake", "one");
    let file = from.place.file("mail.jsonl");
    from.place.done(&["export", file.to_str().expect("a plain path")]);
    proxy.set(Way::CutAfterCommit);
    let import = || {
        let mut command = from.place.command(&["import"]);
        command.arg(&file).env("POSTRIDER_DATABASE", proxy.url()).output().expect("the binary runs")
    };
    let broken = import();
    let told = String::from_utf8_lossy(&broken.stderr).into_owned();
    assert_eq!(broken.status.code(), Some(1), "{told}");
    assert!(told.contains("not known whether it was kept"), "{told}");
    assert_eq!(subjects(&to, "BlueLake"), ["one"]);
    proxy.set(Way::Open);
    assert!(import().status.success(), "and again");
    assert_eq!(subjects(&to, "BlueLake"), ["one"]);
}
