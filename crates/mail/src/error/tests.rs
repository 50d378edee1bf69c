//! Whether errors tell what a caller needs, and no more.

use super::*;

#[test]
fn what_is_shown_of_a_value_is_short_and_printable() {
    assert_eq!(shown("a\u{1b}[31mb"), "a\u{fffd}[31mb");
    assert_eq!(shown(&"x".repeat(5000)).chars().count(), 101);
}
