//! What is promised of messages in JSON: their ids, their faults, and what is reserved because of them.

use formats::json::FilesOutcome;
use formats::{Kind, Problem, json};

use super::Shared;
use super::fixtures::{Draft, Team, at, draft, patterns, team, team_at};
use crate::events::EventKind;
use crate::ids::{AgentId, MessageId};
use crate::messages::{Appended, InboxQuery, Message};
use crate::reservations::Request;
use crate::responses::{Attempt, FilesAsked, JsonFacts, Matter, Response};

const REPORT_ID: &str = "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b";

pub async fn what_is_wrong_with_a_message_is_told_with_it_wherever_it_is_listed(store: &Shared) {
    let team = team(store).await;
    let problems =
        vec![Problem::missing("task_id", "text"), Problem::wrong("priority", "", "low"), Problem::wrong("", "x", "y")];
    let json = JsonFacts { problems: problems.clone(), ..JsonFacts::default() };
    let faulty = team.sent(Draft { json, ..draft("alice", &["bob"]).thread("t") }).await;
    let plain = team.sent(draft("alice", &["bob"]).thread("t")).await;
    assert_eq!((&faulty.problems, plain.problems), (&problems, Vec::new()));
    let told = |messages: Vec<Message>| -> Vec<usize> { messages.iter().map(|one| one.problems.len()).collect() };
    let bare = InboxQuery { with_bodies: false, ..InboxQuery::newest(9) };
    for query in [InboxQuery::newest(9), bare] {
        let inbox = store.inbox(team.agent("bob"), &query).await.unwrap();
        assert_eq!(told(inbox.into_iter().map(|entry| entry.message).collect()), [0, 3]);
    }
    assert_eq!(told(store.outbox(team.agent("alice"), None, 9, false).await.unwrap()), [0, 3]);
    assert_eq!(told(store.thread(team.id(), "t", None, 9, false).await.unwrap()), [3, 0]);
    let taken = store.take_unseen(team.agent("bob"), None, 9, at("16:01:00"), None).await.unwrap();
    assert_eq!(told(taken.into_iter().map(|entry| entry.message).collect()), [3, 0]);
}

pub async fn the_first_message_of_a_project_goes_by_its_authors_id(store: &Shared) {
    let (here, there) = (team(store).await, team_at(store, "/projects/elsewhere").await);
    let called = |id: &str| JsonFacts { own_id: Some(id.to_owned()), ..JsonFacts::default() };
    let first = here.sent(Draft { json: called("a"), ..draft("alice", &["bob"]).body("first") }).await;
    here.send(Draft { json: called("a"), ..draft("bob", &["alice"]).body("second") }).await;
    let other = there.send(Draft { json: called("a"), ..draft("alice", &["bob"]) }).await;
    assert_eq!(store.message_called(here.id(), "a").await.unwrap(), Some(first));
    assert_eq!(store.message_called(there.id(), "a").await.unwrap().map(|message| message.id), Some(other));
    assert_eq!(store.message_called(here.id(), "A").await.unwrap(), None);
}

pub async fn the_first_answer_of_an_agent_is_found(store: &Shared) {
    let team = team(store).await;
    let question = team.send(draft("alice", &["bob"])).await;
    let answer = |from: &str| Draft { reply_to: Some(question), ..draft(from, &["alice"]) };
    let first = team.sent(answer("bob")).await;
    team.send(answer("bob")).await;
    assert_eq!(store.answer_by(team.agent("bob"), question).await.unwrap(), Some(first));
    assert_eq!(store.answer_by(team.agent("carol"), question).await.unwrap(), None);
    assert_eq!(store.answer_by(team.agent("bob"), MessageId(i64::MAX)).await.unwrap(), None);
}

pub async fn files_that_a_message_asks_for_are_granted_with_it_and_its_sender_is_told(store: &Shared) {
    let team = team(store).await;
    let wanted = [team.request("alice", &["src/**", "docs/a.md"])];
    let sent = team.send(asking(&team, "alice", &wanted)).await;
    let now = at("16:00:00");
    assert_eq!(patterns(&team.reservations(now).await), ["src/**", "docs/a.md"]);
    let (told, outcome) = told(store, &team, "alice", sent).await;
    assert_eq!((told.kind, told.thread.as_str(), told.reply_to), (None, sent.to_string().as_str(), Some(sent)));
    assert!(told.subject.starts_with("Reserved: 'src/**' (exclusive), 'docs/a.md'"), "{}", told.subject);
    assert_eq!((outcome.granted.len(), outcome.alternative, outcome.conflicts.len()), (2, None, 0));
    assert_eq!(team.count_events(EventKind::ReservationGranted).await, 2);
    assert_eq!(team.count_events(EventKind::MessageSent).await, 2);
}

