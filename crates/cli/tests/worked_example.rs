//! The worked example of the documentation, run as it stands: every call is made, every table compared.
//!
//! `UPDATE_DOCS=1 cargo test -p cli --test worked_example` writes what the commands print into the page.

mod harness;

use std::path::PathBuf;

use harness::{Place, pages};

#[test]
fn the_worked_example_of_the_documentation_is_what_happens() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/work.md");
    let place = Place::new();
    let server = place.serve();
    pages::check(&path, &place, Some(&server));
}
