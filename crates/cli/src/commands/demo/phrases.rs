//! What stands in a text for something that is known only when it is said: `{{now}}`, `{{worker}}`.
//!
//! Braces of any other sort are text, for code and JSON are full of them.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// Words, and what each stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phrases(BTreeMap<String, String>);

impl Phrases {
    /// The same with one more; the last one of a name counts.
    pub(crate) fn with(mut self, name: &str, meaning: impl Into<String>) -> Self {
        self.0.insert(name.to_owned(), meaning.into());
        self
    }

    /// The same for a message that is sent at this time. `seed` tells it from all others.
    pub(crate) fn sent_at(self, now: Timestamp, seed: &str) -> Self {
        self.with("now", now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()).with("uuid", uuid_of(seed))
    }

    /// A text with every known word replaced.
    pub(crate) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, meaning)| text.replace(&format!("{{{{{name}}}}}"), meaning))
    }

    /// The same for each of several texts.
    pub(crate) fn fill_all(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.fill(text)).collect()
    }
}

/// A UUID of version 4 that follows from a text.
fn uuid_of(seed: &str) -> String {
    let hash = blake3::hash(seed.as_bytes()).to_hex();
    let part = |from: usize, to: usize| &hash[from..to];
    format!("{}-{}-4{}-a{}-{}", part(0, 8), part(8, 12), part(12, 15), part(15, 18), part(18, 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_are_replaced_and_other_braces_are_text() {
        let words = Phrases::default().with("who", "GreenDog").with("n", "1").with("n", "2");
        assert_eq!(words.fill("{{who}}: {\"a\":{\"b\":{{n}}}} {{x}} {{"), "GreenDog: {\"a\":{\"b\":2}} {{x}} {{");
        assert_eq!(words.fill_all(&["{{who}}".to_owned()]), ["GreenDog"]);
    }

    #[test]
    fn a_message_has_its_time_and_an_id_that_follows_from_its_seed() {
        let at =
            |seed| Phrases::default().sent_at("2026-03-02T08:14:00.5Z".parse().unwrap(), seed).fill("{{now}} {{uuid}}");
        assert!(at("a").starts_with("2026-03-02T08:14:00Z "), "{}", at("a"));
        assert_eq!(at("a"), at("a"));
        assert_ne!(at("a"), at("b"));
    }
}
