//! Deliveries as beads: the promises of every provider on both keepers, and beside other programs that write beads.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};

use mail::messages::{OpenKey, WhenOpen};
use mail::provider::hiding::Hiding;
use mail::provider::suite::Shared;
use mail::provider::{Count, Provider, ProviderError, Words};
use serde_json::{Value, json};
use store::Beads;
use tempfile::TempDir;

use crate::stand_in::Script;

const HELLO: Words<'static> = Words { from: "alice", subject: "Hello", body: "How are you?" };

mod file {
    testing::provider_suite!(super::hiding_file);
}

mod program {
    testing::provider_suite!(super::hiding_program);
}

mod kept_in_the_file {
    testing::kept_suite!(super::fresh_file);
}

mod kept_by_the_program {
    testing::kept_suite!(super::fresh_program);
}

async fn fresh_file() -> (Shared, TempDir) {
    let city = city("");
    (Arc::new(Beads::file(city.path())), city)
}

async fn hiding_file() -> (Shared, TempDir) {
    let city = city("");
    (Arc::new(Hiding(Beads::file(city.path()))), city)
}

async fn fresh_program() -> Option<(Shared, TempDir)> {
    let folder = bd_folder()?;
    Some((Arc::new(bd(folder.path())), folder))
}

async fn hiding_program() -> Option<(Shared, TempDir)> {
    let folder = bd_folder()?;
    Some((Arc::new(Hiding(bd(folder.path()))), folder))
}

/// A folder whose beads the stand-in for `bd` keeps; `None` without Python.
fn bd_folder() -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".beads")).unwrap();
    has_python().then_some(folder)
}

fn bd(folder: &Path) -> Beads {
    Beads::program(stand_in("bd.py").unwrap(), folder.to_owned())
}

/// A program of ours in Python; `None`, and a loud word, without Python.
///
/// Where `python3` is a script that looks for the real one, each of hundreds of calls would look again. So the programs
/// are copied with the real one in their first line; by Python, because a file that this process writes cannot be run
/// while one of its children still holds it.
fn stand_in(name: &str) -> Option<PathBuf> {
    static COPIES: OnceLock<Option<PathBuf>> = OnceLock::new();
    COPIES.get_or_init(copied).as_ref().map(|folder| folder.join(name))
}

fn copied() -> Option<PathBuf> {
    const COPY: &str = "import os, sys
here, there = sys.argv[1:]
for name in os.listdir(here):
    if name.endswith('.py'):
        program = open(os.path.join(here, name)).read().split('\\n', 1)[1]
        copy = os.path.join(there, f'{name}.{os.getpid()}')
        with open(copy, 'w') as file:
            file.write(f'#!{sys.executable} -SE\\n{program}')
        os.chmod(copy, 0o755)
        os.replace(copy, os.path.join(there, name))";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand_in");
    fs::create_dir_all(&folder).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in");
    if Command::new("python3").args(["-c", COPY]).args([&here, &folder]).status().is_ok_and(|end| end.success()) {
        return Some(folder);
    }
    testing::not_run("beads of another program", "there is no python3");
    None
}

fn has_python() -> bool {
    stand_in("bd.py").is_some()
}

/// A city with that file of beads; without text it has none.
fn city(text: &str) -> TempDir {
    let city = tempfile::tempdir().unwrap();
    fs::create_dir(city.path().join(".gc")).unwrap();
    if !text.is_empty() {
        fs::write(store_of(&city), text).unwrap();
    }
    city
}

fn store_of(city: &TempDir) -> PathBuf {
    city.path().join(".gc/beads.json")
}

fn kept(city: &TempDir) -> Value {
    serde_json::from_slice(&fs::read(store_of(city)).unwrap()).unwrap()
}

