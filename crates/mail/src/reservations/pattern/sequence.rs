//! Whether two sequences with wildcards can stand for the same thing.
//!
//! Used twice: for the characters of a segment (where the wildcard is `*`) and for the segments of a
//! path (where it is `**`). It knows neither of them.

/// One entry of a sequence. Each must be able to stand for something.
pub(super) trait Entry {
    /// Whether it stands for any number of items, none included; every other entry stands for one.
    fn is_wild(&self) -> bool;

    /// Whether two entries that are no wildcards can stand for the same item.
    fn agrees(&self, other: &Self) -> bool;
}

/// Whether some sequence of items is described by both `left` and `right`.
///
/// That each entry stands for something makes the answer exact without a search through all pairs of positions.
pub(super) fn meet<E: Entry>(mut left: &[E], mut right: &[E]) -> bool {
    // Up to the first wildcard of either side, and after the last one, entries pair up one to one.
    while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
        if l.is_wild() || r.is_wild() {
            break;
        }
        if !l.agrees(r) {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    while let ([left_rest @ .., l], [right_rest @ .., r]) = (left, right) {
        if l.is_wild() || r.is_wild() {
            break;
        }
        if !l.agrees(r) {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    // Now a wildcard stands at the front of one side and at the back of one side. If both sides have
    // one, they always meet: `*x` and `y*` in "yx", `*x*` and `y*z` in "yxz".
    match (left.iter().any(E::is_wild), right.iter().any(E::is_wild)) {
        (true, true) => true,
        (true, false) => covers(left, right),
        (false, true) => covers(right, left),
        (false, false) => left.is_empty() && right.is_empty(),
    }
}

/// Whether `wild` describes a sequence of as many items as `plain` has, which holds no wildcard.
///
/// Each run between two wildcards is best placed as early as possible, so only the last wildcard ever
/// needs to be tried again.
fn covers<E: Entry>(wild: &[E], plain: &[E]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < plain.len() {
        match wild.get(at) {
            Some(entry) if entry.is_wild() => {
                at += 1;
                retry = Some((at, seen));
            }
            Some(entry) if entry.agrees(&plain[seen]) => {
                at += 1;
                seen += 1;
            }
            _ => {
                let Some((after_wild, start)) = retry else { return false };
                at = after_wild;
                seen = start + 1;
                retry = Some((after_wild, seen));
            }
        }
    }
    wild[at..].iter().all(E::is_wild)
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Entry for char {
        fn is_wild(&self) -> bool {
            *self == '*'
        }

        fn agrees(&self, other: &Self) -> bool {
            self == other
        }
    }

    fn globs_meet(left: &str, right: &str) -> bool {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        meet(&chars(left), &chars(right))
    }

    #[test]
    fn a_wildcard_on_each_side_always_meets_once_the_ends_agree() {
        assert!(globs_meet("a*b", "a*cb"));
        assert!(globs_meet("*x*", "y*z"));
        assert!(!globs_meet("a*b", "*c"));
        assert!(!globs_meet("a*", "b*"));
    }

    #[test]
    fn the_ends_of_a_wildcard_may_not_overlap() {
        assert!(!globs_meet("ab*ba", "aba"));
        assert!(globs_meet("ab*ba", "abba"));
        assert!(!globs_meet("a*a", "a"));
    }

    #[test]
    fn nothing_meets_only_what_can_be_nothing() {
        assert!(globs_meet("", ""));
        assert!(globs_meet("", "**"));
        assert!(!globs_meet("", "*a"));
    }

    #[test]
    fn a_run_in_the_middle_is_found_after_a_false_start() {
        assert!(globs_meet("*aab*", "aaab"));
        assert!(!globs_meet("*aab*", "abab"));
    }
}
