//! Lines in, JSON lines out: one answer for every line, in order.
//!
//! A line that cannot be answered well gets an answer that says so, and the next line is read all the same. What a line
//! means is for the command. An answer is held back only while more lines are at hand, so that a program at the other end
//! of two pipes may wait for each one.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use formats::Problem;
use serde_json::Value;

use super::given::open;
use crate::output::text::json_line;

/// The longest line, and the longest text from standard input or a file, in bytes.
pub const LONGEST: usize = 32 << 20;

/// A line as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputLine<'a> {
    /// A line without its line end.
    Text(&'a str),
    /// Bytes that are no UTF-8.
    NotText,
    /// More bytes than are held.
    TooLong,
}

impl<'a> InputLine<'a> {
    /// The text of the line, or what is wrong with it.
    pub fn text(self) -> Result<&'a str, Problem> {
        match self {
            Self::Text(text) => Ok(text),
            Self::NotText => Err(Problem::wrong("", "bytes that are not UTF-8", "UTF-8 text")),
            Self::TooLong => Err(Problem::wrong("", "a longer line", format!("a line of at most {LONGEST} bytes"))),
        }
    }
}

/// Prints the answer to each line of a file, or of standard input.
pub fn answer_file(file: Option<&Path>, answer: impl FnMut(InputLine<'_>) -> Value) -> anyhow::Result<ExitCode> {
    answer_each(open(file)?, io::stdout().lock(), LONGEST, answer)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the answer to each line of `input`. A reader that goes away ends it without complaint.
fn answer_each(
    input: impl Read,
    output: impl Write,
    longest: usize,
    answer: impl FnMut(InputLine<'_>) -> Value,
) -> anyhow::Result<()> {
    match copy(Lines::new(input, longest), output, answer) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot go on"),
    }
}

fn copy(
    mut lines: Lines<impl Read>,
    output: impl Write,
    mut answer: impl FnMut(InputLine<'_>) -> Value,
) -> io::Result<()> {
    let mut output = io::BufWriter::new(output);
    while let Some(line) = lines.next()? {
        let text = json_line(&answer(line));
        output.write_all(text.as_bytes())?;
        output.write_all(b"\n")?;
        if !lines.input.buffer().contains(&b'\n') {
            output.flush()?;
        }
    }
    output.flush()
}

/// The lines of an input, each in the same buffer.
struct Lines<R> {
    input: BufReader<R>,
    longest: usize,
    line: Vec<u8>,
}

impl<R: Read> Lines<R> {
    fn new(input: R, longest: usize) -> Self {
        Self { input: BufReader::with_capacity(64 << 10, input), longest, line: Vec::new() }
    }

    fn next(&mut self) -> io::Result<Option<InputLine<'_>>> {
        self.line.clear();
        // Two bytes more than the longest line are its line end.
        let most = self.longest as u64 + 2;
        if (&mut self.input).take(most).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        let is_ended = self.line.ends_with(b"\n");
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = if is_ended { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        if line.len() > self.longest {
            if !is_ended {
                self.input.skip_until(b'\n')?;
            }
            return Ok(Some(InputLine::TooLong));
        }
        Ok(Some(std::str::from_utf8(line).map_or(InputLine::NotText, InputLine::Text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], longest: usize) -> Vec<String> {
        let mut lines = Lines::new(bytes, longest);
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            read.push(match line {
                InputLine::Text(text) => text.to_owned(),
                other => format!("{other:?}"),
            });
        }
        read
    }

    #[test]
    fn every_line_is_read_but_the_end_of_the_input_is_none() {
        assert_eq!(read(b"a\n\nb\r\n\n", 9), ["a", "", "b", ""]);
        assert_eq!(read(b"a\nb\r", 9), ["a", "b\r"]);
        assert!(read(b"", 9).is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_or_no_text_does_not_hide_the_next() {
        assert_eq!(read(b"1234\n12345\n123456789\r\n\xff\nb\n", 4), ["1234", "TooLong", "TooLong", "NotText", "b"]);
        assert_eq!(read(b"1234\r\n12345\r\n123456\n1234567", 4), ["1234", "TooLong", "TooLong", "TooLong"]);
        assert_eq!(read(b"1234", 4), ["1234"]);
    }

    #[test]
    fn an_answer_is_one_line_for_every_reader() {
        let mut output = Vec::new();
        let echo = |line: InputLine<'_>| match line {
            InputLine::Text(text) => text.into(),
            _ => Value::Null,
        };
        answer_each("a\u{2028}b\u{2029}\u{85}c\r\n".as_bytes(), &mut output, 99, echo).unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), "\"a\\u2028b\\u2029\\u0085c\"\n");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(answer_each(&b"a\nb\n"[..], Gone, 9, |_| 1.into()).is_ok());
    }
}
