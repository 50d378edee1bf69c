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
    let wanted: Vec<char> = folded(wanted);
    let mut seen = HashSet::new();
    let mut near: Vec<(Nearness, &str)> = known
        .into_iter()
        .filter(|name| seen.insert(*name))
        .filter_map(|name| Some((nearness(&wanted, &folded(name))?, name)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(most).map(|(_, name)| name).collect()
}

fn folded(name: &str) -> Vec<char> {
    name.chars().flat_map(char::to_lowercase).collect()
}

fn nearness(wanted: &[char], name: &[char]) -> Option<Nearness> {
    if wanted == name {
        return Some(Nearness::SameButForCase);
    }
    let (short, long) = if wanted.len() <= name.len() { (wanted, name) } else { (name, wanted) };
    if short.is_empty() {
        return None;
    }
    let extra = long.len() - short.len();
    if long.starts_with(short) {
        return Some(Nearness::BeginsTheSame { extra });
    }
    if long.len() > LONGEST_COMPARED {
        return None;
    }
    if short.len() >= SHORTEST_CONTAINED && long.windows(short.len()).any(|part| part == short) {
        return Some(Nearness::Contained { extra });
    }
    let allowed = long.len() / 3;
    // Each character too many is an edit of its own.
    if extra > allowed {
        return None;
    }
    Some(edits(short, long)).filter(|edits| *edits <= allowed).map(Nearness::Edits)
}

/// How many characters must be put in, left out, changed or swapped with their neighbour to get from one to the other.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = Vec::with_capacity(to.len() + 1);
        row.push(i + 1);
        for (j, b) in to.iter().enumerate() {
            let mut best = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
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
        assert_eq!(edits(&folded("fetch"), &folded("fecth")), 1);
        assert_eq!(edits(&folded("kitten"), &folded("sitting")), 3);
        assert_eq!(edits(&[], &folded("abc")), 3);
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
