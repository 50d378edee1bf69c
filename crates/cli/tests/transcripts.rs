//! Sessions at a terminal, one page for each verb, run as they stand: with a server, and without one.
//!
//! `UPDATE_DOCS=1 cargo test -p cli --test transcripts` writes what the commands print into the pages.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Place, pages};

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    pages.sort();
    assert!(pages.len() >= 15, "there is one for each verb: {pages:?}");
    pages
}

/// Each page has a post office of its own, and all of them run at once.
fn check(check: impl Fn(&Path) + Sync) {
    std::thread::scope(|scope| {
        for page in transcripts() {
            let check = &check;
            scope.spawn(move || check(&page));
        }
    });
}

#[test]
fn every_transcript_is_what_happens_at_a_running_server() {
    // What is written into the pages comes from one run only, or two would write the same file.
    if std::env::var_os("UPDATE_DOCS").is_some() {
        return;
    }
    check(|page| {
        let place = Place::new();
        let server = place.serve();
        pages::check(page, &place, Some(&server));
    });
}

#[test]
fn every_transcript_is_what_happens_without_a_server() {
    check(|page| pages::check(page, &Place::new(), None));
}
