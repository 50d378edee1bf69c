//! Somebody else's script is driven as the contract of exec providers says, and cannot hang, flood or fool its caller.
//!
//! A strict provider in Python passes the suite that every provider passes, and a careless one what of it shows that we
//! read leniently. One of before, which still shows what was archived, is shown as it is. Scripts of a few lines show what
//! happens at the edges.

#![cfg(unix)]

use std::fs;
use std::time::Duration;

use mail::provider::{Provider, ProviderError, Words};
use store::Exec;

use crate::stand_in::{Script, provider};

mod strict {
    testing::provider_suite!(crate::stand_in::strict);
}

mod older {
    testing::kept_suite!(crate::stand_in::older);
}

mod sloppy {
    // Those in which its carelessness shows; the rest would try the same lines of ours again.
    testing::provider_suite! { crate::stand_in::sloppy:
        a_delivery_is_sent_unread_with_an_id_and_a_thread_of_its_own,
        text_of_any_script_and_length_is_kept,
        an_inbox_holds_what_is_unread_oldest_first,
        marking_unread_brings_a_delivery_back,
        what_was_archived_is_in_no_list,
        a_reply_goes_to_the_sender_in_the_thread,
        a_thread_is_found_by_any_delivery_in_it,
        an_unknown_thread_is_empty,
        an_unknown_id_is_not_found,
        times_rise_within_a_thread,
        lists_are_in_the_order_of_their_times,
    }
}

const HELLO: Words<'static> = Words { from: "alice", subject: "Hello", body: "How are you?" };

fn cause<T: std::fmt::Debug>(answer: Result<T, ProviderError>) -> String {
    match answer {
        Err(ProviderError::Failed { cause }) => cause,
        other => panic!("{other:?} is no failure"),
    }
}

#[tokio::test]
async fn names_reach_the_script_as_they_are() {
    let Some((provider, _folder)) = provider("provider.py") else { return };
    for to in ["-x", "--help", "a b", "", "$(touch x); 'q' \"p\"", "über/漢字 🦀", "*", "\n"] {
        let sent = provider.send(to, HELLO).await.unwrap();
        assert_eq!(sent.to, to);
        assert!(provider.inbox(to).await.unwrap().contains(&sent), "'{to}'");
    }
    let refused = provider.get("a\0b").await;
    assert!(matches!(refused, Err(ProviderError::Office(mail::Error::Invalid { .. }))), "{refused:?}");
}

#[tokio::test]
async fn the_script_gets_our_environment_and_what_is_added_to_it() {
    let script = Script::new(r#"printf '{"id":"1","from":"%s","subject":"%s"}' "$GC_AGENT" "${PATH:+inherited}""#);
    let environment = vec![("GC_AGENT".to_owned(), "alice b".to_owned())];
    let delivery = Exec::new(script.path(), environment).get("1").await.unwrap();
    assert_eq!((delivery.from.as_str(), delivery.subject.as_str()), ("alice b", "inherited"));
}

#[tokio::test]
async fn it_is_asked_to_run_once_before_the_first_call_and_may_fail_at_that() {
    let script = Script::new(r#"echo "$# $*" >> "$0.log"; [ "$1" != ensure-running ]"#);
    let exec = script.exec();
    let (one, other) = tokio::join!(exec.inbox("bob"), exec.inbox("bob"));
    assert!(one.unwrap().is_empty() && other.unwrap().is_empty());
    exec.archive("7").await.unwrap();
    let log = fs::read_to_string(script.path().with_extension("log")).unwrap();
    let calls: Vec<&str> = log.lines().collect();
    assert_eq!(calls, ["1 ensure-running", "2 inbox bob", "2 inbox bob", "2 archive 7"]);
}

#[tokio::test]
async fn each_verb_is_one_call_of_its_own_name_and_exit_code_two_is_never_success() {
    let script = Script::new("exit 2");
    let exec = script.exec();
    let answers = [
        ("send", exec.send("bob", HELLO).await.map(drop)),
        ("reply", exec.reply("1", HELLO).await.map(drop)),
        ("inbox", exec.inbox("bob").await.map(drop)),
        ("check", exec.check("bob").await.map(drop)),
        ("all", exec.all("bob").await.map(drop)),
        ("thread", exec.thread("1").await.map(drop)),
        ("get", exec.get("1").await.map(drop)),
        ("read", exec.read("1").await.map(drop)),
        ("mark-read", exec.mark_read("1").await),
        ("mark-unread", exec.mark_unread("1").await),
        ("archive", exec.archive("1").await),
        ("delete", exec.delete("1").await),
        ("count", exec.count("bob").await.map(drop)),
    ];
    for (name, answer) in answers {
        assert!(matches!(answer, Err(ProviderError::Unsupported { verb }) if verb == name), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn a_failure_is_told_by_what_the_script_says() {
    let script = Script::new(
        r#"case "$1" in
            archive) echo "error: $2 is already archived" >&2; exit 1;;
            get) echo "gc-mail-error:not-found: $2" >&2; exit 1;;
            thread) echo "thread not found" >&2; exit 1;;
            read) no-such-program-of-anybody; exit $?;;
            *) printf 'disk \033[31mfull\nand more\n' >&2; exit 7;;
        esac"#,
    );
    let exec = script.exec();
    let archived = exec.archive("a 1").await;
    assert!(matches!(&archived, Err(ProviderError::AlreadyArchived { id }) if id == "a 1"), "{archived:?}");
    let gone = exec.get("a 1").await;
    assert!(matches!(&gone, Err(ProviderError::NotFound { id }) if id == "a 1"), "{gone:?}");
    assert_eq!(exec.thread("t").await.unwrap(), [], "an unknown thread is empty");
    let broken = Script::new("echo 'Error: mail database not found: run init' >&2; exit 1");
    let broken = broken.exec();
    for answer in [broken.thread("t").await.map(drop), broken.get("t").await.map(drop), broken.archive("t").await] {
        assert!(cause(answer).ends_with("Error: mail database not found: run init"));
    }
    assert!(cause(exec.read("a 1").await).contains("no-such-program-of-anybody"));
    let failed = cause(exec.inbox("bob").await);
    assert!(failed.ends_with("inbox' ended with exit code 7: disk [31mfull"), "{failed}");
}

