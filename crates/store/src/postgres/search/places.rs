//! Where words stand in a text, and whether they stand near each other, as FTS5 says it.
//!
//! PostgreSQL's index tells only which words a message has; this decides about the message itself.

use mail::search::query::Sequence;

use crate::words::words;

/// Words one after the other; of the last, only the beginning if the second is so.
pub(super) type Phrase = (Vec<String>, bool);

/// The phrases of a NEAR. What holds no word is none.
pub(super) fn read(sequences: &[Sequence]) -> Vec<Phrase> {
    let read = sequences.iter().map(|sequence| (words(&sequence.text), sequence.is_prefix));
    read.filter(|(words, _)| !words.is_empty()).collect()
}

/// Where a phrase begins in a text, in its order; of its last word, only the beginning counts if `is_prefix`.
pub(super) fn places<'t>(
    phrase: &'t [String],
    text: &'t [String],
    is_prefix: bool,
) -> impl Iterator<Item = usize> + 't {
    let windows = text.windows(phrase.len().max(1)).enumerate();
    windows.filter(move |(_, place)| is_there(phrase, place, is_prefix)).map(|(at, _)| at)
}

/// Whether a text begins with a phrase.
pub(super) fn begins_with(phrase: &[String], text: &[String], is_prefix: bool) -> bool {
    text.get(..phrase.len()).is_some_and(|place| is_there(phrase, place, is_prefix))
}

/// Whether the phrases stand in a text with at most so many words between the end of each and the beginning of the one that
/// begins last. They may overlap.
pub(super) fn are_near(phrases: &[Phrase], most_between: u32, text: &[String]) -> bool {
    let most_between = usize::try_from(most_between).unwrap_or(usize::MAX);
    let mut places: Vec<_> =
        phrases.iter().map(|(words, is_prefix)| (words.len(), places(words, text, *is_prefix).peekable())).collect();
    let mut last: usize = 0;
    loop {
        let mut is_settled = !places.is_empty();
        for (length, places) in &mut places {
            let least = last.saturating_sub(*length + most_between);
            while places.next_if(|place| *place < least).is_some() {}
            let Some(place) = places.peek() else { return false };
            if *place > last {
                last = *place;
                is_settled = false;
            }
        }
        if is_settled || places.is_empty() {
            return is_settled;
        }
    }
}

fn is_there(phrase: &[String], place: &[String], is_prefix: bool) -> bool {
    let Some((last, first)) = phrase.split_last() else { return false };
    place.split_last().is_some_and(|(end, begin)| {
        begin == first && if is_prefix { end.starts_with(last.as_str()) } else { end == last }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(phrases: &[&str], most_between: u32, text: &str) -> bool {
        let sequence =
            |text: &&str| Sequence { text: text.trim_end_matches('*').into(), is_prefix: text.ends_with('*') };
        are_near(&read(&phrases.iter().map(sequence).collect::<Vec<_>>()), most_between, &words(text))
    }

    #[test]
    fn words_are_near_by_the_words_between_them_in_any_order() {
        let text = "a x x b x c d";
        assert!(near(&["a", "b"], 2, text) && !near(&["a", "b"], 1, text));
        assert!(near(&["b", "a"], 2, text), "in any order");
        assert!(near(&["a", "c d"], 4, text) && !near(&["a", "c d"], 3, text));
        assert!(near(&["c d", "a"], 4, text));
        assert!(near(&["a", "b", "c"], 4, text) && !near(&["a", "b", "c"], 3, text), "all of them within");
        assert!(near(&["a", "a"], 0, text), "they may overlap");
        assert!(near(&["c", "d*"], 0, "c dx") && !near(&["c", "d"], 9, "c dx"));
        assert!(!near(&["a", "z"], 100, text) && !near(&[";"], 5, text) && near(&["a", ";"], 5, text));
    }

    #[test]
    fn a_later_place_may_be_near_where_the_first_is_not() {
        assert!(near(&["a", "b"], 1, "a x x x b x a"));
        assert!(near(&["a", "b", "c"], 1, "c a x b x a b c b a"));
        assert!(!near(&["a", "b", "c"], 1, "a b x c a x b c"));
    }

    #[test]
    fn a_text_begins_with_its_first_words() {
        let begins = |phrase: &str, is_prefix| begins_with(&words(phrase), &words("red green"), is_prefix);
        assert!(begins("red", false) && begins("red gr", true) && begins("red green", false));
        assert!(
            !begins("green", false)
                && !begins("red gr", false)
                && !begins("red green blue", false)
                && !begins("", true)
        );
    }
}
