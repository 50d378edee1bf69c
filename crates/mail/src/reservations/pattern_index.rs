//! Many patterns, and quickly those of them that meet another.
//!
//! Each pattern is held together with a sketch: what is known for certain about its first and last segments. A question
//! goes once through the most telling facts of all sketches, 64 at a time, and asks the patterns themselves only where
//! no fact rules a meeting out. A tree by prefixes would be faster for `src/a.rs` and useless for `**/a.rs`; this way
//! is never slow. The index does not know what its values are: reservations, their holders and their ends are the
//! caller's.

mod sketch;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::pattern::Pattern;
use sketch::{FACTS, Fact, Sketch};

/// How many sketches are compared in one go.
const BLOCK: usize = 64;
/// How many facts are compared in every sketch. The others wait until it is known who is relevant.
const TELLING: usize = 4;

/// A collection of patterns, each with a value.
#[derive(Debug, Clone)]
pub struct PatternIndex<T> {
    held: Vec<(Pattern, T)>,
    /// A hash of each pattern's text, in the order of `held`.
    texts: Vec<u64>,
    sketches: Columns,
}

/// Sketches fact by fact, in the order of `held`: a question looks at few facts of many sketches.
#[derive(Debug, Clone, Default)]
struct Columns {
    facts: [SegmentIndex; FACTS],
    fewest: Vec<u16>,
    most: Vec<u16>,
}

#[derive(Debug, Clone, Default)]
struct SegmentIndex {
    values: Vec<u64>,
    known: Vec<u64>,
}

impl<T> PatternIndex<T> {
    /// How many patterns are held, each counted as often as it was inserted.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Holds `pattern` with `value`, also when an equal pattern is held already.
    pub fn insert(&mut self, pattern: Pattern, value: T) {
        self.texts.push(text_hash(&pattern));
        self.sketches.push(&Sketch::of_all(&pattern));
        self.held.push((pattern, value));
    }

    /// Lets go of the first equal pattern whose value `is_it`, and returns that value.
    pub fn remove(&mut self, pattern: &Pattern, mut is_it: impl FnMut(&T) -> bool) -> Option<T> {
        let hash = text_hash(pattern);
        let same_text = self.texts.iter().enumerate().filter(|(_, held)| **held == hash).map(|(place, _)| place);
        let place = same_text
            .map(|place| (place, &self.held[place]))
            .find(|(_, (held, value))| *held == *pattern && is_it(value))
            .map(|(place, _)| place)?;
        Some(self.take_out(place))
    }

    /// Keeps only the patterns whose value is to be kept.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        // Backwards, for taking one out moves the last one to its place.
        for place in (0..self.held.len()).rev() {
            if !keep(&self.held[place].1) {
                self.take_out(place);
            }
        }
    }

    /// The patterns that meet `wanted` and whose value is `relevant`, in no particular order.
    ///
    /// `relevant` is asked before the patterns are compared, and may be asked about some that do not meet.
    pub fn meeting<'a>(
        &'a self,
        wanted: &'a Pattern,
        relevant: impl Fn(&T) -> bool + 'a,
    ) -> impl Iterator<Item = (&'a Pattern, &'a T)> + 'a {
        let questions: Arc<[PatternProbe]> = Sketch::of_each(wanted).iter().map(PatternProbe::new).collect();
        let asked = Arc::clone(&questions);
        (0..self.held.len().div_ceil(BLOCK))
            .flat_map(move |block| {
                let found = asked.iter().fold(0, |found, question| found | self.sketches.ask(question, block));
                ones(found).map(move |place| block * BLOCK + place)
            })
            .filter(move |place| relevant(&self.held[*place].1))
            .filter(move |place| questions.iter().any(|question| self.sketches.allow(question, *place)))
            .map(|place| &self.held[place])
            .filter(|(held, _)| held.may_meet(wanted))
            .map(|(held, value)| (held, value))
    }

    fn take_out(&mut self, place: usize) -> T {
        self.texts.swap_remove(place);
        self.sketches.take_out(place);
        self.held.swap_remove(place).1
    }
}

impl<T> Default for PatternIndex<T> {
    fn default() -> Self {
        Self { held: Vec::new(), texts: Vec::new(), sketches: Columns::default() }
    }
}

/// What a wanted sketch knows, the most telling facts first, without those it does not know.
struct PatternProbe {
    facts: Vec<(usize, Fact)>,
    fewest: u16,
    most: u16,
}

impl PatternProbe {
    fn new(sketch: &Sketch) -> Self {
        let facts = sketch.telling_first().map(|place| (place, sketch.facts[place]));
        let facts = facts.filter(|(_, fact)| fact.known != 0).collect();
        Self { facts, fewest: sketch.fewest, most: sketch.most }
    }
}

impl Columns {
    fn push(&mut self, sketch: &Sketch) {
        for (column, fact) in self.facts.iter_mut().zip(&sketch.facts) {
            column.values.push(fact.value);
            column.known.push(fact.known);
        }
        self.fewest.push(sketch.fewest);
        self.most.push(sketch.most);
    }

    fn take_out(&mut self, place: usize) {
        for column in &mut self.facts {
            column.values.swap_remove(place);
            column.known.swap_remove(place);
        }
        self.fewest.swap_remove(place);
        self.most.swap_remove(place);
    }

    /// The sketches of a block whose telling facts do not rule out a meeting, as bits.
    ///
    /// The loops have no branches, so that the compiler can compare several sketches at once.
    fn ask(&self, question: &PatternProbe, block: usize) -> u64 {
        let from = block * BLOCK;
        let to = self.fewest.len().min(from + BLOCK);
        let mut alive = [0_u8; BLOCK];
        let lengths = self.fewest[from..to].iter().zip(&self.most[from..to]);
        for (alive, (fewest, most)) in alive.iter_mut().zip(lengths) {
            *alive = u8::from(*fewest <= question.most) & u8::from(question.fewest <= *most);
        }
        for (place, wanted) in question.facts.iter().take(TELLING) {
            let column = &self.facts[*place];
            let facts = column.values[from..to].iter().zip(&column.known[from..to]);
            for (alive, (value, known)) in alive.iter_mut().zip(facts) {
                *alive &= u8::from((value ^ wanted.value) & known & wanted.known == 0);
            }
            if alive.iter().fold(0, |any, alive| any | alive) == 0 {
                return 0;
            }
        }
        alive.iter().rev().fold(0, |bits, alive| bits << 1 | u64::from(*alive))
    }

    /// Whether no fact at all about the sketch at `place` rules out a meeting.
    fn allow(&self, question: &PatternProbe, place: usize) -> bool {
        question.facts.iter().all(|(fact, wanted)| {
            let column = &self.facts[*fact];
            (column.values[place] ^ wanted.value) & column.known[place] & wanted.known == 0
        })
    }
}

/// The places of the bits that are set, the lowest first.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < BLOCK).then_some(place)
    })
}

fn text_hash(pattern: &Pattern) -> u64 {
    let mut hasher = DefaultHasher::new();
    pattern.as_str().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
