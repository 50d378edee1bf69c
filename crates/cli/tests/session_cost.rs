//! What a session pays for its mail, in bytes of what its hooks print.

use serde_json::json;

use crate::harness::Server;
use crate::hooks::{Agent, send};

/// The most that a digest may take.
const DIGEST: usize = 1_200;

/// How many bytes the client reads.
fn bytes(agent: &Agent, event: &str) -> usize {
    agent.answer(event).map_or(0, |answer| answer.to_string().len())
}

// The figures are shown to whoever runs it with --nocapture.
#[allow(clippy::print_stderr)]
#[test]
fn what_a_session_pays_is_known_and_small() {
    for (client, [prompt, stop]) in [
        ("claude", ["UserPromptSubmit", "Stop"]),
        ("codex", ["UserPromptSubmit", "Stop"]),
        ("gemini", ["BeforeAgent", "AfterAgent"]),
    ] {
        let server = Server::start();
        let names: Vec<String> = (1..=8).map(|number| format!("Colleague-{number}")).collect();
        let agent = Agent::new(&server.place, client, Some("GreenDog"));
        let alone = bytes(&agent, "SessionStart");
        server.register(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let with_colleagues = bytes(&agent, "SessionStart");
        assert_eq!((bytes(&agent, prompt), bytes(&agent, stop)), (0, 0), "silence is free");
        send(
            &server,
            "Colleague-1",
            "GreenDog",
            "Who takes the parser?",
            json!({ "body_md": "I would do the lexer." }),
        );
        let one = bytes(&agent, prompt);
        for number in 0..61 {
            let name = &names[number % names.len()];
            send(&server, name, "GreenDog", &format!("Part {number} of the parser"), json!({ "importance": "high" }));
        }
        let full = bytes(&agent, "SessionStart");
        let told = agent.told(prompt).expect("there is new mail").len();
        eprintln!(
            "{client}: SessionStart alone {alone}, with 8 colleagues {with_colleagues}, with 61 unread beside {full}; \
             one new message {one}, five of 61 {told}"
        );
        // What the client wants around the text, and the quoting of it.
        let frame = 150;
        assert!(alone <= 350 && full <= DIGEST + frame && one <= 550 && told <= 4_000, "{alone} {full} {one} {told}");
    }
}
