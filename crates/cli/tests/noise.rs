//! A thousand random bodies: the server answers each of them with JSON and lives on.
//!
//! The bodies are valid requests, mutated, and plain noise, from a generator with a fixed seed, so that a failure is the
//! same failure the next time.

use serde_json::json;
use testing::postgres;

use crate::harness::calls::one_of_each;
use crate::harness::mcp::{request, tool_call};
use crate::harness::{self, Place, Server};

const BODIES: usize = 1_000;

/// What mutations put in: the characters that JSON turns on, and values at its edges.
const WORDS: [&[u8]; 24] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b":",
    b",",
    b"null",
    b"true",
    b"-",
    b"1e999",
    b"9223372036854775808",
    b"0.5",
    b"\\u0000",
    b"\\ud800",
    b"\xff\xfe",
    b"\xc3",
    b"\0",
    b"\r\n",
    b"{\"a\":{}}",
    b"[[[[[[[[",
    b"\"id\":1,",
    b"../..",
];

/// A small generator (xorshift64*), the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit.max(1)
    }

    fn mutated(&mut self, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        for _ in 0..=self.below(4) {
            let (from, to) = (self.below(body.len()), self.below(body.len()));
            let (from, to) = (from.min(to), from.max(to));
            match self.below(6) {
                0 => body.truncate(from),
                1 => drop(body.drain(from..to)),
                2 => drop(body.splice(from..from, WORDS[self.below(WORDS.len())].iter().copied())),
                3 => drop(body.splice(from..to.min(from + 20), WORDS[self.below(WORDS.len())].iter().copied())),
                4 => {
                    let copy = body[from..to].to_vec();
                    drop(body.splice(from..from, copy));
                }
                _ if from < body.len() => body[from] = self.below(256) as u8,
                _ => {}
            }
        }
        body
    }

    fn noise(&mut self) -> Vec<u8> {
        (0..self.below(300)).map(|_| self.below(256) as u8).collect()
    }
}

#[test]
fn a_thousand_random_bodies_are_all_answered() {
    let place = Place::new();
    let server = place.serve();
    answer_noise(&server);
    server.stop();
    assert!(!place.log().contains("panicked"), "{}", place.log());
    assert_eq!(place.json(&["doctor"])["ok"], true);
}

#[test]
fn a_thousand_random_bodies_are_no_trouble_for_postgresql() {
    let Some(url) = postgres::fresh_url() else { return };
    let place = Place::new();
    let server = place.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    answer_noise(&server);
    server.stop();
    assert_eq!(place.log(), "", "nothing that callers write is worth a warning");
}

fn answer_noise(server: &Server) {
    let mut bodies: Vec<String> = one_of_each(server)
        .into_iter()
        // A mutated wait could become a long one.
        .filter(|(tool, _)| !["wait_for_mail", "file_reservation_paths"].contains(tool))
        .map(|(tool, arguments)| tool_call(tool, &arguments))
        .collect();
    for method in ["tools/list", "resources/list", "resources/templates/list", "ping", "initialize"] {
        bodies.push(request(method, &json!({})));
    }
    bodies.push(request("resources/read", &json!({ "uri": harness::mcp::inbox_of("GreenDog") })));
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    for number in 0..BODIES {
        let body = if number % 10 == 0 {
            dice.noise()
        } else {
            let chosen = dice.below(bodies.len());
            dice.mutated(bodies[chosen].as_bytes())
        };
        let answer = server.post(&body);
        let shown = String::from_utf8_lossy(&body);
        match answer.status {
            202 => assert_eq!(answer.body, "", "body {number}: {shown}"),
            200 | 400 | 404 => {
                let json = answer.json();
                assert_eq!(json["jsonrpc"], "2.0", "body {number}: {shown}");
                let answered = json.get("result").is_some() != json.get("error").is_some();
                assert!(answered, "body {number} has one answer: {shown}");
                let code = &json["result"]["structuredContent"]["error"]["code"];
                assert!(*code != "INTERNAL" && *code != "STORE_UNAVAILABLE", "body {number}: {shown}");
            }
            status => panic!("body {number} was answered {status}: {shown}"),
        }
    }
    assert_eq!(server.call("health_check", json!({}))["status"], "ready");
}
