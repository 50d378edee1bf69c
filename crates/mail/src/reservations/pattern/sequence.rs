//! Whether two sequences with wildcards can stand for the same thing.
//!
//! Used twice: for the characters of a segment (where the wildcard is `*`) and for the segments of a
//! path (where it is `**`). It knows neither of them.

/// Whether some sequence of items is described by both `left` and `right`.
///
/// A wildcard stands for any number of items, none included; every other entry stands for one item,
/// and `agree` says whether two such entries can stand for the same one. Each entry must be able to
/// stand for something, which makes the answer exact without a search through all pairs of positions.
pub(super) fn meet<L, R>(
    left: &[L],
    right: &[R],
    left_is_wild: impl Fn(&L) -> bool,
    right_is_wild: impl Fn(&R) -> bool,
    agree: impl Fn(&L, &R) -> bool,
) -> bool {
    let (mut left, mut right) = (left, right);
    // Up to the first wildcard of either side, and after the last one, entries pair up one to one.
    while let ([l, left_rest @ ..], [r, right_rest @ ..]) = (left, right) {
        if left_is_wild(l) || right_is_wild(r) {
            break;
        }
        if !agree(l, r) {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    while let ([left_rest @ .., l], [right_rest @ .., r]) = (left, right) {
        if left_is_wild(l) || right_is_wild(r) {
            break;
        }
        if !agree(l, r) {
            return false;
        }
        (left, right) = (left_rest, right_rest);
    }
    // Now a wildcard stands at the front of one side and at the back of one side. If both sides have
    // one, they always meet: `*x` and `y*` in "yx", `*x*` and `y*z` in "yxz".
    match (left.iter().any(&left_is_wild), right.iter().any(&right_is_wild)) {
        (true, true) => true,
        (true, false) => covers(left, right, left_is_wild, agree),
        (false, true) => covers(right, left, right_is_wild, |r, l| agree(l, r)),
        (false, false) => left.is_empty() && right.is_empty(),
    }
}

/// Whether `wild` describes a sequence of as many items as `plain` has, which holds no wildcard.
///
/// Each run between two wildcards is best placed as early as possible, so only the last wildcard ever
/// needs to be tried again.
fn covers<W, P>(wild: &[W], plain: &[P], is_wild: impl Fn(&W) -> bool, agree: impl Fn(&W, &P) -> bool) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while seen < plain.len() {
        match wild.get(at) {
            Some(entry) if is_wild(entry) => {
                at += 1;
                retry = Some((at, seen));
            }
            Some(entry) if agree(entry, &plain[seen]) => {
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
    wild[at..].iter().all(is_wild)
}

#[cfg(test)]
mod tests {
    use super::meet;

    fn globs_meet(left: &str, right: &str) -> bool {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let is_star = |c: &char| *c == '*';
        meet(&chars(left), &chars(right), is_star, is_star, |a, b| a == b)
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
