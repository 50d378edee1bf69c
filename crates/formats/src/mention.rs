//! Whom a text calls: `@name` anywhere in it, or the name at its very start.
//!
//! A name is called whole: `@codex-2` does not call `codex`. A name is literal text and may hold any characters; what
//! ends it is anything but a letter, a digit, `_` or `-` of ASCII. Which agents there are is not known here, so a text can
//! only be asked for the names that it may call.

use std::collections::HashSet;

use crate::channel::LONGEST_NAME;

/// How many names one `@`, or the start of a text, is tried as.
const MOST_FOR_ONE: usize = 8;
/// How many names a text is tried for, when each is as short as can be. A message may be addressed to a thousand.
const MOST_SHORTEST: usize = 1_024;
/// How many more it is tried for, of each number of words.
const MOST_LONGER: usize = 256;
/// How many `@` are looked at for longer names.
const MOST_CALLS_FOR_LONGER: usize = 4_096;

/// Whether a message that is addressed to `to` and says `text` calls this agent.
pub fn is_for(agent: &str, to: &str, text: &str) -> bool {
    !agent.is_empty() && (to == agent || mentions(agent, text) || opens(agent, text))
}

/// Whether the text holds `@name`. Case counts.
pub fn mentions(name: &str, text: &str) -> bool {
    can_be_called(name) && calls(text).any(|after| after.starts_with(name) && ends_name(after, name.len()))
}

/// Those of the names that the text does not mention.
pub fn not_mentioned<'n>(names: &[&'n str], text: &str) -> Vec<&'n str> {
    // A name of letters, digits, `_` and `-` alone is all that stands behind its `@`: one look at the text tells of every
    // such name, however many there are.
    let words: HashSet<&str> = calls(text).filter_map(|after| beginnings(after).next()).collect();
    let is_word = |name: &str| name.bytes().all(is_of_name);
    let is_missing = |name: &&str| if is_word(name) { !words.contains(name) } else { !mentions(name, text) };
    names.iter().copied().filter(is_missing).collect()
}

/// Whether the text starts with the name, in any case.
pub fn opens(name: &str, text: &str) -> bool {
    let start = text.get(..name.len());
    can_be_called(name) && start.is_some_and(|start| start.eq_ignore_ascii_case(name)) && ends_name(text, name.len())
}

/// The names that the text may mention, each once: the shortest for every `@`, in the order of the text, and then longer
/// ones. Of one `@` they are the first eight that end where a name can end, on the same line.
///
/// Most names are as short as can be, so that they are found whatever else the text holds.
pub fn candidates(text: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    let mut names: Vec<&str> = Vec::new();
    for nth in 0..MOST_FOR_ONE {
        let (most_calls, most) =
            if nth == 0 { (usize::MAX, MOST_SHORTEST) } else { (MOST_CALLS_FOR_LONGER, MOST_LONGER) };
        let called = calls(text).take(most_calls).filter_map(|after| beginnings(after).nth(nth));
        names.extend(called.filter(|name| seen.insert(*name)).take(most));
    }
    names
}

/// The names that the text may start with: the first eight that end where a name can end, on the first line.
pub fn openings(text: &str) -> Vec<&str> {
    beginnings(text).collect()
}

/// Longer names are nobody's, and would make the search slow.
fn can_be_called(name: &str) -> bool {
    !name.is_empty() && name.chars().nth(LONGEST_NAME).is_none()
}

/// What follows each `@` that can begin a mention.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let begins = move |at: usize| at == 0 || !is_of_name(bytes[at - 1]);
    text.match_indices('@').filter(move |(at, _)| begins(*at)).map(move |(at, _)| &text[at + 1..])
}

/// The beginnings of a text that are whole names. A name has no control characters, so a line's end is the end.
fn beginnings(text: &str) -> impl Iterator<Item = &str> {
    let letters = text.char_indices().take(LONGEST_NAME).take_while(|(_, letter)| !letter.is_control());
    let ends = letters.map(|(at, letter)| at + letter.len_utf8()).filter(|end| ends_name(text, *end));
    ends.take(MOST_FOR_ONE).map(|end| &text[..end])
}

