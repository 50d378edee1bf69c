//! What is known for certain about a pattern, in a few machine words.
//!
//! Two patterns whose sketches contradict each other cannot meet. Sketches that do not contradict each other say
//! nothing: the patterns themselves decide.

use super::super::pattern::segment::Atom;
use super::super::pattern::{Pattern, Step};

/// How many segments from the front are sketched: enough for the folders of a deep source tree.
const FRONT: usize = 8;
/// How many of those are sketched by their end, too.
const FRONT_ENDS: usize = 4;
/// How many segments from the back are sketched.
const BACK: usize = 3;
/// How many of those are sketched by their beginning, too.
const BACK_BEGINNINGS: usize = 2;
/// How many facts a sketch has.
pub(super) const FACTS: usize = FRONT + FRONT_ENDS + BACK + BACK_BEGINNINGS + 1;
/// A pattern with more alternatives than this is sketched as a whole when it is looked for.
const MOST_SKETCHES: usize = 8;

/// Some bits about a segment, of which only those in `known` are certain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Fact {
    /// The bits; 0 where nothing is known.
    pub value: u64,
    /// Which bits are certain.
    pub known: u64,
}

/// The facts about a pattern, and how many segments its paths have.
#[derive(Debug, Clone)]
pub(super) struct Sketch {
    /// Facts that can be compared with those at the same place of another sketch.
    pub facts: [Fact; FACTS],
    /// The fewest segments that a path can have.
    pub fewest: u16,
    /// The most segments that a path can have.
    pub most: u16,
}

impl Sketch {
    /// One sketch of the whole pattern: what all of its alternatives have in common.
    pub fn of_all(pattern: &Pattern) -> Self {
        let sketches = pattern.alternatives().iter().map(|steps| Self::of(steps));
        sketches.reduce(Self::in_common).expect("a pattern has at least one alternative")
    }

    /// A sketch of each alternative, or of the whole when there are many.
    pub fn of_each(pattern: &Pattern) -> Vec<Self> {
        if pattern.alternatives().len() > MOST_SKETCHES {
            return vec![Self::of_all(pattern)];
        }
        pattern.alternatives().iter().map(|steps| Self::of(steps)).collect()
    }

    /// The places of the facts in the order in which they tell most.
    ///
    /// The deepest known folder tells neighbours apart, the first one strangers, and the last segment and the names
    /// anywhere those who say little of their folders.
    pub fn telling_first(&self) -> impl Iterator<Item = usize> + use<> {
        const LAST: usize = FRONT + FRONT_ENDS;
        let deepest = (0..FRONT).rev().find(|place| self.facts[*place].known != 0).unwrap_or(0);
        const NAMES: usize = FACTS - 1;
        let first = [deepest, 0, LAST, NAMES];
        let others = (0..FRONT).rev().chain(LAST..FACTS).chain(FRONT..LAST);
        let others = others.filter(move |place| !first.contains(place));
        // With one folder only, the first is the deepest.
        first.into_iter().skip(usize::from(deepest == 0)).chain(others)
    }

    fn of(steps: &[Step]) -> Self {
        let mut facts = [Fact::default(); FACTS];
        let (front, rest) = facts.split_at_mut(FRONT);
        let (front_ends, rest) = rest.split_at_mut(FRONT_ENDS);
        let (back, rest) = rest.split_at_mut(BACK);
        let (back_beginnings, names) = rest.split_at_mut(BACK_BEGINNINGS);
        names[0] = Fact::of_names(steps);
        for (place, segment) in steps.iter().map_while(Step::segment).take(FRONT).enumerate() {
            front[place] = Fact::of_beginning(segment, 6).with_hash(segment);
            if let Some(fact) = front_ends.get_mut(place) {
                *fact = Fact::of_end(segment, 8);
            }
        }
        for (place, segment) in steps.iter().rev().map_while(Step::segment).take(BACK).enumerate() {
            back[place] = Fact::of_end(segment, 6).with_hash(segment);
            if let Some(fact) = back_beginnings.get_mut(place) {
                *fact = Fact::of_beginning(segment, 8);
            }
        }
        let fewest = steps.iter().filter_map(Step::segment).count();
        let fewest = u16::try_from(fewest).unwrap_or(u16::MAX);
        Self { facts, fewest, most: if steps.iter().all(|step| step.segment().is_some()) { fewest } else { u16::MAX } }
    }

    fn in_common(self, other: Self) -> Self {
        Self {
            facts: std::array::from_fn(|place| self.facts[place].in_common(other.facts[place])),
            fewest: self.fewest.min(other.fewest),
            most: self.most.max(other.most),
        }
    }
}

impl Fact {
    fn of_beginning(segment: &[Atom], width: usize) -> Self {
        let letters = segment.iter().map_while(Atom::literal);
        Self::of_bytes(letters.flat_map(utf8), segment, width)
    }

    fn of_end(segment: &[Atom], width: usize) -> Self {
        let letters = segment.iter().rev().map_while(Atom::literal);
        Self::of_bytes(letters.flat_map(|letter| utf8(letter).rev()), segment, width)
    }

    fn of_bytes(bytes: impl Iterator<Item = u8>, segment: &[Atom], width: usize) -> Self {
        let mut fact = Self::default();
        let mut count = 0;
        for byte in bytes.take(width) {
            fact.value |= u64::from(byte) << (8 * count);
            fact.known |= 0xFF << (8 * count);
            count += 1;
        }
        // A name that is known as a whole has, for certain, nothing behind its end; no name holds a zero.
        if segment.iter().all(|atom| atom.literal().is_some()) {
            for place in count..width {
                fact.known |= 0xFF << (8 * place);
            }
        }
        fact
    }

    /// Puts a hash of a whole name into the two bytes that six bytes of it leave free.
    fn with_hash(self, segment: &[Atom]) -> Self {
        let Some(hash) = name_hash(segment) else { return self };
        Self { value: self.value | hash << 48, known: self.known | 0xFFFF << 48 }
    }

    /// Two bits for each name that every path holds somewhere. A path without wildcards holds no other names.
    fn of_names(steps: &[Step]) -> Self {
        let bits =
            |step: &Step| step.segment().and_then(name_hash).map(|hash| 1 << (hash % 64) | 1 << (hash / 64 % 64));
        let value = steps.iter().filter_map(bits).fold(0, |all, bits: u64| all | bits);
        let knows_all = steps.iter().all(|step| bits(step).is_some());
        Self { value, known: if knows_all { u64::MAX } else { value } }
    }

    fn in_common(self, other: Self) -> Self {
        let known = self.known & other.known & !(self.value ^ other.value);
        Self { value: self.value & known, known }
    }
}

fn utf8(letter: char) -> impl DoubleEndedIterator<Item = u8> {
    let mut buffer = [0; 4];
    let length = letter.encode_utf8(&mut buffer).len();
    buffer.into_iter().take(length)
}

/// A hash of a whole name whose low bits are well mixed (FNV-1a, folded); none where it is not known whole.
fn name_hash(segment: &[Atom]) -> Option<u64> {
    let hash = segment.iter().try_fold(0xCBF2_9CE4_8422_2325_u64, |hash, atom| {
        Some((hash ^ u64::from(u32::from(atom.literal()?))).wrapping_mul(0x0100_0000_01B3))
    })?;
    Some(hash ^ (hash >> 32))
}
