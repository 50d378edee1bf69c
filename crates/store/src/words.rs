//! The words of a text, as SQLite's `unicode61` tokenizer finds them, and the words by which PostgreSQL finds a message.
//!
//! PostgreSQL's own parser sees hosts, versions and hyphens where SQLite sees words, so both engines are given the same
//! words. Whether a message matches is decided on them; nothing here knows SQL. The tables of the tokenizer stand in
//! `words/unicode61.txt`, taken from it character by character; a test compares them with it.

use std::sync::LazyLock;

use mail::ids::{AgentId, ProjectId};

/// The longest word, in bytes: of a longer one the beginning counts.
const LONGEST: usize = 32 * 1024;
/// The longest word that PostgreSQL is given; it knows none above 2046 bytes.
pub(crate) const LONGEST_KEPT: usize = 1_000;
/// How many bytes of words PostgreSQL is given of one message; it takes no more than a mebibyte.
const MOST_KEPT: usize = 900_000;

/// What is known by its first letter among the words that PostgreSQL keeps.
pub(crate) const PROJECT: char = 'p';
/// As [`PROJECT`]: who wrote it.
pub(crate) const SENDER: char = 'a';
/// As [`PROJECT`]: a word of the subject.
pub(crate) const SUBJECT: char = 's';
/// As [`PROJECT`]: a word of the body.
pub(crate) const BODY: char = 'b';
/// Stands for the words of a message that has too many to keep.
pub(crate) const MORE: &str = "o";

/// Which characters make words, and what stands for each.
struct Tables {
    /// The first and the last of each run.
    separators: Vec<u32>,
    marks: Vec<u32>,
    /// A letter and what stands for it, in the order of letters.
    folds: Vec<(char, char)>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let part = |number| {
        let lines = include_str!("words/unicode61.txt").split("\n\n").nth(number).into_iter().flat_map(str::lines);
        lines.filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
    };
    let code = |digits| u32::from_str_radix(digits, 16).expect("the table holds hexadecimal digits");
    let run = |run: &'static str| {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        [code(first), code(last)]
    };
    let fold = |group: &'static str| {
        let small = group.chars().next().expect("a group is not empty");
        group.chars().skip(1).map(move |letter| (letter, small))
    };
    let mut folds: Vec<(char, char)> = part(2).flat_map(fold).collect();
    folds.sort_unstable();
    Tables { separators: part(0).flat_map(run).collect(), marks: part(1).flat_map(run).collect(), folds }
});

/// The words of a text, in their order.
pub(crate) fn words(text: &str) -> Vec<String> {
    let tables = &*TABLES;
    let mut found = Vec::new();
    let mut word = String::new();
    for c in text.chars() {
        let code = u32::from(c);
        if code < 128 && c.is_ascii_alphanumeric() {
            word.push(c.to_ascii_lowercase());
        } else if code < 128 || is_in(&tables.separators, code) {
            finish(&mut found, &mut word);
        } else if !is_in(&tables.marks, code) {
            let fold = tables.folds.binary_search_by_key(&c, |(letter, _)| *letter);
            word.push(fold.map_or(c, |place| tables.folds[place].1));
        } else if word.is_empty() {
            finish(&mut found, &mut word);
        }
    }
    finish(&mut found, &mut word);
    found
}

fn finish(found: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        word.truncate(word.floor_char_boundary(LONGEST));
        found.push(std::mem::take(word));
    }
}

/// Whether a code is in one of the runs.
fn is_in(runs: &[u32], code: u32) -> bool {
    let place = runs.partition_point(|bound| *bound < code);
    // Between a first and its last, or just on a first.
    place % 2 == 1 || runs.get(place) == Some(&code)
}

/// What stands in PostgreSQL's column of words, in the form in which it reads it.
pub(crate) fn kept_words(project: ProjectId, sender: AgentId, subject: &str, body: &str) -> String {
    let mut all = vec![format!("{PROJECT}{project}"), format!("{SENDER}{sender}")];
    for (field, text) in [(SUBJECT, subject), (BODY, body)] {
        all.extend(words(text).iter().map(|word| format!("{field}{}", cut(word))));
    }
    all.sort_unstable();
    all.dedup();
    let mut size = 0;
    let fitting = all.iter().take_while(|word| {
        size += word.len();
        size <= MOST_KEPT
    });
    let fitting = fitting.count();
    if fitting < all.len() {
        // What is left out may be anything that comes late in the order, also whose it is.
        all.truncate(fitting);
        all.extend([MORE.to_owned(), format!("{PROJECT}{project}"), format!("{SENDER}{sender}")]);
    }
    all.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// As much of a word as PostgreSQL is given.
pub(crate) fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(LONGEST_KEPT)]
}

/// A word as PostgreSQL reads it. Words hold no quote and no backslash; if one did, it would be written twice.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests;
