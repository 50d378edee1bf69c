//! Pages that show calls, commands and what they print, run as they stand.
//!
//! A block `json call=TOOL` is a tool call over MCP. A block `console` has commands behind `$`, each with what it prints
//! below it, and `[exit code N]` where that is not 0. With `UPDATE_DOCS=1` what is printed otherwise is written into the
//! page. What differs from run to run (times, folders, names that were generated) counts as the same.

use std::fs;
use std::path::Path;

use super::mcp::PROJECT;
use super::{Place, Server};

/// A block of a page: what stands behind its fence, and what stands in it.
struct Block<'a> {
    info: &'a str,
    text: &'a str,
}

/// Runs a page in a place of its own, with the server if there is one, and compares.
pub fn check(path: &Path, place: &Place, server: Option<&Server>) {
    let page = fs::read_to_string(path).expect("the page is there");
    let is_updated = std::env::var_os("UPDATE_DOCS").is_some();
    let mut written = page.clone();
    for block in blocks(&page) {
        if let Some(tool) = block.info.strip_prefix("json call=") {
            let arguments = serde_json::from_str(block.text).expect("a call of the page is JSON");
            let answer = server.expect("a page with calls needs a server").call(tool, arguments);
            assert_eq!(answer.get("problems"), None, "what the page sends is well formed");
        } else if block.info == "console" {
            let shown = session(place, block.text);
            let is_same = comparable(block.text) == comparable(&shown);
            if !is_updated {
                let shows = format!("{} shows\n{}", path.display(), block.text);
                assert_eq!(comparable(block.text), comparable(&shown), "{shows}");
            }
            // Another fence marks what was dealt with, for two blocks may be alike.
            let kept = if is_same { block.text } else { &shown };
            let (old, new) = (format!("```console\n{}```", block.text), format!("```CONSOLE\n{kept}```"));
            written = written.replacen(&old, &new, 1);
        }
    }
    let written = written.replace("```CONSOLE", "```console");
    if is_updated && written != page {
        fs::write(path, written).expect("the page can be written");
    }
}

/// What a terminal shows: each command line, and what the command prints.
fn session(place: &Place, text: &str) -> String {
    assert!(text.starts_with("$ "), "a session begins with a command: {text}");
    let mut shown = String::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let mut shell = place.shell(&format!("{{ {line}\n}} 2>&1"));
        let output = shell.env("POSTRIDER_PROJECT", PROJECT).env("COLUMNS", "100").output().expect("a shell runs");
        let printed = String::from_utf8(output.stdout).expect("the binary prints UTF-8");
        // The project of the pages is nobody's folder, which a page need not say.
        let printed =
            printed.replace(&format!("Note: there is no folder '{PROJECT}'; the project has that name.\n"), "");
        let printed = printed.replace(&place.folder(), "[FOLDER]");
        shown.push_str(&format!("$ {line}\n{printed}"));
        if !output.status.success() {
            shown.push_str(&format!("[exit code {}]\n", output.status.code().expect("the shell ends by itself")));
        }
    }
    shown
}

/// Every run has other times and ages, and so columns of other widths.
fn comparable(text: &str) -> String {
    let words = |line: &str| -> String {
        let plain = |word: &str| {
            let word = word.trim_matches(['(', ')', ',']);
            let is_age = word.strip_suffix(['s', 'm', 'h']).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            let is_time = word.len() > 8 && word.starts_with("20") && word.contains('-') || word.ends_with('Z');
            if is_age || is_time { "…".to_owned() } else { without_chance(&without_names(&without_times(word))) }
        };
        let line = line.split_whitespace().map(plain).collect::<Vec<_>>().join(" ");
        line.replace("just now", "…").replace("1 min ago", "…")
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

/// A text without the RFC 3339 times in it.
fn without_times(text: &str) -> String {
    let mut rest = text;
    let mut told = String::new();
    while let Some(at) = rest.find("\"20") {
        let (before, time) = rest.split_at(at + 1);
        let end = time.find('"').unwrap_or(time.len());
        let is_time = time[..end].ends_with('Z') && time[..end].contains('T');
        told.push_str(before);
        told.push_str(if is_time { "…" } else { &time[..end] });
        rest = &time[end..];
    }
    told + rest
}

/// A text without the times and the generated ends of the names of posts, as in `msg-20260111-163315-claude-4c78`.
fn without_names(text: &str) -> String {
    let mut parts = text.split("msg-20");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(part.len());
        told.push_str("msg-…");
        told.push_str(&part[end..]);
    }
    told
}

/// A text without the names of threads that were generated.
fn without_chance(text: &str) -> String {
    const GENERATED: &str = "thread-";
    let mut parts = text.split(GENERATED);
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
        let is_generated = part.len() - name.len() >= 12;
        told.push_str(GENERATED);
        told.push_str(if is_generated { "…" } else { "" });
        told.push_str(if is_generated { name } else { part });
    }
    told
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
