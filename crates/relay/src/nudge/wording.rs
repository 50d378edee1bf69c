//! The text of a nudge, made safe for any terminal.
//!
//! It does not judge what the words say, and it knows no shell: the text is never part of a command line.

use formats::steers;

/// The most characters of a nudge.
const LONGEST: usize = 1_000;
/// What stands at the end of a text that was cut.
const CUT: char = '…';

/// The text on one line of at most 1,000 characters, in which nothing steers a terminal.
///
/// Above all no escape character is left: it could end a bracketed paste, and what follows would be keys.
pub fn safe_text(text: &str) -> String {
    let (mut safe, mut count) = (String::new(), 0);
    // Where the text ends if its last character has to make room for the mark of a cut.
    let mut before_last = 0;
    let mut is_space_pending = false;
    for letter in text.chars() {
        if letter.is_whitespace() || steers(letter) {
            is_space_pending = count > 0;
            continue;
        }
        let space = std::mem::take(&mut is_space_pending).then_some(' ');
        for letter in space.into_iter().chain([letter]) {
            if count == LONGEST {
                safe.truncate(safe[..before_last].trim_end().len());
                safe.push(CUT);
                return safe;
            }
            before_last = safe.len();
            safe.push(letter);
            count += 1;
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let hostile = "a\x1b[201~b\u{9b}31mc\rd\u{202e}e\x7f\u{2028}f\n\tg\0h";
        assert_eq!(safe_text(hostile), "a [201~b 31mc d e f g h");
        let every: String = (0..=0x2_ffff).filter_map(char::from_u32).filter(|letter| steers(*letter)).collect();
        assert!(every.chars().count() > 70);
        assert_eq!(safe_text(&every), "");
    }

    #[test]
    fn white_space_becomes_one_space_and_none_is_at_the_ends() {
        assert_eq!(safe_text(" \n you\u{a0}\t have \r\n mail \n"), "you have mail");
        assert_eq!(safe_text(" \n\t "), "");
    }

    #[test]
    fn what_a_shell_would_read_is_left_alone() {
        let text = "$(touch x); `y` 'z' \"w\" #{pane_id} ~ \\n ü漢🦀";
        assert_eq!(safe_text(text), text);
    }

    #[test]
    fn a_text_that_just_fits_is_whole_and_one_more_character_cuts_it() {
        let fits = "漢".repeat(LONGEST);
        assert_eq!(safe_text(&fits), fits);
        let cut = safe_text(&format!("{fits}x"));
        assert_eq!(cut, format!("{}…", "漢".repeat(LONGEST - 1)));
        let at_a_space = safe_text(&format!("{} bcd", "a".repeat(LONGEST - 2)));
        assert_eq!(at_a_space, format!("{}…", "a".repeat(LONGEST - 2)));
    }
}
