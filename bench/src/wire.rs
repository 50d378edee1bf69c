//! As much of HTTP/1.1 and MCP as a load generator needs: whole requests made beforehand, and where an answer ends.
//!
//! Not a client: no chunks, no redirects, no compression. An answer without a length is an error.

use std::ops::Range;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

/// How the answer to a call that was done ends.
pub const DONE: &[u8] = b"\"isError\":false}}";
/// How the answer to a call that was refused ends.
pub const REFUSED: &[u8] = b"\"isError\":true}}";

/// The longest head of an answer that is looked through.
const LONGEST_HEAD: usize = 4096;

/// A request, ready to be written.
pub struct Request {
    /// All of it, head and body.
    pub bytes: Vec<u8>,
    /// How the answer's body must end.
    pub ending: &'static [u8],
    /// How long the answer's body must be, if that is known.
    pub answer_length: Option<usize>,
}

impl Request {
    /// A call of a tool that must succeed.
    pub fn call(tool: &str, arguments: &Value) -> Self {
        Self::post(&tool_call(tool, arguments), DONE)
    }

    /// A POST to the MCP address.
    pub fn post(body: &str, ending: &'static [u8]) -> Self {
        let bytes = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { bytes: bytes.into_bytes(), ending, answer_length: None }
    }

    /// A GET.
    pub fn get(path: &str, ending: &'static [u8]) -> Self {
        let bytes = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        Self { bytes: bytes.into_bytes(), ending, answer_length: None }
    }

    /// A GET of somebody who takes compressed answers.
    pub fn get_compressed(path: &str) -> Self {
        let bytes = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n");
        Self { bytes: bytes.into_bytes(), ending: b"", answer_length: None }
    }

    /// Says what is wrong with an answer, if anything is.
    pub fn check(&self, status: u16, body: &[u8]) -> anyhow::Result<()> {
        let right = status == 200
            && body.ends_with(self.ending)
            && self.answer_length.is_none_or(|length| length == body.len());
        ensure!(right, "a wrong answer, status {status}, {} bytes: {}", body.len(), shown(body));
        Ok(())
    }
}

/// The JSON of a bare tool call.
pub fn tool_call(tool: &str, arguments: &Value) -> String {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
}

/// Where an answer stands in what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The status code.
    pub status: u16,
    /// Where the body is, or will be.
    pub body: Range<usize>,
}

/// Finds the answer that `read` begins with; `None` while its head is not complete.
pub fn frame(read: &[u8]) -> anyhow::Result<Option<Frame>> {
    let looked_through = &read[..read.len().min(LONGEST_HEAD)];
    let Some(head_end) = looked_through.windows(4).position(|window| window == b"\r\n\r\n") else {
        ensure!(read.len() < LONGEST_HEAD, "an answer without an end of its head: {}", shown(read));
        return Ok(None);
    };
    let head = std::str::from_utf8(&read[..head_end]).context("an answer's head is no text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse::<usize>().ok() } else { None }
    });
    let (Some(status), Some(length)) = (status, length) else {
        bail!("an answer without a status or a length: {}", shown(read));
    };
    let begin = head_end + 4;
    Ok(Some(Frame { status, body: begin..begin.saturating_add(length) }))
}

fn shown(bytes: &[u8]) -> String {
    const MOST: usize = 600;
    String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_framed_as_soon_as_its_head_is_there() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\ncontent-length: 5\r\n\r\nhel";
        let begin = answer.len() - 3;
        assert_eq!(frame(answer).unwrap(), Some(Frame { status: 200, body: begin..begin + 5 }));
        assert_eq!(frame(&answer[..begin - 1]).unwrap(), None);
    }

    #[test]
    fn an_answer_that_cannot_be_framed_is_an_error() {
        assert!(frame(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(frame(b"hello\r\n\r\n").is_err());
        assert!(frame(&[b'x'; LONGEST_HEAD]).is_err());
    }

    #[test]
    fn an_answer_of_another_status_ending_or_length_is_wrong() {
        let mut request = Request::call("health_check", &json!({}));
        let done = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}"#;
        let refused = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#;
        assert!(request.check(200, done).is_ok());
        assert!(request.check(503, done).is_err());
        assert!(request.check(200, refused).is_err());
        request.answer_length = Some(done.len());
        assert!(request.check(200, done).is_ok());
        request.answer_length = Some(done.len() + 1);
        assert!(request.check(200, done).is_err());
    }
}
