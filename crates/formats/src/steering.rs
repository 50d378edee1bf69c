//! Characters that are not for reading: a terminal obeys them, or shows those beside them in another order or place.
//!
//! In a text that is shown a space stands for those that are white space, and `�` for the others.

/// Whether a character steers instead of being shown. Line breaks and tabs do, too.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
        )
}

/// The characters of a text on one line: every run of white space is one space, none stands at either end, and nothing
/// steers.
pub fn one_line(text: &str) -> impl Iterator<Item = char> {
    let (mut has_begun, mut is_pending) = (false, false);
    let spaced = text.chars().map(shown).map(move |letter| {
        if letter == ' ' {
            is_pending = has_begun;
            return [None, None];
        }
        has_begun = true;
        [std::mem::take(&mut is_pending).then_some(' '), Some(letter)]
    });
    spaced.flatten().flatten()
}

/// The text with its own line breaks and tabs, which code needs, and nothing else that steers.
pub fn plain_lines(text: &str) -> String {
    let kept = |letter| if letter == '\t' { letter } else { shown(letter) };
    let lines = text.lines().map(|line| line.chars().map(kept).collect::<String>());
    lines.collect::<Vec<_>>().join("\n")
}

fn shown(letter: char) -> char {
    match letter {
        letter if letter.is_whitespace() => ' ',
        letter if steers(letter) => char::REPLACEMENT_CHARACTER,
        letter => letter,
    }
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

    #[test]
    fn a_text_that_is_shown_steers_nothing() {
        let hostile = " a\x1b[2Jb\r\n\tc\u{202e}\u{2028}d ";
        assert_eq!(one_line(hostile).collect::<String>(), "a�[2Jb c� d");
        assert_eq!(plain_lines(hostile), " a�[2Jb\n\tc� d ");
    }
}