pub async fn files_that_others_hold_are_refused_and_the_first_alternative_that_is_free_is_granted(store: &Shared) {
    let team = team(store).await;
    let now = at("16:00:00");
    team.granted(&team.request("bob", &["src/**"]), now).await;
    let in_the_way = team.request("alice", &["src/a.rs", "free.md"]);
    let refused = team.send(asking(&team, "alice", std::slice::from_ref(&in_the_way))).await;
    let (told_of, outcome) = told(store, &team, "alice", refused).await;
    assert_eq!(told_of.kind, Some(Kind::Json(json::Type::ErrorReport)));
    assert!(told_of.subject.starts_with("Not reserved: 'src/a.rs' is reserved by 'bob' ('src/**')"), "{told_of:?}");
    assert_eq!((outcome.granted.len(), outcome.conflicts[0].holder.as_str()), (0, "bob"));
    assert_eq!(patterns(&team.reservations(now).await), ["src/**"], "all or nothing");
    let attempts = [in_the_way, team.shared("alice", &["src/b.rs"]), team.shared("alice", &["docs/**"]), {
        team.request("alice", &["never/**"])
    }];
    let granted = team.send(asking(&team, "alice", &attempts)).await;
    let (told_of, outcome) = told(store, &team, "alice", granted).await;
    assert!(told_of.subject.starts_with("Reserved, as alternative 2: 'docs/**' (shared)"), "{}", told_of.subject);
    assert_eq!((outcome.alternative, outcome.conflicts.len()), (Some(2), 2));
    assert_eq!(patterns(&team.reservations(now).await), ["src/**", "docs/**"]);
}

pub async fn a_key_that_was_used_reserves_nothing_again(store: &Shared) {
    let team = team(store).await;
    let wanted = [team.request("alice", &["src/**"])];
    let asked = asking(&team, "alice", &wanted).key("k", 1);
    let first = team.send(asked.clone()).await;
    let now = at("16:00:00");
    store.release(team.id(), team.agent("alice"), None, team.agent("alice"), now).await.unwrap();
    assert_eq!(team.append(asked.clone()).await, Appended::Repeated(first));
    assert_eq!(team.append(asked.key("k", 2)).await, Appended::KeyTaken(first));
    assert!(team.reservations(now).await.is_empty());
    assert_eq!(team.inbox("alice").await.len(), 1, "its sender is told once");
}

pub async fn what_has_faults_is_reported_and_reserves_nothing(store: &Shared) {
    let team = team(store).await;
    let report = json::read(r#"{"type":"error_report","message_id":"m-1"}"#).value.unwrap();
    let matter = Matter::Faults { about: None, subject: "x".repeat(500), report };
    let response = Response { by: team.agent("carol"), to: "alice".into(), matter };
    let json = JsonFacts { response: Some(Box::new(response)), ..JsonFacts::default() };
    let sent = team.send(Draft { json, ..draft("alice", &["bob"]).thread("t") }).await;
    let told = store.answer_by(team.agent("carol"), sent).await.unwrap().unwrap();
    assert_eq!((told.kind, told.thread.as_str()), (Some(Kind::Json(json::Type::ErrorReport)), "t"));
    assert!(told.subject.chars().count() < 250);
    assert_eq!(store.message_called(team.id(), "m-1").await.unwrap().map(|one| one.id), Some(told.id));
}

pub async fn a_message_whose_answer_cannot_be_kept_is_not_kept_and_reserves_nothing(store: &Shared) {
    let team = team(store).await;
    let mut asked = asking(&team, "alice", &[team.request("alice", &["src/**"])]);
    let response = asked.json.response.as_mut().unwrap();
    response.by = AgentId(i64::MAX);
    assert!(store.append(&team.new_message(asked)).await.is_err());
    assert!(team.inbox("bob").await.is_empty() && team.inbox("alice").await.is_empty());
    assert!(team.reservations(at("16:00:00")).await.is_empty());
    team.granted(&team.request("bob", &["src/**"]), at("16:00:01")).await;
}

/// A message that asks for the first of these, or else for the next; carol answers.
fn asking(team: &Team, from: &str, wanted: &[Request]) -> Draft {
    let attempts = wanted.iter().enumerate();
    let attempts = attempts.map(|(place, one)| Attempt { request: one.clone(), alternative: place.checked_sub(1) });
    let message = json::read(r#"{"type":"file_reservation","task_id":"bd-1"}"#).value.unwrap();
    let asked =
        FilesAsked { attempts: attempts.collect(), skipped: Vec::new(), message, report_id: REPORT_ID.to_owned() };
    let response = Response { by: team.agent("carol"), to: from.to_owned(), matter: Matter::Files(asked) };
    Draft { json: JsonFacts { response: Some(Box::new(response)), ..JsonFacts::default() }, ..draft(from, &["bob"]) }
}

/// What carol wrote to somebody about a message, and what it says.
async fn told(store: &Shared, team: &Team, whom: &str, about: MessageId) -> (Message, FilesOutcome) {
    let told = store.answer_by(team.agent("carol"), about).await.unwrap().unwrap();
    assert_eq!((told.from.as_str(), &told.to), ("carol", &vec![whom.to_owned()]));
    assert!(team.inbox(whom).await.iter().any(|entry| entry.message == told));
    let outcome = FilesOutcome::read(&told.body).unwrap();
    (told, outcome)
}