fn city_writer(city: &Path, name: &str, count: &str) -> Child {
    let mut command = Command::new(stand_in("city_writer.py").unwrap());
    command.arg(city).args([name, count]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

#[tokio::test]
async fn what_others_keep_in_the_file_survives_what_we_do() {
    let task = json!({ "id": "gc-1", "issue_type": "task", "title": "Build", "needs": ["gc-9"], "priority": 1 });
    let theirs = json!({
        "id": "gc-2", "issue_type": "message", "title": "Hi", "status": "open", "assignee": "bob", "from": "carol",
        "created_at": "2026-03-04T10:00:00.5+01:00", "labels": ["x", "thread:t1", "cc:dan"], "ref": { "deep": [1] },
    });
    let text = json!({ "seq": 2, "beads": [task, theirs], "deps": [{ "issue_id": "gc-1" }], "fences": { "gc-1": 3 } });
    let city = city(&text.to_string());
    let beads = Beads::of_city(city.path()).unwrap();
    beads.read("gc-2").await.unwrap();
    beads.reply("gc-2", HELLO).await.unwrap();
    beads.archive("gc-2").await.unwrap();
    let kept = kept(&city);
    assert_eq!((&kept["beads"][0], &kept["deps"], &kept["fences"]), (&task, &text["deps"], &text["fences"]));
    let mut wanted = theirs.clone();
    wanted["labels"] = json!(["x", "thread:t1", "cc:dan", "read"]);
    wanted["status"] = json!("closed");
    wanted["updated_at"] = kept["beads"][1]["updated_at"].clone();
    assert_eq!(kept["beads"][1], wanted);
    let reply = &kept["beads"][2];
    assert_eq!((&reply["id"], &reply["assignee"], &kept["seq"]), (&json!("gc-3"), &json!("carol"), &json!(3)));
    assert_eq!(reply["labels"], json!(["gc:message", "thread:t1", "reply-to:gc-2"]));
}

#[tokio::test]
async fn a_bead_that_is_no_message_is_not_found() {
    let city = city(r#"{"seq":1,"beads":[{"id":"gc-1","issue_type":"task","assignee":"bob","status":"open"}]}"#);
    let beads = Beads::file(city.path());
    assert!(matches!(beads.get("gc-1").await, Err(ProviderError::NotFound { .. })));
    assert!(matches!(beads.archive("gc-1").await, Err(ProviderError::NotFound { .. })));
    assert_eq!(beads.count("").await.unwrap(), Count::default());
}

#[tokio::test]
async fn a_broken_file_is_named_and_left_alone() {
    for broken in ["", "{\"seq\": 3, \"beads\": [{\"id\"", "[]"] {
        let city = city("{}");
        fs::write(store_of(&city), broken).unwrap();
        let beads = Beads::file(city.path());
        let errors =
            [beads.send("bob", HELLO).await.map(drop), beads.all("").await.map(drop), beads.archive("x").await];
        for error in errors {
            assert!(error.unwrap_err().to_string().contains("beads.json"));
        }
        assert_eq!(fs::read_to_string(store_of(&city)).unwrap(), broken);
    }
}

#[tokio::test]
async fn a_delivery_without_a_thread_begins_one_that_its_answers_join() {
    let city = city(r#"{"seq":1,"beads":[{"id":"gc-1","issue_type":"message","assignee":"bob","from":"alice"}]}"#);
    answer_joins(&Beads::file(city.path()), "gc-1").await;
    if has_python() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".beads")).unwrap();
        let words = ["create", "--json", "Hi", "-t", "message", "-a", "bob", "--metadata", r#"{"from":"alice"}"#];
        let made = Command::new(stand_in("bd.py").unwrap()).args(words).current_dir(folder.path()).output().unwrap();
        assert!(made.status.success());
        answer_joins(&bd(folder.path()), "bd-1").await;
    }
}

async fn answer_joins(beads: &Beads, first: &str) {
    assert_eq!(beads.thread(first).await.unwrap().len(), 1);
    let reply = beads.reply(first, Words { from: "bob", ..HELLO }).await.unwrap();
    beads.archive(first).await.unwrap();
    beads.archive(&reply.id).await.unwrap();
    for id in [first, &reply.id] {
        let ids: Vec<String> = beads.thread(id).await.unwrap().into_iter().map(|delivery| delivery.id).collect();
        assert_eq!(ids, [first, &reply.id], "archived mail is shown by '{id}'");
    }
}

#[tokio::test]
async fn a_writer_that_was_killed_harms_nobody() {
    if !has_python() {
        return;
    }
    let city = city("");
    let beads = Beads::file(city.path());
    let first = beads.send("bob", HELLO).await.unwrap();
    let mut writer = city_writer(city.path(), "killed", "die");
    let mut half = [0; 5];
    writer.stdout.as_mut().unwrap().read_exact(&mut half).unwrap();
    assert_eq!(beads.count("bob").await.unwrap().total, 1, "a reader does not wait");
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(store_of(&city).with_extension("json.tmp").exists(), "it left half a file behind");
    let second = beads.send("bob", HELLO).await.unwrap();
    assert_eq!(beads.all("bob").await.unwrap(), [first, second]);
    assert!(!store_of(&city).with_extension("json.tmp").exists());
}

const OUR_WRITER: &str = "POSTRIDER_TEST_BEADS_WRITER";

/// Not a test of its own: what the next test runs in other processes.
#[tokio::test]
async fn our_writer_process() {
    let Ok(task) = std::env::var(OUR_WRITER) else { return };
    let (name, city) = task.split_once(' ').unwrap();
    let beads = Beads::file(Path::new(city));
    for _ in 0..10 {
        let sent = beads.send("bob", Words { from: name, ..HELLO }).await.unwrap();
        beads.read(&sent.id).await.unwrap();
    }
}

#[tokio::test]
async fn twelve_processes_ours_and_theirs_lose_nothing() {
    if !has_python() {
        return;
    }
    let city = city("");
    let mut writers = Vec::new();
    for number in 0..6 {
        let mut ours = Command::new(std::env::current_exe().unwrap());
        ours.args(["--exact", "beads::our_writer_process"]).stdout(Stdio::null());
        ours.env(OUR_WRITER, format!("ours-{number} {}", city.path().display()));
        writers.push(ours.spawn().unwrap());
        writers.push(city_writer(city.path(), &format!("theirs-{number}"), "10"));
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    let beads = Beads::file(city.path());
    assert_eq!(beads.count("bob").await.unwrap(), Count { total: 120, unread: 60 });
    let deliveries = beads.all("bob").await.unwrap();
    let ids: HashSet<&str> = deliveries.iter().map(|delivery| delivery.id.as_str()).collect();
    assert_eq!(ids.len(), 120, "every id is another");
    for number in 0..6 {
        for side in ["ours", "theirs"] {
            let from = format!("{side}-{number}");
            assert_eq!(deliveries.iter().filter(|delivery| delivery.from == from).count(), 10, "{from}");
        }
    }
    let kept = kept(&city);
    let marked = kept["beads"].as_array().unwrap().iter().filter(|bead| bead["theirs"]["kept"] == true).count();
    assert_eq!((marked, &kept["seq"]), (60, &json!(120)));
}

#[tokio::test]
async fn what_bd_says_is_told_and_only_a_missing_bead_is_not_found() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let beads = bd(folder.path());
    let Err(ProviderError::Failed { cause }) = beads.get("bd-1").await else { panic!("there is no database") };
    assert_eq!(cause, "'bd show' said: Error: database not found: run bd init");
    fs::create_dir(folder.path().join(".beads")).unwrap();
    let sent = beads.send("bob", HELLO).await.unwrap();
    for part in ["bd-", "1", "bd-2"] {
        assert!(matches!(beads.get(part).await, Err(ProviderError::NotFound { .. })), "'{part}' is no whole id");
    }
    assert_eq!(beads.get("bd-1").await.unwrap(), sent);
    let missing = Beads::program(folder.path().join("no-bd"), folder.path().to_owned());
    let Err(ProviderError::Failed { cause }) = missing.check("bob").await else { panic!("there is no program") };
    assert!(cause.contains("no-bd' could not be started"), "{cause}");
}

#[tokio::test]
async fn more_deliveries_than_bd_lists_by_itself_are_all_listed() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".beads")).unwrap();
    let bead = |number: u32| {
        let id = format!("bd-{number}");
        let made = json!({
            "id": id, "title": "Hi", "issue_type": "message", "status": "open", "assignee": "bob", "description": "",
            "labels": ["thread:a, \"b\""], "metadata": { "from": "carol" }, "created_at": "2026-03-04T10:00:00Z",
        });
        (id, made)
    };
    let state = json!({ "seq": 60, "beads": (1..=60).map(bead).collect::<serde_json::Map<_, _>>() });
    fs::write(folder.path().join(".beads/state.json"), state.to_string()).unwrap();
    let beads = bd(folder.path());
    let deliveries = beads.all("bob").await.unwrap();
    assert!(deliveries.iter().map(|delivery| delivery.id.clone()).eq((1..=60).map(|number| format!("bd-{number}"))));
    assert!(deliveries.is_sorted_by(|one, next| one.created_at < next.created_at), "though they share a second");
    assert_eq!(beads.thread("bd-7").await.unwrap().len(), 60, "a label with a comma is one label");
    assert_eq!(beads.reply("bd-7", HELLO).await.unwrap().thread, deliveries[0].thread);
    assert_eq!(beads.thread("bd-61").await.unwrap().len(), 61);
}

