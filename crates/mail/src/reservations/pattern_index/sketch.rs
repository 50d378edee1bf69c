//! What is known for certain about a pattern, in a few machine words.
//!
//! Two patterns whose sketches contradict each other cannot meet. Sketches that do not contradict each other say
//! nothing: the patterns themselves decide.

use super::super::pattern::segment::Segment;
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
        Self { facts, fewest, most: if steps.iter().any(Step::is_deep) { u16::MAX } else { fewest } }
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
    fn of_beginning(segment: &Segment, width: usize) -> Self {
        let mut buffer = [0; 4];
        let bytes = segment.head().flat_map(|c| {
            let length = c.encode_utf8(&mut buffer).len();
            buffer.into_iter().take(length)
        });
        Self::of_bytes(bytes, segment, width)
    }

    fn of_end(segment: &Segment, width: usize) -> Self {
        let mut buffer = [0; 4];
        let bytes = segment.tail_backwards().flat_map(|c| {
            let length = c.encode_utf8(&mut buffer).len();
            buffer.into_iter().take(length).rev()
        });
        Self::of_bytes(bytes, segment, width)
    }

    fn of_bytes(bytes: impl Iterator<Item = u8>, segment: &Segment, width: usize) -> Self {
        let mut fact = Self::default();
        let mut count = 0;
        for byte in bytes.take(width) {
            fact.value |= u64::from(byte) << (8 * count);
            fact.known |= 0xFF << (8 * count);
            count += 1;
        }
        // A name that is known as a whole has, for certain, nothing behind its end; no name holds a zero.
        if matches!(segment, Segment::Literal(_)) {
            for place in count..width {
                fact.known |= 0xFF << (8 * place);
            }
        }
        fact
    }

    /// Puts a hash of a whole name into the two bytes that six bytes of it leave free.
    fn with_hash(self, segment: &Segment) -> Self {
        let Segment::Literal(name) = segment else { return self };
        Self { value: self.value | name_hash(name) << 48, known: self.known | 0xFFFF << 48 }
    }

    /// Two bits for each name that every path holds somewhere. A path without wildcards holds no other names.
    fn of_names(steps: &[Step]) -> Self {
        let literal = |step: &Step| match step {
            Step::One(Segment::Literal(name)) => {
                let hash = name_hash(name);
                Some(1 << (hash % 64) | 1 << (hash / 64 % 64))
            }
            _ => None,
        };
        let value = steps.iter().filter_map(literal).fold(0, |bits, bit: u64| bits | bit);
        let knows_all = steps.iter().all(|step| literal(step).is_some());
        Self { value, known: if knows_all { u64::MAX } else { value } }
    }

    fn in_common(self, other: Self) -> Self {
        let known = self.known & other.known & !(self.value ^ other.value);
        Self { value: self.value & known, known }
    }
}

/// A hash whose low bits are well mixed (FNV-1a, folded).
fn name_hash(name: &[char]) -> u64 {
    let hash = name
        .iter()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, c| (hash ^ u64::from(u32::from(*c))).wrapping_mul(0x0100_0000_01B3));
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contradict(left: &str, right: &str) -> bool {
        let [left, right] = [left, right].map(|text| Sketch::of_all(&Pattern::parse(text).unwrap()));
        let facts = left.facts.iter().zip(&right.facts).any(|(a, b)| (a.value ^ b.value) & a.known & b.known != 0);
        facts || left.fewest > right.most || right.fewest > left.most
    }

    #[test]
    fn sketches_tell_patterns_apart_by_any_end_of_a_segment() {
        assert!(contradict("**/*.test.ts", "src/a.spec.ts"));
        assert!(contradict("src/mod_1*/**", "src/mod_2*/**"));
        assert!(contradict("src/*_1/**", "src/*_2/**"));
        assert!(contradict("**/foo*.rs", "**/bar*.rs"));
        assert!(contradict("a/b/c/d/e/f/g/x1/**", "a/b/c/d/e/f/g/x2/**"));
        assert!(contradict("src/**/x_1/**/y", "src/z/w/y"));
        assert!(contradict("*/*", "a/b/c"));
        assert!(contradict("ab*", "a"));
    }

    #[test]
    fn sketches_leave_open_what_wildcards_hide() {
        assert!(!contradict("**/a/**", "**/b/**"));
        assert!(!contradict("{a,b}/x", "b/*"));
        assert!(!contradict("é*", "éa"));
        assert!(!contradict("*é", "xé"));
    }
}
