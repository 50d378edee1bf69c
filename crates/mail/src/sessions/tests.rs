//! What becomes of names whose sessions have ended, and what waits for them.

use super::*;
use crate::ids::ProjectId;
use crate::messages::{DeliveryState, Message, Role, Vouched};

fn at(hour: i64) -> Timestamp {
    Timestamp::from_second(1_768_000_000 + hour * 3600).unwrap()
}

fn quiet_since(hour: i64) -> QuietName {
    let agent = Agent {
        id: AgentId(7),
        project: ProjectId(1),
        name: "GreenDog".to_owned(),
        program: String::new(),
        model: String::new(),
        task_description: String::new(),
        registered_at: at(0),
        last_active_at: at(hour),
        retired_at: None,
    };
    QuietName { agent, quiet_since: at(hour), handed_over: MessageId(0), reservations: 0 }
}

fn entry(id: i64) -> InboxEntry {
    let message = Message {
        id: MessageId(id),
        project: ProjectId(1),
        from: "BlueLake".to_owned(),
        to: vec!["GreenDog".to_owned()],
        cc: Vec::new(),
        subject: "Which\nport?".to_owned(),
        body: String::new(),
        thread: id.to_string(),
        reply_to: None,
        importance: Importance::Normal,
        ack_required: false,
        kind: None,
        work_id: None,
        door: "mcp".to_owned(),
        vouched: Vouched::Claimed,
        created_at: at(1),
        problems: Vec::new(),
    };
    InboxEntry { message, role: Role::To, state: DeliveryState::default() }
}

#[test]
fn a_name_that_nothing_waits_for_is_retired_when_it_was_quiet_long_enough() {
    let rules = SessionRules::default();
    let name = quiet_since(0);
    assert_eq!([at(167), at(168)].map(|now| fate(&name, 0, &rules, now)), [Fate::Stays, Fate::Retires]);
    let holder = QuietName { reservations: 1, ..name };
    assert_eq!(fate(&holder, 0, &rules, at(999)), Fate::Stays, "it holds a reservation");
}

#[test]
fn mail_that_wants_an_answer_goes_to_the_person_before_its_name_is_retired() {
    let rules = SessionRules::default();
    let fates = [at(23), at(24), at(999)].map(|now| fate(&quiet_since(0), 2, &rules, now));
    assert_eq!(fates, [Fate::Stays, Fate::HandsOver, Fate::HandsOver]);
    assert_eq!(rules.quiet_until(at(24)), at(0), "the shorter of both limits");
}

#[test]
fn help_an_acknowledgement_and_what_is_urgent_want_an_answer() {
    let with = |change: fn(&mut Message)| {
        let mut entry = entry(1);
        change(&mut entry.message);
        wants_answer(&entry)
    };
    assert!(!with(|_| {}) && !with(|message| message.importance = Importance::High));
    assert!(with(|message| message.ack_required = true) && with(|message| message.importance = Importance::Urgent));
    assert!(with(|message| message.kind = Some(Kind::Markdown(markdown::Kind::HelpRequest))));
    let mut acknowledged = entry(1);
    acknowledged.message.ack_required = true;
    acknowledged.state.acked_at = Some(at(2));
    assert!(!wants_answer(&acknowledged));
}

#[test]
fn the_person_is_told_each_message_on_a_line_of_its_own() {
    let (subject, body) = told_to_person(&quiet_since(0), &[entry(17), entry(18)]);
    assert_eq!(subject, "2 messages wait for 'GreenDog'");
    assert!(body.contains("\n- #17 from BlueLake: Whichport?\n- #18 from BlueLake"), "{body}");
    assert_eq!(told_to_person(&quiet_since(0), &[entry(17)]).0, "1 message waits for 'GreenDog'");
}

#[test]
fn a_session_that_is_silent_for_a_week_counts_as_ended() {
    let session = Session {
        agent: AgentId(1),
        key: "claude-1".to_owned(),
        client: "claude".to_owned(),
        host: "here".to_owned(),
        place: "/p".to_owned(),
        is_idle: true,
        began_at: at(0),
        seen_at: at(0),
    };
    assert_eq!([at(168), at(169)].map(|now| session.is_lost(now)), [false, true]);
}

#[test]
fn what_ends_with_a_session_is_what_the_setting_says() {
    for (release, name) in Release::ALL.into_iter().zip(["exclusive", "all", "none"]) {
        assert_eq!((release.as_str(), Release::parse(name)), (name, Some(release)));
    }
}
