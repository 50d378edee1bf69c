//! Reads server-sent events: bytes in, the data of each event out.
//!
//! Only `data` is kept, since nothing else means anything to MCP's messages. Takes linear time however the bytes are cut,
//! and never holds more than it was told to.

use std::collections::VecDeque;

/// An event that is larger than may be held.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// Keeps what is unfinished between two pieces of a stream.
pub struct Decoder {
    largest: usize,
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    after_return: bool,
}

impl Decoder {
    /// A decoder at the beginning of a stream. Line and data together may have `largest` bytes.
    pub fn new(largest: usize) -> Self {
        Self { largest, line: Vec::new(), data: None, after_return: false }
    }

    /// Takes the next piece of the stream and adds the data of every event that it ends.
    pub fn push(&mut self, mut chunk: &[u8], ready: &mut VecDeque<Vec<u8>>) -> Result<(), TooLarge> {
        while let Some(&first) = chunk.first() {
            // A return with a line feed behind it is one end of a line, even if they come in two pieces.
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                chunk = &chunk[1..];
                continue;
            }
            let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let taken = end.unwrap_or(chunk.len());
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) + taken > self.largest {
                return Err(TooLarge);
            }
            self.line.extend_from_slice(&chunk[..taken]);
            let Some(end) = end else {
                return Ok(());
            };
            self.after_return = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            self.end_line(ready);
        }
        Ok(())
    }

    fn end_line(&mut self, ready: &mut VecDeque<Vec<u8>>) {
        if self.line.is_empty() {
            ready.extend(self.data.take().filter(|data| !data.is_empty()));
            return;
        }
        let (field, value) = match self.line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&self.line[..colon], &self.line[colon + 1..]),
            None => (&self.line[..], &[][..]),
        };
        if field == b"data" {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            }
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(pieces: &[&[u8]]) -> Vec<String> {
        let mut decoder = Decoder::new(1024);
        let mut ready = VecDeque::new();
        for piece in pieces {
            decoder.push(piece, &mut ready).unwrap();
        }
        ready.into_iter().map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let stream =
            b": hello\r\n\r\nid: 1\nevent: message\ndata: {\"a\":1}\n\ndata:b\r\rdata: c\r\ndata: d\r\n\r\n:\n\n";
        let whole = decoded(&[stream]);
        assert_eq!(whole, ["{\"a\":1}", "b", "c\nd"]);
        for cut in 0..stream.len() {
            assert_eq!(decoded(&[&stream[..cut], &stream[cut..]]), whole, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(decoded(&bytes), whole);
    }

    #[test]
    fn an_event_that_was_not_ended_is_no_event() {
        assert!(decoded(&[b"data: half"]).is_empty());
        assert!(decoded(&[b"data: half\n"]).is_empty());
        assert!(decoded(&[b"data\n\n", b"data:\n\n", b"event: x\n\n"]).is_empty());
    }

    #[test]
    fn what_is_held_is_bounded_in_one_line_and_over_many() {
        let mut ready = VecDeque::new();
        assert_eq!(Decoder::new(8).push(b"data: 12", &mut ready), Ok(()));
        assert_eq!(Decoder::new(8).push(b"data: 123", &mut ready), Err(TooLarge));
        let mut decoder = Decoder::new(64);
        let refused = (0..64).any(|_| decoder.push(b"data: 1234\n", &mut ready).is_err());
        assert!(refused);
        let mut decoder = Decoder::new(64);
        assert!((0..64).all(|_| decoder.push(b"data: 1234\n\n", &mut ready).is_ok()));
    }
}
