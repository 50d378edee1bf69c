//! The house is tidy: `cargo test` holds the rules, not only those who remember to run `cargo xtask tidy`.

use std::process::Command;

#[test]
fn the_house_is_tidy() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("tidy").output().expect("xtask was built for this test");
    let violations = String::from_utf8_lossy(&output.stdout);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "\n{violations}{problem}");
}
