//! The tests of the formats, in one binary.

mod channel;
mod channel_properties;
mod coordination;
mod fuzz;
mod json_formats;
mod markdown_hostile;
mod markdown_lenient;
mod markdown_roundtrip;
mod markdown_strict;
mod secrets;

#[test]
fn every_file_is_listed() {
    testing::assert_every_file_is_listed(env!("CARGO_MANIFEST_DIR"));
}
