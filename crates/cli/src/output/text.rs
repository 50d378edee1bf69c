//! Text that others wrote, made fit for a terminal.
//!
//! A terminal obeys control characters, and some characters turn the order of others around. Mail may hold any of them,
//! so none is passed on. How much room a text takes is decided here, too.

use formats::{one_line, steers};
use serde_json::Value;
use unicode_width::UnicodeWidthChar;

/// What stands at the end of text that was cut.
const CUT: char = '…';
/// How many characters may stand in one column, marks above and below counted.
const MOST_IN_A_COLUMN: usize = 4;

/// The text on one line, at most `width` columns wide; `…` at its end if there was more.
pub fn line(text: &str, width: usize) -> String {
    let (mut shown, mut columns, mut count) = (String::new(), 0, 0);
    // The place before the last column, where a cut would be.
    let mut before_last = 0;
    for letter in one_line(text) {
        columns += letter.width().unwrap_or(0);
        count += 1;
        if columns > width || count > width.saturating_mul(MOST_IN_A_COLUMN) {
            shown.truncate(shown[..before_last].trim_end().len());
            if width > 0 {
                shown.push(CUT);
            }
            return shown;
        }
        shown.push(letter);
        if columns < width {
            before_last = shown.len();
        }
    }
    shown
}

/// A word as a shell reads it, in a command that somebody is advised to run.
pub fn shell_word(word: &str) -> String {
    let word = unbroken(word);
    shlex::try_quote(&word).map_or_else(|_| word.clone(), |quoted| quoted.into_owned())
}

/// The text on one line, all of it.
pub fn unbroken(text: &str) -> String {
    one_line(text).collect()
}

/// How many columns a text takes that was made fit before.
pub fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// The text with its own line breaks and tabs, which code needs, and nothing else that moves the cursor.
pub fn lines(text: &str) -> String {
    formats::plain_lines(text)
}

/// The text on lines of at most `width` columns, with its own line breaks and the blanks at the start of its lines. Words
/// stay whole where they fit.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut told = Vec::new();
    for own in lines(text).replace('\t', "    ").lines() {
        let (mut line, mut columns) = (String::new(), 0);
        for word in own.split_inclusive(' ') {
            if columns > 0 && columns + self::width(word.trim_end()) > width {
                told.push(std::mem::take(&mut line));
                columns = 0;
            }
            for letter in word.chars() {
                let wide = letter.width().unwrap_or(0);
                let is_over = columns + wide > width;
                if is_over && letter == ' ' {
                    continue;
                }
                if is_over {
                    told.push(std::mem::take(&mut line));
                    columns = 0;
                }
                line.push(letter);
                columns += wide;
            }
        }
        told.push(line);
    }
    told.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// JSON on one line. What JSON need not escape and a terminal obeys is escaped too.
pub fn json_line(value: &Value) -> String {
    let plain = value.to_string();
    if !plain.chars().any(steers) {
        return plain;
    }
    let mut escaped = String::with_capacity(plain.len() + 16);
    for letter in plain.chars() {
        // Outside of strings JSON has ASCII alone, so all of these are inside of one.
        if steers(letter) { escaped.push_str(&format!("\\u{:04x}", u32::from(letter))) } else { escaped.push(letter) }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const HOSTILE: &str = "a\x1b[2J\x1b]0;title\x07b\u{9b}31mc\rd\u{202e}e\x7f\u{2028}f\n\tg";

    #[test]
    fn no_text_can_steer_a_terminal() {
        let told = [line(HOSTILE, 100), unbroken(HOSTILE), lines(HOSTILE), json_line(&json!({ "text": HOSTILE }))];
        for text in told {
            assert!(!text.replace(['\n', '\t'], "").chars().any(steers), "{text:?}");
        }
        assert_eq!(line(HOSTILE, 100), "a�[2J�]0;title�b�31mc d�e� f g");
        assert_eq!(unbroken(HOSTILE), line(HOSTILE, 100));
        assert_eq!(lines("a\x1b\r\nb\tc"), "a�\nb\tc");
    }

    #[test]
    fn json_says_the_same_however_it_is_escaped() {
        let value = json!({ "text": HOSTILE, "plain": "ü漢" });
        assert_eq!(serde_json::from_str::<Value>(&json_line(&value)).unwrap(), value);
    }

    #[test]
    fn a_line_that_just_fits_is_whole_and_one_more_is_cut() {
        assert_eq!(line("abcde", 5), "abcde");
        assert_eq!(line("abcdef", 5), "abcd…");
        assert_eq!(line("ab  \n cd ", 5), "ab cd");
        assert_eq!(line("漢字漢", 6), "漢字漢");
        assert_eq!(line("漢字漢字", 6), "漢字…");
        assert_eq!((line("x", 0), line("", 0)), (String::new(), String::new()));
        for wide in 0..8 {
            assert!(width(&line("漢a字b漢c", wide)) <= wide);
        }
    }

    #[test]
    fn a_text_is_wrapped_at_its_blanks_and_a_word_only_where_it_has_to() {
        assert_eq!(wrapped("one two three\n\n  four", 8), ["one two", "three", "", "  four"]);
        assert_eq!(wrapped("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("abcd  efgh", 4), ["abcd", "efgh"]);
        assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(wrapped("a\tb\x1b[2J", usize::MAX), ["a    b�[2J"]);
        assert_eq!(wrapped("", 10), [""; 0]);
        let long = "x ".repeat(100_000);
        assert_eq!(wrapped(&long, 2).len(), 100_000, "and in linear time");
    }

    #[test]
    fn marks_without_width_do_not_pile_up() {
        let pile = line(&format!("a{}", "\u{301}".repeat(1_000)), 10);
        assert!(pile.chars().count() <= 10 * MOST_IN_A_COLUMN + 1, "{}", pile.chars().count());
    }
}
