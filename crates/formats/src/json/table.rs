//! The words in which the rules of a message are declared: a field, its shape, and whether it must be there.
//!
//! The tables themselves are in `fields`. Nothing here judges a value; the validator, the schema and the writer each take
//! their facts from these words.

use super::form::Form;

/// One field of an object.
#[derive(Debug)]
pub(super) struct Field {
    /// Its name in the JSON.
    pub name: &'static str,
    /// What it is for, as a doc comment words it (with the space in front).
    pub about: &'static str,
    /// What may stand there.
    pub rule: Rule,
}

/// Whether a field must be there, and what may stand in it.
#[derive(Debug)]
pub(super) struct Rule {
    /// `null` counts as absent only where this is false.
    pub required: bool,
    /// What may stand there.
    pub shape: Shape,
}

/// The rule of a field that must be there.
pub(super) const fn required(shape: Shape) -> Rule {
    Rule { required: true, shape }
}

/// The rule of a field that may be left out or be `null`.
pub(super) const fn optional(shape: Shape) -> Rule {
    Rule { required: false, shape }
}

/// What may stand in a field.
#[derive(Debug)]
pub(super) enum Shape {
    /// Any text. A summary may be empty: its sender had nothing to say.
    Text,
    /// The name of a thing, which cannot be empty: nobody could refer to it.
    Name,
    /// Text of a fixed form.
    Form(Form),
    /// One of these words, in exactly this spelling.
    Choice(&'static [&'static str]),
    /// Any number.
    Number,
    /// A number between two others, both included.
    Between(i32, i32),
    /// The place of another field's word in the list of that field's choices, so that the two cannot disagree.
    PlaceOf {
        /// The field with the word.
        field: &'static str,
        /// The choices of that field.
        words: &'static [&'static str],
    },
    /// True or false.
    Flag,
    /// A list of texts: what the format's examples show as texts only, such as paths, ids, names and steps.
    Texts,
    /// A list of anything: what the examples show as objects, or show empty. Agents send both texts and objects here.
    List,
    /// An object with these fields, and any others.
    Object(&'static [Field]),
}

impl Shape {
    /// What should stand there, to end a sentence that begins with "wanted".
    pub fn wanted(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Name => "text that is not empty".to_owned(),
            Self::Form(form) => form.wanted().to_owned(),
            Self::Choice(words) => any_of(words),
            Self::Number => "a number".to_owned(),
            Self::Between(low, high) => format!("a number from {low} to {high}"),
            Self::PlaceOf { field, words } => {
                let places: Vec<String> =
                    words.iter().enumerate().map(|(place, word)| format!("{place} for {word}")).collect();
                format!("the number of the {field}: {}", places.join(", "))
            }
            Self::Flag => "true or false".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::List => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
        }
    }

    /// Whether the values are texts, so that a problem can show one as it is and not as JSON.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Name | Self::Form(_) | Self::Choice(_))
    }
}

fn any_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [firsts @ .., last] => format!("{} or {last}", firsts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_reads_as_the_end_of_a_sentence() {
        assert_eq!(Shape::Choice(&["low", "medium", "high"]).wanted(), "low, medium or high");
        assert_eq!(Shape::Choice(&["one"]).wanted(), "one");
        assert_eq!(Shape::Between(0, 100).wanted(), "a number from 0 to 100");
        let place = Shape::PlaceOf { field: "priority", words: &["urgent", "high"] };
        assert_eq!(place.wanted(), "the number of the priority: 0 for urgent, 1 for high");
    }
}
