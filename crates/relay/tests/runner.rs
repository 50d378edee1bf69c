//! The tests of what follows a commit, in one binary.

mod nats_waking;
mod nudge;

#[test]
fn every_file_is_listed() {
    testing::assert_every_file_is_listed(env!("CARGO_MANIFEST_DIR"));
}
