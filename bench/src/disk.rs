//! A ceiling: what the disk takes to keep four kilobytes.
//!
//! No commit can be faster than this, whatever stands above it.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::samples::Samples;
use crate::setting::Setting;

/// What is written before each wait: one page of a database.
const PAGE: [u8; 4096] = [0x5A; 4096];

/// Appends a page to a file and waits for the disk, again and again, for as long as asked.
pub fn fdatasync(setting: &Setting, measured: Duration) -> anyhow::Result<Samples> {
    let path = setting.fresh_folder()?.join("pages");
    let mut file = File::create_new(&path)?;
    let mut durations = Vec::new();
    let end = Instant::now() + measured;
    while Instant::now() < end {
        let begun = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        durations.push(begun.elapsed());
    }
    std::fs::remove_file(&path)?;
    Ok(durations.into_iter().collect())
}
