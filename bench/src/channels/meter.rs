//! What a process uses, as the kernel counts it: processor time to the nanosecond, and what it reads.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use anyhow::Context;

/// Looks at one process.
pub struct Meter {
    process: u32,
    /// The nanoseconds of each thread, also of those that ended since.
    threads: HashMap<String, u64>,
}

/// What was read through system calls, of files and of everything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reads {
    /// How often.
    pub calls: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Meter {
    /// Looks at the process of that number.
    pub fn of(process: u32) -> Self {
        Self { process, threads: HashMap::new() }
    }

    /// The number of the process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// The processor time of all threads. What a thread used after the last look before its end is not seen.
    pub fn processor_time(&mut self) -> anyhow::Result<Duration> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.process)).context("a process is gone")?;
        for thread in threads {
            let thread = thread?;
            // A thread may end between the two.
            let Ok(told) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let nanos = told.split(' ').next().unwrap_or_default().parse().context("no time in schedstat")?;
            self.threads.insert(thread.file_name().to_string_lossy().into_owned(), nanos);
        }
        Ok(Duration::from_nanos(self.threads.values().sum()))
    }

    /// What it has read since it was born.
    pub fn reads(&self) -> anyhow::Result<Reads> {
        let told = fs::read_to_string(format!("/proc/{}/io", self.process)).context("a process is gone")?;
        let number = |name: &str| told.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        let (calls, bytes) = (number("syscr:"), number("rchar:"));
        Ok(Reads { calls: calls.context("no syscr in /proc")?, bytes: bytes.context("no rchar in /proc")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_a_thread_that_ended_still_counts() {
        let mut meter = Meter::of(std::process::id());
        meter.threads.insert("gone".to_owned(), 3_000_000_000);
        assert!(meter.processor_time().unwrap() >= Duration::from_secs(3));
    }

    #[test]
    fn what_is_read_is_counted() {
        let meter = Meter::of(std::process::id());
        let before = meter.reads().unwrap();
        let length = fs::read("/proc/self/maps").unwrap().len() as u64;
        let after = meter.reads().unwrap();
        assert!(after.bytes >= before.bytes + length && after.calls > before.calls, "{before:?} {after:?}");
    }
}
