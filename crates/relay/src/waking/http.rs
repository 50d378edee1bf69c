//! The server of OpenCode, which it has where it was started with a port. One request, without a client of HTTP.

use std::time::Duration;

use mail::wake_ups::WakeOutcome;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::sessions::Process;

/// How long it may take to answer.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The port that a process was told to listen on.
pub fn port_of(process: Process) -> Option<u16> {
    let words = process.arguments();
    let mut words = words.iter().map(String::as_str);
    let port = loop {
        match words.next()? {
            "--port" => break words.next()?,
            word => match word.strip_prefix("--port=") {
                Some(port) => break port,
                None => continue,
            },
        }
    };
    port.parse().ok().filter(|port| *port > 0)
}

/// Says something in a session.
pub async fn prompt(port: u16, session_id: &str, text: &str) -> WakeOutcome {
    // It stands in a path.
    if !session_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-') {
        return WakeOutcome::Refused;
    }
    let body = json!({ "parts": [{ "type": "text", "text": text }] }).to_string();
    let request = format!(
        "POST /session/{session_id}/prompt_async HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let asking = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut first = String::new();
        BufReader::new(stream).read_line(&mut first).await?;
        Ok::<_, std::io::Error>(first)
    };
    match timeout(LONGEST_WAIT, asking).await {
        Ok(Ok(first)) => match first.split(' ').nth(1) {
            Some("200" | "202" | "204") => WakeOutcome::Delivered,
            Some("404") => WakeOutcome::Gone,
            _ => WakeOutcome::Refused,
        },
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => WakeOutcome::Gone,
        _ => WakeOutcome::Refused,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn opencode_gets_the_request_that_was_recorded() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/waking/opencode.json")).unwrap();
        let request = recorded["request"].as_str().unwrap();
        let session = request.split('/').nth(2).unwrap().to_owned();
        let text = recorded["body"]["parts"][0]["text"].as_str().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut told, mut part) = (Vec::new(), [0; 1024]);
            while !told.ends_with(b"}]}") {
                let read = stream.read(&mut part).await.unwrap();
                told.extend_from_slice(&part[..read]);
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
            String::from_utf8(told).unwrap()
        });
        assert_eq!(prompt(port, &session, &text).await, WakeOutcome::Delivered);
        let told = heard.await.unwrap();
        assert!(told.starts_with(&format!("{request} HTTP/1.1\r\n")), "{told}");
        let body: Value = serde_json::from_str(told.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(body, recorded["body"]);
        assert_eq!(prompt(port, &session, &text).await, WakeOutcome::Gone, "nobody listens any more");
        assert_eq!(prompt(port, "x HTTP/1.1\r\n", &text).await, WakeOutcome::Refused);
    }
}
