//! Characters that are not for reading: a terminal obeys them, or shows those beside them in another order or place.
//!
//! What stands in their place is for whoever shows the text.

/// Whether a character steers instead of being shown. Line breaks and tabs do, too.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_marks_of_direction_steer_and_letters_do_not() {
        for letter in ['\x1b', '\u{9b}', '\0', '\x7f', '\r', '\n', '\u{202e}', '\u{2067}', '\u{2028}', '\u{feff}'] {
            assert!(steers(letter), "{letter:?}");
        }
        for letter in ['a', ' ', '漢', 'ü', '\u{301}', '🦀', '\u{200d}'] {
            assert!(!steers(letter), "{letter:?}");
        }
    }
}
