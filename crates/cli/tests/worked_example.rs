//! The worked examples of the documentation, run as they stand: every call is made, every table compared.
//!
//! `UPDATE_DOCS=1 cargo test -p cli --test worked_example` writes what the commands print into the pages.

mod harness;

use std::path::PathBuf;

use harness::{Place, pages};

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
