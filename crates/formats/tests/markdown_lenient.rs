//! What is read from messages that are not written quite as the protocol shows them.

use formats::markdown::{Field, Kind, Message, read};

fn bead(subject: &str, body: &str) -> String {
    read(subject, body).value.bead_id().to_owned()
}

fn progress(body: &str) -> Message {
    read("PROGRESS", body).value
}

fn guidance(body: &str) -> String {
    read("HELP_RESPONSE", body).value.text("guidance").to_owned()
}

fn said(text: &str) -> Field {
    Field::Text(text.to_owned())
}

/// The bead and the issue of a message about a new worker.
fn spawn(subject: &str, body: &str) -> (String, String) {
    let message = read(subject, body).value;
    (message.bead_id().to_owned(), message.text("issue_id").to_owned())
}

#[test]
fn the_issue_of_a_new_worker_is_the_bead_of_the_body_when_there_is_no_other() {
    let ids = |bead: &str, issue: &str| (bead.to_owned(), issue.to_owned());
    for kind in ["SPAWN_REQUEST", "SPAWN_ACK"] {
        assert_eq!(spawn(kind, "Bead: x-1"), ids("x-1", "x-1"));
        assert_eq!(spawn(kind, "Bead: x-1\nIssue: x-2"), ids("x-1", "x-2"));
        assert_eq!(spawn(kind, "Issue: x-2"), ids("", "x-2"));
        assert_eq!(spawn(&format!("[x-3] {kind}"), "Bead: x-1"), ids("x-1", "x-1"));
        assert_eq!(spawn(&format!("[x-3] {kind}"), ""), ids("x-3", ""));
    }
}

#[test]
fn the_subject_of_a_message_of_no_kind_names_the_work_before_a_colon() {
    assert_eq!(bead("ol-1: GUIDANCE", "go left"), "ol-1");
    assert_eq!(bead("ol-1: hello", "Bead: ol-2"), "ol-2");
    assert_eq!(bead("hello: ol-1", ""), "");
}

#[test]
fn a_misspelt_kind_is_none_and_keeps_its_work() {
    let read = |subject, body| {
        let message = read(subject, body).value;
        (message.kind(), message.work_id().map(str::to_owned), message.fields().len())
    };
    let work = |id: &str| Some(id.to_owned());
    assert_eq!(read("[a-1] OFFERING-READY", "all green"), (None, work("a-1"), 1));
    assert_eq!(read("a-1: Offering ready", "Bead: a-2"), (None, work("a-2"), 1));
    assert_eq!(read("OFFERING-READY", "Bead: a-1"), (None, work("a-1"), 0), "not printed");
    assert_eq!(read("Help request", "Issue: a-1"), (None, work("a-1"), 0));
    assert_eq!(read("OFFERING-READY", "Look at the Bead: a-1"), (None, None, 0));
}

#[test]
fn the_kinds_of_later_texts_are_read() {
    for (subject, kind) in [
        ("[a-1] OFFERING_ACCEPTED", Kind::OfferingAccepted),
        ("a-1: retry_required", Kind::RetryRequired),
        ("[a-1] Completed", Kind::Completed),
    ] {
        let message = read(subject, "Thank you for your service.").value;
        assert_eq!((message.kind(), message.work_id()), (Some(kind), Some("a-1")), "{subject}");
        assert_eq!(message.type_name(), kind.as_str());
    }
    let accepted = read("OFFERING_ACCEPTED", "Issue: a-1\nIssue a-1 closed.\nCommit: abc\nThank you.").value;
    assert_eq!((accepted.work_id(), accepted.text("commit_sha")), (Some("a-1"), "abc"));
    assert_eq!(read("RETRY_REQUIRED", "Issue: it is late").value.work_id(), None, "a sentence is no id");
    assert_eq!(read("RETRY_REQUIRED", "## Failure\n- Reason: two tests").value.text("reason"), "two tests");
    let body = "Bead: a-1\nStatus: DONE\n\n## Changes\n- Commit: c\n\n## Summary\ns";
    let (done, completed) = (read("DONE", body).value, read("COMPLETED", body).value);
    assert_eq!(completed.fields(), done.fields());
    assert!(completed.is_success() && completed.is_completion());
    assert!(!read("OFFERING_ACCEPTED", body).value.is_completion());
}

#[test]
fn a_body_that_is_indented_as_a_whole_has_its_headings() {
    let problem = |body: &str| read("HELP_REQUEST", body).value.text("problem").to_owned();
    assert_eq!(problem("    Bead: a-1\n\n    ## Problem\n    x\n      y\n\n    ## Question\n    q\n"), "x\n  y");
    assert_eq!(problem("Bead: a-1\n        ## Problem\n        x\n        ## Question\n        q\n    "), "x");
    assert_eq!(problem("\tBead: a-1\n```\nflush\n```\n\t## Problem\n\tx\n"), "x");
    assert_eq!(problem("Bead: a-1\n\n    ## Problem\n    code\n\nIt fails."), "", "a block of code is none");
    assert_eq!(guidance("Do this:\n    ## a\n    b"), "Do this:\n    ## a\n    b");
}

