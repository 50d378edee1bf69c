//! Near misses: which known names somebody may have meant.
//!
//! For refusals that teach. It suggests and never decides: nothing is delivered to a name because it was near.

use std::collections::HashSet;

/// Names longer than this, in characters, are only compared by their beginnings: the work stays bounded.
const LONGEST_COMPARED: usize = 64;
/// A shorter text is found within too many names to say anything.
const SHORTEST_CONTAINED: usize = 3;

/// How a name is near, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    SameButForCase,
    BeginsTheSame { extra: usize },
    Contained { extra: usize },
    Edits(usize),
}

/// The known names that are nearest to `wanted`, at most `most`, the nearest first and else by name.
///
/// Near is what is equal but for case, begins with or contains the other, or is no more edits away than a third of its
/// length.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let wanted = folded(wanted);
    let mut seen = HashSet::new();
    let mut near: Vec<(Nearness, &str)> = known
        .into_iter()
        .filter(|name| seen.insert(*name))
        .filter_map(|name| Some((nearness(&wanted, &folded(name))?, name)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

fn nearness(wanted: &str, name: &str) -> Option<Nearness> {
    if wanted == name {
        return Some(Nearness::SameButForCase);
    }
    let (shorter, longer) = (wanted.chars().count(), name.chars().count());
    let (short, long) = if shorter <= longer { (wanted, name) } else { (name, wanted) };
    let (shorter, longer) = (shorter.min(longer), shorter.max(longer));
    if short.is_empty() {
        return None;
    }
    let extra = longer - shorter;
    if long.starts_with(short) {
        return Some(Nearness::BeginsTheSame { extra });
    }
    if longer > LONGEST_COMPARED {
        return None;
    }
    if shorter >= SHORTEST_CONTAINED && long.contains(short) {
        return Some(Nearness::Contained { extra });
    }
    let allowed = longer / 3;
    // Each character too many is an edit of its own.
    if extra > allowed {
        return None;
    }
    Some(strsim::osa_distance(short, long)).filter(|edits| *edits <= allowed).map(Nearness::Edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_come_first() {
        let known = ["GreenDog", "greendog", "GreenDogs", "BigGreenDog", "GreenDot", "RedFox"];
        assert_eq!(nearest("GREENDOG", known, 9), ["GreenDog", "greendog", "GreenDogs", "BigGreenDog", "GreenDot"]);
        assert_eq!(nearest("GREENDOG", known, 2), ["GreenDog", "greendog"]);
    }

    #[test]
    fn the_order_does_not_depend_on_the_order_of_the_known() {
        assert_eq!(nearest("abx", ["aby", "abc", "abd", "abc"], 3), ["abc", "abd", "aby"]);
        assert_eq!(nearest("abx", ["abd", "abc", "aby"], 3), ["abc", "abd", "aby"]);
    }

    #[test]
    fn a_swap_of_neighbours_is_one_edit() {
        assert_eq!(nearness("fetch", "fecth"), Some(Nearness::Edits(1)));
        assert_eq!(nearness("xkittenx", "xsittingx"), Some(Nearness::Edits(3)));
    }

    #[test]
    fn what_is_more_than_a_third_away_is_not_near() {
        assert_eq!(nearest("abcdef", ["abcdxy", "abcxyz"], 9), ["abcdxy"]);
        assert_eq!(nearest("ab", ["ba", "xy"], 9), [""; 0]);
        assert_eq!(nearest("", ["a"], 9), [""; 0]);
    }

    #[test]
    fn long_names_are_compared_by_their_beginnings_alone() {
        let long = "a".repeat(1_000_000);
        let longer = format!("{long}b");
        let other = format!("b{long}");
        assert_eq!(nearest(&long, [longer.as_str(), other.as_str()], 9), [longer.as_str()]);
    }
}
