//! Whether our program works at a shell inside the client's sandbox: with what `install` wrote, without it, and by the outbox.

use anyhow::{Result, bail};

use super::super::bench::Bench;
use super::super::table::Row;

/// With what `install` wrote: send, inbox and reserve.
pub fn reaches(_bench: &Bench, _row: &'static Row) -> Result<String> {
    bail!("not tried yet")
}

/// Without it: the refusal says which setting opens the sandbox.
pub fn refuses(_bench: &Bench, _row: &'static Row) -> Result<String> {
    bail!("not tried yet")
}

/// Where nothing is open: a send by the folder in the workspace that the server collects.
pub fn leaves_in_the_outbox(_bench: &Bench, _row: &'static Row) -> Result<String> {
    bail!("not tried yet")
}
