//! The HTTP door itself: pages in a browser, bodies that are too much or broken, and what is counted.
//!
//! Who is let in is in `trust`; what clients of the protocol rely on is in `http_contract`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::json;

use crate::harness::http::{Answer, read_answer};
use crate::harness::mcp::{request, tool_call};
use crate::harness::{Place, Server};

const PAGE: &str = "https://desk.example";
/// The largest request of a server without settings.
const LARGEST: usize = 25 * 1024 * 1024;

fn health() -> String {
    tool_call("health_check", &json!({}))
}

fn error_code(answer: &Answer) -> String {
    answer.json()["error"]["code"].as_str().expect("a refusal has a code").to_owned()
}

/// A server with a token that pages of one origin may call.
fn open_to_a_page() -> Server {
    let settings = format!("token = \"t\"\nallowed_origins = [\"{PAGE}\"]");
    Place::with_settings(&settings).serve()
}

/// The words of a header that is a list.
fn words(answer: &Answer, header: &str) -> Vec<String> {
    let value = answer.header(header).unwrap_or_else(|| panic!("no {header} in {answer:?}"));
    value.split(',').map(|word| word.trim().to_ascii_lowercase()).collect()
}

fn cors_headers(answer: &Answer) -> Vec<&(String, String)> {
    answer.headers.iter().filter(|(name, _)| name.starts_with("access-control-")).collect()
}

#[test]
fn a_page_that_may_call_is_told_so_before_it_has_a_token() {
    let server = open_to_a_page();
    for path in ["/mcp", "/mcp/"] {
        let asked = [("Origin", PAGE), ("Access-Control-Request-Method", "POST")];
        let answer = server.send("OPTIONS", path, &asked, "");
        assert_eq!((answer.status, answer.body.as_str()), (204, ""), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
        assert_eq!(answer.header("vary"), Some("Origin"));
        let methods = words(&answer, "access-control-allow-methods");
        assert!(["post", "get", "delete"].iter().all(|method| methods.contains(&(*method).to_owned())), "{methods:?}");
        let allowed = words(&answer, "access-control-allow-headers");
        for sent in [
            "content-type",
            "authorization",
            "accept",
            "mcp-protocol-version",
            "mcp-session-id",
            "mcp-method",
            "mcp-name",
            "last-event-id",
        ] {
            assert!(allowed.contains(&sent.to_owned()), "{sent} in {allowed:?}");
        }
        assert!(answer.header("access-control-max-age").is_some_and(|age| age.parse::<u32>().is_ok()));
    }
}

#[test]
fn a_page_that_may_call_can_read_every_answer_and_its_session() {
    let server = open_to_a_page();
    let token = ("Authorization", "Bearer t");
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {} });
    let begun = server.send("POST", "/mcp", &[token, ("Origin", PAGE)], request("initialize", &params));
    assert!(begun.status == 200 && begun.header("mcp-session-id").is_some(), "{begun:?}");
    let refused = server.send("POST", "/mcp", &[("Origin", PAGE)], health());
    assert_eq!(refused.status, 401, "permission to ask is no permission to come in");
    for answer in [begun, refused] {
        assert_eq!(answer.header("access-control-allow-origin"), Some(PAGE));
        assert_eq!(answer.header("access-control-expose-headers"), Some("mcp-session-id"));
        assert_eq!(answer.header("vary"), Some("Origin"));
    }
}

#[test]
fn a_foreign_page_is_told_nothing_and_whoever_is_no_page_needs_no_telling() {
    let server = open_to_a_page();
    let token = ("Authorization", "Bearer t");
    for method in ["OPTIONS", "POST"] {
        for foreign in ["https://evil.example", "null", "https://desk.example.evil.example"] {
            let answer = server.send(method, "/mcp", &[token, ("Origin", foreign)], health());
            assert_eq!(
                (answer.status, error_code(&answer).as_str()),
                (403, "ORIGIN_NOT_ALLOWED"),
                "{method} {foreign}"
            );
            assert!(cors_headers(&answer).is_empty(), "{answer:?}");
        }
        let rebound = server.send(method, "/mcp", &[token, ("Origin", PAGE), ("Host", "evil.example")], health());
        assert_eq!((rebound.status, cors_headers(&rebound).len()), (403, 0));
    }
    let plain = server.send("POST", "/mcp", &[token], health());
    assert_eq!((plain.status, cors_headers(&plain).len()), (200, 0));
    assert_eq!(server.send("OPTIONS", "/mcp", &[token], "").status, 405);
}

/// A request that says how long its body is, waits to be told to go on, and then sends nothing.
fn begin_large(server: &Server, length: usize) -> TcpStream {
    let mut connection = server.connect().expect("the server listens");
    let head = format!("Host: {}\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n\r\n", server.address);
    write!(connection, "POST /mcp HTTP/1.1\r\n{head}").expect("the server takes the head");
    connection
}

#[test]
fn bodies_that_together_are_too_much_are_refused_before_they_are_read() {
    let server = Server::start();
    let mut under_way: Vec<TcpStream> = (0..10).map(|_| begin_large(&server, LARGEST)).collect();
    for connection in &mut under_way {
        let mut told = [0; 12];
        connection.read_exact(&mut told).expect("the server answers");
        assert_eq!(&told, b"HTTP/1.1 100", "there is room for ten");
    }
    let refused = read_answer(begin_large(&server, LARGEST)).expect("the server answers");
    assert_eq!((refused.status, error_code(&refused).as_str()), (503, "BUSY"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.post(health()).status, 200, "there is room for what is small");
    drop(under_way.pop());
    server.until_under_way(9);
    let mut next = begin_large(&server, LARGEST);
    let mut told = [0; 12];
    next.read_exact(&mut told).expect("the server answers");
    assert_eq!(&told, b"HTTP/1.1 100", "who goes away makes room");
}

#[test]
fn a_body_that_breaks_off_or_is_malformed_is_a_bad_request_and_not_too_large() {
    let server = Server::start();
    let sent = |head: &str, body: &str| {
        let mut connection = server.connect().expect("the server listens");
        write!(connection, "POST /mcp HTTP/1.1\r\nHost: {}\r\n{head}\r\n\r\n{body}", server.address)
            .expect("the server takes the request");
        connection
    };
    let chunked = sent("Transfer-Encoding: chunked", "zz\r\nno size\r\n0\r\n\r\n");
    let broken_off = sent("Content-Length: 100", "{");
    broken_off.shutdown(Shutdown::Write).expect("the connection is open");
    for connection in [chunked, broken_off] {
        let answer = read_answer(connection).expect("the server answers");
        assert_eq!((answer.status, error_code(&answer).as_str()), (400, "MALFORMED_REQUEST"));
    }
}

#[test]
fn every_call_of_a_tool_is_counted_and_names_of_no_tool_are_not() {
    let server = Server::start();
    server.call("health_check", json!({}));
    server.refused("whois", json!({}));
    server.refused("whois", json!({ "project_key": "/nowhere", "agent_name": "GreenDog" }));
    server.rpc("tools/call", json!({ "name": "made_up", "arguments": {} }));
    let metrics = server.get("/metrics").body;
    for (tool, outcome) in [("health_check", "ok"), ("whois", "INVALID_ARGUMENT"), ("whois", "PROJECT_NOT_FOUND")] {
        let line = format!("postrider_tool_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} 1");
        assert!(metrics.lines().any(|known| known == line), "{line} in {metrics}");
    }
    assert!(!metrics.contains("made_up"), "{metrics}");
}
