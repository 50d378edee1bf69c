//! The tests of the protocol, in one binary.

mod hostile;
mod legacy;
mod modern;
mod stdio;
mod streams;
mod toy;

#[test]
fn every_file_is_listed() {
    testing::assert_every_file_is_listed(env!("CARGO_MANIFEST_DIR"));
}
