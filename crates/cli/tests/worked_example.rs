//! The worked examples of the documentation, run as they stand: every call is made, every table compared.
//!
//! `UPDATE_DOCS=1 cargo test -p cli --test worked_example` writes what the commands print into the pages.

use std::path::PathBuf;

use crate::harness::{Place, has_python, pages};

fn page(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

#[test]
fn the_worked_example_of_the_documentation_is_what_happens() {
    let place = Place::new();
    let server = place.serve();
    pages::check(&page("work.md"), &place, Some(&server));
}

#[test]
fn two_agents_write_to_each_other_as_the_documentation_says() {
    pages::check(&page("agents.md"), &Place::new(), None);
}

#[test]
fn a_channel_is_used_as_the_documentation_says() {
    pages::check(&page("channels.md"), &Place::new(), None);
}

/// The program that the page shows is saved as the page says.
#[test]
fn the_mail_program_of_the_documentation_keeps_mail() {
    if !has_python("a mail program of one's own") {
        return;
    }
    let place = Place::new();
    let text = std::fs::read_to_string(page("exec-mail.md")).expect("the page is there");
    let program = text.split_once("```python\n").and_then(|(_, rest)| rest.split_once("```"));
    let (program, _) = program.expect("the page has a program");
    std::fs::write(place.file("letters.py"), program).expect("the place can be written to");
    pages::check(&page("exec-mail.md"), &place, None);
}