#[tokio::test]
async fn a_script_that_hangs_is_stopped_with_all_that_it_started() {
    let script = Script::new(
        r#"[ "$1" = send ] || exit; exec 3> "$0.fifo"; sleep 1000 & (sleep 1000 & sleep 1000) & sleep 1000"#,
    );
    let ended = script.fifo_closed();
    // Long enough for the script to have opened the pipe, even on a busy machine.
    let exec = script.exec().with_limit(Duration::from_secs(3));
    let failed = cause(exec.send("bob", HELLO).await);
    assert!(failed.contains("did not end within 3 s") && failed.contains("before you send it again"), "{failed}");
    ended.wait();
}

#[tokio::test]
async fn a_call_that_is_given_up_is_stopped_with_all_that_it_started() {
    let script = Script::new(r#"[ "$1" = inbox ] || exit; exec 3> "$0.fifo"; echo up >&3; sleep 1000 & sleep 1000"#);
    let (up, ended) = script.fifo_opened_and_closed();
    let exec = script.exec();
    let call = tokio::spawn(async move { exec.inbox("bob").await });
    tokio::task::spawn_blocking(move || up.wait()).await.unwrap();
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    ended.wait();
}

#[tokio::test]
async fn what_a_script_leaves_running_holds_up_nobody_and_is_left_alone() {
    // A server that was started on request may even print later: its output is not ours to close.
    for (verb, later) in [("ensure-running", "echo served"), ("inbox", ":")] {
        let script = Script::new(&format!(
            r#"if [ "$1" = {verb} ]; then {{ read word < "$0.fifo"; {later}; echo "$word" > "$0.done"; }} & fi
            [ "$1" = ensure-running ] || echo '[{{"id":"1"}}]'"#
        ));
        let fifo = script.fifo();
        assert_eq!(script.exec().inbox("bob").await.unwrap().len(), 1, "{verb}");
        // It still waits for this word, so the call did not wait for it.
        fifo.say("go on").wait();
        script.wait_for_file("done");
    }
}

#[tokio::test]
async fn an_answer_that_makes_no_sense_is_a_failure() {
    for printed in ["garbage", r#"[{"id":"1"}"#, r#"{"id":"1","created_at":"soon"}"#, "\\377\\376", "<html>"] {
        let script = Script::new(&format!("printf '{printed}'"));
        let exec = script.exec();
        assert!(cause(exec.inbox("bob").await).contains("cannot be read"), "{printed}");
        assert!(cause(exec.get("1").await).contains("cannot be read"), "{printed}");
        assert!(cause(exec.count("bob").await).contains("cannot be read"), "{printed}");
        assert!(cause(exec.send("bob", HELLO).await).contains("before you send it again"), "{printed}");
        exec.mark_read("1").await.expect("what it prints for this is ignored");
    }
}

#[tokio::test]
async fn endless_output_is_stopped_and_endless_complaints_are_cut() {
    let script = Script::new(r#"[ "$1" = ensure-running ] || yes"#);
    assert!(cause(script.exec().inbox("bob").await).contains("more than 64 MiB"));

    let script = Script::new("yes oops | head -c 5000000 >&2; exit 1");
    assert!(cause(script.exec().inbox("bob").await).ends_with("exit code 1: oops"));
}

#[tokio::test]
async fn a_script_may_ignore_its_input_or_talk_before_it_listens() {
    let body = "x".repeat(4 << 20);
    let talks_first = "head -c 1000000 /dev/zero | tr '\\0' ' '; yes | head -c 1000000 >&2; cat > /dev/null;";
    for reading in ["", "exec <&-;", "head -c 1 > /dev/null;", talks_first] {
        let script = Script::new(&format!(r#"{reading} echo '{{"id":"1"}}'"#));
        let sent = script.exec().send("bob", Words { body: &body, ..HELLO }).await;
        assert_eq!(sent.unwrap().id, "1", "'{reading}'");
    }
}

#[tokio::test]
async fn a_verb_without_words_has_nothing_to_read() {
    let script = Script::new(r#"[ -z "$(cat)" ] && echo '{"total":3,"unread":1}'"#);
    let count = script.exec().count("").await.unwrap();
    assert_eq!((count.total, count.unread), (3, 1));
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_what_to_check() {
    let script = Script::new("");
    let beside = |name: &str| script.path().with_file_name(name);
    for program in [beside("no-such-program"), "no-such-program-of-anybody".into()] {
        let failed = cause(Exec::new(program, Vec::new()).inbox("bob").await);
        assert!(failed.contains("no-such-program") && failed.contains("check its name"), "{failed}");
    }
    fs::write(beside("plain"), "text").unwrap();
    let failed = cause(Exec::new(beside("plain"), Vec::new()).inbox("bob").await);
    assert!(failed.contains("chmod +x"), "{failed}");
}
