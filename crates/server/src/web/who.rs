//! Whoever wrote or was written to, as a page shows them: a name, its first letters, a colour of its own.

use mail::messages::{Message, Vouched};

use super::markdown::line;

/// How many colours there are.
const COLOURS: u8 = 9;
/// How much of a name is shown, in characters.
const LONGEST: usize = 64;

/// Somebody on a page.
pub struct Who {
    /// The name, cut if it is long.
    pub name: String,
    /// The letters that stand for it.
    pub letters: String,
    pub colour: u8,
    /// Whether a person wrote this, and not an agent.
    pub is_human: bool,
    /// Whether it proved its name.
    pub is_verified: bool,
}

impl Who {
    /// Whoever wrote a message.
    pub fn wrote(message: &Message) -> Self {
        let is_human = message.vouched == Vouched::Human;
        Self { is_human, is_verified: message.vouched == Vouched::Verified, ..Self::called(&message.from) }
    }

    /// Somebody of that name.
    pub fn called(name: &str) -> Self {
        let sum = name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let colour = u8::try_from(sum % u32::from(COLOURS)).unwrap_or_default();
        Self { name: line(name, LONGEST), letters: letters(name), colour, is_human: false, is_verified: false }
    }
}

/// The capitals of a name that has two, else its first two letters.
fn letters(name: &str) -> String {
    let capitals: String = name.chars().filter(|letter| letter.is_uppercase()).take(2).collect();
    if capitals.chars().count() == 2 {
        return capitals;
    }
    name.chars().filter(|letter| letter.is_alphanumeric()).take(2).flat_map(char::to_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_for_a_name() {
        assert_eq!([letters("GreenDog"), letters("codex-2"), letters("Ω"), letters("!")], ["GD", "CO", "Ω", ""]);
    }

    #[test]
    fn a_name_has_one_colour_and_is_cut_if_it_is_long() {
        assert_eq!(Who::called("codex").colour, Who::called("codex").colour);
        assert!(Who::called("codex").colour < COLOURS);
        assert_eq!(Who::called(&"x".repeat(200)).name.chars().count(), LONGEST + 1);
    }
}
