//! A Rust file as the checks see it: code without comments and literals, the literals by themselves, and where test
//! code lies.
//!
//! This is a scanner, not a parser: it knows where strings, characters and comments begin and end, and it counts
//! braces. It expands no macro and resolves no name.

use std::ops::RangeInclusive;

/// A scanned file. Lines count from 1 everywhere.
pub struct Source {
    /// The text with every comment and the inside of every literal blanked, so that lines and columns stay in place.
    pub code: String,
    /// What stands inside the string literals, raw ones too.
    pub strings: Vec<Text>,
    /// How many lines the file has.
    pub lines: usize,
    test_regions: Vec<TestRegion>,
}

/// The inside of a string literal, as it is written.
pub struct Text {
    /// The line on which the literal begins.
    pub line: usize,
    /// What stands between the quotes.
    pub text: String,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line of its `fn`.
    pub line: usize,
    /// How many lines it takes from `fn` to its closing brace.
    pub lines: usize,
}

/// `\u{10FFFF}` and its closing quote, with a little room for underscores.
const LONGEST_ESCAPE: usize = 16;

struct TestRegion {
    lines: RangeInclusive<usize>,
    /// The name of a module that lies in a file of its own.
    outside: Option<String>,
}

impl Source {
    /// Scans `text`, in time linear in its length.
    pub fn scan(text: &str) -> Self {
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0, line: 1, code: Vec::new(), strings: Vec::new() };
        scanner.run();
        let code = String::from_utf8_lossy(&scanner.code).into_owned();
        let test_regions = test_regions(&code);
        Self { code, strings: scanner.strings, lines: text.lines().count(), test_regions }
    }

    /// Whether `line` belongs to an item under `#[cfg(test)]`.
    pub fn is_test_line(&self, line: usize) -> bool {
        self.test_regions.iter().any(|region| region.lines.contains(&line))
    }

    /// The modules that this file declares under `#[cfg(test)]` and that lie in files of their own.
    pub fn test_modules(&self) -> impl Iterator<Item = &str> {
        self.test_regions.iter().filter_map(|region| region.outside.as_deref())
    }

    /// The blanked lines with their numbers.
    pub fn code_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Every function that has a body, in the order in which they end.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        let mut open: Vec<Option<Function>> = Vec::new();
        let mut heading: Option<Function> = None;
        let mut nesting = 0_usize;
        let mut after_fn = false;
        for (line, token) in tokens(&self.code) {
            if std::mem::take(&mut after_fn) && is_word(token) {
                heading = Some(Function { name: token.to_owned(), line, lines: 0 });
                nesting = 0;
                continue;
            }
            match token {
                "fn" => after_fn = true,
                "(" | "[" => nesting += 1,
                ")" | "]" => nesting = nesting.saturating_sub(1),
                ";" if nesting == 0 => heading = None,
                "{" => open.push(if nesting == 0 { heading.take() } else { None }),
                "}" => {
                    if let Some(mut function) = open.pop().flatten() {
                        function.lines = line + 1 - function.line;
                        found.push(function);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

/// Whether `name` occurs in `code` as a whole word that is followed by `tail`.
pub fn has_word(code: &str, name: &str, tail: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let rest = &code[at + name.len()..];
        let ends = !rest.starts_with(is_word_char);
        !before.is_some_and(is_word_char) && ends && rest.trim_start().starts_with(tail)
    })
}

/// Splits blanked code into words and single other characters, each with its line.
pub fn tokens(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.lines().enumerate().flat_map(|(index, line)| {
        let mut rest = line;
        std::iter::from_fn(move || {
            rest = rest.trim_start();
            let first = rest.chars().next()?;
            let length = if is_word_char(first) {
                rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (token, tail) = rest.split_at(length);
            rest = tail;
            Some((index + 1, token))
        })
    })
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| is_word_char(c) && !c.is_ascii_digit())
}

fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The items behind `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn test_regions(code: &str) -> Vec<TestRegion> {
    let mut regions = Vec::new();
    let mut tokens = tokens(code).peekable();
    while let Some((first, token)) = tokens.next() {
        if token != "#" || tokens.next_if(|(_, next)| *next == "[").is_none() {
            continue;
        }
        let attribute: Vec<&str> = tokens.by_ref().map(|(_, token)| token).take_while(|token| *token != "]").collect();
        let on_tests =
            attribute.starts_with(&["cfg", "("]) && attribute.contains(&"test") && !attribute.contains(&"not");
        if on_tests {
            let (last, outside) = end_of_item(first, &mut tokens);
            regions.push(TestRegion { lines: first..=last, outside });
        }
    }
    regions
}

/// Reads one item to its end: the last line, and the module's name when the item is `mod name;`.
fn end_of_item<'a>(first: usize, tokens: &mut impl Iterator<Item = (usize, &'a str)>) -> (usize, Option<String>) {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    let (mut last, mut previous, mut module) = (first, "", None);
    for (line, token) in tokens {
        last = line;
        match token {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            "{" => braces += 1,
            "}" if braces <= 1 => return (last, None),
            "}" => braces -= 1,
            ";" if braces == 0 && brackets == 0 => return (last, module),
            name if previous == "mod" => module = Some(name.to_owned()),
            _ => {}
        }
        previous = token;
    }
    (last, None)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    code: Vec<u8>,
    strings: Vec<Text>,
}

impl Scanner<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'/' if self.next_is(1, b'/') => self.blank_while(|rest| rest[0] != b'\n'),
                b'/' if self.next_is(1, b'*') => self.block_comment(),
                b'"' => self.string(),
                b'r' if !self.after_word() || self.after_literal_prefix() => self.raw_string_or_name(),
                b'\'' => self.character_or_lifetime(),
                _ => self.keep(1),
            }
        }
    }

    fn next_is(&self, ahead: usize, byte: u8) -> bool {
        self.bytes.get(self.at + ahead) == Some(&byte)
    }

    fn is_word_byte(byte: u8) -> bool {
        byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
    }

    fn after_word(&self) -> bool {
        self.at > 0 && Self::is_word_byte(self.bytes[self.at - 1])
    }

    /// Whether the byte before is the whole prefix of `br"…"` or `cr"…"`.
    fn after_literal_prefix(&self) -> bool {
        let before_prefix = self.at.checked_sub(2).and_then(|at| self.bytes.get(at));
        matches!(self.bytes.get(self.at.wrapping_sub(1)), Some(b'b' | b'c'))
            && !before_prefix.is_some_and(|byte| Self::is_word_byte(*byte))
    }

    fn keep(&mut self, count: usize) {
        let end = (self.at + count).min(self.bytes.len());
        for &byte in &self.bytes[self.at..end] {
            self.line += usize::from(byte == b'\n');
            self.code.push(byte);
        }
        self.at = end;
    }

    fn blank(&mut self, count: usize) {
        let end = (self.at + count).min(self.bytes.len());
        for &byte in &self.bytes[self.at..end] {
            self.line += usize::from(byte == b'\n');
            self.code.push(if byte == b'\n' { b'\n' } else { b' ' });
        }
        self.at = end;
    }

    fn blank_while(&mut self, more: impl Fn(&[u8]) -> bool) {
        while self.at < self.bytes.len() && more(&self.bytes[self.at..]) {
            self.blank(1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"/*") {
                depth += 1;
                self.blank(2);
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                self.blank(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.blank(1);
            }
        }
    }

    fn string(&mut self) {
        self.keep(1);
        let (start, line) = (self.at, self.line);
        while self.at < self.bytes.len() && self.bytes[self.at] != b'"' {
            self.blank(if self.bytes[self.at] == b'\\' { 2 } else { 1 });
        }
        self.end_string(start, line, 1);
    }

    fn raw_string_or_name(&mut self) {
        let hashes = self.bytes[self.at + 1..].iter().take_while(|byte| **byte == b'#').count();
        if !self.next_is(1 + hashes, b'"') {
            self.keep(1 + hashes);
            return;
        }
        self.keep(2 + hashes);
        let (start, line) = (self.at, self.line);
        let is_end =
            |rest: &[u8]| rest[0] == b'"' && rest.len() > hashes && rest[1..=hashes].iter().all(|byte| *byte == b'#');
        self.blank_while(|rest| !is_end(rest));
        self.end_string(start, line, 1 + hashes);
    }

    fn end_string(&mut self, start: usize, line: usize, closing: usize) {
        let text = String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned();
        self.strings.push(Text { line, text });
        self.keep(closing);
    }

    fn character_or_lifetime(&mut self) {
        let rest = &self.bytes[self.at + 1..];
        let inside = match rest.first() {
            // The byte behind the backslash may itself be a quote: '\''.
            Some(b'\\') => rest.iter().take(LONGEST_ESCAPE).skip(2).position(|byte| *byte == b'\'').map(|end| end + 2),
            // A character is at most four bytes; anything longer is a lifetime.
            Some(_) => rest.iter().take(5).skip(1).position(|byte| *byte == b'\'').map(|end| end + 1),
            None => None,
        };
        let is_character = |length: &usize| {
            std::str::from_utf8(&rest[..*length]).is_ok_and(|text| text.starts_with('\\') || text.chars().count() == 1)
        };
        match inside.filter(is_character) {
            Some(length) => {
                self.keep(1);
                self.blank(length);
                self.keep(1);
            }
            None => self.keep(1),
        }
    }
}

#[cfg(test)]
mod tests;
