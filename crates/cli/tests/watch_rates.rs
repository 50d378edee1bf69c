//! Who asks very much is answered later, loses nothing, and holds up nobody else.

use serde_json::json;

use crate::harness::mcp::{PROJECT, with};
use crate::harness::{Place, Server};
use crate::watchers::{CHANNEL, Watcher, failed, once, said_by, say};

/// How many answers a person gets before it has to wait.
const MOST: usize = 100;
const NUMBER: &str = "cat >/dev/null; echo \"To $POSTRIDER_MESSAGE_ID.\"";

/// Lets claude have had all the answers of codex that it gets in ten minutes, each in a conversation of its own.
fn had_its_answers(server: &Server) {
    for number in 0..MOST {
        let answer = json!({
            "project_key": PROJECT, "sender_name": "codex", "channel": CHANNEL, "to": ["claude"],
            "mode": "watcher", "text": format!("Answer {number}."),
        });
        server.call("post_to_channel", answer);
    }
}

/// Lets all that was said be older.
fn let_pass(place: &Place, microseconds: i64) {
    let database = rusqlite::Connection::open(place.database()).expect("the database is there");
    let changed = database.execute("UPDATE message SET created_at = created_at - ?1", [microseconds]);
    assert!(changed.expect("times can be changed") >= MOST);
}

/// What codex answered.
fn answers(place: &Place) -> Vec<String> {
    said_by(place, "codex").into_iter().filter(|text| text.starts_with("To ")).collect()
}

#[test]
fn who_asks_very_much_holds_up_nobody_else_and_is_answered_by_a_later_watcher() {
    let server = Server::start();
    let place = &server.place;
    had_its_answers(&server);
    let mut watcher = Watcher::start(place, "codex", NUMBER);
    let first = say(place, "claude", "codex", "One more.");
    let told = watcher.until("waiting");
    assert_eq!((&told["message_id"], &told["from"]), (&json!(first), &json!("claude")), "{told}");
    let second = say(place, "claude", "codex", "And one more.");
    let other = say(place, "gemini", "codex", "Only this.");
    assert_eq!(watcher.until("answered")["message_id"], other);
    watcher.stop();
    let ran = once(place, "codex", &[], NUMBER);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!((answers(place), failed(place, "codex")), (vec![format!("To {other}.")], Vec::new()));
    let_pass(place, 600_000_000);
    let ran = once(place, "codex", &[], NUMBER);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(answers(place), [other, first, second].map(|id| format!("To {id}.")));
}

#[test]
fn who_waited_is_answered_when_the_time_is_over() {
    let server = Server::start();
    let place = &server.place;
    had_its_answers(&server);
    // Whether or not the time is over already when the questions are met: both are answered, in order.
    let_pass(place, 597_000_000);
    let mut watcher = Watcher::start_with(place, "codex", &["--channel", CHANNEL, "--poll", "1h"], NUMBER);
    let asked = ["One more.", "And one more."].map(|text| say(place, "claude", "codex", text));
    for id in asked {
        assert_eq!(watcher.until("answered")["message_id"], id);
    }
    watcher.stop();
    assert_eq!(answers(place), asked.map(|id| format!("To {id}.")));
}

#[test]
fn an_answer_in_a_channel_counts_once_when_the_mailbox_is_watched_too() {
    let server = Server::start();
    let place = &server.place;
    let ask = json!({
        "project_key": PROJECT, "sender_name": "claude", "channel": CHANNEL, "to": ["codex"],
        "mode": "watcher",
    });
    let asks = |text: &str| server.call("post_to_channel", with(ask.clone(), json!({ "text": text })));
    for number in 0..9 {
        asks(&format!("Again {number}."));
    }
    assert_eq!(once(place, "codex", &["--mailbox"], NUMBER).code, Some(0));
    asks("The tenth.");
    assert_eq!(once(place, "codex", &["--mailbox"], NUMBER).code, Some(0), "{:?}", failed(place, "codex"));
    asks("The eleventh.");
    assert_eq!(once(place, "codex", &["--mailbox"], NUMBER).code, Some(1));
    assert_eq!(answers(place).len(), 10);
}
