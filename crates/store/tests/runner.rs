//! The tests of the stores, in one binary.

mod addresses;
mod beads;
mod channels;
mod channels_outside;
mod channels_recipients;
mod colleagues;
mod contract;
mod differential;
mod exec;
mod json_mail;
mod many_servers;
mod migrations;
mod moving;
mod native;
mod office;
mod operations;
mod overview;
mod people;
mod postgres_trouble;
mod presence;
mod projects;
mod retiring;
mod sessions;
mod shop;
mod stand_in;
mod talk;
mod team;
mod typed_mail;
mod upkeep;
mod writing_together;

#[test]
fn every_file_is_listed() {
    testing::assert_every_file_is_listed(env!("CARGO_MANIFEST_DIR"));
}
