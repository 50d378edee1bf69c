//! The worked example of the documentation, run as it stands: every call is made, every table compared.
//!
//! `UPDATE_DOCS=1 cargo test -p cli --test worked_example` writes what the commands print into the page.

mod harness;

use std::fs;
use std::path::PathBuf;

use harness::mcp::PROJECT;
use harness::{Place, Server};

/// A block of the page: what stands behind its fence, and what stands in it.
struct Block<'a> {
    info: &'a str,
    text: &'a str,
}

#[test]
fn the_worked_example_of_the_documentation_is_what_happens() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/work.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let place = Place::new();
    let server = place.serve();
    let mut written = page.clone();
    for block in blocks(&page) {
        if let Some(tool) = block.info.strip_prefix("json call=") {
            let arguments = serde_json::from_str(block.text).expect("a call of the page is JSON");
            let answer = server.call(tool, arguments);
            assert_eq!(answer.get("problems"), None, "what the page sends is well formed");
        } else if block.info == "console" {
            let shown = session(&server, block.text);
            if std::env::var_os("UPDATE_DOCS").is_some() {
                written =
                    written.replacen(&format!("```console\n{}```", block.text), &format!("```CONSOLE\n{shown}```"), 1);
            } else {
                assert_eq!(comparable(block.text), comparable(&shown), "the page shows\n{}", block.text);
            }
        }
    }
    if written != page {
        fs::write(&path, written.replace("```CONSOLE", "```console")).expect("the page can be written");
    }
}

/// What a terminal shows: the command line, and what the command prints.
fn session(server: &Server, text: &str) -> String {
    let line = text.lines().next().expect("a session begins with a command");
    let words: Vec<&str> = line.strip_prefix("$ postrider ").expect("a command of ours").split(' ').collect();
    let output = server.place.command(&words).env("POSTRIDER_PROJECT", PROJECT).output().expect("the binary runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    format!("{line}\n{}", String::from_utf8(output.stdout).expect("the binary prints UTF-8"))
}

/// Every run has other times and ages, and so columns of other widths.
fn comparable(text: &str) -> String {
    let words = |line: &str| -> String {
        let plain = |word: &str| {
            let word = word.trim_matches(['(', ')', ',']);
            let is_age = word.strip_suffix(['s', 'm', 'h']).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            let is_time = word.len() > 8 && word.starts_with("20") && word.contains('-') || word.ends_with('Z');
            if is_age || is_time { "…".to_owned() } else { word.to_owned() }
        };
        line.split_whitespace().map(plain).collect::<Vec<_>>().join(" ")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some((_, opened)) = rest.split_once("\n```") {
        let (info, inside) = opened.split_once('\n').expect("a fence ends its line");
        let (text, after) = match inside.strip_prefix("```") {
            Some(after) => ("", after),
            None => {
                let end = inside.find("\n```").expect("a block is closed");
                (&inside[..end + 1], &inside[end + 4..])
            }
        };
        blocks.push(Block { info, text });
        rest = after;
    }
    blocks
}
