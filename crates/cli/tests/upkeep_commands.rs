//! Looking after the mail: `doctor`, `backup`, `restore`, `export` and `import`, with and without a server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::harness::mcp::{PROJECT, as_agent, message, with};
use crate::harness::{Place, Server, damage};

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn lines(export: &str) -> Vec<Value> {
    export.lines().map(|line| serde_json::from_str(line).expect("an export is JSON lines")).collect()
}

/// A home with mail in every state, and no server.
fn office_with_history() -> Place {
    let server = Server::start();
    server.register(&["GreenDog", "BlueLake", "RedFox"]);
    for number in 0..20 {
        let more = json!({ "cc": ["RedFox"], "thread_id": format!("T-{}", number % 3), "importance": "high" });
        let body = format!("Zeile {number}: \"Anführung\", \\, \u{2028}, 漢字, \t\n```json\n{{}}\n```");
        let blind = if number % 2 == 0 { vec!["GreenDog"] } else { Vec::new() };
        let more = with(more, json!({ "body_md": body, "bcc": blind }));
        server.call("send_message", with(message("GreenDog", "BlueLake", &format!("[bd-{number}] DONE: x")), more));
    }
    server.call("ensure_project", json!({ "human_key": "/data/other" }));
    for name in ["GreenDog", "solo"] {
        server.call("register_agent", json!({ "project_key": "/data/other", "name": name }));
    }
    let mail =
        json!({ "project_key": "/data/other", "sender_name": "solo", "to": ["solo"], "subject": "s", "body_md": "b" });
    server.call("send_message", mail);
    server.call("wait_for_mail", as_agent("BlueLake", json!({ "limit": 3 })));
    server.call("mark_message_read", as_agent("RedFox", json!({ "message_id": 2 })));
    server.call("acknowledge_message", as_agent("BlueLake", json!({ "message_id": 3, "ack_body": "Gut" })));
    let reply = json!({ "project_key": PROJECT, "message_id": 4, "sender_name": "BlueLake", "body_md": "Yes." });
    server.call("reply_message", reply);
    let place = server.place.clone();
    server.stop();
    place
}

