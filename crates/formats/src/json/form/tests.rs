//! The edges of each form, and that check and pattern are the same rule.

use jsonschema::JSONSchema;
use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn a_version_is_three_plain_numbers_with_our_major() {
    for version in ["1.0.0", "1.1.0", "1.99.7", "1.10.200", "1.0.99999999999999999999999"] {
        assert!(Form::Version.matches(version), "{version}");
    }
    for version in ["2.0.0", "0.9.0", "11.0.0", "1.0", "1", "1.0.0.0", "v1.0.0", " 1.0.0", "1.0.0\n", "1.0.0-beta"] {
        assert!(!Form::Version.matches(version), "{version}");
    }
    for version in ["01.0.0", "1.00.0", "1.0.01", "１.0.0", "1..0", "1.-1.0", "1.+1.0", ""] {
        assert!(!Form::Version.matches(version), "{version}");
    }
}

#[test]
fn only_a_well_formed_version_of_another_major_is_foreign() {
    assert!(
        is_foreign_version("2.0.0") && is_foreign_version("0.9.0") && is_foreign_version("99999999999999999999.0.0")
    );
    assert!(!is_foreign_version("1.7.0") && !is_foreign_version("2.0") && !is_foreign_version("02.0.0"));
}

#[test]
fn a_time_is_a_real_moment_in_utc() {
    for time in [
        "2025-12-25T12:00:00Z",
        "2025-12-25T12:00:00.1Z",
        "2025-12-25T12:00:00.123456789012Z",
        "2025-12-25T12:00:00+00:00",
        "2024-02-29T00:00:00Z",
        "2000-02-29T23:59:59Z",
    ] {
        assert!(Form::Time.matches(time), "{time}");
    }
    for time in [
        "2025-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2025-04-31T00:00:00Z",
        "2025-13-01T00:00:00Z",
        "2025-00-01T00:00:00Z",
        "2025-01-00T00:00:00Z",
        "2025-12-25T24:00:00Z",
        "2025-12-25T12:60:00Z",
        "2016-12-31T23:59:60Z",
        "2025-12-25T12:00:00+02:00",
        "2025-12-25T12:00:00-00:00",
        "2025-12-25T12:00:00",
        "2025-12-25T12:00:00.Z",
        "2025-12-25T12:00:00,5Z",
        "2025-12-25T12:00Z",
        "2025-12-25 12:00:00Z",
        "2025-12-25t12:00:00z",
        "2025-12-25T12:00:00Z\n",
        "2025-12-25T12:00:0٣Z",
        "+2025-12-25T12:00:00Z",
        "2025-12-25",
        "18:00",
        "",
    ] {
        assert!(!Form::Time.matches(time), "{time}");
    }
}

#[test]
fn a_zoned_time_may_say_how_far_from_utc_it_is() {
    for time in ["2025-12-25T12:00:00Z", "2025-12-25T12:00:00.5+02:00", "2025-12-25T12:00:00-11:30"] {
        assert!(Form::ZonedTime.matches(time), "{time}");
    }
    for time in ["2025-12-25T12:00:00", "2025-12-25T12:00:00+24:00", "2025-12-25T12:00:00+0200", "2025-02-29T00:00:00Z"]
    {
        assert!(!Form::ZonedTime.matches(time), "{time}");
    }
}

#[test]
fn the_id_of_a_message_is_a_uuid_with_or_without_its_prefix() {
    for id in ["3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b", "msg-3F2B8A10-5C6D-1E7F-8A9B-0C1D2E3F4A5B"] {
        assert!(Form::MessageId.matches(id), "{id}");
    }
    for id in [
        "msg-001",
        "msg-",
        "",
        "MSG-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b",
        "msg-msg-3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b",
        "{3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b}",
        "3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5",
        "3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5b\n",
        "3f2b8a105c6d4e7f8a9b0c1d2e3f4a5b",
        "3f2b8a10-5c6d-4e7f-8a9b-0c1d2e3f4a5g",
    ] {
        assert!(!Form::MessageId.matches(id), "{id}");
    }
}

fn by_pattern(form: Form) -> JSONSchema {
    JSONSchema::compile(&json!({ "pattern": form.pattern() })).unwrap()
}

#[test]
fn pattern_and_check_agree_on_every_day_of_a_leap_cycle() {
    let pattern = by_pattern(Form::Time);
    for year in [0, 1, 4, 100, 400, 1899, 1900, 1996, 1999, 2000, 2023, 2024, 2025, 2100, 2400, 9999] {
        for month in 0..=13 {
            for day in 0..=32 {
                let time = format!("{year:04}-{month:02}-{day:02}T00:00:00Z");
                assert_eq!(Form::Time.matches(&time), pattern.is_valid(&json!(time)), "{time}");
            }
        }
    }
    for year in 0..=9999 {
        let time = format!("{year:04}-02-29T00:00:00Z");
        assert_eq!(Form::Time.matches(&time), pattern.is_valid(&json!(time)), "{time}");
    }
}

#[test]
fn pattern_and_check_agree_on_every_hour_minute_and_second() {
    let pattern = by_pattern(Form::Time);
    for number in 0..=99 {
        for clock in [format!("{number:02}:00:00"), format!("00:{number:02}:00"), format!("00:00:{number:02}")] {
            let time = format!("2025-12-25T{clock}Z");
            assert_eq!(Form::Time.matches(&time), pattern.is_valid(&json!(time)), "{time}");
        }
    }
}

proptest! {
    #[test]
    fn pattern_and_check_agree_on_texts_that_nearly_fit(
        version in "[0-2]{1,2}(\\.[0-9]{0,2}){1,3}[ \n-]?",
        time in "2025-12-2[0-9]T1[0-9]:0[0-9]:0[0-9](\\.[0-9]{0,3})?(Z|z|\\+00:00|-00:00|\\+02:00)?\n?",
        id in "(msg-|MSG-|m)?[0-9A-Ga-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{11,12}\n?",
        anything in ".{0,40}",
    ) {
        for (form, text) in [
            (Form::Version, version),
            (Form::Time, time.clone()),
            (Form::ZonedTime, time),
            (Form::MessageId, id),
        ] {
            let pattern = by_pattern(form);
            prop_assert_eq!(form.matches(&text), pattern.is_valid(&json!(text)), "{}", text);
            prop_assert_eq!(form.matches(&anything), pattern.is_valid(&json!(anything)), "{}", anything);
        }
    }
}