/// Whether a name that ends there is not the beginning of a longer one.
fn ends_name(text: &str, end: usize) -> bool {
    text.as_bytes().get(end).is_none_or(|byte| !is_of_name(*byte))
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_a_whole_name() {
        for text in ["@codex", "@@codex", "é@codex", ".@codex.", "@codex-2 and @codex", "@codex@codex", "@codex\u{301}"]
        {
            assert!(mentions("codex", text), "{text}");
        }
        for text in
            ["", "@", "codex", "@Codex", "a@codex", "-@codex", "_@codex", "9@codex", "@codex_", "@codex9", "@ codex"]
        {
            assert!(!mentions("codex", text), "{text}");
        }
    }

    #[test]
    fn a_name_is_literal_text_and_may_overlap_itself() {
        assert!(mentions("Blue Lake", "hi @Blue Lake, go") && !mentions("Blue Lake", "hi @Blue  Lake"));
        assert!(mentions("a@a", "@a@ab @a@a") && mentions("é(", "@é("));
        assert!(mentions("a@a", "@a@a@ax"), "'@' ends a name");
        assert!(mentions(".@.", "x@.@.@."), "the second begins within the first, which does not count");
    }

    #[test]
    fn the_start_calls_in_any_case_and_whole() {
        assert!(opens("codex", "Codex: go") && opens("É.x", "É.X") && opens("codex", "codex"));
        assert!(!opens("É", "é go"), "only the case of ASCII is ignored");
        for text in ["", " codex", "\ncodex", "code", "codex-2", "codex_"] {
            assert!(!opens("codex", text), "{text:?}");
        }
        assert!(!opens("ab", "aé"), "a name that ends within a character");
    }

    #[test]
    fn nobody_is_called_by_an_empty_name_or_one_that_is_too_long() {
        assert!(!is_for("", "", "@ x") && !mentions("", "@ x") && !opens("", "x"));
        let long = "x".repeat(LONGEST_NAME);
        assert!(mentions(&long, &format!("@{long}")) && !mentions(&format!("{long}x"), &format!("@{long}x")));
    }

    #[test]
    fn candidates_are_what_can_be_a_name_on_that_line() {
        assert_eq!(
            candidates("hi @codex, joe@home @é\nx @codex"),
            [
                "codex",
                "é",
                "codex,",
                "codex, joe",
                "codex, joe@home",
                "codex, joe@home ",
                "codex, joe@home @",
                "codex, joe@home @é",
            ]
        );
        assert_eq!(openings("Blue Lake: go\nx"), ["Blue", "Blue Lake", "Blue Lake:", "Blue Lake: go"]);
        assert!(candidates("@\n @").iter().all(|name| !name.contains('\n')));
        assert!(openings("").is_empty() && candidates("@").is_empty());
    }

    #[test]
    fn who_is_not_mentioned_is_told_for_every_name_alike() {
        let long = "x".repeat(LONGEST_NAME);
        let texts = ["", "@", "@codex", "@codex-2, @é( and @Blue Lake.", "a@codex @@gemini", &format!("@{long}")];
        let names = ["codex", "codex-2", "é(", "Blue", "Blue Lake", "gemini", &long, ""];
        for text in texts {
            let expected: Vec<&str> = names.into_iter().filter(|name| !mentions(name, text)).collect();
            assert_eq!(not_mentioned(&names, text), expected, "{text}");
        }
    }

    #[test]
    fn of_a_thousand_names_none_is_lost_to_the_words_behind_them() {
        let names: Vec<String> = (0..1_000).map(|n| format!("agent-{n}")).collect();
        let text: String = names.iter().map(|name| format!("@{name}, look at this and that. ")).collect();
        let found = candidates(&text);
        assert!(names.iter().all(|name| found.contains(&name.as_str())));
        assert!(candidates("@a1, b c d e f g h i\n@Blue Lake").contains(&"Blue Lake"));
    }

    #[test]
    fn candidates_are_bounded_each_and_in_all() {
        assert_eq!(openings("a b c d e f g h i j k").len(), MOST_FOR_ONE);
        let long = "x".repeat(LONGEST_NAME);
        assert_eq!(openings(&long), [&long]);
        assert!(openings(&format!("{long}x y")).is_empty());
        let many: String = (0..2_000).map(|n| format!("@a{n}\n")).collect();
        assert_eq!(candidates(&many).len(), MOST_SHORTEST);
        let long: String = (0..2_000).map(|n| format!("@a {n} b c d e f g h i j\n")).collect();
        assert_eq!(candidates(&long).len(), 1 + (MOST_FOR_ONE - 1) * MOST_LONGER, "and one 'a'");
        assert_eq!(candidates(&"@a\n".repeat(100_000)), ["a"]);
    }
}
