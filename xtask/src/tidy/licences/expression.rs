//! Licence expressions, such as `(MIT OR Apache-2.0) AND Unicode-3.0`.
//!
//! Only the question whether some choice of licences is accepted is answered. An expression that cannot be read is not
//! satisfied.

/// Parentheses nested deeper than this are no licence that anybody wrote.
const DEEPEST: usize = 32;

/// Whether `expression` can be met with accepted licences alone.
pub fn is_satisfied(expression: &str, accepted: &[&str]) -> bool {
    // Old packages write `MIT/Apache-2.0` for a choice.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, accepted };
    reader.choice(0) == Some(true) && reader.words.is_empty()
}

/// Reads from the front; every method answers whether its part is met, or `None` when it is no expression.
struct Reader<'a> {
    words: &'a [&'a str],
    accepted: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn choice(&mut self, depth: usize) -> Option<bool> {
        let mut met = self.all(depth)?;
        while self.take("OR") {
            // Both sides are read whatever the first said, or the rest would not be checked for sense.
            let other = self.all(depth)?;
            met |= other;
        }
        Some(met)
    }

    fn all(&mut self, depth: usize) -> Option<bool> {
        let mut met = self.licence(depth)?;
        while self.take("AND") {
            let other = self.licence(depth)?;
            met &= other;
        }
        Some(met)
    }

    fn licence(&mut self, depth: usize) -> Option<bool> {
        if self.take("(") {
            let met = (depth < DEEPEST).then(|| self.choice(depth + 1)).flatten()?;
            return self.take(")").then_some(met);
        }
        let name = self.word()?;
        if self.take("WITH") {
            let exception = self.word()?;
            return Some(self.accepted.contains(&format!("{name} WITH {exception}").as_str()));
        }
        Some(self.accepted.contains(&name))
    }

    fn word(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        (!["OR", "AND", "WITH", "(", ")"].contains(first)).then_some(*first)
    }

    fn take(&mut self, wanted: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if *first == wanted => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(expression: &str) -> bool {
        is_satisfied(expression, &["MIT", "ISC", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"])
    }

    #[test]
    fn one_accepted_side_of_a_choice_is_enough() {
        assert!(met("MIT") && met("GPL-3.0 OR MIT") && met("MIT OR GPL-3.0") && met("GPL-3.0/MIT"));
        assert!(!met("GPL-3.0") && !met("GPL-3.0 OR LGPL-3.0"));
    }

    #[test]
    fn both_sides_of_and_are_needed() {
        assert!(met("MIT AND ISC"));
        assert!(!met("MIT AND GPL-3.0") && !met("GPL-3.0 AND MIT"));
    }

    #[test]
    fn and_binds_tighter_than_or_unless_parentheses_say_otherwise() {
        assert!(met("MIT OR GPL-3.0 AND GPL-2.0"));
        assert!(!met("(MIT OR GPL-3.0) AND GPL-2.0"));
        assert!(met("(GPL-3.0 OR (MIT)) AND ISC"));
    }

    #[test]
    fn an_exception_is_accepted_only_with_its_licence() {
        assert!(met("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
        assert!(!met("MIT WITH LLVM-exception") && !met("Apache-2.0 WITH Other-exception"));
    }

    #[test]
    fn what_is_no_expression_is_not_met() {
        for broken in ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT ISC", "MIT WITH", "()", "MIT OR (ISC"] {
            assert!(!met(broken), "{broken}");
        }
        assert!(!met(&"(".repeat(100_000)));
        assert!(!met(&format!("{}MIT{}", "(".repeat(40), ")".repeat(40))));
    }
}
