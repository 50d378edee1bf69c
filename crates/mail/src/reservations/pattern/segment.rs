//! The pieces of a segment: what may stand between two slashes of a path.
//!
//! No path has an empty name, so a `*` alone takes any name. Nothing is known here of `/` and `**`.

use super::PatternProblem;
use super::sequence::Entry;

/// One piece of a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::reservations) enum Atom {
    /// This character.
    Char(char),
    /// Any one character.
    AnyChar,
    /// One character of a set.
    Class(CharSet),
    /// Any number of characters, none included.
    Star,
}

/// A set of characters that is not empty and never holds `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::reservations) struct CharSet {
    /// Inclusive, ascending, neither touching nor overlapping.
    ranges: Box<[(u32, u32)]>,
}

/// Puts the atoms between two slashes in order; there is at least one.
pub(super) fn segment(atoms: impl Iterator<Item = Atom>) -> Box<[Atom]> {
    let mut atoms: Vec<Atom> = atoms.collect();
    atoms.dedup_by(|next, before| *next == Atom::Star && *before == Atom::Star);
    atoms.into()
}

impl Atom {
    /// The character that it stands for, if that is but one.
    pub(in crate::reservations) fn literal(&self) -> Option<char> {
        if let Self::Char(c) = self { Some(*c) } else { None }
    }

    fn takes(&self, wanted: char) -> bool {
        match self {
            Self::Char(c) => *c == wanted,
            Self::Class(set) => set.holds(wanted),
            Self::AnyChar | Self::Star => true,
        }
    }
}

impl Entry for Atom {
    fn is_wild(&self) -> bool {
        matches!(self, Self::Star)
    }

    fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Char(c), atom) | (atom, Self::Char(c)) => atom.takes(*c),
            (Self::Class(a), Self::Class(b)) => a.meets(b),
            _ => true,
        }
    }
}

impl CharSet {
    /// Makes a set of inclusive ranges, or of everything else when `negated`.
    pub(super) fn new(ranges: &[(char, char)], negated: bool) -> Result<Self, PatternProblem> {
        if ranges.iter().any(|(low, high)| low > high) {
            return Err(PatternProblem::BackwardRange);
        }
        let ranges = merged(ranges.iter().map(|(low, high)| (u32::from(*low), u32::from(*high))).collect());
        let mut kept = if negated { without(&[(0, u32::from(char::MAX))], &ranges) } else { ranges };
        const SLASH: u32 = '/' as u32;
        const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);
        kept = without(&kept, &[(SLASH, SLASH), SURROGATES]);
        if kept.is_empty() { Err(PatternProblem::EmptyClass) } else { Ok(Self { ranges: kept.into() }) }
    }

    /// Some character of the set.
    #[cfg(test)]
    pub(super) fn some_char(&self) -> char {
        char::from_u32(self.ranges[0].0).expect("surrogates are left out")
    }

    /// Some character of both sets.
    #[cfg(test)]
    pub(super) fn some_shared_char(&self, other: &Self) -> Option<char> {
        let starts = self.ranges.iter().chain(&other.ranges).map(|(low, _)| *low);
        starts.filter_map(char::from_u32).find(|c| self.holds(*c) && other.holds(*c))
    }

    fn holds(&self, c: char) -> bool {
        let code = u32::from(c);
        let after = self.ranges.partition_point(|(_, high)| *high < code);
        self.ranges.get(after).is_some_and(|(low, _)| *low <= code)
    }

    fn meets(&self, other: &Self) -> bool {
        let (mut mine, mut theirs) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some((low, high)), Some((other_low, other_high))) = (mine.peek(), theirs.peek()) {
            if high < other_low {
                mine.next();
            } else if other_high < low {
                theirs.next();
            } else {
                return true;
            }
        }
        false
    }
}

fn merged(mut ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    ranges.sort_unstable();
    let mut kept: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match kept.last_mut() {
            Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
            _ => kept.push((low, high)),
        }
    }
    kept
}

/// Takes `holes` (ascending, apart) out of `ranges` (the same).
fn without(ranges: &[(u32, u32)], holes: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut kept = Vec::new();
    let mut holes = holes.iter().peekable();
    for (low, high) in ranges {
        let mut from = *low;
        while let Some((hole_low, hole_high)) = holes.peek() {
            if hole_low > high {
                break;
            }
            if *hole_low > from {
                kept.push((from, hole_low - 1));
            }
            from = from.max(hole_high + 1);
            if hole_high > high {
                // The next range may begin inside this hole as well.
                break;
            }
            holes.next();
        }
        if from <= *high {
            kept.push((from, *high));
        }
    }
    kept
}
