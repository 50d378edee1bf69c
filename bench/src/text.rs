//! Mail as agents write it, made up: words whose frequencies fall off as those of a language do.
//!
//! An index over random letters, or over one sentence repeated, costs something else than one over text. The same seed
//! gives the same text, so that every run measures the same.

/// How many words there are.
const WORDS: usize = 4_000;
/// How long a body is, in bytes.
const BODY: usize = 1_024;

const BEGINNINGS: [&str; 20] = [
    "ba", "co", "de", "fi", "gra", "ho", "in", "ke", "lu", "mo", "ne", "or", "pla", "qui", "re", "sta", "to", "un",
    "ve", "wi",
];
const MIDDLES: [&str; 10] = ["", "la", "ri", "mi", "to", "na", "cu", "si", "der", "ver"];
const ENDS: [&str; 20] = [
    "ble", "n", "ck", "d", "ft", "ge", "st", "ll", "ment", "nt", "p", "r", "se", "tion", "ty", "ve", "wn", "x", "ry",
    "z",
];

/// A source of numbers that look random and are the same in every run (SplitMix64).
pub struct Chance(u64);

impl Chance {
    /// A source of its own for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// The words, from the most frequent to the rarest.
pub struct Language {
    words: Vec<String>,
    /// What share of a text the words up to each one have, of 2^32.
    shares: Vec<u64>,
}

impl Language {
    /// Makes the words up.
    pub fn new() -> Self {
        let mut words = Vec::with_capacity(WORDS);
        for number in 0..WORDS {
            // Neighbours in frequency differ in their beginnings, as in a language.
            let (beginning, rest) = (number % BEGINNINGS.len(), number / BEGINNINGS.len());
            let (end, middle) = (rest % ENDS.len(), rest / ENDS.len());
            words.push([BEGINNINGS[beginning], MIDDLES[middle], ENDS[end]].concat());
        }
        // Zipf's law: the n-th word is one n-th as frequent as the first.
        let all: f64 = (1..=WORDS).map(|rank| 1.0 / rank as f64).sum();
        let mut sum = 0.0;
        let shares = (1..=WORDS)
            .map(|rank| {
                sum += 1.0 / rank as f64 / all;
                (sum * 2_f64.powi(32)) as u64
            })
            .collect();
        Self { words, shares }
    }

    /// The word of that rank; 0 is the most frequent, found in nearly every body.
    pub fn word(&self, rank: usize) -> &str {
        &self.words[rank.min(WORDS - 1)]
    }

    /// A subject of some words.
    pub fn subject(&self, chance: &mut Chance) -> String {
        let words: Vec<&str> = (0..6).map(|_| self.any(chance)).collect();
        words.join(" ")
    }

    /// A body of 1 KiB in Markdown, that names `case`.
    pub fn body(&self, chance: &mut Chance, case: &str) -> String {
        let mut body = format!("About {case}.\n\n");
        while body.len() < BODY {
            body.push_str(self.any(chance));
            body.push_str(match chance.below(60) {
                0..=3 => ". ",
                4 => ".\n\n- ",
                5 => "`, `",
                6..=8 => ", ",
                _ => " ",
            });
        }
        body.truncate(BODY);
        body
    }

    fn any(&self, chance: &mut Chance) -> &str {
        let random = chance.next() >> 32;
        self.word(self.shares.partition_point(|share| *share <= random))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_there_twice() {
        let language = Language::new();
        let different: std::collections::HashSet<&String> = language.words.iter().collect();
        assert_eq!(different.len(), WORDS);
    }

    #[test]
    fn frequent_words_are_in_nearly_every_body_and_rare_ones_in_few() {
        let language = Language::new();
        let mut chance = Chance::new(1);
        let bodies: Vec<String> = (0..300).map(|_| language.body(&mut chance, "case1")).collect();
        let with = |rank: usize| {
            let wanted = language.word(rank);
            let has = |body: &&String| body.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
            bodies.iter().filter(has).count()
        };
        assert!(with(0) > 290, "{}", with(0));
        assert!(with(100) < 100, "{}", with(100));
        assert!(with(WORDS - 1) < 10, "{}", with(WORDS - 1));
    }

    #[test]
    fn a_body_has_its_length_and_is_the_same_for_the_same_seed() {
        let language = Language::new();
        let body = language.body(&mut Chance::new(7), "case1");
        assert_eq!(body.len(), BODY);
        assert_eq!(body, language.body(&mut Chance::new(7), "case1"));
        assert_ne!(body, language.body(&mut Chance::new(8), "case1"));
    }
}
