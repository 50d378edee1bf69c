//! The walk over the words of a text, which asks each rule about each word.
//!
//! A word is a run of ASCII letters, digits, `_` and `-`. Letters of other alphabets end it: many languages put no space
//! before a token.

use super::{Rule, headers, labels, names, private_keys, tokens, urls};

/// The secrets of a text, in their order. No two overlap.
pub struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

/// A secret, by its place in the text. The walk goes on behind its end, so that nothing is told twice.
#[derive(Debug, Clone, Copy)]
pub struct Secret {
    pub rule: Rule,
    pub start: usize,
    pub end: usize,
}

/// A word, by its place in the text.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    pub start: usize,
    pub end: usize,
}

impl<'a> Scan<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0 }
    }

    fn next_word(&mut self) -> Option<Word> {
        let mut start = self.at + self.text[self.at..].iter().position(|byte| is_word(*byte))?;
        let end = start + run(&self.text[start..], is_word);
        // In a JSON string the line before ends in `\n`, whose letter is no part of the word.
        if start > 0 && self.text[start - 1] == b'\\' && matches!(self.text[start], b'n' | b'r' | b't') {
            start += 1;
        }
        self.at = end;
        Some(Word { start, end })
    }
}

impl Iterator for Scan<'_> {
    type Item = Secret;

    fn next(&mut self) -> Option<Secret> {
        loop {
            let word = self.next_word()?;
            if word.start < word.end
                && let Some(secret) = secret_at(self.text, word)
            {
                self.at = secret.end;
                return Some(secret);
            }
        }
    }
}

fn secret_at(text: &[u8], word: Word) -> Option<Secret> {
    let next = text.get(word.end).copied();
    let length = word.end - word.start;
    // Most words are too short for most rules, or followed by the wrong thing.
    let may_be_a_token = length >= tokens::SHORTEST || (length <= tokens::LONGEST_DOTTED_MARK && next == Some(b'.'));
    if may_be_a_token && let Some(token) = tokens::at(text, word.start) {
        return Some(token);
    }
    match next? {
        b':' if text[word.end..].starts_with(b"://") => urls::after(text, word),
        b' ' => {
            let told = if length >= names::SHORTEST { labels::after(text, word) } else { None };
            told.or_else(|| headers::after(text, word)).or_else(|| private_keys::after(text, word))
        }
        b':' | b'=' | b'"' | b'\'' | b'`' | b'*' | b'>' | b'\\' | b'\t' if length >= names::SHORTEST => {
            labels::after(text, word).or_else(|| private_keys::after(text, word))
        }
        _ => None,
    }
}

/// Whether the byte belongs to a word.
pub fn is_word(byte: u8) -> bool {
    const WORD: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_' || byte as u8 == b'-';
            byte += 1;
        }
        table
    };
    WORD[byte as usize]
}

/// How many bytes at the start of `bytes` fulfil the condition.
pub fn run(bytes: &[u8], condition: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !condition(*byte)).unwrap_or(bytes.len())
}
