//! The promises of summaries.

use super::*;
use crate::ids::{MessageId, ProjectId};
use crate::messages::{Importance, Vouched};

fn said(id: i64, from: &str, body: &str) -> Message {
    Message {
        id: MessageId(id),
        project: ProjectId(1),
        from: from.to_owned(),
        to: vec![],
        cc: vec![],
        subject: "about the parser".to_owned(),
        body: body.to_owned(),
        thread: "t".to_owned(),
        reply_to: None,
        importance: Importance::Normal,
        ack_required: false,
        kind: None,
        work_id: None,
        door: "test".to_owned(),
        vouched: Vouched::Claimed,
        created_at: Timestamp::from_second(id).unwrap(),
        problems: vec![],
    }
}

fn typed(id: i64, from: &str, kind: Kind, body: &str) -> Message {
    Message { kind: Some(formats::Kind::Markdown(kind)), ..about(kind.as_str(), said(id, from, body)) }
}

fn about(subject: &str, message: Message) -> Message {
    Message { subject: subject.to_owned(), ..message }
}

fn of(messages: &[&Message]) -> Summary {
    summarize(&messages.iter().map(|message| (*message).clone()).collect::<Vec<_>>())
}

fn texts(points: &[Point]) -> Vec<&str> {
    points.iter().map(|point| point.text.as_str()).collect()
}

fn to_do(summary: &Summary) -> Vec<(&str, bool, Option<&str>)> {
    summary.action_items.iter().map(|item| (item.text.as_str(), item.done, item.owner.as_deref())).collect()
}

#[test]
fn nothing_said_is_an_empty_summary() {
    assert_eq!(summarize(&[]), Summary::default());
}

#[test]
fn participants_stand_in_the_order_of_first_speaking() {
    let summary = summarize(&[said(1, "bob", "a"), said(2, "alice", "b"), said(3, "bob", "c")]);
    let counts: Vec<_> = summary.participants.iter().map(|p| (p.name.as_str(), p.messages)).collect();
    assert_eq!(counts, [("bob", 2), ("alice", 1)]);
    assert_eq!(
        (summary.total_messages, summary.first_at, summary.last_at),
        (3, Some(Timestamp::from_second(1).unwrap()), Some(Timestamp::from_second(3).unwrap()))
    );
}

#[test]
fn decisions_and_findings_are_key_points() {
    let body = "Hello.\n**Decision:** use SQLite\nagreed: no ORM\nWe will ship on Monday.\nWe willingly wait.\n\n\
        ## Decision\nKeep one\nwriter.\n\nNot this.\n## Findings\n- reads are fast\n- writes are not\n\
        ## Other\n- not this either\n## Summary:\nAll in all good.";
    let summary = summarize(&[said(7, "bob", body)]);
    assert_eq!(
        texts(&summary.key_points),
        [
            "use SQLite",
            "no ORM",
            "We will ship on Monday.",
            "Keep one writer.",
            "reads are fast",
            "writes are not",
            "All in all good."
        ]
    );
    assert_eq!((summary.key_points[0].by.as_str(), summary.key_points[0].message_id), ("bob", 7));
}

#[test]
fn code_and_quotes_are_not_what_the_sender_says() {
    let body = "```\nDecision: in code\nTODO: in code\n```\n> Decision: quoted\n> really?\nDecision: mine";
    let summary = summarize(&[said(1, "bob", body)]);
    assert_eq!(texts(&summary.key_points), ["mine"]);
    assert!(summary.action_items.is_empty() && summary.open_questions.is_empty());
}

#[test]
fn typed_messages_say_what_their_kind_is_for() {
    let summary = summarize(&[
        typed(1, "w1", Kind::Done, "Bead: a-1\n\n## Summary\nAdded the parser."),
        typed(2, "w2", Kind::OfferingReady, "Bead: a-2"),
        typed(3, "w3", Kind::Failed, "## Failure\nType: ERROR\nReason: disk full"),
        typed(4, "w4", Kind::Checkpoint, "## Next Steps for Successor\n1. Finish step 4\n2. Run tests"),
    ]);
    assert_eq!(texts(&summary.key_points), ["Added the parser.", "OFFERING_READY", "disk full"]);
    assert_eq!(to_do(&summary), [("Finish step 4", false, None), ("Run tests", false, None)]);
}

