//! What is written is read again as the same message, and no text whatever makes a reader fail.

use formats::json::{
    Base, CoordinationRequest, ErrorDetail, ErrorReport, FileReservation, Message, Mode, Priority, Progress,
    RequestType, ReservationRequest, Severity, Specification, Stamp, Status, StatusUpdate, TaskAssignment,
    TaskCompletion, Unknown, UpdateType, error_report, find_in, read, rejection,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Number, Value};

use super::material::{changed_messages, vectors};

fn text() -> BoxedStrategy<String> {
    prop_oneof![any::<String>(), "[a-z]{1,8}"].boxed()
}

fn texts() -> BoxedStrategy<Vec<String>> {
    vec(text(), 0..4).boxed()
}

fn number() -> BoxedStrategy<Number> {
    let float = any::<f64>().prop_filter_map("JSON has no such number", Number::from_f64);
    prop_oneof![any::<i64>().prop_map(Number::from), any::<u64>().prop_map(Number::from), float].boxed()
}

fn value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Fields that no type knows.
fn extra() -> BoxedStrategy<Map<String, Value>> {
    btree_map("x_.{0,8}", value(), 0..4).prop_map(|map| map.into_iter().collect()).boxed()
}

fn base() -> BoxedStrategy<Base> {
    let texts = (text(), text(), text(), text());
    texts
        .prop_map(|(version, timestamp, sender_id, message_id)| Base { version, timestamp, sender_id, message_id })
        .boxed()
}

prop_compose! {
    fn task_assignment()(
        base in base(), task_id in text(), description in text(), acceptance_criteria in texts(),
        technical_requirements in option::of(texts()), inner in extra(), file_patterns in texts(),
        priority in option::of(select(Priority::ALL)), priority_value in option::of(number()),
        deadline in option::of(text()), extra in extra(),
    ) -> Message {
        let specification = Specification { acceptance_criteria, technical_requirements, extra: inner };
        Message::TaskAssignment(TaskAssignment {
            base, task_id, description, specification: Some(specification), file_patterns, priority, priority_value, deadline,
            extra, ..TaskAssignment::default()
        })
    }
}

prop_compose! {
    fn task_completion()(
        base in base(), task_id in text(), status in option::of(select(Status::ALL)), completion_summary in text(),
        files_modified in texts(), errors_encountered in vec(value(), 0..3), warnings in option::of(texts()),
        metadata in option::of(extra()), extra in extra(),
    ) -> Message {
        Message::TaskCompletion(TaskCompletion {
            base, task_id, status, completion_summary, files_modified, errors_encountered, warnings, metadata, extra,
            ..TaskCompletion::default()
        })
    }
}

prop_compose! {
    fn a_report()(
        base in base(), task_id in text(), severity in option::of(select(Severity::ALL)), code in text(), message in text(),
        context in option::of(extra()), inner in extra(), reproduction_steps in texts(),
        needs_human_intervention in option::of(any::<bool>()), attempted_solutions in option::of(vec(value(), 0..3)),
        extra in extra(),
    ) -> Message {
        let error = Some(ErrorDetail { code, message, context, extra: inner, ..ErrorDetail::default() });
        Message::ErrorReport(ErrorReport {
            base, task_id, severity, error, reproduction_steps, needs_human_intervention, attempted_solutions, extra,
            ..ErrorReport::default()
        })
    }
}

prop_compose! {
    fn status_update()(
        base in base(), task_id in text(), update_type in option::of(select(UpdateType::ALL)), status_summary in text(),
        percentage in option::of(number()), current_step in option::of(text()), inner in extra(),
        blockers in vec(value(), 0..3), metrics in option::of(extra()), extra in extra(),
    ) -> Message {
        let progress = Some(Progress { percentage, current_step, extra: inner, ..Progress::default() });
        Message::StatusUpdate(StatusUpdate {
            base, task_id, update_type, status_summary, progress, blockers, metrics, extra, ..StatusUpdate::default()
        })
    }
}

prop_compose! {
    fn request()(
        base in base(), request_type in option::of(select(RequestType::ALL)), participants in texts(),
        coordination_topic in text(), task_id in text(), mode in option::of(select(Mode::ALL)), file_patterns in texts(),
        extra in extra(), asks_for_files in any::<bool>(),
    ) -> Message {
        if asks_for_files {
            let reservation_request = ReservationRequest { mode, file_patterns, ..ReservationRequest::default() };
            let reservation_request = Some(reservation_request);
            Message::FileReservation(FileReservation { base, task_id, reservation_request, extra, ..Default::default() })
        } else {
            let request = CoordinationRequest { base, request_type, participants, coordination_topic, extra, ..Default::default() };
            Message::CoordinationRequest(request)
        }
    }
}

prop_compose! {
    fn unknown()(base in base(), type_name in option::of("[a-z]{0,3}|chat.{0,4}"), extra in extra()) -> Message {
        Message::Unknown(Unknown { type_name, base, extra })
    }
}

/// Whether all of `sent` is in `written`; objects may have gained the required fields that they lacked.
fn holds(written: &Value, sent: &Value) -> bool {
    match (written, sent) {
        (Value::Object(written), Value::Object(sent)) => {
            sent.iter().all(|(name, value)| written.get(name).is_some_and(|written| holds(written, value)))
        }
        (written, sent) => written == sent,
    }
}

/// Fails unless the text can be read, answered and found, and what was read is written and read as the same again.
fn assert_all_goes_well(text: &str) {
    let parsed = read(text);
    let _ = find_in(text).map(read);
    assert!(parsed.problems.len() <= 101);
    if let Some(message) = &parsed.value {
        assert_eq!(read(&message.write()).value.as_ref(), Some(message));
    }
    if let Some(rejection) = rejection(&parsed) {
        let id = "msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b";
        let stamp = Stamp { timestamp: "2026-01-02T03:04:05Z", message_id: id, sender_id: "postmaster" };
        let report = error_report(&parsed, &rejection, stamp);
        assert_eq!(read(&report.write()).strict(), Ok(Some(report)));
    }
}

#[test]
fn every_vector_can_be_read_and_answered() {
    for vector in vectors() {
        assert_all_goes_well(&vector.text);
    }
}

proptest! {
    #[test]
    fn a_message_is_read_as_it_was_written(
        message in prop_oneof![task_assignment(), task_completion(), a_report(), status_update(), request(), unknown()],
    ) {
        prop_assert_eq!(read(&message.write()).value, Some(message));
    }

    #[test]
    fn a_message_with_wrong_values_loses_none_of_them(sent in changed_messages()) {
        let text = sent.to_string();
        let written = read(&text).value.unwrap().to_value();
        prop_assert!(holds(&written, &sent), "{} became {}", sent, written);
        assert_all_goes_well(&text);
    }

    #[test]
    fn any_text_can_be_read_and_answered(text in any::<String>()) {
        assert_all_goes_well(&text);
        assert_all_goes_well(&format!("{{{text}"));
    }

    #[test]
    fn a_text_with_damaged_bytes_can_be_read_and_answered(
        vector in select(vectors().into_iter().map(|vector| vector.text).collect::<Vec<_>>()),
        damage in vec((any::<Index>(), any::<u8>()), 1..6),
        end in any::<Index>(),
    ) {
        let mut bytes = vector.into_bytes();
        if !bytes.is_empty() {
            for (place, byte) in damage {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(end.index(bytes.len() * 2));
        }
        assert_all_goes_well(&String::from_utf8_lossy(&bytes));
    }
}