#[tokio::test]
async fn what_replaces_is_sent_before_anything_is_archived() {
    if !has_python() {
        return;
    }
    let folder = bd_folder().unwrap();
    let (beads, key) = (bd(folder.path()), OpenKey::new("plan", WhenOpen::Replace).unwrap());
    beads.send_keyed("bob", HELLO, &key).await.unwrap();
    let real = stand_in("bd.py").unwrap();
    let script = Script::new(&format!(
        r#"case "$*" in close*bd-1) echo 'Error: locked' >&2; exit 1;; esac; exec '{}' "$@""#,
        real.display()
    ));
    let broken = Beads::program(script.path(), folder.path().to_owned());
    for wanted in ["bd-2", "bd-3"] {
        let sent = broken.send_keyed("bob", HELLO, &key).await.unwrap();
        assert_eq!((sent.delivery.id.as_str(), sent.is_new), (wanted, true), "whoever sends does not send it again");
        let open: Vec<String> = beads.inbox("bob").await.unwrap().into_iter().map(|delivery| delivery.id).collect();
        assert_eq!(open, ["bd-1", wanted], "what can be archived is");
    }
    let third = beads.send_keyed("bob", HELLO, &key).await.unwrap();
    assert_eq!(beads.inbox("bob").await.unwrap(), [third.delivery], "the next one makes it good");
}