#[test]
fn a_share_may_stand_apart_from_its_sign() {
    for text in ["45 %", "45%", "45", "+45 \u{a0}%"] {
        assert_eq!(progress(&format!("Context usage: {text}")).number("context_usage"), Some(45), "{text}");
    }
    for text in ["%", "45 % used", "45 %%", "101 %", "4 5"] {
        assert_eq!(progress(&format!("Context usage: {text}")).number("context_usage"), None, "{text}");
    }
}

#[test]
fn a_number_may_have_one_plus() {
    assert_eq!(progress("Context usage: +45%").number("context_usage"), Some(45));
    assert_eq!(progress("Context usage: ++45%").number("context_usage"), None);
    assert_eq!(progress("Context usage: +").number("context_usage"), None);
    assert_eq!(progress("Context usage: +-4").number("context_usage"), None);
    let failed = read("FAILED", "## Failure\nInternal Attempts: +3").value;
    assert_eq!(failed.number("internal_attempts"), Some(3));
}

#[test]
fn files_are_listed_with_or_without_a_space_behind_the_bullet() {
    let body = "## Files Touched\n-e.py\n*f.py\n---\n--x\n**bold**\n***\n+ g.py\n1. h.py\n- i.py";
    let request = read("HELP_REQUEST", body).value;
    assert_eq!(request.list("files_touched"), ["e.py", "f.py", "i.py"]);
    assert_eq!(progress("Files touched:\n-a.py\n-b.py\n\nStep: s").list("files_touched"), ["a.py", "b.py"]);
}

#[test]
fn the_label_of_the_kind_itself_names_the_bead_wherever_the_other_stands() {
    for body in ["Bead: x\nAccepted bead: y", "Accepted bead: y\nBead: x"] {
        assert_eq!(bead("BEAD_ACCEPTED", body), "y");
        for subject in ["PROGRESS", "HELP_RESPONSE", "SPAWN_ACK", "hello"] {
            assert_eq!(bead(subject, body), "x", "{subject}");
        }
    }
    for subject in ["BEAD_ACCEPTED", "DONE", "hello"] {
        assert_eq!(bead(subject, "Bead: x\nAccepted bead:"), "x", "{subject}");
        assert_eq!(bead(subject, "Bead:\nAccepted bead: y"), "y", "{subject}");
    }
}

#[test]
fn the_text_of_a_help_response_loses_its_first_line_only_if_that_names_the_bead() {
    assert_eq!(guidance("Accepted bead: y\nlook"), "look");
    assert_eq!(guidance("Accepted bead: y\nlook\nBead: x"), "Accepted bead: y\nlook\nBead: x");
}

#[test]
fn a_body_in_a_fence_is_read_as_what_stands_in_it() {
    let body = "```markdown\nBead: x-1\nStep: 4\n\nFiles touched:\n- a\n```\n";
    let wanted = Message::new(Some(Kind::Progress)).with("bead_id", said("x-1")).with("step", said("4"));
    assert_eq!(progress(body), wanted.with("files_touched", Field::List(vec!["a".into()])));
    assert_eq!(guidance("~~~\nBead: x-1\nlook\n~~~"), "look");
    assert_eq!(bead("hello", "```\nBead: x-1\n```"), "x-1");
    assert_eq!(bead("PROGRESS", "```json\nBead: x-1\n```"), "");
    assert_eq!(bead("PROGRESS", "As shown:\n```\nBead: x-1\n```"), "");
    assert_eq!(bead("PROGRESS", "```\nBead: x-1\n```\n```\nBead: x-2\n```"), "");
}

#[test]
fn a_body_that_is_indented_as_a_whole_is_read_without_its_indentation() {
    let body = "    Bead: x-1\n\n    ## Problem\n    p\n      q\n\n    ## Question\n    why\n";
    let request = read("HELP_REQUEST", body).value;
    assert_eq!((request.bead_id(), request.text("problem")), ("x-1", "p\n  q"));
    assert_eq!(request.text("question"), "why");
    assert_eq!(read("HELP_REQUEST", &format!("Hi\n{body}")).value.text("problem"), "");
}

#[test]
fn an_answer_that_is_all_code_or_of_no_bead_is_written_so_that_it_is_read_back() {
    for guidance in ["```\ncode\n```", "~~~ sh\n````\n~~~", "```json\n{}\n```", "\u{feff}a", "a\n  b"] {
        for bead_id in ["", "x-1", "x]1"] {
            let message = Message::new(Some(Kind::HelpResponse)).with("bead_id", said(bead_id));
            let message = message.with("guidance", said(guidance));
            let written = message.write();
            assert_eq!(read(&written.subject, &written.body).value, message, "{written:?}");
        }
    }
}

#[test]
fn a_new_worker_whose_bead_is_no_issue_is_read_back() {
    let message = Message::new(Some(Kind::SpawnAck)).with("bead_id", said("x-1")).with("session", said("s"));
    let written = message.write();
    assert_eq!(read(&written.subject, &written.body).value, message);
}