#[test]
fn a_request_for_help_is_open_until_somebody_responds() {
    let asks = typed(1, "worker", Kind::HelpRequest, "## Problem\nWhy?\n## Question\nWhere is the\nauth module?");
    let chats = said(2, "bob", "I look into it");
    let responds = typed(3, "chiron", Kind::HelpResponse, "In lib/auth.");
    let replies = about("Re: HELP_REQUEST", typed(3, "chiron", Kind::HelpRequest, "In lib?"));
    assert_eq!(texts(&of(&[&asks, &chats]).open_questions), ["Where is the auth module?"]);
    assert!(of(&[&asks, &chats, &responds]).open_questions.is_empty());
    assert!(of(&[&asks, &chats, &replies]).open_questions.is_empty());
    assert_eq!(texts(&of(&[&responds, &asks]).open_questions), ["Where is the auth module?"]);
}

#[test]
fn a_question_is_open_until_another_speaks() {
    let asks = said(1, "bob", "- Which port **do we use?**");
    let goes_on = said(2, "bob", "Anyone?");
    let other = said(3, "alice", "8765");
    assert_eq!(texts(&of(&[&asks, &goes_on]).open_questions), ["Which port do we use?", "Anyone?"]);
    assert!(of(&[&asks, &goes_on, &other]).open_questions.is_empty());
    assert_eq!(texts(&of(&[&other, &asks]).open_questions), ["Which port do we use?"]);
}

#[test]
fn things_to_do_are_collected_with_their_owners() {
    let body = "TODO: write docs\nAction item: @alice fix CI\n@GreenDog please rebase\nbob: please review\n\
        codex-2: Please merge\nNote: please be kind\n@carol pleased me\n- [ ] **tests** pass\n* [x] lint";
    let summary = summarize(&[said(1, "bob", body)]);
    assert_eq!(
        to_do(&summary),
        [
            ("write docs", false, None),
            ("@alice fix CI", false, Some("alice")),
            ("please rebase", false, Some("GreenDog")),
            ("please review", false, Some("bob")),
            ("Please merge", false, Some("codex-2")),
            ("tests pass", false, None),
            ("lint", true, None),
        ]
    );
}

#[test]
fn an_item_ticked_later_is_done_and_stands_once() {
    let summary = summarize(&[said(1, "bob", "- [ ] Write docs.\n- [ ] ship"), said(2, "alice", "- [x] write docs")]);
    assert_eq!(to_do(&summary), [("Write docs.", true, None), ("ship", false, None)]);
    assert_eq!((summary.action_items[0].by.as_str(), summary.action_items[0].message_id), ("bob", 1));
}

#[test]
fn without_a_key_point_the_beginning_and_the_end_stand_for_the_rest() {
    let first = said(1, "bob", "# Hello\n\nThe parser is v0.3 now. More to come.");
    let last = said(3, "alice", "```\nonly code\n```");
    let summary = of(&[&first, &said(2, "bob", "middle"), &last]);
    assert_eq!(texts(&summary.key_points), ["The parser is v0.3 now.", "about the parser"]);
    assert_eq!(texts(&of(&[&first]).key_points), ["The parser is v0.3 now."]);
}

#[test]
fn long_texts_are_cut_and_long_lists_keep_the_newest() {
    let long = format!("Decision: {}", "é".repeat(300));
    let summary = summarize(&[said(1, "bob", &long)]);
    assert_eq!(summary.key_points[0].text, format!("{}…", "é".repeat(199)));
    assert_eq!(cut(&"é".repeat(200)), "é".repeat(200));

    let many: String = (0..50).map(|number| format!("TODO: thing {number}\n")).collect();
    let items = summarize(&[said(1, "bob", &many)]).action_items;
    assert_eq!((items.len(), items[0].text.as_str(), items[19].text.as_str()), (20, "thing 30", "thing 49"));
}

#[test]
fn hostile_bodies_are_read_in_time() {
    let bodies =
        ["**".repeat(500_000), "a? ".repeat(500_000), "[".repeat(1_000_000), "## Summary\nx\n".repeat(100_000)];
    let messages: Vec<Message> = bodies.iter().map(|body| said(1, "bob", body)).collect();
    let began = std::time::Instant::now();
    summarize(&messages);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
}

proptest::proptest! {
    #[test]
    fn no_body_makes_it_fail(
        body in "(\\PC{0,12}|- \\[[ x]\\] |## Decision\n|@a please |TODO: |\n|\\?|é|```\n|1\\. |> ){0,12}",
    ) {
        summarize(&[said(1, "bob", &body), typed(2, "al", Kind::HelpRequest, &body)]);
    }
}

#[test]
fn a_question_in_the_subject_is_open_until_another_speaks() {
    let asked = about("Who takes the parser?", said(1, "bob", "I would do the lexer."));
    let again = about("Re: Who takes the parser?", said(2, "bob", "Nobody yet."));
    assert_eq!(texts(&of(&[&asked, &again]).open_questions), ["Who takes the parser?"]);
    assert!(summarize(&[asked, said(2, "alice", "I do.")]).open_questions.is_empty());
}