#[tokio::test]
async fn a_key_is_a_label_and_mail_without_our_label_is_read() {
    let text = json!({ "seq": 1, "beads": [{
        "id": "gc-1", "issue_type": "message", "title": "Hi", "assignee": "bob", "from": "alice", "labels": ["thread:t"],
    }] });
    let city = city(&text.to_string());
    let beads = Beads::file(city.path());
    assert_eq!(beads.inbox("bob").await.unwrap()[0].subject, "Hi", "newer cities write no gc:message");
    let key = OpenKey::new("a, \"b\"", WhenOpen::Skip).unwrap();
    assert!(beads.send_keyed("bob", HELLO, &key).await.unwrap().is_new);
    assert!(!beads.send_keyed("bob", HELLO, &key).await.unwrap().is_new);
    let labels = kept(&city)["beads"][1]["labels"].clone();
    assert!(labels[0] == "gc:message" && labels[2] == "dedup:a, \"b\"", "{labels}");
    if let Some(folder) = bd_folder() {
        let beads = bd(folder.path());
        assert!(beads.send_keyed("bob", HELLO, &key).await.unwrap().is_new);
        assert!(!beads.send_keyed("bob", HELLO, &key).await.unwrap().is_new, "a label with a comma is one label");
    }
}

#[tokio::test]
async fn a_city_keeps_its_beads_in_its_file_or_with_bd_or_is_no_city() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Beads::of_city(folder.path()).is_none());
    fs::create_dir(folder.path().join(".gc")).unwrap();
    assert_eq!(Beads::of_city(folder.path()).unwrap().all("").await.unwrap(), []);
    Beads::of_city(folder.path()).unwrap().send("bob", HELLO).await.unwrap();
    fs::create_dir(folder.path().join(".beads")).unwrap();
    assert_eq!(Beads::of_city(folder.path()).unwrap().all("").await.unwrap().len(), 1, "the file is there");
    assert!(folder.path().join(".gc/beads.json").exists());
}
