//! One segment of a pattern: what may stand between two slashes of a path.
//!
//! A segment never takes the empty name, for a path has none. It knows nothing of `/` and `**`.

use super::PatternProblem;
use super::sequence;

/// A glob for one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::reservations) enum Segment {
    /// Exactly this name.
    Literal(Box<[char]>),
    /// Any name.
    Any,
    /// Names of this form. At least one atom takes a character, so the empty name is out.
    Glob(Box<[Atom]>),
}

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

impl Segment {
    /// Makes a segment of the atoms between two slashes, of which there is at least one.
    pub(super) fn of(atoms: impl IntoIterator<Item = Atom>) -> Self {
        let mut atoms: Vec<Atom> = atoms.into_iter().collect();
        atoms.dedup_by(|next, before| *next == Atom::Star && *before == Atom::Star);
        if atoms == [Atom::Star] {
            return Self::Any;
        }
        let literal: Option<Box<[char]>> =
            atoms.iter().map(|atom| if let Atom::Char(c) = atom { Some(*c) } else { None }).collect();
        literal.map_or_else(|| Self::Glob(atoms.into()), Self::Literal)
    }

    /// Whether some name is of both forms.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (_, Self::Any) => true,
            (Self::Literal(a), Self::Literal(b)) => a == b,
            (Self::Literal(name), segment) | (segment, Self::Literal(name)) => segment.matches(name),
            (Self::Glob(a), Self::Glob(b)) => sequence::meet(a, b, Atom::is_star, Atom::is_star, Atom::meets),
        }
    }

    /// Whether `name`, which is not empty, is of this form.
    pub(super) fn matches(&self, name: &[char]) -> bool {
        match self {
            Self::Any => true,
            Self::Literal(literal) => **literal == *name,
            Self::Glob(atoms) => sequence::meet(atoms, name, Atom::is_star, |_| false, |atom, c| atom.takes(*c)),
        }
    }

    /// The characters that every such name begins with.
    pub(in crate::reservations) fn head(&self) -> impl Iterator<Item = char> + '_ {
        let (literal, atoms) = self.parts();
        literal.iter().copied().chain(atoms.iter().map_while(Atom::literal))
    }

    /// The characters that every such name ends in, the last one first.
    pub(in crate::reservations) fn tail_backwards(&self) -> impl Iterator<Item = char> + '_ {
        let (literal, atoms) = self.parts();
        literal.iter().rev().copied().chain(atoms.iter().rev().map_while(Atom::literal))
    }

    fn parts(&self) -> (&[char], &[Atom]) {
        match self {
            Self::Literal(name) => (name, &[]),
            Self::Any => (&[], &[]),
            Self::Glob(atoms) => (&[], atoms),
        }
    }
}

impl Atom {
    fn is_star(&self) -> bool {
        matches!(self, Self::Star)
    }

    fn literal(&self) -> Option<char> {
        if let Self::Char(c) = self { Some(*c) } else { None }
    }

    fn takes(&self, wanted: char) -> bool {
        match self {
            Self::Char(c) => *c == wanted,
            Self::Class(set) => set.holds(wanted),
            Self::AnyChar | Self::Star => true,
        }
    }

    fn meets(&self, other: &Self) -> bool {
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
