//! Just enough HTTP/1.1 to be a client with no opinions: a request is sent as given, and the answer is told as it came.
//!
//! Each request has a connection of its own. No redirect is followed and nothing is retried.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use super::{DEADLINE, Server};

/// A whole answer.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// An answer that is still being given: events of a stream.
pub struct Stream {
    /// The head of the answer.
    pub head: Answer,
    reader: BufReader<TcpStream>,
    unread: Vec<u8>,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body, read as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Whether the content is of this type, whatever its parameters.
    pub fn is(&self, content_type: &str) -> bool {
        self.header("content-type").is_some_and(|value| value.split(';').next() == Some(content_type))
    }
}

impl Server {
    /// POSTs a body to `/mcp` with no header but those that HTTP needs.
    pub fn post(&self, body: impl AsRef<[u8]>) -> Answer {
        self.send("POST", "/mcp", &[], body)
    }

    /// GETs a path.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "")
    }

    /// Sends a request and reads the whole answer.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
        self.try_send(method, path, headers, body).expect("the server answers")
    }

    /// Sends a request and reads the whole answer, if the server gives one.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> std::io::Result<Answer> {
        self.open(method, path, headers, body)?.whole()
    }

    /// Sends a request whose answer is a stream of events.
    pub fn listen(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Stream {
        let stream = self.open(method, "/mcp", headers, body).expect("the server answers");
        assert_eq!(stream.head.status, 200);
        assert!(stream.head.is("text/event-stream"), "{:?}", stream.head);
        stream
    }

    /// Sends a request and reads the head of the answer.
    pub fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> std::io::Result<Stream> {
        let mut connection = self.connect()?;
        let body = body.as_ref();
        let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !has_host {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        connection.write_all(head.as_bytes())?;
        // A server that refuses a body early may close before it has all of it; its answer is there all the same.
        let _ = connection.write_all(body);
        Stream::read(connection)
    }

    /// A connection on which nothing was said yet.
    pub fn connect(&self) -> std::io::Result<TcpStream> {
        let connection = TcpStream::connect(&self.address)?;
        connection.set_read_timeout(Some(DEADLINE))?;
        Ok(connection)
    }
}

/// Reads the whole answer to a request that was sent on this connection.
pub fn read_answer(connection: TcpStream) -> std::io::Result<Answer> {
    Stream::read(connection)?.whole()
}

impl Stream {
    fn read(connection: TcpStream) -> std::io::Result<Self> {
        let mut reader = BufReader::new(connection);
        let head = read_head(&mut reader)?;
        Ok(Self { head, reader, unread: Vec::new() })
    }

    fn whole(mut self) -> std::io::Result<Answer> {
        let mut body = Vec::new();
        match self.head.header("content-length").map(|length| length.parse::<usize>().expect("a length")) {
            Some(length) => {
                body.resize(length, 0);
                self.reader.read_exact(&mut body)?;
            }
            None => {
                while let Some(chunk) = self.chunk()? {
                    body.extend(chunk);
                }
            }
        }
        let body = String::from_utf8(body).expect("answers are UTF-8");
        Ok(Answer { body, ..self.head })
    }

    /// The data of the next event, passing over those lines that only keep the stream alive; `None` at its end.
    pub fn event(&mut self) -> Option<Value> {
        loop {
            while let Some(end) = self.unread.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.unread.drain(..end + 2).collect();
                let block = String::from_utf8(block).expect("events are UTF-8");
                if let Some(data) = block.lines().find_map(|line| line.strip_prefix("data: ")) {
                    return Some(serde_json::from_str(data).expect("an event holds JSON"));
                }
            }
            let chunk = self.chunk().expect("the stream says something, or ends, before the deadline")?;
            self.unread.extend(chunk);
        }
    }

    /// The next chunk of a chunked body; `None` at its end.
    fn chunk(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let size = usize::from_str_radix(line.trim(), 16).expect("a chunk begins with its size");
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk)?;
        chunk.truncate(size);
        Ok((size > 0).then_some(chunk))
    }
}

fn read_head(reader: &mut impl BufRead) -> std::io::Result<Answer> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("'{line}' is no status line"));
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    Ok(Answer { status, headers, body: String::new() })
}

/// Calls a tool at an address where a server may just have been killed; `None` if no answer came.
pub fn try_call(address: &str, tool: &str, arguments: &Value) -> Option<Value> {
    let request = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
    });
    let body = request.to_string();
    let mut connection = TcpStream::connect(address).ok()?;
    connection.set_read_timeout(Some(DEADLINE)).ok()?;
    let head =
        format!("POST /mcp HTTP/1.1\r\nConnection: close\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n", body.len());
    connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body.as_bytes())).ok()?;
    let answer = read_answer(connection).ok().filter(|answer| answer.status == 200)?;
    serde_json::from_str(&answer.body).ok()
}