#[test]
fn a_backup_taken_while_four_clients_send_holds_all_that_was_answered_before_it() {
    let server = Server::start();
    server.register(&["a", "b", "c", "d", "Reader"]);
    let (answered, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let backup = server.place.file("copy.db");
    let before = thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let (server, answered, done) = (&server, &answered, &done);
            scope.spawn(move || {
                while !done.load(Ordering::SeqCst) {
                    let count = answered.load(Ordering::SeqCst);
                    server.mail(name, "Reader", &format!("{name} after {count}"));
                    answered.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while answered.load(Ordering::SeqCst) < 40 {
            thread::yield_now();
        }
        let before = answered.load(Ordering::SeqCst);
        let told = server.place.json(&["backup", text(&backup)]);
        done.store(true, Ordering::SeqCst);
        assert_eq!((&told["verified"], &told["file"]), (&json!(true), &json!(text(&backup))));
        before
    });
    let everything = lines(&server.place.done(&["export"]));
    let fresh = Place::new();
    fresh.done(&["restore", text(&backup)]);
    let restored = lines(&fresh.done(&["export", "-"]));
    assert!((before..=everything.len()).contains(&restored.len()), "{before} {} {}", restored.len(), everything.len());
    assert_eq!(restored, everything[..restored.len()], "the backup is the mail as it was at one moment");
    assert_eq!(fresh.json(&["doctor"])["ok"], true);
    let server = fresh.serve();
    assert_eq!(server.mail("a", "Reader", "next"), restored.last().unwrap()["id"].as_i64().unwrap() + 1);
}

#[test]
fn a_restore_puts_the_backup_in_place_and_keeps_aside_what_was_there() {
    let place = office_with_history();
    let backup = place.file("copy.db");
    let saved = place.kept();
    place.done(&["backup", text(&backup)]);
    let server = place.serve();
    server.mail("GreenDog", "BlueLake", "after the backup");
    let refused = place.run(&["restore", text(&backup)]);
    assert_eq!(refused.code, Some(1), "not under a running server");
    assert!(refused.stderr.contains(&server.address), "{}", refused.stderr);
    server.stop();
    let present = place.kept();
    let restored = place.json(&["restore", text(&backup)]);
    assert_eq!(place.kept(), saved);
    let aside = Path::new(restored["kept_aside"].as_str().unwrap());
    let again = Place::new();
    again.done(&["restore", text(aside)]);
    assert_eq!(again.kept(), present, "what was there is whole");
}

#[test]
fn a_backup_that_is_damaged_or_none_is_refused_and_changes_nothing() {
    let place = office_with_history();
    let before = place.kept();
    let (damaged, text_file, gone) = (place.file("damaged.db"), place.file("notes.txt"), place.file("gone.db"));
    place.done(&["backup", text(&damaged)]);
    damage(&damaged, 4096, &[0xa5; 8192]);
    fs::write(&text_file, "This is no database.").unwrap();
    for file in [&damaged, &text_file, &gone] {
        let ran = place.run(&["restore", text(file)]);
        assert_eq!(ran.code, Some(1), "{}", file.display());
        assert!(!ran.stderr.is_empty());
        assert_eq!(place.kept(), before, "{}", file.display());
    }
}

#[test]
fn a_backup_never_overwrites_and_finds_a_name_by_itself() {
    let place = office_with_history();
    let taken = place.file("taken.db");
    fs::write(&taken, "mine").unwrap();
    assert_eq!(place.run(&["backup", text(&taken)]).code, Some(1));
    assert_eq!(fs::read_to_string(&taken).unwrap(), "mine");
    let told = place.json(&["backup"]);
    let file = Path::new(told["file"].as_str().unwrap());
    assert_eq!(file.parent(), Some(place.home().join("backups").as_path()));
    assert_eq!(fs::metadata(file).unwrap().len(), told["bytes"].as_u64().unwrap());
    let nothing = Place::new();
    assert_eq!(nothing.run(&["backup", text(&nothing.file("x.db"))]).code, Some(1), "there is nothing to copy");
    assert!(!nothing.database().exists() && !nothing.file("x.db").exists());
}

#[test]
fn an_export_imported_into_a_fresh_home_exports_to_the_same_bytes() {
    let place = office_with_history();
    let file = place.file("mail.jsonl");
    place.done(&["export", text(&file)]);
    let exported = fs::read_to_string(&file).unwrap();
    assert_eq!(lines(&exported).len(), 22);
    assert_eq!(place.done(&["export"]), exported, "to a file or to standard output");
    assert_eq!(place.run(&["export", text(&file)]).code, Some(1), "a file that is there is not overwritten");
    let fresh = Place::new();
    assert_eq!(fresh.json(&["import", text(&file)]), json!({ "imported": 22, "already_there": 0 }));
    assert_eq!(fresh.done(&["export"]), exported);
    assert_eq!(fresh.json(&["import", text(&file)]), json!({ "imported": 0, "already_there": 22 }));
    assert_eq!(fresh.done(&["export"]), exported, "twice is fine");
    assert_eq!(fresh.json(&["doctor"])["ok"], true);
}

#[test]
fn an_exported_file_is_for_its_owner_alone_and_is_told_in_json() {
    let place = office_with_history();
    let file = place.file("mail.jsonl");
    assert_eq!(place.json(&["export", text(&file)]), json!({ "exported": 22, "file": text(&file) }));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let taken = place.run(&["export", text(&file), "--json"]);
    let error: Value = serde_json::from_str(&taken.stdout).unwrap();
    assert!(taken.code == Some(1) && error["error"]["message"].as_str().unwrap().contains("mail.jsonl"), "{error}");
}

#[test]
fn an_export_to_standard_output_is_nothing_but_mail() {
    let place = office_with_history();
    let (plain, json) = (place.run(&["export"]), place.run(&["export", "--json"]));
    assert_eq!((lines(&json.stdout).len(), &json.stdout), (22, &plain.stdout));
    assert!(json.stderr.contains("22 messages"), "{}", json.stderr);
    let failed = Place::new().run(&["export", "--json"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    assert!(failed.stderr.contains("--home"), "{}", failed.stderr);
}

#[test]
fn imported_mail_is_mail_like_any_other() {
    let place = office_with_history();
    let file = place.file("mail.jsonl");
    place.done(&["export", text(&file)]);
    let fresh = Place::new();
    fresh.done(&["import", text(&file)]);
    let (old, new) = (place.serve(), fresh.serve());
    for (tool, arguments) in [
        ("fetch_inbox", as_agent("BlueLake", json!({}))),
        ("fetch_inbox", as_agent("RedFox", json!({ "unread_only": true }))),
        ("wait_for_mail", as_agent("BlueLake", json!({ "timeout_seconds": 0 }))),
        ("search_messages", json!({ "project_key": PROJECT, "query": "zeile" })),
        ("summarize_thread", json!({ "project_key": PROJECT, "thread_id": "T-1" })),
    ] {
        assert_eq!(old.call(tool, arguments.clone()), new.call(tool, arguments), "{tool}");
    }
    assert_eq!(new.mail("GreenDog", "BlueLake", "next"), 23);
}

#[test]
fn an_import_that_does_not_fit_says_where_and_keeps_what_came_before() {
    let place = office_with_history();
    let export = place.done(&["export"]);
    let export: Vec<&str> = export.lines().collect();
    let import = |place: &Place, content: String| {
        fs::write(place.file("in.jsonl"), content).unwrap();
        place.run(&["import", text(&place.file("in.jsonl"))])
    };
    let fresh = Place::new();
    for broken in
        ["{}", "not json", "{\"id\":", &export[1].replace("\"importance\":\"high\"", "\"importance\":\"huge\"")]
    {
        let ran = import(&fresh, format!("{}\n\n{broken}\n{}\n", export[0], export[2]));
        assert_eq!(ran.code, Some(1), "{broken}");
        assert!(ran.stderr.contains("line 3"), "{broken}: {}", ran.stderr);
        assert_eq!(fresh.done(&["export"]), format!("{}\n", export[0]), "what came before is kept");
    }
    let other = export[0].replace("DONE: x", "DONE: y");
    let clash = import(&fresh, other);
    assert_eq!(clash.code, Some(1));
    assert!(clash.stderr.contains("'1'") && clash.stderr.contains("an empty home"), "{}", clash.stderr);
    assert_eq!(fresh.done(&["export"]), format!("{}\n", export[0]));
}

#[test]
fn a_doctor_finds_nothing_wrong_with_a_healthy_office_and_reports_in_one_shape() {
    let empty = Place::new();
    insta::assert_json_snapshot!("doctor_of_an_empty_home", without_places(empty.json(&["doctor"])));
    assert!(!empty.database().exists(), "looking makes nothing");
    let place = office_with_history();
    let before = fs::read(place.database()).unwrap();
    insta::assert_json_snapshot!("doctor_of_an_office", without_places(place.json(&["doctor"])));
    assert_eq!(fs::read(place.database()).unwrap(), before, "looking changes nothing");
    assert!(place.done(&["doctor"]).ends_with("All is well.\n"));
    let server = place.serve();
    let running = place.json(&["doctor"]);
    assert_eq!(running["server"]["address"], format!("http://{}", server.address));
    assert_eq!(running["ok"], true);
}

/// A report without what differs from machine to machine.
fn without_places(mut report: Value) -> Value {
    // Whoever runs the tests may have hooks, and settings of clients.
    report["hooks"] = json!([]);
    report["sandboxes"] = json!([]);
    for pointer in ["/home", "/version", "/database/path", "/database/bytes", "/database/schema"] {
        let value = report.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        if !value.is_null() {
            *value = json!(format!("[{}]", if value.is_number() { "number" } else { "text" }));
        }
    }
    report
}

#[test]
fn a_doctor_finds_damage_and_says_so_with_its_exit_code() {
    let place = office_with_history();
    let whole = fs::read(place.database()).unwrap();
    let pages = whole.len() / 4096;
    let garbage: &dyn Fn() = &|| fs::write(place.database(), "This is no database.").unwrap();
    let torn: &dyn Fn() = &|| fs::write(place.database(), &whole[..whole.len() / 2]).unwrap();
    let holes: &dyn Fn() = &|| {
        for page in 1..pages {
            damage(&place.database(), page as u64 * 4096 + 100, &[0xa5; 1000]);
        }
    };
    for (what, harm) in [("garbage", garbage), ("torn", torn), ("holes", holes)] {
        fs::write(place.database(), &whole).unwrap();
        harm();
        let ran = place.run(&["doctor", "--json"]);
        assert_eq!(ran.code, Some(1), "{what}: {}{}", ran.stdout, ran.stderr);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report["ok"], false, "{what}");
        let problem = &report["problems"][0];
        assert!(problem["problem"].is_string() && problem["todo"].is_string(), "{what}: {report}");
        let told = place.run(&["doctor"]);
        assert!(told.code == Some(1) && told.stdout.contains("PROBLEM"), "{what}: {}", told.stdout);
    }
}

#[test]
fn a_server_elsewhere_that_does_not_answer_is_a_finding() {
    let server = Place::new().serve();
    let place = Place::with_settings(&format!("url = \"http://{}\"", server.address));
    assert_eq!(place.json(&["doctor"])["ok"], true);
    let address = server.address.clone();
    server.stop();
    let ran = place.run(&["doctor"]);
    assert!(ran.code == Some(1) && ran.stdout.contains(&address), "{}", ran.stdout);
}

#[test]
fn mail_that_others_can_read_is_a_finding() {
    let place = office_with_history();
    let mode = fs::metadata(place.database()).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "mail is made for its owner alone");
    fs::set_permissions(place.database(), fs::Permissions::from_mode(0o644)).unwrap();
    let ran = place.run(&["doctor"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("chmod 600"), "{}", ran.stdout);
}

#[test]
fn a_command_that_fails_exits_with_one_and_says_why_in_the_form_that_was_asked_for() {
    let place = Place::new();
    let plain = place.run(&["export"]);
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(1), ""));
    assert!(plain.stderr.starts_with("postrider: ") && plain.stderr.contains("--home"), "{}", plain.stderr);
    let json = place.run(&["import", "/no/such/file", "--json"]);
    let error: Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(json.code == Some(1) && error["error"]["message"].as_str().unwrap().contains("/no/such/file"));
    for unknown in [&["serv"][..], &["doctor", "--fast"], &["restore"], &[]] {
        assert_eq!(place.run(unknown).code, Some(1), "{unknown:?}: 2 means something else here");
    }
}

#[test]
fn a_doctor_can_ask_the_server_alone() {
    let place = Place::with_settings("token = \"s3cret\"\n");
    let nobody = place.run(&["doctor", "--server"]);
    assert_eq!(nobody.code, Some(1));
    assert!(nobody.stderr.contains("postrider serve"), "{}", nobody.stderr);
    let server = place.serve();
    let told = place.json(&["doctor", "--server"]);
    assert_eq!(
        (&told["ok"], told["server"].as_str().is_some_and(|url| url.contains("127.0.0.1"))),
        (&json!(true), true)
    );
    let elsewhere = place.command(&["doctor", "--server"]).env("POSTRIDER_URL", "http://127.0.0.1:1").output();
    let elsewhere = elsewhere.expect("the binary runs");
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&elsewhere.stderr).contains("http://127.0.0.1:1"));
    server.stop();
}

#[test]
fn a_password_in_the_address_of_a_server_is_never_shown() {
    let place = Place::new();
    for url in ["http://me:s3cret@127.0.0.1:1", "https://me:s3cret@host/mcp", "http://me:s3cret@ho st/"] {
        for arguments in [&["doctor", "--server"][..], &["doctor"], &["export"], &["mail", "inbox", "--as", "A"]] {
            let ran = place.command(arguments).env("POSTRIDER_URL", url).output().expect("the binary runs");
            let told = [ran.stdout, ran.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            assert!(ran.status.code() == Some(1) && !told.contains("s3cret"), "{arguments:?}: {told}");
        }
    }
}
