//! Three servers over one PostgreSQL write what is posted into a shared folder: each post once, whichever of them dies.

use std::collections::BTreeSet;
use std::fs;

use serde_json::json;
use testing::postgres;

use crate::foreign::{Shared, sorted, until};
use crate::harness::mcp::PROJECT;
use crate::harness::{Place, Server};

const SERVERS: usize = 3;
const KILLED: usize = 6;

fn post(server: &Server, text: &str) {
    let post = json!({
        "project_key": PROJECT, "sender_name": "codex", "to": ["#dev"], "subject": text, "body_md": text,
    });
    server.call("send_message", post);
}

#[test]
fn of_many_servers_one_writes_the_folder_and_another_goes_on_when_it_dies() {
    let Some(url) = postgres::fresh_url() else { return };
    let shared = Shared::new();
    let start = |place: &Place| place.serve_with(&[], &[("POSTRIDER_DATABASE", &url)]);
    let places: Vec<Place> = (0..SERVERS).map(|_| shared.place()).collect();
    let mut servers: Vec<Server> = places.iter().map(start).collect();
    servers[0].register(&["codex"]);
    let mut posted = Vec::new();
    for round in 0..KILLED {
        // Whoever writes now is among those who are killed in turn, in the middle of it.
        for (number, server) in servers.iter().enumerate() {
            posted.push(format!("r{round}-{number}"));
            post(server, &posted[posted.len() - 1]);
        }
        servers.remove(round % SERVERS).kill();
        servers.insert(round % SERVERS, start(&places[round % SERVERS]));
    }
    until("everything is written", || (shared.messages().len() >= posted.len()).then_some(()));
    assert_eq!(sorted(shared.texts()), sorted(posted.clone()), "each once");

    // From here on nobody dies, and somebody takes away each file that it has read.
    let mut taken = BTreeSet::new();
    let mut take = || {
        for (name, said) in shared.messages() {
            assert!(taken.insert(said["id"].as_str().unwrap().to_owned()), "{said} was written again");
            fs::remove_file(shared.dev().join(name)).unwrap();
        }
        taken.len()
    };
    for number in 0..60 {
        post(&servers[number % SERVERS], &format!("calm-{number}"));
        take();
    }
    let all = posted.len() + 60;
    until("everything was taken", || (take() >= all).then_some(()));
    // All servers end, which is when each writes what it thinks is not written.
    servers.into_iter().for_each(Server::stop);
    assert_eq!(take(), all);
}
