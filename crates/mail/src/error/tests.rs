//! Whether errors tell what a caller needs, and no more.

use super::*;

#[test]
fn a_near_miss_is_suggested() {
    let error = Error::UnknownAgent { name: "GrenDog".into(), near: vec!["GreenDog".into()], another: false };
    assert_eq!(error.to_string(), "Agent 'GrenDog' not found");
    assert_eq!(error.hint(), "Did you mean 'GreenDog'? Else call register_agent first.");
}

#[test]
fn only_who_was_turned_away_is_told_that_nothing_was_changed() {
    let busy = StoreError::Busy;
    assert_eq!(busy.to_string(), "the database is busy: too many writes wait, or another process holds it");
    assert_eq!(Error::from(busy).hint(), "Nothing was changed. Try again in a moment.");
    let failed = StoreError::Failed { doing: "append a message", cause: "the disk is gone".into() };
    assert_eq!(
        Error::from(failed).hint(),
        "It is not known whether it was kept: look before you repeat it, or repeat a send with the same idempotency_key."
    );
}

#[test]
fn what_is_shown_of_a_value_is_short_and_printable() {
    assert_eq!(shown("a\u{1b}[31mb"), "a\u{fffd}[31mb");
    assert_eq!(shown(&"x".repeat(5000)).chars().count(), 101);
}
